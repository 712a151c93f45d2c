#ifndef SAMEBITS_TESTS_SUPPORT_FAKE_CHECKER_H_
#define SAMEBITS_TESTS_SUPPORT_FAKE_CHECKER_H_

// A checker whose answers and delays tests control.

#include <atomic>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/registry/checker_backend.h"
#include "server/registry/digest.h"
#include "server/registry/errors.h"

namespace samebits::server {

// Words in a text decide: "nondeterministic", "unknown" and "invalid" are the outcome; "wait" holds the check until
// Release or cancellation; "sleep" takes 20 ms. Other texts are OK, with a digest of their first word, so that texts
// with equal first words are equivalent. Each text has one entry "k" of a pointer, an f32 and an f64.
class FakeChecker : public CheckerBackend {
 public:
  int SignatureVersion() const override { return version; }

  absl::StatusOr<checker::TextInfo> DescribeText(std::string_view text, const checker::Limits&) const override {
    ++describes;
    if (Has(text, "invalid")) return SyntaxError();
    return checker::TextInfo{"ptx",
                             "sm_80",
                             "8.0",
                             {{"k", {{"p", "u64", 8, true}, {"x", "f32", 4, false}, {"y", "f64", 8, false}}, {}, 64}}};
  }

  absl::StatusOr<checker::Signature> ComputeSignature(std::string_view text, const checker::Launch& launch,
                                                      const checker::Options& options) const override {
    ++runs;
    if (Has(text, "invalid")) return SyntaxError();
    if (!launch.entry.empty() && launch.entry != "k")
      return WithDetail(absl::InvalidArgumentError("no entry " + launch.entry), "INVALID_LAUNCH", {});
    if (Has(text, "sleep")) absl::SleepFor(absl::Milliseconds(20));
    if (Has(text, "wait")) Wait(options);
    checker::Signature signature;
    signature.times = {1, 2, 3};
    signature.assumptions = {"distinct pointers do not alias"};
    if (options.cancelled != nullptr && *options.cancelled) {
      ++cancelled;
      signature.reason = "cancelled";
      signature.reason_code = "CANCELLED";
    } else if (Has(text, "nondeterministic")) {
      signature.status = checker::SignatureStatus::kNondeterministic;
      signature.reason = "two threads add";
      signature.reason_code = "FLOAT_ATOMIC";
    } else if (Has(text, "unknown")) {
      signature.reason = "not modelled";
      signature.reason_code = "UNMODELLED_INSTRUCTION";
      signature.place = {7, 3, "tex.2d", ""};
    } else {
      signature.status = checker::SignatureStatus::kOk;
      const std::string_view word = text.substr(0, text.find(' '));
      signature.digest = DigestHex(ContentDigest(absl::StrCat(absl::string_view(word.data(), word.size()),
                                                              options.ignore_signed_zero)))
                             .substr(0, 32);
    }
    return signature;
  }

  checker::Comparison CompareSignatures(const checker::Signature& a, const checker::Signature& b) const override {
    using checker::SignatureStatus;
    using checker::Verdict;
    checker::Comparison comparison;
    comparison.a = a;
    comparison.b = b;
    if (a.status == SignatureStatus::kUnknown || b.status == SignatureStatus::kUnknown) {
      comparison.reason = "unknown side";
    } else if (a.status == SignatureStatus::kNondeterministic || b.status == SignatureStatus::kNondeterministic) {
      comparison.verdict = Verdict::kNondeterministic;
    } else {
      comparison.verdict = a.digest == b.digest ? Verdict::kEquivalent : Verdict::kDistinct;
    }
    return comparison;
  }

  absl::StatusOr<checker::Comparison> Explain(std::string_view text_a, const checker::Launch& a,
                                              std::string_view text_b, const checker::Launch& b,
                                              const checker::Options& options) const override {
    const auto signature_a = ComputeSignature(text_a, a, options), signature_b = ComputeSignature(text_b, b, options);
    if (!signature_a.ok()) return signature_a.status();
    if (!signature_b.ok()) return signature_b.status();
    checker::Comparison comparison = CompareSignatures(*signature_a, *signature_b);
    if (comparison.verdict == checker::Verdict::kDistinct)
      comparison.difference = checker::Difference{"the sums part", "p", 4, {"a + b", "add.f32", {3, 1, "add", ""}},
                                                  {"b * a", "mul.f32", {}}};
    return comparison;
  }

  // Lets all checks that wait, now or later, go on.
  void Release() {
    absl::MutexLock lock(&mutex_);
    released_ = true;
  }
  // Until `count` checks have begun.
  bool AwaitRuns(int count) const {
    const absl::Time limit = absl::Now() + absl::Seconds(20);
    while (runs < count && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(1));
    return runs >= count;
  }

  int version = 1;
  mutable std::atomic<int> runs{0}, cancelled{0}, describes{0};

 private:
  static bool Has(std::string_view text, const char* word) {
    return absl::StrContains(absl::string_view(text.data(), text.size()), word);
  }
  static absl::Status SyntaxError() {
    return WithDetail(absl::InvalidArgumentError("2:5: unexpected token: 'invalid'"), "PTX_SYNTAX",
                      {{"line", "2"}, {"column", "5"}, {"fragment", "invalid"}});
  }
  void Wait(const checker::Options& options) const {
    while (options.cancelled == nullptr || !*options.cancelled) {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&released_), absl::Milliseconds(1))) return;
    }
  }

  mutable absl::Mutex mutex_;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace samebits::server

#endif  // SAMEBITS_TESTS_SUPPORT_FAKE_CHECKER_H_
