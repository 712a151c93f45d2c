// What each family of instructions gives, as readable trees in golden/instructions.txt.

#include "core/symexec/machine.h"

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/checker/checker.h"
#include "gtest/gtest.h"
#include "tests/support/pairs/pairs.h"

namespace samebits::symexec {
namespace {

struct Section {
  std::string head;  // comments and the name, as written
  std::string name, body, expected;
};

std::string Path() { return std::string(SAMEBITS_SOURCE_DIR) + "/tests/unit/core/symexec/golden/instructions.txt"; }

std::vector<Section> ReadSections() {
  std::ifstream file(Path());
  std::vector<Section> sections;
  std::string preamble, line;
  enum { kHead, kBody, kExpected } state = kHead;
  while (std::getline(file, line)) {
    if (line.rfind("== ", 0) == 0) {
      sections.push_back({(sections.empty() ? preamble : "") + line + "\n", line.substr(3), "", ""});
      state = kBody;
    } else if (state == kHead) {
      preamble += line + "\n";
    } else if (state == kBody && line == "--") {
      state = kExpected;
    } else if (!line.empty()) {
      (state == kBody ? sections.back().body : sections.back().expected) += line + "\n";
    }
  }
  return sections;
}

// Status, reason and output families: what does not depend on lines, on work, or on the signature's version.
std::string Describe(const std::string& body) {
  const checker::Launch launch = checker::FrameLaunch(32, body.find("%ctaid") == std::string::npos ? 1 : 2);
  const auto text = checker::Inspect(checker::Kernel(body), launch);
  if (!text.ok()) return text.status().ToString() + "\n";
  std::string out, line;
  std::istringstream lines(*text);
  while (std::getline(lines, line)) {
    if (line.empty() || line.rfind("work", 0) == 0 || line.rfind("signature", 0) == 0 || line == "status      OK" ||
        line == "assumes     buffers of different arguments do not overlap")
      continue;
    line = std::regex_replace(line, std::regex("  @[0-9]+$"), "");
    line = std::regex_replace(line, std::regex(", stored by line [0-9]+"), "");
    line = std::regex_replace(line, std::regex(" \\(line [0-9]+: "), " (");
    out += line + "\n";
  }
  return out;
}

TEST(MachineTest, InstructionsGiveTheGoldenTrees) {
  std::vector<Section> sections = ReadSections();
  ASSERT_GT(sections.size(), 40u);
  const bool update = std::getenv("SAMEBITS_UPDATE_GOLDENS") != nullptr;
  std::string text;
  for (Section& s : sections) {
    const std::string got = Describe(s.body);
    EXPECT_TRUE(update || got == s.expected) << s.name << "\n" << got << "and not\n" << s.expected;
    text += s.head + s.body + "--\n" + got + "\n";
  }
  if (update) std::ofstream(Path()) << text;
}

}  // namespace
}  // namespace samebits::symexec
