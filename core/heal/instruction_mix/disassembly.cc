#include "core/heal/instruction_mix/disassembly.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string OfDigits(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return std::string(text.substr(0, end));
}

bool IsHex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// Takes the first word off `text`.
std::string_view TakeWord(std::string_view* text) {
  *text = Trim(*text);
  const std::string_view word = text->substr(0, text->find_first_of(kSpace));
  text->remove_prefix(word.size());
  return word;
}

bool IsOpcode(std::string_view word, bool upper) {
  if (word.empty() || word.size() > 96) return false;
  const char first = upper ? 'A' : 'a';
  if (word[0] < first || word[0] > first + 25) return false;
  return std::all_of(word.begin(), word.end(), [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_' || c == '.';
  });
}

// "0000000000000100 <mm>:" -> "mm".
std::string_view SymbolOf(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || !IsHex(line.substr(0, space))) return {};
  const std::string_view rest = line.substr(space + 1);
  return rest.starts_with('<') && rest.ends_with(">:") ? rest.substr(1, rest.size() - 3) : std::string_view();
}

}  // namespace

bool IsTarget(std::string_view target, std::string_view wanted) {
  if (wanted.empty() || target.empty() || target == wanted) return true;
  return target.starts_with(wanted) && target.size() == wanted.size() + 1 && 'a' <= target.back() && target.back() <= 'z' &&
         wanted.starts_with("sm_");
}

bool IsKernel(const MixFilter& filter, const std::string& kernel) {
  return !filter.kernel || filter.kernel(kernel) || filter.kernel(ReadableName(kernel));
}

DisassemblyReader::DisassemblyReader(std::string module, std::string target, const MixFilter& filter)
    : module_(std::move(module)), filter_(filter), target_(std::move(target)) {}

absl::Status DisassemblyReader::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (end == std::string_view::npos || !rest_.empty()) {
      rest_.append(part.substr(0, std::min(part.size(), kMostLine - std::min(kMostLine, rest_.size()))));
    }
    if (end == std::string_view::npos) break;
    const absl::Status status = Line(rest_.empty() ? part.substr(0, kMostLine) : std::string_view(rest_));
    rest_.clear();
    if (!status.ok()) return status;
    bytes.remove_prefix(end + 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<KernelMix>> DisassemblyReader::Finish() {
  if (!rest_.empty()) {
    const absl::Status status = Line(rest_);
    rest_.clear();
    if (!status.ok()) return status;
  }
  Close();
  return std::move(done_);
}

void DisassemblyReader::Open(Dialect dialect, std::string_view name) {
  Close();
  dialect_ = dialect;
  kernel_.kernel = std::string(name.substr(0, kMostKernelName));
  kernel_.target = target_;
  kernel_.module = module_;
  counted_ = IsTarget(target_, filter_.target) && IsKernel(filter_, kernel_.kernel);
}

void DisassemblyReader::Close() {
  if (dialect_ != Dialect::kNone && seen_) {
    ++kernels_seen_;
    if (counted_) done_.push_back(std::move(kernel_));
  }
  kernel_ = KernelMix();
  dialect_ = Dialect::kNone;
  counted_ = seen_ = false;
}

// Lines that say what follows.
bool DisassemblyReader::Heading(std::string_view line) {
  const auto after = [&](std::string_view start) { return Trim(line.substr(start.size())); };
  if (line.starts_with("Function :")) {
    Open(Dialect::kSass, after("Function :"));
  } else if (line.starts_with(".text.") && line.ends_with(':')) {
    Open(Dialect::kSass, line.substr(6, line.size() - 7));
  } else if (line.starts_with(".section\t") || line.starts_with(".section ")) {
    Close();
    // Code that a library made while it ran has no label of that name.
    const std::string_view name = Trim(line.substr(8));
    if (name.starts_with(".text.")) Open(Dialect::kSass, name.substr(6, name.find(',') - 6));
  } else if (const size_t flag = line.find("EF_CUDA_SM"); line.starts_with(".headerflags") && flag != line.npos) {
    if (target_.empty()) {
      const std::string_view number = line.substr(flag + 10);
      target_ = absl::StrCat("sm_", OfDigits(number.substr(0, 3)));
    }
  } else if (line.starts_with("code for sm_")) {
    Close();
    target_ = std::string(after("code for ").substr(0, 16));
  } else if (line.starts_with(".target")) {
    target_ = std::string(after(".target").substr(0, 16));
  } else if (line.starts_with("Disassembly of section")) {
    Close();
  } else if (const std::string_view symbol = SymbolOf(line); !symbol.empty()) {
    Open(Dialect::kAmdgcn, symbol);
  } else {
    return false;
  }
  return true;
}

absl::Status DisassemblyReader::Line(std::string_view line) {
  const bool indented = !line.empty() && (line[0] == ' ' || line[0] == '\t');
  line = Trim(line);
  if (line.empty() || Heading(line)) return absl::OkStatus();
  switch (dialect_) {
    case Dialect::kNone: return absl::OkStatus();
    case Dialect::kSass: return SassLine(line);
    case Dialect::kAmdgcn: return indented ? AmdgcnLine(line) : absl::OkStatus();
  }
  return absl::OkStatus();
}

// "/*0070*/  @P2 BRA 0x150 ;  /* 0x0000000000342947 */"; older targets pair instructions in braces.
absl::Status DisassemblyReader::SassLine(std::string_view line) {
  if (line.starts_with('{')) line = Trim(line.substr(1));
  if (!line.starts_with("/*")) return absl::OkStatus();
  const size_t end = line.find("*/");
  if (end == std::string_view::npos || !IsHex(line.substr(2, end - 2))) return absl::OkStatus();
  line = Trim(line.substr(end + 2));
  if (line.starts_with('{')) line = Trim(line.substr(1));
  if (line.starts_with('@')) TakeWord(&line);
  line = line.substr(0, line.find(';'));
  const std::string_view opcode = TakeWord(&line);
  if (!IsOpcode(opcode, true)) return absl::OkStatus();
  return Count(opcode, ClassifySass(opcode, Trim(line)));
}

// "v_exp_f32_e32 v2, v2  // 000000000034: 7E044102"; "a :: b" issues two.
absl::Status DisassemblyReader::AmdgcnLine(std::string_view line) {
  line = line.substr(0, line.find("//"));
  if (line.starts_with(".long") || line.starts_with("<unknown>")) return Count("unknown", InstructionClass::kUnrecognized);
  while (!line.empty()) {
    const size_t split = line.find("::");
    std::string_view one = line.substr(0, split);
    line.remove_prefix(split == std::string_view::npos ? line.size() : split + 2);
    const std::string_view opcode = TakeWord(&one);
    if (!IsOpcode(opcode, false)) continue;
    const absl::Status status = Count(WithoutEncoding(opcode), ClassifyAmdgcn(opcode));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DisassemblyReader::Count(std::string_view opcode, InstructionClass kind) {
  seen_ = true;
  if (!counted_) return absl::OkStatus();
  if (kernel_.instructions == 0 && done_.size() >= kMostKernels) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kMostKernels, " kernels in ", module_, ": name fewer (--match)"));
  }
  ++kernel_.opcodes[{std::string(opcode), kind}];
  if (kernel_.opcodes.size() > kMostOpcodesOfKernel) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kMostOpcodesOfKernel, " different opcodes in kernel ",
                                                     kernel_.kernel.substr(0, 100), " of ", module_, ": no disassembly?"));
  }
  ++kernel_.per_class[static_cast<size_t>(kind)];
  ++kernel_.instructions;
  return absl::OkStatus();
}

}  // namespace samebits::heal
