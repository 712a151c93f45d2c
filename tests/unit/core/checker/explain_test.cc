// Explanations: the trees of the parting element, their scopes, places and size.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/checker/checker.h"
#include "tests/support/pairs/pairs.h"

namespace samebits::checker {
namespace {

using Kind = TreeNode::Kind;
using Match = TreeNode::Match;

std::string Text(std::string_view text) { return std::string(text); }

Difference Explained(std::string_view a, std::string_view b, uint32_t threads = 32) {
  const auto c = Explain(Kernel(a), FrameLaunch(threads), Kernel(b), FrameLaunch(threads));
  EXPECT_TRUE(c.ok()) << c.status();
  if (!c.ok() || !c->difference) {
    ADD_FAILURE() << "no difference";
    return {};
  }
  return *c->difference;
}

void CheckShape(const Tree& tree, const Tree& other) {
  EXPECT_LE(tree.size(), kMaxTreeNodes);
  std::vector<int> parents(tree.size(), 0);
  for (size_t i = 0; i < tree.size(); ++i) {
    const TreeNode& n = tree[i];
    EXPECT_FALSE(n.text.empty());
    EXPECT_LE(n.text.size() + n.detail.size(), 400u);
    for (const uint32_t child : n.children) {
      ASSERT_LT(child, tree.size());
      EXPECT_GT(child, i);
      ++parents[child];
    }
    if (n.partner == TreeNode::kNone) continue;
    ASSERT_LT(n.partner, other.size());
    EXPECT_EQ(other[n.partner].partner, i);
  }
  for (size_t i = 1; i < tree.size(); ++i) EXPECT_EQ(parents[i], 1) << i;
}

void CheckShapes(const Difference& d) {
  CheckShape(d.a.nodes, d.b.nodes);
  CheckShape(d.b.nodes, d.a.nodes);
}

const TreeNode* FindText(const Tree& tree, std::string_view text) {
  const auto it = std::find_if(tree.begin(), tree.end(), [&](const TreeNode& n) { return n.text.find(Text(text)) != std::string::npos; });
  return it == tree.end() ? nullptr : &*it;
}

constexpr const char* kStore = "st.global.f32 [%rd6], %f9;\n";

TEST(ExplainTreeTest, NodesSayWhatStandsOnTheOtherSide) {
  const Difference d = Explained(absl::StrCat(Text(kLoadBoth), "mul.rn.f32 %f2, %f0, %f1;\nadd.rn.f32 %f9, %f2, %f1;\n", kStore),
                                 absl::StrCat(Text(kLoadBoth), "mul.rn.f32 %f2, %f0, %f1;\nsub.rn.f32 %f3, %f2, %f0;\nsqrt.rn.f32 %f9, %f3;\n", kStore));
  CheckShapes(d);
  const Tree &a = d.a.nodes, &b = d.b.nodes;
  ASSERT_FALSE(a.empty());
  EXPECT_EQ(a[0].match, Match::kParts);
  EXPECT_EQ(b[0].match, Match::kParts);
  EXPECT_EQ(a[0].partner, 0u);
  const TreeNode *x = FindText(a, "fmul"), *y = FindText(b, "fmul");
  ASSERT_NE(x, nullptr);
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(x->match, Match::kSame);
  EXPECT_NE(x->label, 0u);
  EXPECT_EQ(x->label, y->label);
  EXPECT_TRUE(x->children.empty()) << "what both hold is folded";
  EXPECT_NE(x->detail.find("arg0[0]; arg1[0]"), std::string::npos) << x->detail;
  const TreeNode* load = FindText(a, "arg1[0]");
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->kind, Kind::kLoad);
  EXPECT_EQ(load->reached, Scope::kGlobal);
}

TEST(ExplainTreeTest, ConstantsReadAsTheirOperationReadsThem) {
  const auto body = [](const char* constant) {
    return absl::StrCat(Text(kLoadBoth), "add.rn.f32 %f9, %f0, ", constant, ";\n", kStore);
  };
  const Difference d = Explained(body("0f3FC00000"), body("0fBF800000"));
  EXPECT_NE(FindText(d.a.nodes, "1.5 (0x3fc00000)"), nullptr);
  EXPECT_NE(FindText(d.b.nodes, "-1 (0xbf800000)"), nullptr);
  EXPECT_EQ(FindText(d.a.nodes, "1.5")->match, Match::kParts);
}

// x + value of lane ^ 1, times a constant.
std::string Exchanged(const char* exchange, const char* factor) {
  return absl::StrCat(Text(kLoadBoth), "mul.rn.f32 %f0, %f0, %f1;\n", exchange, "add.rn.f32 %f3, %f0, %f2;\nmul.rn.f32 %f9, %f3, ", factor, ";\n", kStore);
}

struct ExchangeCase {
  const char* name;
  const char* code;
  Scope scope;
};

TEST(ExplainTreeTest, ScopesTellHowOperandsCameTogether) {
  const ExchangeCase cases[] = {
      {"shuffle", "mov.b32 %r2, %f0;\nshfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\nmov.b32 %f2, %r3;\n", Scope::kWarp},
      {"shared memory",
       "st.shared.f32 [%r1], %f0;\nbar.sync 0;\nxor.b32 %r2, %r1, 4;\nld.shared.f32 %f2, [%r2];\n", Scope::kShared},
      {"own shared memory", "st.shared.f32 [%r1], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r1];\n", Scope::kThread},
      {"registers", "add.rn.f32 %f2, %f1, %f1;\n", Scope::kThread},
  };
  for (const ExchangeCase& c : cases) {
    const Difference d = Explained(Exchanged(c.code, "0f40400000"), Exchanged(c.code, "0f40A00000"));
    CheckShapes(d);
    // The two products differ in the factor only, so the sum is common.
    const TreeNode* sum = FindText(d.a.nodes, "fadd");
    ASSERT_NE(sum, nullptr) << c.name;
    EXPECT_EQ(sum->scope, c.scope) << c.name;
    EXPECT_EQ(sum->reached, Scope::kThread) << c.name;
    EXPECT_EQ(d.a.nodes[0].scope, Scope::kThread) << c.name;
  }
}

TEST(ExplainTreeTest, OnlyTheOperandThatMovedReachedByItsWay) {
  const std::string shuffle = "mov.b32 %r2, %f0;\nshfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\nmov.b32 %f2, %r3;\n";
  const Difference d = Explained(Exchanged(shuffle.c_str(), "%f3"), absl::StrCat(Text(kLoadBoth), "mov.f32 %f9, %f0;\n", kStore));
  CheckShapes(d);
  int own = 0, moved = 0;
  for (const TreeNode& n : d.a.nodes) {
    if (n.text.find("fmul") == std::string::npos || n.detail.empty() == n.children.empty()) continue;
    own += n.reached == Scope::kThread;
    moved += n.reached == Scope::kWarp;
  }
  EXPECT_GE(moved, 1);
  EXPECT_GE(own, 1);
}

TEST(ExplainTreeTest, PlacesAreEachKernelsOwn) {
  const std::string sum = absl::StrCat(Text(kLoadBoth), "add.rn.f32 %f2, %f0, %f1;\n");
  const Difference d = Explained(absl::StrCat(sum, "mul.rn.f32 %f9, %f2, %f2;\n", kStore),
                                 absl::StrCat("mov.u32 %r9, 1;\nmov.u32 %r8, 2;\n", sum, "mul.rn.f32 %f9, %f2, %f0;\n", kStore));
  const TreeNode *a = FindText(d.a.nodes, "fadd"), *b = FindText(d.b.nodes, "fadd");
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->place.line, a->place.line + 2) << "the node is one, made by two texts";
  EXPECT_EQ(a->place.instruction, "add.rn.f32 %f2, %f0, %f1");
}

TEST(ExplainTreeTest, SourceLinesComeFromLocAndItsInlining) {
  const auto kernel = [](const char* operation, const char* loc) {
    std::string text = Kernel(absl::StrCat(Text(kLoadBoth), loc, operation, " %f9, %f0, %f1;\n", kStore));
    return absl::StrCat(text, "\n.file 1 \"kernel.py\"\n.file 2 \"library.py\"\n");
  };
  const auto c = Explain(kernel("add.rn.f32", ".loc 2 63 5  // library.py:63:5 @[ library.py:93:3 @[ kernel.py:45:30 ] ]\n"), FrameLaunch(),
                         kernel("mul.rn.f32", ".loc 1 12 3\n"), FrameLaunch());
  ASSERT_TRUE(c.ok()) << c.status();
  ASSERT_TRUE(c->difference);
  EXPECT_EQ(c->difference->a.place.source, "library.py:63, inlined at kernel.py:45");
  EXPECT_EQ(c->difference->b.place.source, "kernel.py:12");
  const auto nested = Explain(kernel("add.rn.f32", ".loc 1 25 2\n.loc 2 93 3, function_name f, inlined_at 1 25 2\n.loc 2 63 5, function_name f, inlined_at 2 93 3 // library.py:63:5\n"),
                              FrameLaunch(), kernel("mul.rn.f32", ""), FrameLaunch());
  ASSERT_TRUE(nested.ok()) << nested.status();
  EXPECT_EQ(nested->difference->a.place.source, "library.py:63, inlined at kernel.py:25");
}

// o[tid] = fold of a[tid], a[tid + 1], ... (`terms` of them), from `seed`.
std::string LoopSum(int terms, const char* seed) {
  return absl::StrCat("mov.f32 %f9, ", seed, ";\nmov.u32 %r9, 0;\nL:\nld.global.f32 %f0, [%rd4];\nadd.rn.f32 %f9, %f9, %f0;\n"
                      "add.s64 %rd4, %rd4, 4;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r9, ", terms, ";\n@%p1 bra L;\n", kStore);
}

TEST(ExplainTreeTest, LongChainsKeepTheirEnds) {
  const Difference d = Explained(LoopSum(4096, "0f3F800000"), LoopSum(4096, "0f40000000"));
  CheckShapes(d);
  EXPECT_LT(d.a.nodes.size(), 16u);
  const TreeNode* fold = FindText(d.a.nodes, "... 4,09");
  ASSERT_NE(fold, nullptr);
  EXPECT_EQ(fold->kind, Kind::kFold);
  EXPECT_EQ(fold->match, Match::kAlike);
  EXPECT_NE(fold->text.find("more fadd.rn.f32, alike"), std::string::npos) << fold->text;
  EXPECT_NE(fold->detail.find("arg0[8], arg0[12], ... "), std::string::npos) << fold->detail;
  EXPECT_GT(fold->folded, 4000u);
  EXPECT_NE(FindText(d.a.nodes, "1 (0x3f800000)"), nullptr) << "where they part is shown";
  EXPECT_NE(FindText(d.b.nodes, "2 (0x40000000)"), nullptr);
}

TEST(ExplainTreeTest, ChainsOfDifferentLengthsShowWhereTheyPart) {
  const Difference d = Explained(LoopSum(300, "0f3F800000"), LoopSum(200, "0f3F800000"));
  CheckShapes(d);
  EXPECT_NE(FindText(d.a.nodes, "... 9"), nullptr) << "the hundred additions before the common ones";
  ASSERT_EQ(d.b.nodes.size(), 1u) << "all of the second is part of the first";
  EXPECT_EQ(d.b.nodes[0].match, Match::kParts);
  EXPECT_NE(d.b.nodes[0].label, 0u);
  const auto same = std::find_if(d.a.nodes.begin(), d.a.nodes.end(), [&](const TreeNode& n) { return n.label == d.b.nodes[0].label; });
  EXPECT_NE(same, d.a.nodes.end());
}

TEST(ExplainTreeTest, ExpressionsOfAnySizeStayBounded) {
  // Each step uses the value before twice: a tree of 3^90 nodes.
  const auto body = [](const char* seed) {
    std::string out = absl::StrCat(Text(kLoadBoth), "mov.f32 %f9, ", seed, ";\n");
    for (int i = 0; i < 90; ++i) absl::StrAppend(&out, "fma.rn.f32 %f9, %f9, %f9, %f9;\nadd.rn.f32 %f9, %f9, %f0;\n");
    return out + kStore;
  };
  const Difference d = Explained(body("%f0"), body("%f1"));
  CheckShapes(d);
  EXPECT_GT(d.a.nodes.size(), 10u);
  const auto largest = std::max_element(d.a.nodes.begin(), d.a.nodes.end(), [](const TreeNode& x, const TreeNode& y) { return x.folded < y.folded; });
  EXPECT_GT(largest->folded, 1'000'000u);
}

TEST(ExplainTreeTest, ASideThatDoesNotStoreHasNoTree) {
  const std::string load = Text(kLoadBoth);
  const Difference d = Explained(absl::StrCat(load, "mov.f32 %f9, %f0;\nst.global.f32 [%rd6], %f9;\nst.global.f32 [%rd6+256], %f9;\n"),
                                 absl::StrCat(load, "mov.f32 %f9, %f0;\n", kStore));
  CheckShapes(d);
  EXPECT_EQ(d.a.nodes.size(), 1u);
  EXPECT_TRUE(d.b.nodes.empty());
  EXPECT_EQ(d.byte_offset, 256u);
}

TEST(ExplainTreeTest, OpenGridsPartInTheBlocksFactor) {
  const auto body = [](int scale) {
    return absl::StrCat("mov.u32 %r9, %ctaid.x;\nmul.wide.u32 %rd9, %r9, ", scale, ";\nadd.s64 %rd10, %rd4, %rd9;\n"
                        "ld.global.f32 %f9, [%rd10];\nmul.wide.u32 %rd11, %r9, 128;\nadd.s64 %rd12, %rd6, %rd11;\nst.global.f32 [%rd12], %f9;\n");
  };
  Launch open = FrameLaunch();
  open.grid.reset();
  const auto c = Explain(Kernel(body(128)), open, Kernel(body(256)), open);
  ASSERT_TRUE(c.ok() && c->difference) << c.status();
  EXPECT_NE(FindText(c->difference->a.nodes, "arg0[128*ctaid.x + 0]"), nullptr);
  EXPECT_NE(FindText(c->difference->b.nodes, "arg0[256*ctaid.x + 0]"), nullptr);
}

TEST(ExplainTreeTest, TheThreadThatStoresIsNamed) {
  const auto body = [](const char* operation) {
    return absl::StrCat(Text(kLoadBoth), "setp.eq.u32 %p1, %r0, 5;\nselp.f32 %f2, %f1, %f0, %p1;\n", operation, " %f3, %f0, %f1;\n@%p1 mov.f32 %f2, %f3;\nmov.f32 %f9, %f2;\n", kStore);
  };
  const Difference d = Explained(body("add.rn.f32"), body("mul.rn.f32"));
  EXPECT_EQ(d.byte_offset, 20u);
  EXPECT_EQ(d.a.thread, (Dim3{5, 0, 0}));
  EXPECT_EQ(d.a.block, (Dim3{0, 0, 0}));
}

TEST(ExplainTreeTest, SignaturesAreThoseOfComputeSignature) {
  const std::string a = LoopSum(50, "0f3F800000"), b = LoopSum(40, "0f3F800000");
  const auto c = Explain(Kernel(a), FrameLaunch(), Kernel(b), FrameLaunch());
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->a.digest, SignatureOf(a, FrameLaunch()).digest);
  EXPECT_EQ(c->b.digest, SignatureOf(b, FrameLaunch()).digest);
}

}  // namespace
}  // namespace samebits::checker
