#ifndef SAMEBITS_SERVER_STATUS_PAGE_TEMPLATE_H_
#define SAMEBITS_SERVER_STATUS_PAGE_TEMPLATE_H_

// The text of the status page; $NAME stands for what status_page.cc fills in.

namespace samebits::server {

inline constexpr char kPageTemplate[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="10">
<title>$TITLE</title>
<style>
:root { --ink: #1c2127; --dim: #5b6672; --paper: #f6f7f9; --card: #ffffff; --line: #dde1e6;
  --good: #12703f; --bad: #b3261e; --warn: #8a5300; --info: #1d5fa8; --badpaper: #fdecea; --warnpaper: #fff4e0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --dim: #a0aab5; --paper: #14171a; --card: #1d2125; --line: #343a41;
    --good: #63cf94; --bad: #ff8a80; --warn: #f3b95f; --info: #7fb6f2; --badpaper: #3a1b1a; --warnpaper: #33280f; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header, main, footer { max-width: 1120px; margin: 0 auto; padding: 0 16px; }
header { padding-top: 20px; }
h1 { font-size: 22px; margin: 0; }
h2 { font-size: 17px; margin: 0 0 8px; }
p { margin: 6px 0; }
.dim { color: var(--dim); }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .info { color: var(--info); }
.state { font-weight: 600; white-space: nowrap; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; margin: 14px 0; }
section.alarm { background: var(--badpaper); border-color: var(--bad); }
section.caution { background: var(--warnpaper); border-color: var(--warn); }
.numbers { display: grid; grid-template-columns: repeat(auto-fill, minmax(118px, 1fr)); gap: 8px 12px; margin: 4px 0 10px; }
.numbers b { display: block; font-size: 22px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.numbers span { color: var(--dim); font-size: 13px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--dim); font-weight: 600; border-bottom: 1px solid var(--line); padding: 4px 12px 4px 0; }
td { vertical-align: top; border-bottom: 1px solid var(--line); padding: 5px 12px 5px 0; overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
.counts th + th, .counts td + td { width: 6em; text-align: right; padding-right: 0; font-variant-numeric: tabular-nums; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace; font-size: 13px; }
pre { background: var(--paper); border: 1px solid var(--line); border-radius: 6px; padding: 8px 10px; margin: 6px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: 1fr 1fr; gap: 0 14px; }
.columns section { margin-bottom: 0; }
footer { padding-top: 14px; padding-bottom: 24px; font-size: 13px; }
@media (max-width: 700px) {
  .columns { display: block; }
  thead { position: absolute; left: -9999px; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: 6px 0; }
  tr:last-child { border-bottom: 0; }
  td { display: block; border: 0; padding: 1px 0; }
  .counts td + td { width: auto; text-align: left; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--dim); }
}
</style>
</head>
<body>
<header>
<h1>samebits</h1>
<p class="dim">gRPC at <code>$ADDRESS</code> · up $UPTIME · signature version $SIGNATURE_VERSION</p>
</header>
<main>
$ALARMS
<section id="fleet">
<h2>Fleet</h2>
<div class="numbers">$FLEET_NUMBERS</div>
$FLEET
</section>
<section id="queue">
<h2>Queue</h2>
<div class="numbers">$QUEUE_NUMBERS</div>
$JOBS
</section>
<section id="profiles">
<h2>Arch profiles</h2>
$PROFILES
</section>
<div class="columns">
<section id="verdicts">
<h2>Verdicts <span class="dim">since the start</span></h2>
$VERDICTS
</section>
<section id="store">
<h2>Store</h2>
<div class="numbers">$STORE_NUMBERS</div>
<p class="dim">A copy while the server runs: <code>samebits backup FILE</code></p>
</section>
</div>
</main>
<footer class="dim">$TIME · reloads every 10 s · <a class="info" href="/metrics">metrics</a> for Prometheus</footer>
</body>
</html>
)html";

inline constexpr char kEmptyFleet[] = R"html(<p><b>No worker has registered yet.</b> Static comparisons need none. To run kernels on hardware, start a worker on
a node with GPUs (or on any machine: its CPU interprets PTX):</p>
<pre>samebits-worker --server $ADDRESS --allow-submitted-kernels</pre>
<p>It shows here within a second or two. Then compare two kernels on its devices:</p>
<pre>samebits verify a.ptx b.ptx --server $ADDRESS --grid 96 --arg x=ptr --arg out=ptr --arg n=4096 \
  --buffer 0=f32:393216:in --buffer 1=f32:96:out</pre>
<p class="dim">If the worker cannot reach the server: the server listens on loopback unless it was started with another
<code>--listen</code>.</p>)html";

inline constexpr char kNobodyOnline[] = R"html(<p class="warn"><b>No worker is online.</b> Queued tasks wait until one is. On a node that should work:</p>
<pre>systemctl status samebits-worker    # or: samebits-worker --server $ADDRESS --allow-submitted-kernels</pre>)html";

inline constexpr char kNoJobs[] =
    R"html(<p class="dim">No jobs yet. <code>samebits verify</code> makes one; <code>samebits jobs</code> lists them.</p>)html";

inline constexpr char kNoProfiles[] =
    R"html(<p class="dim">None stored. <code>samebits profile build</code> studies the library of matrix products of a machine,
<code>samebits profile import</code> stores the result here.</p>)html";

inline constexpr char kNoVerdicts[] =
    R"html(<p class="dim">Nothing was compared since the start. <code>samebits compare a.ptx b.ptx</code> asks.</p>)html";

inline constexpr char kContradicted[] = R"html(<section class="alarm" id="alarm-contradictions" role="alert">
<h2 class="bad">Hardware contradicts a certificate</h2>
<p>$COUNT kept. Launches that were certified as equal, or as repeating, wrote different bytes. Treat equal verdicts of this
signature version as suspect until it is explained. Fetch one with texts, launches and inputs, and run it again:</p>
<pre>samebits reproducers NAME --out case</pre>
$TABLE
<p class="dim">The alarm stays until the reproducers are deleted: <code>samebits reproducers NAME --delete</code></p>
</section>
)html";

inline constexpr char kQuiet[] = R"html(<section id="alarms">
<h2>Alarms</h2>
<p class="good"><b>None.</b> $TEXT</p>
</section>
)html";

inline constexpr char kCaution[] = R"html(<section class="caution" role="alert">
<h2 class="warn">$HEAD</h2>
<p>$TEXT</p>
</section>
)html";

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_STATUS_PAGE_TEMPLATE_H_
