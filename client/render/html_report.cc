#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/drawing.h"
#include "client/render/escape.h"
#include "client/render/report.h"

namespace samebits::render {
namespace {

// Two columns where there is room. No rule and no script names another resource.
constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--page:#fff;--text:#15161a;--soft:#5c6070;--line:#d8dae2;--panel:#f6f7fa;--mark:#c4161c}
@media(prefers-color-scheme:dark){:root{--page:#15161a;--text:#e6e6ea;--soft:#a3a7b5;--line:#363945;--panel:#1e2027;--mark:#ff6b6b}}
body{margin:0 auto;padding:1.5rem;max-width:1900px;background:var(--page);color:var(--text);font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.3rem;margin:0 0 .3rem}h2{font-size:1.05rem;margin:1.6rem 0 .5rem}h3{font-size:1rem;margin:0 0 .4rem;overflow-wrap:anywhere}
code,td.c,pre{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.soft{color:var(--soft)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem}
.panel{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:.8rem;min-width:0}
.scroll{overflow:auto;max-height:85vh}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.15rem .7rem .15rem 0;overflow-wrap:anywhere}
th{font-weight:500;color:var(--soft);white-space:nowrap}
tr[data-line]{cursor:default}tr.on{background:var(--line)}
.b{cursor:pointer}.n.off>.kids{display:none}.n.off>.b rect{stroke-width:3;stroke-dasharray:none}
.b.on rect{stroke:#1557c0;stroke-width:3.5}.b.peer rect{stroke:#1557c0;stroke-width:2.5;stroke-dasharray:4 2}
#info{position:sticky;bottom:0;background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:.5rem .8rem;min-height:6.2em;white-space:pre-wrap;overflow-wrap:anywhere;margin-top:1rem}
)";

// Hover: a node, what stands at its place in the other tree, equal labels, and the row of its instruction. Click or
// Enter: folds a subtree.
constexpr std::string_view kScript = R"(
'use strict';
const info = document.getElementById('info'), idle = info.textContent;
function mark(node, on) {
  const set = function (selector, name) {
    document.querySelectorAll(selector).forEach(function (n) {
      (n.querySelector(':scope > .b') || n).classList.toggle(name, on);
    });
  };
  const d = node.dataset, side = node.id.charAt(0);
  if (d.partner) set('#' + d.partner, 'peer');
  if (d.label) set('.n[data-label="' + d.label + '"]', 'peer');
  if (d.line) set('tr[data-side="' + side + '"][data-line="' + d.line + '"]', 'on');
  node.querySelector(':scope > .b').classList.toggle('on', on);
  info.textContent = on ? node.querySelector(':scope > .b > title').textContent : idle;
}
document.querySelectorAll('.n').forEach(function (node) {
  const box = node.querySelector(':scope > .b'), kids = node.querySelector(':scope > .kids');
  box.setAttribute('tabindex', '0');
  ['mouseenter', 'focus'].forEach(function (e) { box.addEventListener(e, function () { mark(node, true); }); });
  ['mouseleave', 'blur'].forEach(function (e) { box.addEventListener(e, function () { mark(node, false); }); });
  const fold = function () { if (kids) node.classList.toggle('off'); };
  box.addEventListener('click', fold);
  box.addEventListener('keydown', function (e) { if (e.key === 'Enter') fold(); });
});
document.querySelectorAll('tr[data-line]').forEach(function (row) {
  const nodes = '.n[id^="' + row.dataset.side + '"][data-line="' + row.dataset.line + '"] > .b';
  const set = function (on) {
    row.classList.toggle('on', on);
    document.querySelectorAll(nodes).forEach(function (n) { n.classList.toggle('on', on); });
  };
  row.addEventListener('mouseenter', function () { set(true); });
  row.addEventListener('mouseleave', function () { set(false); });
});
)";

std::string Row(std::string_view name, std::string_view value) {
  return absl::StrCat("<tr><th>", Escape(name), "</th><td class=\"c\">", Escape(value), "</td></tr>\n");
}

std::string LaunchPanel(const Subject& subject, const checker::Signature& signature, const char* which) {
  std::string out = absl::StrCat("<div class=\"panel\"><h3>", which, ": ", Escape(subject.id), "</h3><table>\n");
  for (const auto& [name, value] : subject.launch) out += Row(name, value);
  if (!signature.digest.empty()) out += Row("signature", signature.digest);
  if (signature.status != checker::SignatureStatus::kOk) {
    out += Row("status", absl::StrCat(std::string(checker::StatusName(signature.status)), ": ", signature.reason));
    if (signature.place.line != 0) out += Row("at", absl::StrCat("line ", signature.place.line, ": ", signature.place.instruction));
    if (!signature.place.source.empty()) out += Row("source", signature.place.source);
  }
  return out + "</table></div>\n";
}

std::string Assumptions(const checker::Comparison& c) {
  std::vector<std::string> all = c.a.assumptions;
  all.insert(all.end(), c.b.assumptions.begin(), c.b.assumptions.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.empty()) return "";
  std::string out = "<h2>Assuming</h2><ul>\n";
  for (const std::string& each : all) absl::StrAppend(&out, "<li>", Escape(each), "</li>\n");
  return out + "</ul>\n";
}

std::string Svg(const Drawing& drawing) {
  return absl::StrFormat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">%s</svg>",
                         drawing.width, drawing.height, drawing.width, drawing.height, drawing.elements);
}

// Instructions of the tree's nodes, by line of the text.
std::string Instructions(const checker::Tree& tree, const char* side) {
  std::map<uint32_t, const checker::Place*> places;
  for (const checker::TreeNode& node : tree)
    if (node.place.line != 0) places.try_emplace(node.place.line, &node.place);
  std::string out = "<table><tr><th>line</th><th>instruction</th><th>source</th></tr>\n";
  for (const auto& [line, place] : places) {
    absl::StrAppend(&out, "<tr data-side=\"", side, "\" data-line=\"", line, "\"><td class=\"c\">", line, "</td><td class=\"c\">",
                    Escape(place->instruction), "</td><td class=\"c\">", Escape(place->source), "</td></tr>\n");
  }
  return places.empty() ? "" : out + "</table>\n";
}

std::string TreePanel(const Subject& subject, const checker::PartingSide& side, const char* name) {
  const auto dims = [](const checker::Dim3& d) { return absl::StrCat(d[0], ",", d[1], ",", d[2]); };
  std::string out = absl::StrCat("<div class=\"panel\"><h3>", Escape(subject.id), "</h3>\n");
  if (side.nodes.empty()) return out + "<p>There is no expression to show.</p></div>\n";
  absl::StrAppend(&out, "<p class=\"soft\">Stored by thread ", dims(side.thread), " of block ", dims(side.block), ".</p>\n<div class=\"scroll\">",
                  Svg(DrawTree(side.nodes, name)), "</div></div>\n");
  return out;
}

std::string DifferenceSection(const Report& report) {
  const checker::Difference& d = *report.comparison.difference;
  std::string out = absl::StrCat("<h2>Where they part</h2><p>", Escape(d.summary), "</p>\n<p class=\"soft\">First output element that differs: buffer <code>",
                                 Escape(d.buffer), "</code>, byte ", d.byte_offset, ".</p>\n");
  if (d.a.nodes.empty() && d.b.nodes.empty()) return out;
  absl::StrAppend(&out, "<p class=\"scroll\">", Svg(DrawLegend()), "</p>\n<div class=\"pair\">", TreePanel(report.a, d.a, "a"),
                  TreePanel(report.b, d.b, "b"), "</div>\n<div id=\"info\" class=\"soft\">Point at a node for its instruction; click to fold what is below it. "
                  "Boxes: how the operands came together. Lines: how a value came to its user.</div>\n");
  absl::StrAppend(&out, "<h2>Instructions</h2><div class=\"pair\"><div class=\"panel\"><h3>", Escape(report.a.id), "</h3>", Instructions(d.a.nodes, "a"),
                  "</div><div class=\"panel\"><h3>", Escape(report.b.id), "</h3>", Instructions(d.b.nodes, "b"), "</div></div>\n");
  return out;
}

}  // namespace

std::string HtmlReport(const Report& report) {
  const checker::Comparison& c = report.comparison;
  const std::string verdict(checker::VerdictName(c.verdict));
  std::string body = absl::StrCat("<h1>", verdict, "</h1><p>", Escape(report.meaning), "</p>\n");
  if (!c.reason.empty()) absl::StrAppend(&body, "<p>", Escape(c.reason), "</p>\n");
  absl::StrAppend(&body, "<div class=\"pair\">", LaunchPanel(report.a, c.a, "First"), LaunchPanel(report.b, c.b, "Second"), "</div>\n");
  const bool has_trees = c.difference && !(c.difference->a.nodes.empty() && c.difference->b.nodes.empty());
  if (c.difference) body += DifferenceSection(report);
  body += Assumptions(c);
  absl::StrAppend(&body, "<p class=\"soft\">samebits ", Escape(report.version), ", signature version ", checker::SignatureVersion(), "</p>\n");
  return absl::StrCat("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
                      "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>",
                      Escape(absl::StrCat(verdict, ": ", report.a.id, ", ", report.b.id)), "</title>\n<style>", std::string(kStyle), std::string(DrawingStyle()),
                      "</style></head>\n<body>\n", body, has_trees ? absl::StrCat("<script>", std::string(kScript), "</script>\n") : "", "</body></html>\n");
}

}  // namespace samebits::render
