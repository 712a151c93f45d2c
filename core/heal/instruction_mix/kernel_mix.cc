#include "core/heal/instruction_mix/kernel_mix.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>

namespace samebits::heal {
namespace {

constexpr size_t kMostMangled = 2048;

bool IsShown(InstructionClass kind) {
  return IsArithmetic(kind) || kind == InstructionClass::kConversion || kind == InstructionClass::kCompare ||
         kind == InstructionClass::kConstant || kind == InstructionClass::kUnrecognized;
}

using Range = std::map<std::pair<std::string, InstructionClass>, OpcodeRange>;

// A kernel that lacks an opcode has a share of 0 of it, so ranges need all kernels of a row.
void AddShares(const std::vector<const KernelMix*>& kernels, Range* ranges) {
  for (const KernelMix* kernel : kernels) {
    for (const auto& [key, count] : kernel->opcodes) {
      if (!IsShown(key.second)) continue;
      OpcodeRange& range = (*ranges)[key];
      range.opcode = key.first;
      range.kind = key.second;
      range.count += count;
    }
  }
  for (auto& [key, range] : *ranges) {
    bool first = true;
    for (const KernelMix* kernel : kernels) {
      const int64_t arithmetic = kernel->Arithmetic();
      if (arithmetic == 0) continue;
      const auto it = kernel->opcodes.find(key);
      const double share = it == kernel->opcodes.end() ? 0 : static_cast<double>(it->second) / static_cast<double>(arithmetic);
      range.least = first ? share : std::min(range.least, share);
      range.most = std::max(range.most, share);
      first = false;
    }
  }
}

MixRow MakeRow(const std::string& name, const std::vector<const KernelMix*>& kernels) {
  MixRow row;
  row.name = name;
  bool first = true;
  for (const KernelMix* kernel : kernels) {
    const int64_t arithmetic = kernel->Arithmetic(), conversions = kernel->Of(InstructionClass::kConversion);
    ++row.kernels;
    row.instructions += kernel->instructions;
    row.arithmetic += arithmetic;
    row.conversions += conversions;
    row.unrecognized += kernel->Of(InstructionClass::kUnrecognized);
    for (size_t i = 0; i < row.per_class.size(); ++i) row.per_class[i] += kernel->per_class[i];
    if (arithmetic == 0) {
      ++row.without_arithmetic;
      continue;
    }
    const double ratio = static_cast<double>(conversions) / static_cast<double>(arithmetic);
    row.least_conversions = first ? ratio : std::min(row.least_conversions, ratio);
    row.most_conversions = std::max(row.most_conversions, ratio);
    first = false;
  }
  Range ranges;
  AddShares(kernels, &ranges);
  for (auto& [key, range] : ranges) row.opcodes.push_back(std::move(range));
  std::stable_sort(row.opcodes.begin(), row.opcodes.end(), [](const OpcodeRange& a, const OpcodeRange& b) {
    return std::tuple(a.kind, -a.count) < std::tuple(b.kind, -b.count);
  });
  return row;
}

}  // namespace

int64_t KernelMix::Arithmetic() const {
  int64_t sum = 0;
  for (int i = 0; i < kInstructionClasses; ++i)
    if (IsArithmetic(static_cast<InstructionClass>(i))) sum += per_class[i];
  return sum;
}

std::string ReadableName(const std::string& kernel) {
  if (!kernel.starts_with("_Z") || kernel.size() > kMostMangled) return kernel;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(kernel.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : kernel;
}

std::string ReadableNameWithin(const std::string& kernel, size_t most) {
  // Two repetitions of what came before can double a name. "St", "Sa", ... are words, not repetitions.
  size_t bound = kernel.size(), repetitions = 0;
  for (size_t i = 0; i + 1 < kernel.size(); ++i) {
    const char next = kernel[i + 1];
    const bool counted = next == '_' || ('0' <= next && next <= '9') || ('A' <= next && next <= 'Z');
    if ((kernel[i] == 'S' || kernel[i] == 'T') && counted && ++repetitions % 2 == 0) bound *= 2;
    if (bound > most) return kernel;
  }
  std::string readable = ReadableName(kernel);
  return readable.size() > most ? kernel : readable;
}

std::vector<MixRow> MakeRows(const std::vector<KernelMix>& kernels,
                             const std::function<std::string(const KernelMix&)>& row_of) {
  std::map<std::string, std::vector<const KernelMix*>> grouped;
  for (const KernelMix& kernel : kernels) grouped[row_of(kernel)].push_back(&kernel);
  std::vector<MixRow> rows;
  for (const auto& [name, members] : grouped) rows.push_back(MakeRow(name, members));
  return rows;
}

}  // namespace samebits::heal
