// The map as a sum that factors into lanes and blocks, against the map as a plain list of what is stored where.

#include "core/checker/map.h"

#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "core/checker/check.h"
#include "gtest/gtest.h"
#include "tests/support/pairs/pairs.h"

namespace samebits::checker {
namespace {

// One stored thing: a tree (digest and width) with the absolute addresses that it reads. Memory and constants by byte.
using Stored = std::vector<uint64_t>;
using PlainMap = std::map<int64_t, Stored>;  // by byte address of its first byte

PlainMap Enumerate(const Check& check, Workspace* workspace, expr::BufferId buffer) {
  std::vector<Element> elements;
  EXPECT_TRUE(MapBuilder::Enumerate(check.classes, *check.space, buffer, 1u << 20, &elements));
  MapBuilder maps(&workspace->builder, check.space.get(), true);
  PlainMap plain;
  auto put = [&plain](int64_t address, Stored what) {
    const auto [it, fresh] = plain.emplace(address, what);
    EXPECT_TRUE(fresh || it->second == what) << "two values at " << address;
  };
  for (const Element& e : elements) {
    const expr::Scalar v = maps.ElementValue(e);
    const expr::Node& n = workspace->nodes[v.node];
    for (uint32_t i = 0; i < e.bytes; ++i) {
      if (n.fn == expr::Fn::kConst) put(e.address + i, {1, n.attr >> (8 * i) & 255});
      if (n.fn == expr::Fn::kLeaf) put(e.address + i, {2, n.digest.hi, n.digest.lo, static_cast<uint64_t>(v.anchor[0].offset + i)});
    }
    if (n.fn == expr::Fn::kConst || n.fn == expr::Fn::kLeaf) continue;
    Stored what = {3, n.digest.hi, n.digest.lo, e.bytes};
    for (int j = 0; j < v.slots; ++j) what.push_back(static_cast<uint64_t>(v.anchor[j].offset));
    put(e.address, what);
  }
  return plain;
}

// A kernel that stores f(e) at e for elements e = 0 .. 63 in some order over 2 blocks of 32 lanes.
std::string RandomBody(std::mt19937_64& random) {
  auto pick = [&random](uint64_t n) { return random() % n; };
  std::string body = "mov.u32 %r3, %ctaid.x;\n";
  switch (pick(5)) {  // e into %r4
    case 0: body += "mad.lo.u32 %r4, %r3, 32, %r0;\n"; break;
    case 1: body += "xor.b32 %r3, %r3, 1;\nmad.lo.u32 %r4, %r3, 32, %r0;\n"; break;
    case 2: body += "mad.lo.u32 %r4, %r0, 2, %r3;\n"; break;
    case 3: body += "mad.lo.u32 %r4, %r3, 32, %r0;\nxor.b32 %r4, %r4, 5;\n"; break;
    default: body += "mad.lo.u32 %r4, %r3, 32, %r0;\nsub.u32 %r4, 63, %r4;\n"; break;
  }
  body += "mul.wide.u32 %rd8, %r4, 4;\nadd.s64 %rd9, %rd0, %rd8;\nadd.s64 %rd10, %rd1, %rd8;\nadd.s64 %rd11, %rd2, %rd8;\n";
  auto value = [&pick] {
    switch (pick(9)) {
      case 0: return "ld.global.f32 %f0, [%rd9];\nld.global.f32 %f1, [%rd10];\nadd.rn.f32 %f2, %f0, %f1;\n";
      case 1: return "ld.global.f32 %f0, [%rd10];\nld.global.f32 %f1, [%rd9];\nadd.rn.f32 %f2, %f0, %f1;\n";
      case 2: return "ld.global.f32 %f0, [%rd9];\nld.global.f32 %f1, [%rd9+4];\nadd.rn.f32 %f2, %f0, %f1;\n";
      case 3: return "ld.global.f32 %f0, [%rd9];\nld.global.f32 %f1, [%rd0];\nmul.rn.f32 %f2, %f0, %f1;\n";
      case 4: return "ld.global.f32 %f2, [%rd9];\n";
      case 5: return "mov.b32 %f2, %r4;\n";
      case 6: return "mov.f32 %f2, 0f3F800000;\n";
      case 7: return "ld.global.f32 %f0, [%rd9];\nld.global.f32 %f1, [%rd10];\nmax.f32 %f2, %f0, %f1;\n";
      default: return "ld.global.b16 %h0, [%rd9];\nld.global.b16 %h1, [%rd9+2];\nmov.b32 %f2, {%h0, %h1};\n";
    }
  };
  body += value();
  if (pick(3) == 0) {  // another value in some elements
    body += "mov.b32 %f3, %f2;\n" + std::string(value());
    body += "setp.lt.u32 %p0, %r4, " + std::to_string(16 * (1 + pick(2))) + ";\nselp.f32 %f2, %f2, %f3, %p0;\n";
  }
  if (pick(6) == 0) return body + "mov.b32 {%h2, %h3}, %f2;\nst.global.b16 [%rd11], %h2;\nst.global.b16 [%rd11+2], %h3;\n";
  return body + "st.global.f32 [%rd11], %f2;\n";
}

TEST(MapTest, SumsAreEqualWhereListsAre) {
  std::mt19937_64 random(17);
  Limits limits;
  Workspace workspace(limits, false);
  std::vector<std::pair<std::string, PlainMap>> kernels;
  for (int i = 0; i < 150; ++i) {
    const std::string body = RandomBody(random);
    const auto check = RunCheck(Kernel(body), FrameLaunch(32, 2), Options(), &workspace);
    ASSERT_TRUE(check.ok()) << check.status();
    ASSERT_EQ((*check)->signature.status, SignatureStatus::kOk) << (*check)->signature.reason << "\n" << body;
    ASSERT_EQ((*check)->maps.size(), 1u);
    kernels.emplace_back((*check)->signature.digest, Enumerate(**check, &workspace, (*check)->maps.begin()->first));
  }
  int equal = 0, different = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool same = kernels[i].second == kernels[j].second;
      ++(same ? equal : different);
      EXPECT_EQ(kernels[i].first == kernels[j].first, same) << i << " and " << j;
    }
  }
  EXPECT_GT(equal, 200);
  EXPECT_GT(different, 5000);
}

Signature Of(const char* body, uint32_t blocks = 2) { return SignatureOf(body, FrameLaunch(32, blocks)); }

TEST(MapTest, DenseCoverageIsProvedWithoutEnumeration) {
  // 2^25 elements: more than the checker would enumerate.
  Launch launch = FrameLaunch(1024, 1u << 15);
  const std::string dense =
      "mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r3, 1024, %r0;\nmul.wide.u32 %rd8, %r4, 4;\nadd.s64 %rd8, %rd2, %rd8;\n"
      "st.global.u32 [%rd8], %r4;\n";
  EXPECT_EQ(SignatureOf(dense, launch).status, SignatureStatus::kOk);
  std::string holed = dense;
  holed.replace(holed.find("%r4, 4;"), 7, "%r4, 8;");
  const Signature s = SignatureOf(holed, launch);
  EXPECT_EQ(s.status, SignatureStatus::kUnknown);
  EXPECT_EQ(s.reason_code, "WRITES_NOT_PROVED_DISJOINT");
}

TEST(MapTest, HolesAreFine) {
  const Signature s = Of("mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r3, 32, %r0;\nmul.wide.u32 %rd8, %r4, 8;\nadd.s64 %rd8, %rd2, %rd8;\n"
                         "st.global.u32 [%rd8], %r4;\n");
  EXPECT_EQ(s.status, SignatureStatus::kOk) << s.reason;
  EXPECT_EQ(s.output_bytes, 256u);
}

TEST(MapTest, BlocksThatWriteOneAddress) {
  EXPECT_EQ(Of("st.global.u32 [%rd6], %r0;\n").status, SignatureStatus::kOk) << "equal values";
  const Signature s = Of("mov.u32 %r3, %ctaid.x;\nst.global.u32 [%rd6], %r3;\n");
  EXPECT_EQ(s.status, SignatureStatus::kNondeterministic);
  EXPECT_EQ(s.reason_code, "CONFLICTING_WRITES");
}

TEST(MapTest, ALaterStoreBehindABarrierReplaces) {
  const char* both = "st.global.u32 [%rd6], %r0;\nbar.sync 0;\nxor.b32 %r3, %r2, 4;\ncvt.u64.u32 %rd8, %r3;\nadd.s64 %rd8, %rd2, %rd8;\n"
                     "mov.u32 %r4, 9;\nst.global.u32 [%rd8], %r4;\n";
  EXPECT_EQ(Of(both, 1).digest, Of("mov.u32 %r4, 9;\nst.global.u32 [%rd6], %r4;\n", 1).digest);
  std::string without = both;
  without.replace(without.find("bar.sync 0;\n"), 12, "");
  EXPECT_EQ(SignatureOf(without, FrameLaunch()).status, SignatureStatus::kNondeterministic);
}

TEST(MapTest, ReadsBeforeTheSameLanesWriteAreInPlace) {
  EXPECT_EQ(Of("ld.global.f32 %f0, [%rd6];\nadd.rn.f32 %f0, %f0, %f0;\nst.global.f32 [%rd6], %f0;\n", 1).status, SignatureStatus::kOk);
  EXPECT_EQ(Of("ld.global.f32 %f0, [%rd6];\nst.global.f32 [%rd6], %f0;\nld.global.f32 %f1, [%rd6];\nst.global.f32 [%rd6+128], %f1;\n", 1).reason_code,
            "IN_PLACE");
  EXPECT_EQ(Of("ld.global.f32 %f0, [%rd6];\nadd.rn.f32 %f0, %f0, %f0;\nst.global.f32 [%rd6], %f0;\n", 2).status,
            SignatureStatus::kNondeterministic)
      << "two blocks update one element";
}

TEST(MapTest, OpenGridsKeepTheirSymbols) {
  Launch open = FrameLaunch();
  open.grid.reset();
  const auto body = [](const char* change) {
    return std::string("mov.u32 %r3, %ctaid.x;\n") + change +
           "mad.lo.u32 %r4, %r3, 32, %r0;\nmul.wide.u32 %rd8, %r4, 4;\nadd.s64 %rd9, %rd0, %rd8;\nadd.s64 %rd10, %rd2, %rd8;\n"
           "ld.global.f32 %f0, [%rd9];\nst.global.f32 [%rd10], %f0;\n";
  };
  const Signature a = SignatureOf(body(""), open), b = SignatureOf(body("add.u32 %r3, %r3, 1;\n"), open);
  ASSERT_EQ(a.status, SignatureStatus::kOk) << a.reason;
  EXPECT_NE(a.digest, b.digest);
  EXPECT_EQ(a.digest, SignatureOf(body("add.u32 %r3, %r3, 1;\nsub.u32 %r3, %r3, 1;\n"), open).digest);
  EXPECT_NE(a.digest, SignatureOf(body(""), FrameLaunch()).digest) << "an open grid and a known one do not compare";
}

}  // namespace
}  // namespace samebits::checker
