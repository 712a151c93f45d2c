#include "client/render/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/render/escape.h"
#include "tests/unit/client/render/xml.h"

namespace samebits::render {
namespace {

using checker::Scope;
using checker::TreeNode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNasty = "</script><script>alert(\"1\")</script>&'\x01\xff]]>";

checker::Comparison Parted(const std::string& text) {
  checker::Comparison c;
  c.verdict = checker::Verdict::kDistinct;
  c.a.status = c.b.status = checker::SignatureStatus::kOk;
  c.a.digest = std::string(32, 'a');
  c.b.digest = std::string(32, 'b');
  c.a.assumptions = {text};
  checker::Difference d;
  d.summary = text;
  d.buffer = text;
  d.byte_offset = 64;
  d.a.thread = {5, 0, 0};
  d.a.nodes.resize(3);
  d.a.nodes[0] = {TreeNode::Kind::kOperation, TreeNode::Match::kAlike, Scope::kShared, Scope::kThread, "fadd", text, {1, 2}, 0, 0, 0, {9, 0, text, text}};
  d.a.nodes[1] = {TreeNode::Kind::kLoad, TreeNode::Match::kParts, Scope::kUnknown, Scope::kGlobal, text, "", {}, 1, 0, 0, {}};
  d.a.nodes[2] = {TreeNode::Kind::kOperation, TreeNode::Match::kSame, Scope::kWarp, Scope::kShared, "fmul", "x[0]", {}, TreeNode::kNone, 7, 3, {}};
  d.b.nodes = d.a.nodes;
  c.difference = d;
  return c;
}

Report ReportOn(const checker::Comparison& c, const std::string& id) {
  checker::Launch launch;
  launch.entry = id;
  return {c, {id, LaunchRows(launch)}, {id + "2", LaunchRows(launch)}, "they differ", "1.0"};
}

// Nothing in it makes a reader load or follow anything.
void CheckSelfContained(const std::string& text) {
  EXPECT_THAT(text, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("href")), Not(HasSubstr("@import")), Not(HasSubstr("url("))));
}

TEST(ReportTest, HostileTextStaysText) {
  const checker::Comparison c = Parted(kNasty);
  const Element svg = ParseXml(SvgReport(ReportOn(c, kNasty)));
  EXPECT_TRUE(FindAll(svg, "script").empty());
  const std::string page = HtmlReport(ReportOn(c, kNasty));
  const Element html = ParseXml(page);
  EXPECT_EQ(FindAll(html, "script").size(), 1u) << "the page's own";
  EXPECT_THAT(page, Not(HasSubstr("alert(\"")));
  CheckSelfContained(page);
  CheckSelfContained(SvgReport(ReportOn(c, kNasty)));
  EXPECT_EQ(FindAll(html, "li").at(0)->text, "</script><script>alert(\"1\")</script>&'\xef\xbf\xbd\xef\xbf\xbd]]>");
}

TEST(ReportTest, NodesCarryScopeMatchPartnerAndPlace) {
  const checker::Comparison c = Parted("k.py:3");
  const Element html = ParseXml(HtmlReport(ReportOn(c, "one")));
  std::map<std::string, const Element*> groups;
  for (const Element* g : FindAll(html, "g"))
    if (g->attributes.count("id")) groups[g->attributes.at("id")] = g;
  ASSERT_EQ(groups.size(), 6u);
  EXPECT_EQ(groups["a1"]->attributes.at("data-partner"), "b1");
  EXPECT_EQ(groups["b2"]->attributes.at("data-label"), "7");
  EXPECT_EQ(groups["a0"]->attributes.at("data-line"), "9");
  const auto box = [&](const char* id) { return groups[id]->children.back().attributes.at("class"); };
  EXPECT_EQ(box("a0"), "b s-shared m-alike k-operation");
  EXPECT_EQ(box("a1"), "b s-global m-parts k-load");
  EXPECT_EQ(box("a2"), "b s-warp m-same k-operation");
  const Element& kids = groups["a0"]->children.front();
  EXPECT_EQ(kids.attributes.at("class"), "kids");
  EXPECT_EQ(kids.children.at(0).attributes.at("class"), "e s-global") << "the line to x[..] has the way that it came";
  EXPECT_EQ(kids.children.at(2).attributes.at("class"), "e s-shared");
  EXPECT_THAT(FindAll(*groups["a2"], "title").at(0)->text, AllOf(HasSubstr("#7: in both"), HasSubstr("stands for 3 more"), HasSubstr("shared")));
}

TEST(ReportTest, PagesSayVerdictLaunchesAndAssumptions) {
  const std::string page = HtmlReport(ReportOn(Parted("no overlap"), "kernel one"));
  EXPECT_THAT(page, AllOf(HasSubstr("DISTINCT"), HasSubstr("they differ"), HasSubstr("kernel one2"), HasSubstr("1 x 1 x 1"), HasSubstr("no overlap"),
                          HasSubstr(std::string(32, 'b')), HasSubstr("byte 64"), HasSubstr("prefers-color-scheme:dark")));
}

TEST(ReportTest, AnswersWithoutTreesArePagesToo) {
  checker::Comparison c;
  c.verdict = checker::Verdict::kUnknown;
  c.reason = "first kernel: not modelled";
  c.a.reason = "not modelled";
  const std::string page = HtmlReport(ReportOn(c, "k"));
  EXPECT_TRUE(FindAll(ParseXml(page), "script").empty());
  EXPECT_THAT(page, HasSubstr("not modelled"));
  EXPECT_THAT(SvgReport(ReportOn(c, "k")), HasSubstr("UNKNOWN"));
  ParseXml(SvgReport(ReportOn(c, "k")));
  c.verdict = checker::Verdict::kDistinct;
  c.difference.emplace();
  c.difference->a = Parted("x").difference->a;
  ParseXml(HtmlReport(ReportOn(c, "k")));
  ParseXml(SvgReport(ReportOn(c, "k")));
}

TEST(ReportTest, TheLargestTreesDrawInBoundedSpace) {
  checker::Comparison c = Parted("x");
  checker::Tree chain(checker::kMaxTreeNodes), bush(checker::kMaxTreeNodes);
  for (uint32_t i = 0; i < chain.size(); ++i) {
    chain[i].text = bush[i].text = std::string(160, '<');
    chain[i].detail = bush[i].detail = std::string(160, '&');
    if (i + 1 < chain.size()) chain[i].children = {i + 1};
    if (i > 0) bush[0].children.push_back(i);
  }
  c.difference->a.nodes = chain;
  c.difference->b.nodes = bush;
  const std::string svg = SvgReport(ReportOn(c, "k")), page = HtmlReport(ReportOn(c, "k"));
  ParseXml(svg);
  ParseXml(page);
  EXPECT_LT(svg.size(), 1u << 20);
  EXPECT_LT(page.size(), 1u << 20);
}

TEST(EscapeTest, OnlyCharactersOfXmlRemain) {
  EXPECT_EQ(Escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(Escape("ä€𝄞\t\n"), "ä€𝄞\t\n");
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(Escape(std::string("\0", 1)), replacement);
  EXPECT_EQ(Escape("\xed\xa0\x80"), replacement + replacement + replacement) << "a surrogate";
  EXPECT_EQ(Escape("\xc0\xaf"), replacement + replacement) << "an overlong slash";
  EXPECT_EQ(Escape("\xf5\x80\x80\x80").size(), 4 * replacement.size());
  EXPECT_EQ(Escape("\xef\xbf\xbe"), replacement + replacement + replacement) << "U+FFFE";
  EXPECT_EQ(Escape("\xe2\x82"), replacement + replacement) << "cut off";
}

TEST(EscapeTest, ShorteningCountsCodePoints) {
  EXPECT_EQ(Shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(Shortened("abcdefg", 6), "abcde…");
  EXPECT_EQ(Shortened("äöüäöüä", 3), "äö…");
}

}  // namespace
}  // namespace samebits::render
