// Output bytes of a manifest's kernels by their symbolic maps. tests/differential/run.py drives it.

#include <chrono>
#include <fstream>
#include <iostream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/launch/manifest.h"
#include "core/base/sha256.h"
#include "nlohmann/json.hpp"
#include "tests/differential/interpret.h"
#include "tests/differential/kernel.h"

namespace samebits::differential {
namespace {

using nlohmann::json;

constexpr char kUsage[] =
    R"(usage: differential_evaluator --manifest M --inputs DIR [options] ID...

Prints one JSON object a kernel: id, status and signature; and where it has one, elements, evaluated, seconds, asked
(questions about approximate functions) and, where every element was evaluated, digests (one a draw; null where values
of approximate functions or undefined ones took part).

  --inputs DIR     holds every buffer of the kernels' group before the launch: DIR/<draw>/<buffer>
  --draws 0,1      draws to evaluate (default 0,1,2,3,4,5,6,7)
  --oracle FILE    results of approximate functions (oracle_table.h)
  --questions FILE where to write what the oracle lacks
  --outputs DIR    where to write the output buffers: DIR/<id with '/' as '_'>.<draw>.<buffer>
  --seconds S      longest evaluation of one kernel (default 600)
  --device 90      evaluate texts for older architectures as this one executes them (default: as written)
  --signatures     print id, status and signature only
  --stand-ins      take the stand-ins of softfloat for approximate functions; there are no questions then, and `inexact`
                   counts the elements that took one
  --interpret      AMDGCN: digests of what the direct interpreter leaves, without a signature; `model` counts results of
                   approximate functions; --outputs writes what it leaves
)";

struct Options {
  std::string manifest, inputs, oracle, questions, outputs;
  std::vector<int> draws = {0, 1, 2, 3, 4, 5, 6, 7};
  std::set<std::string> ids;
  double seconds = 600;
  int device = 0;
  bool signatures = false, stand_ins = false, interpret = false;
};

bool ParseOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      options->ids.insert(word);
      continue;
    }
    if (word == "--signatures") {
      options->signatures = true;
      continue;
    }
    if (word == "--stand-ins" || word == "--interpret") {
      (word == "--interpret" ? options->interpret : options->stand_ins) = true;
      continue;
    }
    if (++i == argc) return false;
    const std::string value = argv[i];
    if (word == "--manifest") options->manifest = value;
    else if (word == "--inputs") options->inputs = value;
    else if (word == "--oracle") options->oracle = value;
    else if (word == "--questions") options->questions = value;
    else if (word == "--outputs") options->outputs = value;
    else if (word == "--seconds") options->seconds = std::atof(argv[i]);
    else if (word == "--device") options->device = std::atoi(argv[i]);
    else if (word == "--draws") {
      options->draws.clear();
      for (const absl::string_view d : absl::StrSplit(value, ',')) options->draws.push_back(std::atoi(std::string(d).c_str()));
    } else {
      return false;
    }
  }
  return !options->manifest.empty() && (options->signatures || !options->inputs.empty()) && !options->ids.empty() &&
         !options->draws.empty();
}

// The text as `device` executes it: matrix instructions depend on the architecture that the text is assembled for.
std::string ForDevice(std::string text, int device) {
  constexpr std::string_view kTarget = ".target sm_";
  const size_t at = text.find(kTarget);
  if (at == std::string::npos) return text;
  const size_t digits = at + kTarget.size();
  size_t end = digits;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  if (std::atoi(text.c_str() + digits) < device) text.replace(digits, end - digits, std::to_string(device));
  return text;
}

absl::StatusOr<std::vector<Contents>> ReadInputs(const Options& options, const checker::Launch& launch) {
  std::vector<Contents> draws;
  for (const int draw : options.draws) {
    Contents& contents = draws.emplace_back();
    for (const checker::Argument& a : *launch.args) {
      if (a.kind != checker::Argument::Kind::kPointer) continue;
      const auto bytes = launch::ReadFile(absl::StrCat(options.inputs, "/", draw, "/", a.buffer), 1u << 30);
      if (!bytes.ok()) return bytes.status();
      contents[a.buffer].assign(bytes->begin(), bytes->end());
    }
  }
  return draws;
}

std::string Joined(const Contents& after, const std::vector<std::string>& outputs) {
  std::string bytes;
  for (const std::string& name : outputs)
    if (const auto it = after.find(name); it != after.end()) bytes.append(it->second.begin(), it->second.end());
  return bytes;
}

void WriteOutputs(const Options& options, const std::string& id, const std::vector<Contents>& after,
                  const std::vector<std::string>& outputs) {
  std::string stem = id;
  std::replace(stem.begin(), stem.end(), '/', '_');
  for (size_t d = 0; d < after.size(); ++d)
    for (const std::string& name : outputs) {
      const std::string bytes = Joined(after[d], {name});
      std::ofstream(absl::StrCat(options.outputs, "/", stem, ".", options.draws[d], ".", name), std::ios::binary) << bytes;
    }
}

json Digests(const KernelResult& result, const std::vector<std::string>& outputs) {
  json digests = json::array();
  for (size_t d = 0; d < result.after.size(); ++d) {
    const bool known = result.unanswered[d] == 0 && result.undefined[d] == 0;
    digests.push_back(known ? json(Sha256Hex(Joined(result.after[d], outputs)).substr(0, 16)) : json(nullptr));
  }
  return digests;
}

// One kernel's answer.
json Answer(const Options& options, const launch::ManifestRow& row, OracleTable* oracle) {
  json answer = {{"id", row.id}};
  const auto failed = [&answer](const absl::Status& status) {
    answer["error"] = status.ToString();
    return answer;
  };
  if (!row.status.ok()) return failed(row.status);
  const auto file = launch::ReadFile(row.path, 16u << 20);
  if (!file.ok()) return failed(file.status());
  const std::string text = ForDevice(*file, options.device);
  const auto resolved = launch::Resolve(row.spec, [&] { return checker::DescribeText(text); });
  if (!resolved.ok()) return failed(resolved.status());
  const checker::Launch& launch = resolved->launch;
  if (!launch.grid || !launch.args) return failed(absl::InvalidArgumentError("the grid or the arguments are not given"));
  if (options.signatures) {
    const auto signature = checker::ComputeSignature(text, launch);
    if (!signature.ok()) return failed(signature.status());
    answer["status"] = std::string(checker::StatusName(signature->status));
    answer["signature"] = signature->digest;
    answer["reason"] = signature->reason;
    answer["line"] = signature->place.line;
    answer["microseconds"] = signature->times.total();
    answer["stages"] = {signature->times.parse, signature->times.execute, signature->times.map};
    return answer;
  }
  const auto draws = ReadInputs(options, launch);
  if (!draws.ok()) return failed(draws.status());
  if (options.interpret) {
    answer["draws"] = options.draws;
    answer["digests"] = json::array();
    uint64_t model = 0;
    std::vector<Contents> left;
    for (const Contents& before : *draws) {
      auto after = InterpretKernel(text, launch, before, &model);
      if (!after.ok()) return failed(after.status());
      answer["digests"].push_back(Sha256Hex(Joined(*after, launch.outputs)).substr(0, 16));
      left.push_back(*std::move(after));
    }
    if (!options.outputs.empty()) WriteOutputs(options, row.id, left, launch.outputs);
    answer["model"] = model;
    return answer;
  }
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t asked = oracle->asked();
  const auto result = EvaluateKernel(text, launch, *draws, options.stand_ins ? nullptr : oracle, options.seconds);
  if (!result.ok()) return failed(result.status());
  answer["status"] = std::string(checker::StatusName(result->signature.status));
  answer["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result->signature.status != checker::SignatureStatus::kOk) {
    answer["reason"] = result->signature.reason;
    return answer;
  }
  answer["signature"] = result->signature.digest;
  answer["assumptions"] = result->signature.assumptions;
  answer["draws"] = options.draws;
  answer["elements"] = result->elements;
  answer["evaluated"] = result->evaluated;
  answer["asked"] = oracle->asked() - asked;
  answer["unanswered"] = result->unanswered;
  answer["undefined"] = result->undefined;
  answer["inexact"] = result->inexact;
  if (result->evaluated == result->elements) answer["digests"] = Digests(*result, launch.outputs);
  if (!options.outputs.empty()) WriteOutputs(options, row.id, result->after, launch.outputs);
  return answer;
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, &options)) {
    std::cerr << kUsage;
    return 2;
  }
  auto oracle = OracleTable::Read(options.oracle);
  const auto rows = launch::ReadManifest(options.manifest);
  if (!oracle.ok() || !rows.ok()) {
    std::cerr << (oracle.ok() ? rows.status() : oracle.status()) << "\n";
    return 2;
  }
  size_t found = 0;
  for (const launch::ManifestRow& row : *rows) {
    if (!options.ids.contains(row.id)) continue;
    ++found;
    std::cout << Answer(options, row, &*oracle).dump() << std::endl;
  }
  if (!options.questions.empty()) {
    if (absl::Status s = oracle->WriteQuestions(options.questions); !s.ok()) {
      std::cerr << s << "\n";
      return 2;
    }
  }
  if (found == options.ids.size()) return 0;
  std::cerr << options.ids.size() - found << " of the ids are not in the manifest\n";
  return 2;
}

}  // namespace
}  // namespace samebits::differential

int main(int argc, char** argv) { return samebits::differential::Main(argc, argv); }
