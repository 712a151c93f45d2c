// What `inspect` says of compiled kernels, in golden/*.txt. SAMEBITS_UPDATE_GOLDENS=1 rewrites the files.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "core/checker/checker.h"
#include "gtest/gtest.h"
#include "tests/support/pairs/golden.h"

namespace samebits::checker {
namespace {

// All but the amount of work, which may change without the result.
std::string WithoutWork(const std::string& text) {
  std::istringstream lines(text);
  std::string out, line;
  while (std::getline(lines, line))
    if (line.rfind("work", 0) != 0) out += line + "\n";
  return out;
}

TEST(GoldenTest, KernelsHaveTheGoldenFamilies) {
  const bool update = std::getenv("SAMEBITS_UPDATE_GOLDENS") != nullptr;
  const auto kernels = ReadGoldenKernels(SAMEBITS_SOURCE_DIR);
  ASSERT_GE(kernels.size(), 15u);
  for (const GoldenKernel& k : kernels) {
    SCOPED_TRACE(k.name);
    const auto text = Inspect(k.text, k.launch);
    ASSERT_TRUE(text.ok()) << text.status();
    const std::string got = WithoutWork(*text), path = GoldenFolder(SAMEBITS_SOURCE_DIR) + k.name + ".txt";
    if (update) {
      std::ofstream(path) << got;
      continue;
    }
    std::ifstream file(path);
    std::ostringstream expected;
    expected << file.rdbuf();
    EXPECT_EQ(got, expected.str());
  }
}

}  // namespace
}  // namespace samebits::checker
