#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/heal/instruction_mix/instruction_mix.h"

namespace samebits::heal {
namespace {

using Json = nlohmann::ordered_json;

std::string Percent(double least, double most, bool ranges) {
  const std::string low = absl::StrFormat("%.1f", 100 * least), high = absl::StrFormat("%.1f", 100 * most);
  return !ranges || low == high ? high + " %" : absl::StrCat(low, "-", high, " %");
}

std::string Unrecognized(const MixRow& row) {
  std::string out;
  for (const OpcodeRange& range : row.opcodes)
    if (range.kind == InstructionClass::kUnrecognized) absl::StrAppend(&out, out.empty() ? "" : ", ", range.opcode, " ", range.count);
  return out;
}

std::string Opcodes(const MixRow& row, const MixTableOptions& options, bool arithmetic) {
  std::string out;
  for (const OpcodeRange& range : row.opcodes) {
    const bool wanted = arithmetic ? IsArithmetic(range.kind) : range.kind == InstructionClass::kConversion;
    if (!wanted || (row.arithmetic > 0 && range.most < options.least_share)) continue;
    absl::StrAppend(&out, out.empty() ? "" : ", ", range.opcode);
    if (!arithmetic) absl::StrAppend(&out, " ", range.count);
    if (row.arithmetic > 0) {
      const double mean = static_cast<double>(range.count) / static_cast<double>(row.arithmetic);
      absl::StrAppend(&out, " (", options.ranges ? Percent(range.least, range.most, true) : Percent(mean, mean, false), ")");
    }
  }
  return out.empty() ? "none" : out;
}

Json Classes(const std::array<int64_t, kInstructionClasses>& per_class) {
  Json out = Json::object();
  for (int i = 0; i < kInstructionClasses; ++i) out[NameOf(static_cast<InstructionClass>(i))] = per_class[i];
  return out;
}

Json RowJson(const MixRow& row) {
  Json out = {{"name", row.name},
              {"kernels", row.kernels},
              {"kernels_without_arithmetic", row.without_arithmetic},
              {"instructions", row.instructions},
              {"arithmetic", row.arithmetic},
              {"conversions", row.conversions},
              {"conversions_per_arithmetic", {row.least_conversions, row.most_conversions}},
              {"classes", Classes(row.per_class)},
              {"opcodes", Json::array()}};
  for (const OpcodeRange& range : row.opcodes)
    out["opcodes"].push_back({{"opcode", range.opcode},
                              {"class", NameOf(range.kind)},
                              {"count", range.count},
                              {"share", {range.least, range.most}}});
  return out;
}

Json KernelJson(const KernelMix& kernel) {
  Json out = {{"kernel", kernel.kernel},
              {"name", ReadableName(kernel.kernel)},
              {"target", kernel.target},
              {"module", kernel.module},
              {"instructions", kernel.instructions},
              {"arithmetic", kernel.Arithmetic()},
              {"classes", Classes(kernel.per_class)},
              {"opcodes", Json::array()}};
  for (const auto& [key, count] : kernel.opcodes)
    out["opcodes"].push_back({{"opcode", key.first}, {"class", NameOf(key.second)}, {"count", count}});
  return out;
}

}  // namespace

std::string MixTable(const std::vector<MixRow>& rows, const MixTableOptions& options) {
  std::string out;
  for (const MixRow& row : rows) {
    absl::StrAppend(&out, row.name, "\n", row.kernels > 1 ? absl::StrCat("  kernels       ", row.kernels, "\n") : "");
    absl::StrAppend(&out, "  instructions  ", row.instructions, ", of them ", row.arithmetic, " floating-point arithmetic, ",
                    row.conversions, " conversions");
    if (row.unrecognized > 0) absl::StrAppend(&out, ", ", row.unrecognized, " not recognized (", Unrecognized(row), ")");
    absl::StrAppend(&out, "\n  arithmetic    ", Opcodes(row, options, true), "\n  conversions   ", Opcodes(row, options, false), "\n");
  }
  absl::StrAppend(&out, "Shares are of floating-point arithmetic instructions in the code, each counted once however often it runs",
                  options.ranges ? "; a-b %: from the least to the most of a row's kernels" : "", ".\n");
  return out;
}

std::string MixJson(const std::vector<MixRow>& rows, const std::vector<KernelMix>& kernels) {
  Json out = {{"rows", Json::array()}};
  for (const MixRow& row : rows) out["rows"].push_back(RowJson(row));
  if (!kernels.empty()) out["kernels"] = Json::array();
  for (const KernelMix& kernel : kernels) out["kernels"].push_back(KernelJson(kernel));
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace samebits::heal
