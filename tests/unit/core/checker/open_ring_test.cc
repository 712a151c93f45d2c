// Loops of open trip count with asynchronous copies into a ring of shared memory: any number of stages computes the
// same; whatever reads other tiles, or too early, is not equal to it.

#include <string>

#include "core/checker/checker.h"
#include "gtest/gtest.h"

namespace samebits::checker {
namespace {

Signature Of(const std::string& body) {
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 o, .param .u32 n, .param .u32 m)\n{\n"
      ".reg .pred %p<32>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n.reg .f32 %f<32>;\n.shared .align 16 .b8 s[4096];\n"
      "ld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\nld.param.u64 %rd2, [o];\n"
      "ld.param.u32 %r8, [n];\nld.param.u32 %r9, [m];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n" +
      body + "ret;\n}\n";
  Launch launch;
  launch.block = {64, 1, 1};
  auto signature = ComputeSignature(text, launch);
  EXPECT_TRUE(signature.ok()) << signature.status();
  return signature.ok() ? *signature : Signature{};
}

std::string Show(const Signature& s) { return s.reason_code + " " + s.reason + ", line " + std::to_string(s.place.line); }

// o[row] = sum over i = 0, 16, ... < n of x[(row ^ 1) * m + i], the tiles of the block's 64 rows copied ahead.
struct Ring {
  int stages = 3;
  int wait = -1;                 // groups left pending; -1: as many as may be
  int read_wrap = 0, write_wrap = 0;  // 0: at `stages`
  int copied_ahead = 0;          // tiles ahead of those that the ring needs
  int guarded_ahead = 0;         // likewise, of the copies' conditions in the loop
  int guarded_first = 0;         // and before it
  std::string first_read = "-1", row = "mad.lo.s32 %r11, %r1, 64, %r0;\n", stride = "%r9", neighbour = "4", bound = "%r8";
  std::string barrier = "bar.sync 0;\n", commit = "cp.async.commit_group;\n", operation = "add.rn.f32 %f0, %f0, %f1;\n";
  std::string between, trailing;
  std::string after = "cp.async.wait_group 0;\nbar.sync 0;\n";
};

std::string Step(const std::string& index, int wrap) {
  return "add.s32 " + index + ", " + index + ", 1;\nsetp.ge.s32 %p2, " + index + ", " + std::to_string(wrap) + ";\nselp.b32 " +
         index + ", 0, " + index + ", %p2;\n";
}

Signature Of(const Ring& r) {
  const auto number = [](int v) { return std::to_string(v); };
  const int ahead = r.stages - 1;
  std::string t = "mov.f32 %f0, 0f00000000;\n" + r.row + "mul.lo.s32 %r11, %r11, " + r.stride +
                  ";\nmul.wide.s32 %rd8, %r11, 4;\nadd.s64 %rd8, %rd0, %rd8;\nmov.u32 %r20, s;\nshl.b32 %r21, %r0, 2;\n"
                  "add.s32 %r22, %r20, %r21;\nxor.b32 %r23, %r21, " + r.neighbour + ";\nadd.s32 %r23, %r20, %r23;\n";
  for (int i = 0; i < ahead; ++i)
    t += "setp.gt.s32 %p1, " + r.bound + ", " + number(16 * (i + r.guarded_first)) + ";\nselp.b32 %r30, 4, 0, %p1;\n"
         "cp.async.ca.shared.global [%r22+" + number(256 * i) + "], [%rd8+" + number(64 * i) + "], 4, %r30;\n"
         "cp.async.commit_group;\n";
  t += "mov.u32 %r10, 0;\nmov.u32 %r24, " + r.first_read + ";\nmov.u32 %r25, " + number(ahead - 1) + ";\nL:\n" +
       Step("%r24", r.read_wrap == 0 ? r.stages : r.read_wrap) + "cp.async.wait_group " +
       number(r.wait < 0 ? ahead - 1 : r.wait) + ";\n" + r.barrier +
       "shl.b32 %r26, %r24, 8;\nadd.s32 %r26, %r26, %r23;\nld.shared.f32 %f1, [%r26];\n" + r.operation + r.between +
       Step("%r25", r.write_wrap == 0 ? r.stages : r.write_wrap) + "add.s32 %r27, %r10, " +
       number(16 * (ahead + r.guarded_ahead)) + ";\nsetp.lt.s32 %p3, %r27, " + r.bound + ";\nselp.b32 %r30, 4, 0, %p3;\n"
       "shl.b32 %r28, %r25, 8;\nadd.s32 %r28, %r28, %r22;\n"
       "cp.async.ca.shared.global [%r28], [%rd8+" + number(64 * (ahead + r.copied_ahead)) + "], 4, %r30;\n" + r.commit +
       "add.s64 %rd8, %rd8, 64;\nadd.s32 %r10, %r10, 16;\n" + r.trailing + "setp.lt.s32 %p0, %r10, " + r.bound +
       ";\n@%p0 bra L;\n" + r.after +
       "mad.lo.u32 %r13, %r1, 64, %r0;\nmul.wide.u32 %rd9, %r13, 4;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.f32 [%rd9], %f0;\n";
  return Of(t);
}

Signature With(void (*change)(Ring*)) {
  Ring r;
  change(&r);
  return Of(r);
}

void ExpectSame(const Signature& a, const Signature& b) {
  EXPECT_EQ(a.status, SignatureStatus::kOk) << Show(a);
  EXPECT_EQ(b.status, SignatureStatus::kOk) << Show(b);
  EXPECT_EQ(a.digest, b.digest);
}

void ExpectDifferent(const Signature& a, const Signature& b) {
  EXPECT_EQ(a.status, SignatureStatus::kOk) << Show(a);
  EXPECT_EQ(b.status, SignatureStatus::kOk) << Show(b);
  EXPECT_NE(a.digest, b.digest);
}

TEST(OpenRing, StagesVanish) {
  const Signature three = Of(Ring{});
  for (const int stages : {2, 4, 5}) {
    Ring r;
    r.stages = stages;
    ExpectSame(three, Of(r));
  }
  // Fewer pending groups than the ring allows, and further barriers.
  ExpectSame(three, With([](Ring* r) { r->wait = 0; }));
  ExpectSame(three, With([](Ring* r) { r->between = "bar.sync 0;\n"; }));
}

TEST(OpenRing, CopyingAheadIsCopyingAtOnce) {
  const std::string at_once =
      "mov.f32 %f0, 0f00000000;\nmad.lo.s32 %r11, %r1, 64, %r0;\nmul.lo.s32 %r11, %r11, %r9;\nmul.wide.s32 %rd8, %r11, 4;\n"
      "add.s64 %rd8, %rd0, %rd8;\nmov.u32 %r20, s;\nshl.b32 %r21, %r0, 2;\nadd.s32 %r22, %r20, %r21;\nxor.b32 %r23, %r21, 4;\n"
      "add.s32 %r23, %r20, %r23;\nmov.u32 %r10, 0;\nL:\ncp.async.ca.shared.global [%r22], [%rd8], 4;\n"
      "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\nld.shared.f32 %f1, [%r23];\nadd.rn.f32 %f0, %f0, %f1;\n"
      "bar.sync 0;\nadd.s64 %rd8, %rd8, 64;\nadd.s32 %r10, %r10, 16;\nsetp.lt.s32 %p0, %r10, %r8;\n@%p0 bra L;\n"
      "mad.lo.u32 %r13, %r1, 64, %r0;\nmul.wide.u32 %rd9, %r13, 4;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.f32 [%rd9], %f0;\n";
  ExpectSame(Of(Ring{}), Of(at_once));
}

TEST(OpenRing, WhatIsComputedStays) {
  const Signature a = Of(Ring{});
  ExpectDifferent(a, With([](Ring* r) { r->neighbour = "8"; }));
  ExpectDifferent(a, With([](Ring* r) { r->stride = "%r8"; }));  // rows n apart, not m
  ExpectDifferent(a, With([](Ring* r) { r->row = "mad.lo.s32 %r11, %r1, 32, %r0;\n"; }));
  ExpectDifferent(a, With([](Ring* r) { r->row = "mad.lo.s32 %r11, %r0, 2, %r1;\n"; }));
  ExpectDifferent(a, With([](Ring* r) { r->bound = "%r9"; }));
  ExpectDifferent(a, With([](Ring* r) { r->operation = "sub.rn.f32 %f0, %f0, %f1;\n"; }));
  ExpectDifferent(a, With([](Ring* r) { r->after += "neg.f32 %f0, %f0;\n"; }));
  // Zeros in place of each last tile, in the loop and before it alike.
  ExpectDifferent(a, With([](Ring* r) { r->guarded_ahead = r->guarded_first = 1; }));
}

TEST(OpenRing, OtherTilesAreNotEqual) {
  const Signature a = Of(Ring{});
  const auto differs = [&a](void (*change)(Ring*)) {
    const Signature b = With(change);
    return b.status != SignatureStatus::kOk || b.digest != a.digest ? std::string() : "equal";
  };
  EXPECT_EQ(differs([](Ring* r) { r->copied_ahead = -1; }), "") << "a tile one trip stale, but for the first";
  EXPECT_EQ(differs([](Ring* r) { r->copied_ahead = 1; }), "");
  EXPECT_EQ(differs([](Ring* r) { r->read_wrap = 2; }), "") << "the read index turns too early";
  EXPECT_EQ(differs([](Ring* r) { r->read_wrap = 4; }), "") << "a slot that is never filled";
  EXPECT_EQ(differs([](Ring* r) { r->read_wrap = r->write_wrap = 2; }), "");
  EXPECT_EQ(differs([](Ring* r) { r->first_read = "0"; }), "") << "one tile on";
  EXPECT_EQ(differs([](Ring* r) { r->guarded_ahead = 1; }), "") << "zeros in place of the last tile";
  EXPECT_EQ(differs([](Ring* r) { r->guarded_ahead = -1; r->guarded_first = 1; }), "");
  EXPECT_EQ(differs([](Ring* r) { r->guarded_first = 1; }), "") << "zeros where the loop is short";
  EXPECT_EQ(differs([](Ring* r) { r->between = "mov.f32 %f0, %f1;\n"; }), "");
}

TEST(OpenRing, OrderIsProvedTripByTrip) {
  const auto race = [](void (*change)(Ring*)) { return With(change).status; };
  EXPECT_EQ(race([](Ring* r) { r->wait = 2; }), SignatureStatus::kNondeterministic) << "one group too few awaited";
  EXPECT_EQ(race([](Ring* r) { r->barrier = ""; }), SignatureStatus::kNondeterministic);
  // Copied into the slot that this trip reads.
  EXPECT_EQ(race([](Ring* r) { r->first_read = "1"; r->wait = 0; }), SignatureStatus::kNondeterministic);
  EXPECT_EQ(race([](Ring* r) { r->commit = ""; }), SignatureStatus::kUnknown);
}

TEST(OpenRing, AfterTheLoopSharedMemoryIsInUse) {
  const std::string use = "st.shared.f32 [%r22], %f0;\nbar.sync 0;\nld.shared.f32 %f0, [%r23];\n";
  const auto with = [&use](const std::string& before) {
    Ring r;
    r.after = before + use;
    return Of(r);
  };
  EXPECT_EQ(with("cp.async.wait_group 0;\nbar.sync 0;\n").status, SignatureStatus::kOk);
  EXPECT_EQ(with("cp.async.wait_all;\nbar.sync 0;\n").status, SignatureStatus::kOk);
  EXPECT_EQ(with("").status, SignatureStatus::kUnknown);
  EXPECT_EQ(with("bar.sync 0;\n").status, SignatureStatus::kUnknown) << "copies are pending";
  EXPECT_EQ(with("cp.async.wait_group 1;\nbar.sync 0;\n").status, SignatureStatus::kUnknown);
  EXPECT_EQ(with("bar.sync 0;\ncp.async.wait_group 0;\n").status, SignatureStatus::kUnknown) << "other lanes' copies";
  Ring read;
  read.after += "ld.shared.f32 %f0, [%r23];\n";
  EXPECT_EQ(Of(read).reason_code, "UNDEFINED_VALUE") << "what the last trip left";
}

TEST(OpenRing, StateOfOtherLanesAndTripsIsNotFolded) {
  // The accumulator goes to another lane; a temporary of the trip before is read.
  EXPECT_EQ(With([](Ring* r) { r->operation = "shfl.sync.bfly.b32 %f0, %f0, 1, 31, -1;\nadd.rn.f32 %f0, %f0, %f1;\n"; }).status,
            SignatureStatus::kUnknown);
  EXPECT_EQ(With([](Ring* r) {
              r->between = "st.shared.f32 [%r22+2048], %f0;\n";
              r->barrier = "bar.sync 0;\nld.shared.f32 %f5, [%r22+2048];\nadd.rn.f32 %f0, %f0, %f5;\n";
            }).status,
            SignatureStatus::kUnknown)
      << "the sum of the trip before, through shared memory";
  const Signature plain = Of(Ring{});
  ExpectDifferent(plain, With([](Ring* r) {
                    r->row += "mov.f32 %f6, 0f00000000;\n";
                    r->operation = "add.rn.f32 %f0, %f0, %f6;\nmov.f32 %f6, %f1;\n";
                  }));
}

// One warpgroup multiplies a 64 x 16 tile of x by a 16 x 8 tile of y per trip.
struct MatrixRing {
  int stages = 3, wait = -1, skew = 0;  // skew: slots between the tile of x and that of y
  std::string fence = "wgmma.fence.sync.aligned;\n", matrix_wait = "wgmma.wait_group.sync.aligned 1;\n";
  std::string after = "wgmma.wait_group.sync.aligned 0;\ncp.async.wait_group 0;\nbar.sync 0;\n";
};

Signature Of(const MatrixRing& r) {
  const auto number = [](int v) { return std::to_string(v); };
  const int ahead = r.stages - 1;
  const auto copy = [&](const std::string& slot_a, const std::string& slot_b, int tile) {
    return "cp.async.cg.shared.global [" + slot_a + "], [%rd8+" + number(32 * tile) + "], 16, %r30;\n"
           "@%p4 cp.async.cg.shared.global [" + slot_b + "], [%rd9+" + number(32 * tile) + "], 16, %r30;\ncp.async.commit_group;\n";
  };
  const auto descriptor = [](const std::string& slot, int shift, const std::string& base, const std::string& out) {
    return "shl.b32 %r31, " + slot + ", " + std::to_string(shift) + ";\nadd.s32 %r31, %r31, " + base +
           ";\nshr.u32 %r31, %r31, 4;\ncvt.u64.u32 " + out + ", %r31;\nor.b64 " + out + ", " + out + ", 68720001024;\n";
  };
  std::string t =
      ".version 8.0\n.target sm_90a\n.address_size 64\n"
      ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 o, .param .u32 n, .param .u32 m)\n{\n"
      ".reg .pred %p<8>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n.shared .align 1024 .b8 s[16384];\n"
      "ld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\nld.param.u64 %rd2, [o];\nld.param.u32 %r8, [n];\nld.param.u32 %r9, [m];\n"
      "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.s32 %r11, %r1, 128, %r0;\nmul.lo.s32 %r12, %r11, %r9;\n"
      "mul.wide.s32 %rd8, %r12, 2;\nadd.s64 %rd8, %rd0, %rd8;\nmul.lo.s32 %r13, %r0, %r9;\nmul.wide.s32 %rd9, %r13, 2;\n"
      "add.s64 %rd9, %rd1, %rd9;\nsetp.lt.u32 %p4, %r0, 16;\nmov.u32 %r20, s;\nadd.s32 %r21, %r20, 12288;\nshl.b32 %r22, %r0, 4;\n"
      "add.s32 %r23, %r20, %r22;\nadd.s32 %r24, %r21, %r22;\nmov.pred %p5, -1;\n";
  for (int i = 0; i < 4; ++i) t += "mov.f32 %f" + number(i) + ", 0f00000000;\n";
  for (int i = 0; i < ahead; ++i)
    t += "setp.gt.s32 %p1, %r8, " + number(16 * i) + ";\nselp.b32 %r30, 16, 0, %p1;\n" +
         copy("%r23+" + number(2048 * i), "%r24+" + number(256 * i), i);
  t += "mov.u32 %r10, 0;\nmov.u32 %r25, -1;\nmov.u32 %r26, " + number(ahead - 1) + ";\nmov.u32 %r27, " + number(r.skew - 1) + ";\nL:\n" +
       Step("%r25", r.stages) + Step("%r27", r.stages) + "cp.async.wait_group " + number(r.wait < 0 ? ahead - 1 : r.wait) +
       ";\nbar.sync 0;\n" + descriptor("%r25", 11, "%r20", "%rd10") + descriptor("%r27", 8, "%r21", "%rd11") + r.fence +
       "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd10, %rd11, %p5, 1, 1, 0, 0;\n"
       "wgmma.commit_group.sync.aligned;\n" + r.matrix_wait + Step("%r26", r.stages) + "add.s32 %r28, %r10, " + number(16 * ahead) +
       ";\nsetp.lt.s32 %p3, %r28, %r8;\nselp.b32 %r30, 16, 0, %p3;\nshl.b32 %r32, %r26, 11;\nadd.s32 %r32, %r32, %r23;\n"
       "shl.b32 %r33, %r26, 8;\nadd.s32 %r33, %r33, %r24;\n" + copy("%r32", "%r33", ahead) +
       "add.s64 %rd8, %rd8, 32;\nadd.s64 %rd9, %rd9, 32;\nadd.s32 %r10, %r10, 16;\nsetp.lt.s32 %p0, %r10, %r8;\n@%p0 bra L;\n" +
       r.after + "mul.wide.u32 %rd12, %r11, 16;\nadd.s64 %rd12, %rd2, %rd12;\nst.global.v4.f32 [%rd12], {%f0, %f1, %f2, %f3};\nret;\n}\n";
  Launch launch;
  launch.block = {128, 1, 1};
  auto signature = ComputeSignature(t, launch);
  EXPECT_TRUE(signature.ok()) << signature.status();
  return signature.ok() ? *signature : Signature{};
}

TEST(OpenMatrixRing, StagesAndWaitsVanish) {
  const Signature three = Of(MatrixRing{});
  ExpectSame(three, Of(MatrixRing{.stages = 4}));
  ExpectSame(three, Of(MatrixRing{.stages = 5}));
  ExpectSame(three, Of(MatrixRing{.stages = 2}));
  ExpectSame(three, Of(MatrixRing{.matrix_wait = "wgmma.wait_group.sync.aligned 0;\n"}));
}

TEST(OpenMatrixRing, OrderIsProvedTripByTrip) {
  const auto status = [](const MatrixRing& r) { return Of(r).status; };
  EXPECT_EQ(status({.wait = 2}), SignatureStatus::kNondeterministic);
  EXPECT_EQ(status({.matrix_wait = ""}), SignatureStatus::kNondeterministic) << "copied over what is still read";
  EXPECT_EQ(status({.matrix_wait = "wgmma.wait_group.sync.aligned 2;\n"}), SignatureStatus::kNondeterministic);
  EXPECT_EQ(status({.fence = ""}), SignatureStatus::kNondeterministic);
  EXPECT_EQ(status({.after = "cp.async.wait_group 0;\nbar.sync 0;\n"}), SignatureStatus::kNondeterministic) << "sums in flight";
  const std::string use = "bar.sync 0;\nst.shared.f32 [%r23], %f0;\nbar.sync 0;\nld.shared.f32 %f0, [%r23];\n";
  EXPECT_EQ(status({.after = "wgmma.wait_group.sync.aligned 0;\ncp.async.wait_group 0;\n" + use}), SignatureStatus::kOk);
  EXPECT_EQ(status({.after = "wgmma.wait_group.sync.aligned 0;\n" + use}), SignatureStatus::kUnknown);
  EXPECT_NE(status({.after = "cp.async.wait_group 0;\n" + use}), SignatureStatus::kOk);
}

TEST(OpenMatrixRing, TilesOfOtherTripsAreNotEqual) {
  const Signature a = Of(MatrixRing{});
  for (const int skew : {1, 2}) {
    const Signature b = Of(MatrixRing{.wait = 0, .skew = skew});
    EXPECT_TRUE(b.status != SignatureStatus::kOk || b.digest != a.digest);
  }
}

// x[(row of a lane) * m + column]: the open stride enters per lane, and tiles vanish.
TEST(OpenStride, LanesOfDifferentRows) {
  const auto copy = [](int columns, int threads_a_row, const char* stride, int skew = 0) {
    const int rows = 64 / threads_a_row;
    return Of("shr.u32 %r10, %r0, " + std::to_string(threads_a_row == 8 ? 3 : 2) + ";\nand.b32 %r11, %r0, " +
              std::to_string(threads_a_row - 1) + ";\nmad.lo.s32 %r12, %r1, " + std::to_string(rows) + ", %r10;\nmul.lo.s32 %r13, %r12, " +
              stride + ";\nadd.s32 %r14, %r13, %r11;\nmul.wide.s32 %rd8, %r14, 4;\nadd.s64 %rd9, %rd0, %rd8;\nadd.s64 %rd10, %rd2, %rd8;\n" +
              [&] {
                std::string t;
                for (int c = 0; c < columns; c += threads_a_row)
                  t += "ld.global.f32 %f1, [%rd9+" + std::to_string(4 * (c + skew)) + "];\nst.global.f32 [%rd10+" + std::to_string(4 * c) + "], %f1;\n";
                return t;
              }());
  };
  ExpectSame(copy(8, 8, "%r8"), copy(8, 4, "%r8"));
  ExpectDifferent(copy(8, 8, "%r8"), copy(8, 8, "%r9"));
  ExpectDifferent(copy(8, 8, "%r8"), copy(16, 8, "%r8"));
  ExpectDifferent(copy(8, 8, "%r8"), copy(8, 8, "%r8", 1));
  ExpectDifferent(copy(8, 8, "%r8"), copy(8, 8, "%r8", 0x1000));
}

// Two open strides into one buffer: lanes differ by one of them only, or nothing is claimed.
TEST(OpenStride, SecondStrideOfABuffer) {
  const auto two = [](const std::string& a, const std::string& b) {
    return Of("and.b32 %r10, %r0, 7;\nshr.u32 %r11, %r0, 3;\nmul.lo.s32 %r12, %r10, " + a + ";\nmul.lo.s32 %r13, %r11, " + b +
              ";\nadd.s32 %r14, %r12, %r13;\nmul.wide.s32 %rd8, %r14, 4;\nadd.s64 %rd9, %rd0, %rd8;\nld.global.f32 %f1, [%rd9];\n"
              "mad.lo.u32 %r15, %r1, 64, %r0;\nmul.wide.u32 %rd10, %r15, 4;\nadd.s64 %rd10, %rd2, %rd10;\nst.global.f32 [%rd10], %f1;\n");
  };
  ExpectDifferent(two("%r8", "%r9"), two("%r9", "%r8"));
  ExpectSame(two("%r8", "%r9"), two("%r8", "%r9"));
}

TEST(OpenStride, OffsetsBeyondTheCodeAreUnknown) {
  const auto at = [](const std::string& rows) {
    return Of("mul.wide.s32 %rd8, %r8, " + rows + ";\nadd.s64 %rd8, %rd0, %rd8;\nld.global.f32 %f1, [%rd8];\nmul.wide.u32 %rd9, %r0, 4;\n"
              "add.s64 %rd9, %rd2, %rd9;\nst.global.f32 [%rd9], %f1;\n").status;
  };
  EXPECT_EQ(at("1024"), SignatureStatus::kOk);
  EXPECT_NE(at("32768"), SignatureStatus::kOk);
}

}  // namespace
}  // namespace samebits::checker
