#include "core/checker/checker.h"

#include "absl/strings/str_cat.h"
#include "core/checker/check.h"
#include "core/checker/difference.h"
#include "core/checker/print.h"
#include "core/isa/ptx/parser.h"

namespace samebits::checker {

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent: return "EQUIVALENT";
    case Verdict::kDifferent: return "DIFFERENT";
    case Verdict::kDistinct: return "DISTINCT";
    case Verdict::kNondeterministic: return "NONDETERMINISTIC";
    case Verdict::kUnknown: return "UNKNOWN";
  }
  return "UNKNOWN";
}

std::string_view StatusName(SignatureStatus status) {
  switch (status) {
    case SignatureStatus::kOk: return "OK";
    case SignatureStatus::kNondeterministic: return "NONDETERMINISTIC";
    case SignatureStatus::kUnknown: return "UNKNOWN";
  }
  return "UNKNOWN";
}

absl::StatusOr<Signature> ComputeSignature(std::string_view text, const Launch& launch, const Options& options) {
  Workspace workspace(options.limits, options.ignore_signed_zero);
  auto check = RunCheck(text, launch, options, &workspace);
  if (!check.ok()) return check.status();
  return std::move((*check)->signature);
}

Comparison CompareSignatures(const Signature& a, const Signature& b) {
  Comparison c;
  c.a = a;
  c.b = b;
  auto decide = [&](SignatureStatus status, Verdict verdict) {
    if (a.status != status && b.status != status) return false;
    const Signature& which = a.status == status ? a : b;
    c.verdict = verdict;
    c.reason = absl::StrCat(a.status == status ? "first" : "second", " kernel: ", which.reason);
    if (which.place.line != 0) absl::StrAppend(&c.reason, " (line ", which.place.line, ")");
    return true;
  };
  if (decide(SignatureStatus::kUnknown, Verdict::kUnknown)) return c;
  if (decide(SignatureStatus::kNondeterministic, Verdict::kNondeterministic)) return c;
  c.verdict = a.digest == b.digest ? Verdict::kEquivalent : Verdict::kDistinct;
  return c;
}

absl::StatusOr<Comparison> Explain(std::string_view text_a, const Launch& a, std::string_view text_b, const Launch& b,
                                   const Options& options) {
  Workspace workspace(options.limits, options.ignore_signed_zero);
  auto first = RunCheck(text_a, a, options, &workspace);
  if (!first.ok()) return absl::Status(first.status().code(), absl::StrCat("first kernel: ", std::string(first.status().message())));
  auto second = RunCheck(text_b, b, options, &workspace);
  if (!second.ok()) return absl::Status(second.status().code(), absl::StrCat("second kernel: ", std::string(second.status().message())));
  Comparison c = CompareSignatures((*first)->signature, (*second)->signature);
  if (c.verdict == Verdict::kDistinct) c.difference = FindDifference(**first, **second, options, &workspace);
  return c;
}

absl::StatusOr<std::string> Inspect(std::string_view text, const Launch& launch, const Options& options) {
  Workspace workspace(options.limits, options.ignore_signed_zero);
  auto check = RunCheck(text, launch, options, &workspace);
  if (!check.ok()) return check.status();
  return DescribeMap(**check, &workspace);
}

absl::StatusOr<TextInfo> DescribeText(std::string_view text, const Limits& limits) {
  isa::ptx::ParseLimits parse_limits;
  parse_limits.max_text_bytes = limits.max_text_bytes;
  auto module = isa::ptx::Parse(std::string(text), parse_limits);
  if (!module.ok()) return module.status();
  TextInfo info;
  info.isa = "ptx";
  info.target = module->target;
  info.version = absl::StrCat(module->version_major, ".", module->version_minor);
  for (const isa::Function& f : module->functions) {
    if (!f.is_entry) continue;
    EntryInfo e;
    e.name = f.name;
    for (const uint32_t p : f.params) {
      const isa::Symbol& s = module->symbols[p];
      ParameterInfo q;
      q.name = s.name;
      q.type = isa::TypeName(s.type);
      const int element = isa::BitWidth(s.type) / 8;
      if (element > 0 && s.size > static_cast<uint64_t>(element)) absl::StrAppend(&q.type, "[", s.size / element, "]");
      q.bytes = static_cast<uint32_t>(s.size);
      q.is_pointer = s.is_pointer;
      e.parameters.push_back(std::move(q));
    }
    if (f.reqntid[0] != 0) e.required_block = Dim3{f.reqntid[0], std::max(1u, f.reqntid[1]), std::max(1u, f.reqntid[2])};
    for (const isa::Symbol& s : module->symbols)
      if (s.kind == isa::Symbol::Kind::kVariable && s.space == isa::StateSpace::kShared) e.static_shared_bytes += s.size;
    info.entries.push_back(std::move(e));
  }
  return info;
}

}  // namespace samebits::checker
