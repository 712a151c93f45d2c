#!/usr/bin/env python3
"""The status page in a real browser: empty, with a fleet, and with an alarm; on a desktop and a phone; light and dark.

    status_page.py [--bin DIR] [--shots DIR]

Checks that nothing is wider than the screen, that every text has a contrast of at least 4.5 to what lies behind it (WCAG 2.1
AA), that the page has no script and loads nothing else, and what it says. Exit code 77 without a Chromium."""
import argparse
import pathlib
import sqlite3
import sys
import tempfile

import browser
import fleet

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROFILE = ROOT / "tests" / "device" / "records" / "gemm-h200-cublaslt-13.1.profile"
SCREENS = {"desktop": (1280, 800), "phone": (360, 740)}
WIDER = """[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 0.5 &&
  getComputedStyle(e).position !== 'absolute' && !e.closest('thead')).map(e => e.outerHTML.slice(0, 120))"""
# Relative luminance and contrast as WCAG 2.1 defines them.
PALE = """(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const out = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walker.nextNode();) {
    if (!n.textContent.trim()) continue;
    const a = luminance(parse(getComputedStyle(n.parentElement).color)), b = luminance(behind(n.parentElement));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) out.push(contrast.toFixed(2) + ' ' + n.textContent.trim().slice(0, 40));
  }
  return out;
})()"""
RESOURCES = "performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.endsWith('/favicon.ico'))"


class Page:
    def __init__(self, window, url, shots):
        self.window, self.url, self.shots, self.troubles, self.looks = window, url, shots, [], 0

    def look(self, scene, *texts, absent=()):
        for screen, (width, height) in SCREENS.items():
            for dark in (False, True):
                self._look_once(f"{scene}_{screen}_{'dark' if dark else 'light'}", width, height, dark, texts, absent)

    def _look_once(self, name, width, height, dark, texts, absent):
        self.window.show(self.url, width, height, dark)
        self.looks += 1
        text = self.window.run("document.body.innerText")
        self.troubles += [f"{name}: does not say {wanted!r}" for wanted in texts if wanted not in text]
        self.troubles += [f"{name}: says {unwanted!r}" for unwanted in absent if unwanted in text]
        for what, script in (("wider than the screen", WIDER), ("too pale", PALE), ("loads", RESOURCES)):
            self.troubles += [f"{name}: {what}: {found}" for found in self.window.run(script)]
        if self.window.run("document.documentElement.scrollWidth > innerWidth"):
            self.troubles.append(f"{name}: scrolls sideways")
        if self.window.run("document.scripts.length"):
            self.troubles.append(f"{name}: has a script")
        background = self.window.run("getComputedStyle(document.body).backgroundColor")
        bright = sum(int(v) for v in background[4:-1].split(",")) > 3 * 128
        if bright == dark:
            self.troubles.append(f"{name}: background {background}")
        if self.shots:
            self.window.screenshot(self.shots / f"{name}.png")


def add_alarm(database):
    """A reproducer as the server keeps it; the page shows its name only."""
    with sqlite3.connect(database, timeout=30) as db:
        db.execute("INSERT INTO reproducers (id, job, create_time_micros, body) VALUES (?, ?, ?, ?)",
                   ("0123456789abcdef0123456789abcdef-0", "0123456789abcdef0123456789abcdef", 1_700_000_000_000_000, b""))
    db.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--shots", type=pathlib.Path, help="keep screenshots here")
    options = parser.parse_args()
    if browser.find() is None:
        print("SKIPPED: no Chromium is installed (Debian: apt-get install chromium)")
        return 77
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, fleet.running(options.bin, scratch) as samebits:
        window = browser.Browser()
        try:
            page = Page(window, f"http://{samebits.metrics}/", options.shots)
            page.look("empty", "No worker has registered yet", f"samebits-worker --server {samebits.address}", "None.",
                      "No jobs yet", "None stored", absent=["No worker is online"])
            samebits.start_worker("node-1", "--allow-submitted-kernels", "--cpu-slots", "2")
            samebits.start_worker("a-node-with-a-rather-long-name.example.internal")
            samebits.ask("compare", *samebits.kernels, "--block", "32")
            samebits.verify()
            samebits.ask("fleet", "node-1", "--drain")
            samebits.verify("--no-wait")
            samebits.ask("profile", "import", str(PROFILE))
            page.look("busy", "node-1", "online", "draining", "interpreter of PTX", "runs no submitted kernels", "SUCCEEDED",
                      "QUEUED", "EQUIVALENT", "CONSISTENT", "NVIDIA H200", "archProfiles/", absent=["No worker has registered yet"])
            add_alarm(pathlib.Path(scratch) / "data" / "samebits.db")
            page.look("alarm", "Hardware contradicts a certificate", "reproducers/0123456789abcdef0123456789abcdef-0",
                      absent=["None."])
        finally:
            window.close()
    for trouble in page.troubles:
        print(trouble)
    print(f"{page.looks} looks, {len(page.troubles)} troubles")
    return 1 if page.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
