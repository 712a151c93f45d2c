#include "client/ci/check.h"

#include <gtest/gtest.h>

namespace samebits::ci {
namespace {

using checker::SignatureStatus;

SignedKernel Kernel(const std::string& key, const std::string& signature, const std::string& text = "") {
  SignedKernel kernel{key, key + ".ptx", text};
  checker::Signature s;
  s.status = signature == "?"   ? SignatureStatus::kUnknown
             : signature == "!" ? SignatureStatus::kNondeterministic
                                : SignatureStatus::kOk;
  if (s.status == SignatureStatus::kOk) s.digest = signature;
  s.reason = s.status == SignatureStatus::kOk ? "" : "why " + key;
  kernel.signature = s;
  return kernel;
}

std::vector<std::string> Told(const std::vector<SignedKernel>& a, const std::vector<SignedKernel>& b) {
  std::vector<std::string> out;
  for (const Finding& f : FindChanges(a, b)) out.push_back(f.id + " " + std::string(OutcomeName(f.outcome)) + (f.same_text ? " same text" : ""));
  return out;
}

using Strings = std::vector<std::string>;

TEST(FindChangesTest, JudgesEachKernel) {
  EXPECT_EQ(Told({Kernel("a", "1"), Kernel("b", "1"), Kernel("c", "1"), Kernel("e", "?"), Kernel("f", "1")},
                 {Kernel("a", "1"), Kernel("b", "2"), Kernel("d", "1"), Kernel("e", "1"), Kernel("f", "?")}),
            (Strings{"a equal", "b changed", "c gone", "d new", "e unknown", "f unknown"}));
}

TEST(FindChangesTest, AnArrivalOrderOnOneSideIsAChange) {
  EXPECT_EQ(Told({Kernel("a", "1"), Kernel("b", "!"), Kernel("c", "!")}, {Kernel("a", "!"), Kernel("b", "1"), Kernel("c", "!")}),
            (Strings{"a changed", "b changed", "c unknown"}));
}

TEST(FindChangesTest, TheSameTextIsMarkedButNeverDecidesAlone) {
  EXPECT_EQ(Told({Kernel("a", "?", "t"), Kernel("b", "!", "t"), Kernel("c", "1", "t")}, {Kernel("a", "?", "t"), Kernel("b", "!", "t"), Kernel("c", "1", "t")}),
            (Strings{"a unknown same text", "b unknown same text", "c equal same text"}));
}

TEST(FindChangesTest, KernelsOfOneKeyArePairedByTextThenBySignatureThenInOrder) {
  EXPECT_EQ(Told({Kernel("k", "?", "t"), Kernel("k", "1"), Kernel("k", "2"), Kernel("k", "3")},
                 {Kernel("k", "9"), Kernel("k", "2"), Kernel("k", "1"), Kernel("k", "?", "t")}),
            (Strings{"k (1) unknown same text", "k (2) equal", "k (3) equal", "k (4) changed"}));
  EXPECT_EQ(Told({Kernel("k", "1"), Kernel("k", "1")}, {Kernel("k", "1")}), (Strings{"k (1) equal", "k (2) gone"}));
  EXPECT_EQ(Told({Kernel("k", "1")}, {Kernel("k", "2"), Kernel("k", "1")}), (Strings{"k (1) equal", "k (2) new"}));
}

TEST(FindChangesTest, ReadErrorsAreUnknownWithTheirReason) {
  SignedKernel broken{"a", "a.ptx", ""};
  broken.signature = absl::InvalidArgumentError("a.ptx: 3:4: what is that");
  const std::vector<Finding> findings = FindChanges({Kernel("a", "1")}, {broken});
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].outcome, Outcome::kUnknown);
  EXPECT_EQ(findings[0].reason, "candidate: a.ptx: 3:4: what is that");
}

TEST(CountOutcomesTest, Counts) {
  const Counts counts = CountOutcomes(FindChanges({Kernel("a", "1"), Kernel("b", "1")}, {Kernel("a", "1"), Kernel("c", "1"), Kernel("d", "1")}));
  EXPECT_EQ(counts, (Counts{1, 0, 2, 1, 0}));
}

}  // namespace
}  // namespace samebits::ci
