// Instruction mixes of a library's kernels, as a record:
//   samebits_instruction_mix FILE... [--by-file] [--arch sm_90] [--match REGEX] [--group REGEX] [--commit C] [--date D] [--version TEXT]
// Rows are groups of kernels: the first group of --group in the kernel's name, with --by-file after the file's name up to
// its first dot. Progress goes to standard error.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/heal/instruction_mix/instruction_mix.h"

namespace samebits::heal {
namespace {

// "dir/heal+.0.cubin" -> "heal+".
std::string Stem(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  return name.substr(0, name.find_first_of('.'));
}

class PrintedProgress : public MixEvents {
  void OnProgress(int64_t, int64_t, const std::string& text) override { std::fprintf(stderr, "%s\n", text.c_str()); }
};

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

int Main(int argc, char** argv) {
  MixRequest request;
  std::string group = ".*", commit, date, version, command = "samebits_instruction_mix";
  bool by_file = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    command += " " + (word.find_first_of("()|.*[]") == std::string::npos || word[0] == '/' ? word : "'" + word + "'");
    if (word == "--by-file") {
      by_file = true;
      continue;
    }
    if (!word.starts_with("--")) {
      request.sources.push_back(FileSource(word));
      continue;
    }
    std::string* value = word == "--arch" ? &request.target : word == "--match" ? &request.match : word == "--group" ? &group
                         : word == "--commit" ? &commit : word == "--date" ? &date : word == "--version" ? &version : nullptr;
    if (value == nullptr || i + 1 == argc) return Fail(absl::InvalidArgumentError(word + ": unknown, or without a value"));
    *value = argv[++i];
    command += *value == group || *value == request.match ? " '" + *value + "'" : " " + *value;
  }
  PrintedProgress events;
  const auto grouping = CompileGrouping(group);
  if (!grouping.ok()) return Fail(grouping.status());
  const absl::StatusOr<MixReport> report = MeasureInstructionMix(request, events);
  if (!report.ok()) return Fail(report.status());
  const std::vector<MixRow> rows = MakeRows(report->kernels, [&](const KernelMix& k) {
    const std::string name = (*grouping)(ReadableName(k.kernel));
    return by_file ? Stem(k.module) + ": " + name : name;
  });
  std::fputs(MixTable(rows).c_str(), stderr);
  nlohmann::ordered_json record = {{"what", "instruction mix of kernels, from their machine code"},
                                   {"command", command},
                                   {"commit", commit},
                                   {"device", "none: static"},
                                   {"driver", ""},
                                   {"versions", {{"library", version}}},
                                   {"date", date}};
  int64_t instructions = 0;
  for (const KernelMix& kernel : report->kernels) instructions += kernel.instructions;
  record["figures"] = {{"kernels", report->kernels.size()}, {"kernels disassembled", report->kernels_seen}, {"modules", report->modules},
                       {"distinct modules", report->distinct_modules}, {"instructions", instructions}};
  record["rows"] = nlohmann::ordered_json::parse(MixJson(rows, {}))["rows"];
  std::printf("%s\n", record.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace samebits::heal

int main(int argc, char** argv) { return samebits::heal::Main(argc, argv); }
