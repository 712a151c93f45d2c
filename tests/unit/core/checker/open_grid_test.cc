// Launches whose grid and scalars are open: tile sizes vanish, and nothing else does.

#include <string>

#include "core/checker/checker.h"
#include "gtest/gtest.h"

namespace samebits::checker {
namespace {

// %r0 = %tid.x, %r1 = %ctaid.x, %r2 = %ctaid.y, %r8 = n, %r9 = m; %rd0, %rd1, %rd2 = x, y, o.
Signature Of(const std::string& body, uint32_t threads, Options options = {}) {
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 o, .param .u32 n, .param .u32 m)\n{\n"
      ".reg .pred %p<32>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n.reg .f32 %f<32>;\n.shared .align 16 .b8 s[4096];\n"
      "ld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\nld.param.u64 %rd2, [o];\n"
      "ld.param.u32 %r8, [n];\nld.param.u32 %r9, [m];\n"
      "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\n" +
      body + "ret;\n}\n";
  Launch launch;
  launch.block = {threads, 1, 1};
  auto signature = ComputeSignature(text, launch, options);
  EXPECT_TRUE(signature.ok()) << signature.status();
  return signature.ok() ? *signature : Signature{};
}

bool Holds(const Signature& s, const std::string& assumption) {
  for (const std::string& a : s.assumptions)
    if (a.find(assumption) != std::string::npos) return true;
  return false;
}

void ExpectSame(const Signature& a, const Signature& b) {
  EXPECT_EQ(a.status, SignatureStatus::kOk) << a.reason;
  EXPECT_EQ(b.status, SignatureStatus::kOk) << b.reason;
  EXPECT_EQ(a.digest, b.digest);
}

void ExpectDifferent(const Signature& a, const Signature& b) {
  EXPECT_EQ(a.status, SignatureStatus::kOk) << a.reason;
  EXPECT_EQ(b.status, SignatureStatus::kOk) << b.reason;
  EXPECT_NE(a.digest, b.digest);
}

std::string Number(int64_t v) { return std::to_string(v); }

// o[e] = x[e + load] for e = tile * block + tid, where e + bound < n; `width` elements share the guard of their first.
std::string Copy(int tile, const std::string& change = "", int bound = 0, int load = 0, int width = 1) {
  return change + "mad.lo.u32 %r10, %r1, " + Number(tile) + ", %r0;\nand.b32 %r11, %r10, " + Number(-width) +
         ";\nadd.s32 %r11, %r11, " + Number(bound) + ";\nsetp.lt.s32 %p0, %r11, %r8;\nadd.s32 %r12, %r10, " +
         Number(load) + ";\nmul.wide.s32 %rd8, %r10, 4;\nmul.wide.s32 %rd9, %r12, 4;\nadd.s64 %rd9, %rd0, %rd9;\n" +
         "add.s64 %rd8, %rd2, %rd8;\nmov.f32 %f0, 0f00000000;\n@%p0 ld.global.f32 %f0, [%rd9];\n" +
         "add.rn.f32 %f0, %f0, %f0;\n@%p0 st.global.f32 [%rd8], %f0;\n";
}

TEST(OpenGrid, TileSizesVanish) {
  const Signature a = Of(Copy(64), 64);
  ExpectSame(a, Of(Copy(128), 128));
  ExpectSame(a, Of(Copy(32), 32));
  ExpectSame(a, Of(Copy(64, "", 0, 0, 4), 64));
  EXPECT_TRUE(Holds(a, "grid open"));
  EXPECT_TRUE(Holds(a, "multiples of 16"));
  EXPECT_TRUE(Holds(a, "no integer overflow"));
}

TEST(OpenGrid, WhatElementsReadAndWriteStays) {
  const Signature a = Of(Copy(64), 64);
  ExpectDifferent(a, Of(Copy(64, "", 0, 1), 64));                              // another element
  ExpectDifferent(a, Of(Copy(64, "", 1), 64));                                 // another bound
  ExpectDifferent(a, Of(Copy(64, "", 16), 64));
  ExpectDifferent(a, Of(Copy(65), 64));                                        // holes
  ExpectDifferent(a, Of(Copy(128), 64));                                       // half of them
  ExpectDifferent(a, Of(Copy(64, "add.u32 %r1, %r1, 1;\n"), 64));              // all but the first block
  ExpectDifferent(a, Of(Copy(64, "shl.b32 %r1, %r1, 1;\n"), 64));
  ExpectDifferent(a, Of(Copy(64, "", 0, 0, 32), 64));                          // a mask of another width
  ExpectDifferent(a, Of(Copy(64, "mov.u32 %r8, %r9;\n"), 64));                 // another size
}

// o[e] = x[f(block) * 64 + tid] with e = block * 64 + tid.
std::string Permuted(const std::string& f) {
  return "mov.u32 %r3, %r1;\n" + f +
         "mad.lo.u32 %r10, %r1, 64, %r0;\nmad.lo.u32 %r11, %r3, 64, %r0;\nmul.wide.u32 %rd8, %r10, 4;\n"
         "mul.wide.u32 %rd9, %r11, 4;\nadd.s64 %rd8, %rd2, %rd8;\nadd.s64 %rd9, %rd0, %rd9;\n"
         "ld.global.f32 %f0, [%rd9];\nst.global.f32 [%rd8], %f0;\n";
}

TEST(OpenGrid, BlocksReadByAnotherIndexAreOthers) {
  const Signature a = Of(Permuted(""), 64);
  for (const char* f : {"xor.b32 %r3, %r3, 1;\n", "xor.b32 %r3, %r3, 3;\n", "shr.u32 %r3, %r3, 1;\n",
                        "shl.b32 %r3, %r3, 1;\n", "mov.u32 %r3, 0;\n", "and.b32 %r3, %r3, 1023;\n",
                        "mul.lo.u32 %r3, %r3, %r8;\n", "div.u32 %r3, %r3, %r8;\n"})
    ExpectDifferent(a, Of(Permuted(f), 64));
  ExpectDifferent(Of(Permuted("xor.b32 %r3, %r3, 1;\n"), 64), Of(Permuted("xor.b32 %r3, %r3, 3;\n"), 64));
  ExpectDifferent(Of(Permuted("div.u32 %r3, %r3, %r8;\n"), 64), Of(Permuted("div.u32 %r3, %r3, %r9;\n"), 64));
  ExpectSame(Of(Permuted("xor.b32 %r3, %r3, 1;\nxor.b32 %r3, %r3, 1;\n"), 64), a);
  // All of the work permuted: the same elements in even grids only.
  EXPECT_EQ(Of("xor.b32 %r1, %r1, 1;\n" + Permuted(""), 64).reason_code, "OPEN_GRID");
}

// o[e] = y[e mod 256], written with the bits that the tile needs.
std::string Broadcast(int tile, int mask) {
  return "mad.lo.u32 %r10, %r1, " + Number(tile) + ", %r0;\nand.b32 %r11, %r10, " + Number(mask) +
         ";\nmul.wide.u32 %rd8, %r10, 4;\nmul.wide.u32 %rd9, %r11, 4;\nadd.s64 %rd8, %rd2, %rd8;\nadd.s64 %rd9, %rd1, %rd9;\n"
         "ld.global.f32 %f0, [%rd9];\nst.global.f32 [%rd8], %f0;\n";
}

TEST(OpenGrid, RemaindersByResidues) {
  const Signature a = Of(Broadcast(64, 255), 64);
  ExpectSame(a, Of(Broadcast(128, 255), 128));
  ExpectSame(a, Of(Broadcast(256, 255), 256));
  ExpectDifferent(a, Of(Broadcast(64, 127), 64));
  ExpectDifferent(a, Of(Broadcast(256, 511), 256));
}

// The quotient by an open size belongs to a block of its tile: other tiles may not merge with it.
std::string Quotient(int tile) {
  return "div.u32 %r3, %r1, %r8;\nmad.lo.u32 %r10, %r1, " + Number(tile) + ", %r0;\nmad.lo.u32 %r11, %r3, " +
         Number(tile) + ", %r0;\nmul.wide.u32 %rd8, %r10, 4;\nmul.wide.u32 %rd9, %r11, 4;\nadd.s64 %rd8, %rd2, %rd8;\n"
         "add.s64 %rd9, %rd0, %rd9;\nld.global.f32 %f0, [%rd9];\nst.global.f32 [%rd8], %f0;\n";
}

TEST(OpenGrid, QuotientsByOpenSizesKeepTheirTile) {
  ExpectSame(Of(Quotient(64), 64), Of(Quotient(64), 64));
  ExpectDifferent(Of(Quotient(64), 64), Of(Quotient(128), 128));
}

// o[r][c] = x[r][k] * y[c], rows of 256: the row is the block's y, the columns its x; shifts in rows and columns.
std::string Outer(int tile, int row, int column, int store = 0) {
  return "mad.lo.u32 %r10, %r1, " + Number(tile) + ", %r0;\nadd.s32 %r10, %r10, " + Number(column) + ";\nadd.s32 %r11, %r2, " +
         Number(row) + ";\nmad.lo.s32 %r12, %r11, 256, %r10;\nadd.s32 %r12, %r12, " + Number(store) +
         ";\nmul.wide.s32 %rd8, %r12, 4;\nadd.s64 %rd8, %rd2, %rd8;\n"
         "mul.wide.s32 %rd9, %r11, 4;\nadd.s64 %rd9, %rd0, %rd9;\nmul.wide.s32 %rd10, %r10, 4;\nadd.s64 %rd10, %rd1, %rd10;\n"
         "ld.global.f32 %f0, [%rd9];\nld.global.f32 %f1, [%rd10];\nmul.rn.f32 %f0, %f0, %f1;\nst.global.f32 [%rd8], %f0;\n";
}

TEST(OpenGrid, TwoDimensionalShifts) {
  const Signature a = Of(Outer(64, 0, 0), 64);
  ExpectSame(a, Of(Outer(32, 0, 0), 32));
  // x a row on, y a row of columns back: the stores stay where they are.
  ExpectDifferent(a, Of(Outer(64, 1, -256), 64));
  ExpectDifferent(a, Of(Outer(64, -1, 256), 64));
  ExpectDifferent(a, Of(Outer(64, 1, 0), 64));
  ExpectDifferent(a, Of(Outer(64, 1, 0, -256), 64));
  ExpectDifferent(a, Of(Outer(64, 0, 16, -16), 64));
}

TEST(OpenGrid, RowsOfAnOpenLengthAreNamedByIt) {
  const auto rows = [](const char* stride, int threads) {
    return Of(std::string("mul.lo.s32 %r3, %r2, ") + stride + ";\nmad.lo.u32 %r10, %r1, " + Number(threads) +
                  ", %r0;\nadd.s32 %r11, %r3, %r10;\nmul.wide.s32 %rd8, %r11, 4;\nadd.s64 %rd9, %rd0, %rd8;\nadd.s64 %rd8, %rd2, %rd8;\n"
                  "ld.global.f32 %f0, [%rd9];\nst.global.f32 [%rd8], %f0;\n",
              static_cast<uint32_t>(threads));
  };
  ExpectSame(rows("%r8", 64), rows("%r8", 128));
  ExpectDifferent(rows("%r8", 64), rows("%r9", 64));
  ExpectDifferent(rows("%r8", 64), rows("256", 64));
}

TEST(OpenGrid, InPlaceOnlyWhereTheLaneReadsWhatItWrites) {
  const auto in_place = [](const char* change) {
    return Of(std::string("mad.lo.u32 %r10, %r1, 64, %r0;\nmul.wide.u32 %rd8, %r10, 4;\nadd.s64 %rd8, %rd2, %rd8;\nmov.b64 %rd9, %rd8;\n") +
                  change + "ld.global.f32 %f0, [%rd9];\nadd.rn.f32 %f0, %f0, %f0;\nst.global.f32 [%rd8], %f0;\n",
              64);
  };
  EXPECT_EQ(in_place("").status, SignatureStatus::kOk) << in_place("").reason;
  EXPECT_EQ(in_place("add.s64 %rd9, %rd9, 4;\n").reason_code, "IN_PLACE");
  EXPECT_EQ(in_place("add.s64 %rd9, %rd9, 256;\n").reason_code, "IN_PLACE");
  EXPECT_EQ(in_place("mov.b64 %rd9, %rd2;\n").reason_code, "IN_PLACE");
}

TEST(OpenGrid, WritersOfOneAddressConflict) {
  const char* same = "mul.wide.u32 %rd8, %r1, 4;\nadd.s64 %rd8, %rd2, %rd8;\n";
  EXPECT_EQ(Of(std::string(same) + "st.global.u32 [%rd8], 7;\n", 64).status, SignatureStatus::kOk) << "equal values";
  EXPECT_EQ(Of(std::string(same) + "st.global.u32 [%rd8], %r0;\n", 64).reason_code, "CONFLICTING_WRITES");
}

TEST(OpenGrid, OutputsThatFallAsBlocksRise) {
  const std::string body = "neg.s32 %r3, %r1;\nmad.lo.s32 %r10, %r3, 64, %r0;\nmul.wide.s32 %rd8, %r10, 4;\n"
                           "add.s64 %rd8, %rd2, %rd8;\nst.global.u32 [%rd8], 7;\n";
  EXPECT_EQ(Of(body, 64).reason_code, "OPEN_GRID") << "two rays of opposite ways would add up to nothing";
}

TEST(OpenGrid, ShortExtractionsAreNoIndexArithmetic) {
  const auto with = [](const char* change) {
    return Of(std::string("mov.u32 %r3, %r8;\n") + change +
                  "mad.lo.u32 %r10, %r1, 64, %r0;\nmul.wide.u32 %rd8, %r10, 4;\nadd.s64 %rd8, %rd2, %rd8;\nst.global.u32 [%rd8], %r3;\n",
              64);
  };
  ExpectDifferent(with(""), with("shl.b32 %r3, %r3, 16;\nshr.s32 %r3, %r3, 16;\n"));
  ExpectDifferent(with(""), with("bfe.s32 %r3, %r3, 0, 16;\n"));
  ExpectDifferent(with(""), with("and.b32 %r3, %r3, 65535;\n"));
}

}  // namespace
}  // namespace samebits::checker
