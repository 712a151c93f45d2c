#include "core/isa/ptx/verifier.h"

#include "tests/unit/core/isa/ptx/test_util.h"

namespace samebits::isa::ptx {
namespace {

absl::Status VerifyText(const std::string& instruction) { return Verify(ParseText(EntryText(instruction + ";"))); }

TEST(VerifierTest, Accepts) {
  for (const char* text : {
           "add.s32 %r1, %r2, 3",
           "add.f32 %f1, %f2, 0f3f800000",
           "add.f32 %f1, %f2, 1.5",
           "mov.b32 %f1, %r1",
           "mov.b32 %r1, 0f3f800000",
           "mov.f64 %d1, 0f3f800000",
           "mov.u64 %rd1, smem",
           "mov.u32 %r1, %tid.x",
           "mov.b64 %rd1, {%r1, %r2}",
           "mov.b64 {%f1, _}, %rd1",
           "mov.b32 %r1, {%h1, %h2}",
           "mul.wide.s32 %rd1, %r1, -4",
           "mad.wide.u16 %r1, %h1, %h2, %r2",
           "ld.global.u8 %r1, [%rd1]",
           "ld.global.v2.b32 {%r1, %f2}, [%rd1]",
           "st.global.b8 [%rd1], %rd2",
           "st.shared.b32 [smem], 0",
           "cvt.u8.u32 %r1, %r2",
           "cvt.rn.f32.s32 %f1, %r1",
           "setp.lt.s32 %p1|%p2, %r1, 5",
           "setp.lt.and.s32 %p1, %r1, 5, !%p2",
           "selp.b32 %r1, 1, 0, %p1",
           "and.pred %p1, %p2, %p3",
           "shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1",
           "shl.b64 %rd1, %rd2, %r1",
           "fma.rn.f32 %f1, %f2, %f3, %f4",
           "@%p1 ret",
           "unknown.op 1, 2, 3",
           "add.bogus.s32 %p1, smem",
           "bra L; L: ret",
           "A: t: .branchtargets A; brx.idx %r1, t",
       }) {
    EXPECT_TRUE(VerifyText(text).ok()) << text << " " << VerifyText(text);
  }
}

TEST(VerifierTest, Rejects) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case kCases[] = {
      {"add.s32 %r1, %r2", "add.s32: has 2 operands, takes 3 to 3"},
      {"add.s32 %r1, %r2, %r3, %r4", "add.s32: has 4 operands, takes 3 to 3"},
      {"bra", "bra: has 0 operands, takes 1 to 1"},
      {"exit 1", "exit: has 1 operands, takes 0 to 0"},
      {"bar.sync", "bar.sync: has 0 operands, takes 1 to 2"},
      {"@%r1 ret", "ret: guard is no predicate"},
      {"add.s32 %p1, %r2, %r3", "add.s32: operand 1 does not fit"},
      {"add.s32 %r1, %rd2, %r3", "add.s32: operand 2 does not fit"},
      {"add.s32 %r1, %r2, 1.5", "add.s32: operand 3 does not fit"},
      {"add.s32 %r1, %r2, [smem]", "add.s32: operand 3 does not fit"},
      {"add.s32 %r1|%r2, %r2, %r3", "add.s32: operand 1 does not fit"},
      {"add.f32 %f1, %f2, 1", "add.f32: operand 3 does not fit"},
      {"add %r1, %r2, %r3", "add: has no type"},
      {"mul.wide.s32 %r1, %r2, %r3", "mul.wide.s32: operand 1 does not fit"},
      {"mad.wide.s32 %rd1, %r2, %r3, %r4", "mad.wide.s32: operand 4 does not fit"},
      {"mov.b32 %rd1, %r1", "mov.b32: operand 1 does not fit"},
      {"mov.b64 %rd1, {%r1, %h1}", "mov.b64: operand 2 does not fit"},
      {"mov.pred %p1, %r1", "mov.pred: operand 2 does not fit"},
      {"and.pred %p1, %r1, %p2", "and.pred: operand 2 does not fit"},
      {"ld.global.b64 %r1, [%rd1]", "ld.global.b64: operand 1 does not fit"},
      {"ld.global.v2.b32 {%r1, %r2, %r3, %r4}, [%rd1]", "ld.global.v2.b32: operand 1 does not fit"},
      {"ld.global.v2.b64 {%rd1, %r2}, [%rd1]", "ld.global.v2.b64: operand 1 does not fit"},
      {"st.global.b64 [%rd1], %r1", "st.global.b64: operand 2 does not fit"},
      {"setp.eq.s32 %r1, %r2, %r3", "setp.eq.s32: operand 1 does not fit"},
      {"setp.eq.and.s32 %p1, %r2, %r3, %r4", "setp.eq.and.s32: operand 4 does not fit"},
      {"selp.b32 %r1, %r2, %r3, %r4", "selp.b32: operand 4 does not fit"},
      {"shl.b64 %rd1, %rd2, %rd3", "shl.b64: operand 3 does not fit"},
      {"popc.b64 %rd1, %rd2", "popc.b64: operand 1 does not fit"},
      {"shfl.sync.idx.b32 %r1|%r2, %r2, 0, 31, -1", "shfl.sync.idx.b32: operand 1 does not fit"},
      {"cvt.f64.f32 %f1, %f2", "cvt.f64.f32: operand 1 does not fit"},
      {"t: .calltargets k; bra t", "bra: target is no label"},
      {"A: brx.idx %r1, A", "brx.idx: second operand is no table of targets"},
      {"t: .callprototype _; brx.idx %r1, t", "brx.idx: second operand is no table of targets"},
  };
  for (const Case& c : kCases) {
    const absl::Status status = VerifyText(c.text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.text;
    // EntryText puts the body on its seventh line, the tenth of the text.
    const std::string expected = std::string("line 10: ") + c.message;
    EXPECT_EQ(status.message().substr(0, expected.size()), expected) << c.text;
  }
}

TEST(VerifierTest, ArgumentsOfDirectCalls) {
  const std::string functions = ".func (.param .b32 r) f (.param .b32 a);\n";
  struct Case {
    const char* call;
    bool ok;
  };
  for (const Case& c : {Case{"call (x), f, (x);", true}, Case{"call f, (x);", false}, Case{"call (x), f;", false},
                        Case{"call (x), f, (x, x);", false}}) {
    const Module module = ParseText(functions + ".entry k() { .param .b32 x; " + c.call + " }");
    EXPECT_EQ(Verify(module).ok(), c.ok) << c.call << Verify(module);
  }
}

}  // namespace
}  // namespace samebits::isa::ptx
