#include "tests/support/pairs/pairs.h"

#include "gtest/gtest.h"

namespace samebits::checker {

std::string Kernel(std::string_view body, std::string_view target, std::string_view functions) {
  std::string text = ".version 8.3\n.target " + std::string(target) + "\n.address_size 64\n" + std::string(functions) + R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 o)
{
.reg .pred %p<32>;
.reg .b16 %h<32>;
.reg .b32 %r<32>;
.reg .b64 %rd<32>;
.reg .f32 %f<32>;
.reg .f64 %d<32>;
.shared .align 1024 .b8 s[4096];
ld.param.u64 %rd0, [a];
ld.param.u64 %rd1, [b];
ld.param.u64 %rd2, [o];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd3, %r0, 4;
add.s64 %rd4, %rd0, %rd3;
add.s64 %rd5, %rd1, %rd3;
add.s64 %rd6, %rd2, %rd3;
mul.wide.u32 %rd7, %r0, 16;
add.s64 %rd7, %rd2, %rd7;
mov.u32 %r1, s;
shl.b32 %r2, %r0, 2;
add.u32 %r1, %r1, %r2;
)";
  text += body;
  text += "\nret;\n}\n";
  return text;
}

Launch FrameLaunch(uint32_t threads, uint32_t blocks) {
  Launch launch;
  launch.block = {threads, 1, 1};
  launch.grid = Dim3{blocks, 1, 1};
  return launch;
}

Signature SignatureOf(std::string_view body, const Launch& launch, std::string_view target,
                      std::string_view functions) {
  const auto s = ComputeSignature(Kernel(body, target, functions), launch);
  EXPECT_TRUE(s.ok()) << s.status();
  return s.ok() ? *s : Signature();
}

void CheckPair(const Pair& pair) {
  SCOPED_TRACE(pair.name);
  const Launch launch = FrameLaunch(pair.threads, pair.blocks);
  const Comparison c =
      CompareSignatures(SignatureOf(pair.a, launch, pair.target, pair.functions),
                                         SignatureOf(pair.b, launch, pair.target, pair.functions));
  const auto text = [&] {
    return std::string(VerdictName(c.verdict)) + " " + c.reason + " [" + c.a.reason + "] [" + c.b.reason + "]";
  };
  switch (pair.expect) {
    case Expect::kEquivalent: EXPECT_EQ(c.verdict, Verdict::kEquivalent) << text(); break;
    case Expect::kDistinct: EXPECT_EQ(c.verdict, Verdict::kDistinct) << text(); break;
    case Expect::kNondeterministic: EXPECT_EQ(c.verdict, Verdict::kNondeterministic) << text(); break;
    case Expect::kUnknown: EXPECT_EQ(c.verdict, Verdict::kUnknown) << text(); break;
    case Expect::kNotEquivalent: EXPECT_NE(c.verdict, Verdict::kEquivalent) << text(); break;
  }
}

}  // namespace samebits::checker
