// Texts that are equal up to names and debug lines are found without executing; nothing else is.

#include "core/checker/memo.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/isa/fingerprint.h"
#include "core/isa/ptx/parser.h"
#include "core/isa/ptx/rename.h"
#include "gtest/gtest.h"
#include "tests/support/pairs/golden.h"
#include "tests/support/pairs/pairs.h"

namespace samebits::checker {
namespace {

bool Executed(const Signature& s) { return s.times.execute > 0 && s.nodes > 0; }

absl::StatusOr<Digest128> FingerprintOf(const std::string& text) {
  const auto module = isa::ptx::Parse(text, {});
  if (!module.ok()) return module.status();
  return isa::Fingerprint(*module, module->FindEntry(""));
}

TEST(MemoTest, FindsRenamedTexts) {
  for (const GoldenKernel& k : ReadGoldenKernels(SAMEBITS_SOURCE_DIR)) {
    SignatureMemo memo;
    const auto first = ComputeSignature(k.text, k.launch, {}, &memo);
    ASSERT_TRUE(first.ok()) << k.name << first.status();
    EXPECT_TRUE(Executed(*first));
    const auto plain = ComputeSignature(k.text, k.launch);
    EXPECT_EQ(first->digest, plain->digest);
    const auto again = ComputeSignature(isa::ptx::RenameRegistersAndLabels(k.text, 5), k.launch, {}, &memo);
    ASSERT_TRUE(again.ok()) << k.name << again.status();
    EXPECT_EQ(Executed(*again), first->status != SignatureStatus::kOk) << k.name;
    EXPECT_EQ(again->digest, first->digest);
    EXPECT_EQ(again->assumptions, first->assumptions);
    EXPECT_EQ(again->output_bytes, first->output_bytes);
    EXPECT_GT(again->times.parse, 0);
  }
}

TEST(MemoTest, DebugLinesCommentsAndNamesOfVariablesDoNotCount) {
  const std::string text = Kernel("ld.global.f32 %f0, [%rd4];\nst.global.f32 [%rd6], %f0;\n");
  const std::string body = "ld.global.f32 %f0, [%rd4];\n";
  const auto with = [&](const std::string& line) { return absl::StrReplaceAll(text, {{body, absl::StrCat(line, body)}}); };
  const auto plain = FingerprintOf(text);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(*FingerprintOf(with("// a comment\n\n")), *plain);
  EXPECT_EQ(*FingerprintOf(absl::StrCat(with(".loc 1 7 3\n"), ".file 1 \"other.cu\"\n")), *plain);
  const auto variable = [&](const std::string& name, int bytes) {
    return FingerprintOf(with(absl::StrCat(".shared .align 4 .b8 ", name, "[", bytes, "];\nst.shared.u32 [", name, "], 1;\n")));
  };
  EXPECT_EQ(*variable("u", 16), *variable("v", 16));
  EXPECT_NE(*variable("u", 16), *variable("u", 32));
}

TEST(MemoTest, EveryInstructionCounts) {
  int tried = 0;
  for (const GoldenKernel& k : ReadGoldenKernels(SAMEBITS_SOURCE_DIR)) {
    if (k.text.size() > 12000) continue;
    const auto whole = FingerprintOf(k.text);
    ASSERT_TRUE(whole.ok()) << k.name;
    std::vector<std::string> lines = absl::StrSplit(k.text, '\n');
    for (size_t i = 0; i < lines.size(); ++i) {
      const absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
      if (absl::StartsWith(line, "/") || absl::StartsWith(line, ".") || !absl::StrContains(line, ";")) continue;
      const std::string kept = std::exchange(lines[i], "");
      const auto without = FingerprintOf(absl::StrJoin(lines, "\n"));
      lines[i] = kept;
      if (!without.ok()) continue;
      EXPECT_NE(*without, *whole) << k.name << " line " << i + 1 << ": " << kept;
      ++tried;
    }
  }
  EXPECT_GT(tried, 200);
}

TEST(MemoTest, OperandsModifiersAndForeignNamesCount) {
  const std::string load = "ld.global.f32 %f0, [%rd4];\n", store = "st.global.f32 [%rd6], %f0;\n";
  const auto of = [&](const std::string& middle) {
    const auto f = FingerprintOf(Kernel(absl::StrCat(load, middle, store)));
    EXPECT_TRUE(f.ok()) << middle << f.status();
    return f.ok() ? *f : Digest128{};
  };
  const std::vector<std::string> middles = {
      "",
      "add.f32 %f0, %f0, 0f3F800000;\n",
      "add.f32 %f0, %f0, 0f3F800001;\n",
      "add.rn.f32 %f0, %f0, 0f3F800000;\n",
      "add.rn.ftz.f32 %f0, %f0, 0f3F800000;\n",
      "sub.rn.f32 %f0, %f0, 0f3F800000;\n",
      "add.rn.f32 %f1, %f0, 0f3F800000;\n",
      "neg.f32 %f0, %f0;\n",
      "mov.b32 %f0, %tid.x;\n",
      "mov.b32 %f0, %tid.y;\n",
      "mov.b32 %f0, %envreg1;\n",
      "mov.b32 %f0, %envreg2;\n",
  };
  for (size_t i = 0; i < middles.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(of(middles[i]), of(middles[j])) << middles[i] << middles[j];
  const auto calls = [&](const std::string& name) {
    return FingerprintOf(
        Kernel(absl::StrCat(load, "call ", name, ";\n", store), "sm_80", absl::StrCat(".extern .func ", name, ";\n")));
  };
  ASSERT_TRUE(calls("one").ok()) << calls("one").status();
  EXPECT_NE(*calls("one"), *calls("two"));
}

TEST(MemoTest, LaunchAndOptionsCount) {
  const auto module = isa::ptx::Parse(Kernel("st.global.u32 [%rd6], 7;\n"), {});
  ASSERT_TRUE(module.ok());
  std::vector<Launch> launches(11, FrameLaunch());
  launches[1].block = {64, 1, 1};
  launches[2].grid = Dim3{2, 1, 1};
  launches[3].grid = std::nullopt;
  launches[4].shared_bytes = 64;
  for (size_t i = 5; i < launches.size(); ++i) launches[i].args = std::vector<Argument>(3);
  const auto argument = [&](size_t i) -> Argument& { return launches[i].args->at(1); };
  argument(6).kind = Argument::Kind::kPointer;
  argument(7) = argument(6);
  argument(7).buffer = "b";
  argument(8).kind = argument(9).kind = Argument::Kind::kInteger;
  argument(9).bits = 1;
  argument(10).kind = Argument::Kind::kBytes;
  argument(10).bytes = {1};
  launches.push_back(launches[10]);
  argument(11).bytes = {2};
  launches.push_back(launches[7]);
  launches[12].outputs = {"b"};
  Options no_zero_sign, strict;
  no_zero_sign.ignore_signed_zero = true;
  strict.strict_contraction = true;
  SignatureMemo memo;
  Signature ok;
  ok.status = SignatureStatus::kOk;
  size_t kept = 0;
  for (const Options& options : {Options(), no_zero_sign, strict}) {
    for (const Launch& launch : launches) {
      const Digest128 key = SignatureMemo::KeyOf(*module, 0, launch, options);
      EXPECT_EQ(memo.Find(key), nullptr) << kept;
      memo.Keep(key, ok);
      EXPECT_NE(memo.Find(key), nullptr) << kept;
      EXPECT_EQ(memo.size(), ++kept);
    }
  }
}

TEST(MemoTest, KeepsNoOtherStatusAndNoMoreThanItsCapacity) {
  SignatureMemo memo(2);
  const std::string unknown = Kernel("mov.b32 %f0, %envreg1;\nst.global.f32 [%rd6], %f0;\n");
  ASSERT_EQ(ComputeSignature(unknown, FrameLaunch(), {}, &memo)->status, SignatureStatus::kUnknown);
  EXPECT_EQ(memo.size(), 0);
  for (int i = 0; i < 5; ++i) {
    ComputeSignature(Kernel(absl::StrCat("st.global.u32 [%rd6], ", i, ";\n")), FrameLaunch(), {}, &memo).IgnoreError();
    EXPECT_LE(memo.size(), 2);
  }
}

TEST(MemoTest, BlocksKeepToWhatTheKernelSaysOfThem) {
  std::string text = Kernel("st.global.u32 [%rd6], 7;\n");
  const size_t body = text.find(")\n{", text.find(".entry"));
  ASSERT_NE(body, std::string::npos);
  text.insert(body + 1, "\n.maxntid 8, 4, 1");
  Launch launch = FrameLaunch();
  launch.block = {32, 1, 1};
  EXPECT_TRUE(ComputeSignature(text, launch).ok());
  launch.block = {33, 1, 1};
  EXPECT_TRUE(absl::IsInvalidArgument(ComputeSignature(text, launch).status()));
}

TEST(MemoTest, ErrorsAreThoseOfTheLaunch) {
  SignatureMemo memo;
  const std::string text = Kernel("st.global.u32 [%rd6], 7;\n");
  ASSERT_TRUE(ComputeSignature(text, FrameLaunch(), {}, &memo).ok());
  Launch wrong = FrameLaunch();
  wrong.entry = "other";
  EXPECT_TRUE(absl::IsInvalidArgument(ComputeSignature(text, wrong, {}, &memo).status()));
  wrong = FrameLaunch();
  wrong.args.emplace(1);
  EXPECT_TRUE(absl::IsInvalidArgument(ComputeSignature(text, wrong, {}, &memo).status()));
}

}  // namespace
}  // namespace samebits::checker
