#include "core/checker/checker.h"

#include "absl/strings/str_cat.h"
#include "core/checker/check.h"
#include "core/checker/difference.h"
#include "core/checker/print.h"
#include "core/checker/witness.h"
#include "core/checker/text.h"
#include "core/isa/amdgcn/parser.h"
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

std::string_view CauseName(Cause cause) {
  switch (cause) {
    case Cause::kNone: return "NONE";
    case Cause::kSignedZero: return "SIGNED_ZERO";
    case Cause::kNanPayload: return "NAN_PAYLOAD";
    case Cause::kApproximateFunction: return "APPROXIMATE_FUNCTION";
    case Cause::kContraction: return "CONTRACTION";
    case Cause::kSpecialValues: return "SPECIAL_VALUES";
    case Cause::kSameTrees: return "SAME_TREES";
    case Cause::kNotEvaluated: return "NOT_EVALUATED";
  }
  return "NONE";
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

namespace {

struct Side {
  std::string_view text;
  const Launch& launch;
};

// Both launches checked with the other answer to whether the sign of zero counts.
struct OtherZero {
  OtherZero(const Side& a, const Side& b, const Options& options)
      : options(Flipped(options)), workspace(options.limits, this->options.ignore_signed_zero),
        first(RunCheck(a.text, a.launch, this->options, &workspace)),
        second(RunCheck(b.text, b.launch, this->options, &workspace)) {}
  static Options Flipped(Options o) {
    o.ignore_signed_zero = !o.ignore_signed_zero;
    return o;
  }
  bool ok() const {
    return first.ok() && second.ok() && (*first)->signature.status == SignatureStatus::kOk &&
           (*second)->signature.status == SignatureStatus::kOk;
  }
  bool equal() const { return ok() && (*first)->signature.digest == (*second)->signature.digest; }
  Options options;
  Workspace workspace;
  absl::StatusOr<std::unique_ptr<Check>> first, second;
};

void FindWitness(const Side& a, const Side& b, const Check& first, const Check& second, Workspace* workspace,
                 const Options& options, Comparison* c) {
  SearchResult found;
  if (!options.ignore_signed_zero) {
    found = SearchWitness(first, second, workspace, options);
    if (!found.witness && OtherZero(a, b, options).equal()) {
      found.cause = Cause::kSignedZero;
      found.cause_text = "the two are equal where the sign of zero does not count";
    }
  } else if (OtherZero exact(a, b, options); exact.ok()) {
    // Trees whose rewrites lose signs of zero have no exact values.
    found = SearchWitness(**exact.first, **exact.second, &exact.workspace, options);
  }
  c->difference->inputs_tried = found.inputs_tried;
  c->difference->cause = found.cause;
  c->difference->cause_text = std::move(found.cause_text);
  c->difference->witness = std::move(found.witness);
  if (c->difference->witness) c->verdict = Verdict::kDifferent;
}

}  // namespace

absl::StatusOr<Comparison> Explain(std::string_view text_a, const Launch& a, std::string_view text_b, const Launch& b,
                                   const Options& options) {
  Workspace workspace(options.limits, options.ignore_signed_zero);
  auto first = RunCheck(text_a, a, options, &workspace);
  if (!first.ok()) return absl::Status(first.status().code(), absl::StrCat("first kernel: ", std::string(first.status().message())));
  auto second = RunCheck(text_b, b, options, &workspace);
  if (!second.ok()) return absl::Status(second.status().code(), absl::StrCat("second kernel: ", std::string(second.status().message())));
  Comparison c = CompareSignatures((*first)->signature, (*second)->signature);
  if (c.verdict != Verdict::kDistinct) return c;
  c.difference = FindDifference(**first, **second, options, &workspace);
  FindWitness({text_a, a}, {text_b, b}, **first, **second, &workspace, options, &c);
  return c;
}

absl::StatusOr<std::string> Inspect(std::string_view text, const Launch& launch, const Options& options) {
  Workspace workspace(options.limits, options.ignore_signed_zero);
  auto check = RunCheck(text, launch, options, &workspace);
  if (!check.ok()) return check.status();
  return DescribeMap(**check, &workspace);
}

namespace {

absl::StatusOr<isa::Module> ParsePtx(std::string_view text, const Limits& limits) {
  isa::ptx::ParseLimits parse_limits;
  parse_limits.max_text_bytes = limits.max_text_bytes;
  return isa::ptx::Parse(std::string(text), parse_limits);
}

}  // namespace

absl::StatusOr<TextInfo> DescribeText(std::string_view text, const Limits& limits) { return DescribeTextAs(text, limits, IsaOf(text)); }

absl::StatusOr<TextInfo> DescribeTextAs(std::string_view text, const Limits& limits, TextIsa isa) {
  if (isa == TextIsa::kDetect) isa = IsaOf(text);
  auto module = isa == TextIsa::kAmdgcn ? ParseText(text, isa, limits) : ParsePtx(text, limits);
  if (!module.ok()) return module.status();
  TextInfo info;
  info.isa = module->amdgcn != nullptr ? "amdgcn" : "ptx";
  info.target = module->target;
  if (module->amdgcn == nullptr) info.version = absl::StrCat(module->version_major, ".", module->version_minor);
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
    if (module->amdgcn != nullptr)
      e.static_shared_bytes = module->amdgcn->kernels[static_cast<size_t>(&f - module->functions.data())].group_segment_bytes;
    for (const isa::Symbol& s : module->symbols)
      if (s.kind == isa::Symbol::Kind::kVariable && s.space == isa::StateSpace::kShared) e.static_shared_bytes += s.size;
    info.entries.push_back(std::move(e));
  }
  return info;
}

}  // namespace samebits::checker
