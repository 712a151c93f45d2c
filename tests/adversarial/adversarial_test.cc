// Every pair of the table gets an allowed answer from the checker, and the interpreter bears the expectations out.

#include <algorithm>
#include <cctype>
#include <string>

#include "gtest/gtest.h"
#include "tests/adversarial/pair_table.h"
#include "tests/adversarial/run_side.h"

namespace samebits::adversarial {
namespace {

const absl::StatusOr<std::vector<Pair>>& Loaded() {
  static const auto* loaded = new auto(LoadPairs(SAMEBITS_SOURCE_DIR "/tests/adversarial"));
  return *loaded;
}

std::vector<Pair> Table() { return Loaded().ok() ? *Loaded() : std::vector<Pair>(); }

std::string TestName(const testing::TestParamInfo<Pair>& info) {
  std::string name = info.param.name;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

std::string Answer(checker::Verdict verdict) {
  const bool parted = verdict == checker::Verdict::kDifferent || verdict == checker::Verdict::kDistinct;
  return parted ? "NOT_EQUIVALENT" : std::string(checker::VerdictName(verdict));
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " or ") + word;
  return text;
}

class AdversarialPair : public testing::TestWithParam<Pair> {};

TEST_P(AdversarialPair, GetsAnAllowedAnswer) {
  const Pair& pair = GetParam();
  const auto a = checker::ComputeSignature(pair.a.text, pair.a.launch);
  ASSERT_TRUE(a.ok()) << a.status();
  const auto b = checker::ComputeSignature(pair.b.text, pair.b.launch);
  ASSERT_TRUE(b.ok()) << b.status();
  const std::string answer = Answer(checker::CompareSignatures(*a, *b).verdict);
  if (!pair.known.empty()) {
    EXPECT_EQ(answer, pair.known) << pair.name << ": the answer has changed; take the mark \"known\" away if it is right";
    return;
  }
  EXPECT_TRUE(std::find(pair.allowed.begin(), pair.allowed.end(), answer) != pair.allowed.end())
      << pair.name << ": " << answer << ", expected " << Joined(pair.allowed) << "\n  a: " << a->reason
      << "\n  b: " << b->reason;
}

// What must hold of the bytes: equal on every draw, or different on one. Pairs with further answers say nothing about
// bytes, for the interpreter takes one order of the threads, and pairs with an open grid cannot run.
TEST_P(AdversarialPair, ExpectationHoldsInTheInterpreter) {
  const Pair& pair = GetParam();
  const bool equal = pair.allowed == std::vector<std::string>{"EQUIVALENT"};
  const bool parted = pair.allowed == std::vector<std::string>{"NOT_EQUIVALENT"} && pair.has_witness;
  if ((!equal && !parted) || !pair.a.launch.grid || !pair.b.launch.grid) GTEST_SKIP() << "no claim about bytes";
  bool differs = false, approximate = false;
  for (int draw = 0; draw < kRandomDraws + static_cast<int>(pair.fills.size()); ++draw) {
    const auto a = RunSide(pair, pair.a, draw);
    ASSERT_TRUE(a.ok()) << "a: " << a.status();
    const auto b = RunSide(pair, pair.b, draw);
    ASSERT_TRUE(b.ok()) << "b: " << b.status();
    differs |= !(*a == *b);
    approximate |= a->approximate || b->approximate;
    ASSERT_TRUE(!equal || *a == *b) << pair.name << ": bytes differ on draw " << draw;
    if (parted && differs) return;
  }
  if (parted && approximate) GTEST_SKIP() << "approximate instructions: only a device can show it";
  EXPECT_TRUE(!parted || differs) << pair.name << ": no draw tells them apart";
}

INSTANTIATE_TEST_SUITE_P(Table, AdversarialPair, testing::ValuesIn(Table()), TestName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdversarialPair);

TEST(AdversarialTable, IsThere) {
  ASSERT_TRUE(Loaded().ok()) << Loaded().status();
  EXPECT_GE(Table().size(), 150u);
}

}  // namespace
}  // namespace samebits::adversarial
