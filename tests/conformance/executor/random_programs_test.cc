// Random kernels: what the checker's map evaluates to must be what the direct interpreter writes.

#include <cstdlib>
#include <iostream>
#include <map>

#include "gtest/gtest.h"
#include "tests/support/evaluation/evaluation.h"
#include "tests/support/generator/edit.h"
#include "tests/support/generator/generator.h"

namespace samebits {
namespace {

using evaluation::EvaluateLaunch;
using evaluation::InterpretLaunch;

enum class Result { kEqual, kMismatch, kNoSignature, kUndefined, kNotEvaluated };

struct Verdict {
  Result result = Result::kEqual;
  std::string detail;
};

Verdict Try(const generator::Program& program) {
  const std::string text = program.Text();
  const auto evaluated = EvaluateLaunch(text, program.launch, program.contents);
  if (!evaluated.ok()) return {Result::kNotEvaluated, evaluated.status().ToString()};
  if (evaluated->signature.status != checker::SignatureStatus::kOk)
    return {Result::kNoSignature, evaluated->signature.reason_code + ": " + evaluated->signature.reason};
  const auto interpreted = InterpretLaunch(text, program.launch, program.contents);
  if (!interpreted.ok()) return {Result::kUndefined, interpreted.status().ToString()};
  const std::string mismatch = FirstMismatch(evaluated->outcome, *interpreted);
  if (!mismatch.empty()) return {Result::kMismatch, mismatch};
  return {};
}

// Leaves out every statement without which the result stays the same.
void Shrink(generator::Program& program, Result result) {
  for (bool again = true; again;) {
    again = false;
    for (generator::Statement* s : program.AllStatements()) {
      if (s->removed) continue;
      s->removed = true;
      if (Try(program).result == result)
        again = true;
      else
        s->removed = false;
    }
  }
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// SAMEBITS_RANDOM_PROGRAMS sets how many, SAMEBITS_RANDOM_SEED where they begin.
TEST(RandomPrograms, EvaluatedMapIsWhatTheInterpreterWrites) {
  const uint64_t count = FromEnvironment("SAMEBITS_RANDOM_PROGRAMS", 2000),
                 first = FromEnvironment("SAMEBITS_RANDOM_SEED", 1);
  std::map<Result, uint64_t> results;
  std::map<std::string, uint64_t> reasons;
  int shown = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    generator::Program program = generator::Generate(seed);
    const Verdict verdict = Try(program);
    ++results[verdict.result];
    if (verdict.result == Result::kNoSignature) ++reasons[verdict.detail];
    if (verdict.result == Result::kUndefined)
      ++reasons["undefined: " + verdict.detail.substr(0, verdict.detail.find(':'))];
    if (verdict.result != Result::kMismatch && verdict.result != Result::kNotEvaluated) continue;
    if (++shown > static_cast<int>(FromEnvironment("SAMEBITS_RANDOM_SHOWN", 5))) continue;
    Shrink(program, verdict.result);
    ADD_FAILURE() << "seed " << seed << ": " << verdict.detail << "\nshrunk: " << Try(program).detail << "\n"
                  << program.Text();
  }
  std::cout << "programs from seed " << first << ": " << results[Result::kEqual] << " equal, "
            << results[Result::kMismatch] << " not, " << results[Result::kNoSignature] << " without signature, "
            << results[Result::kUndefined] << " undefined, " << results[Result::kNotEvaluated] << " not evaluated\n";
  for (const auto& [reason, n] : reasons) std::cout << "  " << n << " " << reason << "\n";
  EXPECT_EQ(results[Result::kMismatch], 0u);
  EXPECT_EQ(results[Result::kNotEvaluated], 0u);
  EXPECT_GE(results[Result::kEqual] * 2, count);
}

// The program with a statement left out or one line edited. Types stay: others would bring f64 NaNs, whose patterns are
// open.
std::string Changed(generator::Program program, uint64_t seed) {
  generator::Random random(seed);
  if (random.OneIn(2)) {
    random.Pick(program.AllStatements())->removed = true;
    return program.Text();
  }
  static constexpr uint32_t kEdits[] = {1, 3, 3, 3, 6, 6};
  std::vector<std::string> lines = generator::Lines(program.Text());
  generator::Edit(static_cast<uint32_t>(random.Next()) << 3 | random.Pick(kEdits), &lines);
  return generator::Join(lines);
}

// A kernel and a changed copy: where their signatures are equal, so are the bytes that they write.
TEST(RandomPrograms, EqualSignaturesMeanEqualBytes) {
  const uint64_t count = FromEnvironment("SAMEBITS_RANDOM_PROGRAMS", 2000) / 2;
  const uint64_t first = FromEnvironment("SAMEBITS_RANDOM_SEED", 1);
  uint64_t equal = 0, distinct = 0, without = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const generator::Program program = generator::Generate(seed);
    const std::string text = program.Text(), changed = Changed(program, ~seed);
    const auto a = checker::ComputeSignature(text, program.launch),
               b = checker::ComputeSignature(changed, program.launch);
    const bool known =
        a.ok() && b.ok() && a->status == checker::SignatureStatus::kOk && b->status == checker::SignatureStatus::kOk;
    if (!known || a->digest != b->digest) {
      ++(known ? distinct : without);
      continue;
    }
    ++equal;
    const auto x = InterpretLaunch(text, program.launch, program.contents);
    const auto y = InterpretLaunch(changed, program.launch, program.contents);
    if (!x.ok() || !y.ok()) continue;  // undefined by the ISA
    const std::string mismatch = FirstMismatch(*x, *y);
    EXPECT_EQ(mismatch, "") << "seed " << seed << "\n" << text << "\n----\n" << changed;
    if (!mismatch.empty()) break;
  }
  std::cout << "pairs from seed " << first << ": " << equal << " of one signature, " << distinct << " of two, "
            << without << " without\n";
  EXPECT_GE(equal * 10, count);
  EXPECT_GE(distinct * 10, count);
}

}  // namespace
}  // namespace samebits
