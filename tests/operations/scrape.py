#!/usr/bin/env python3
"""The metrics by Prometheus's own tools: promtool on what the server exposes, and a Prometheus that scrapes it with the
deployed configuration and rules.

    scrape.py [--bin DIR]

Exit code 77 without Prometheus."""
import argparse
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import fleet  # puts tests/support on the path
from local_service import free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
CONFIG = ROOT / "deploy" / "prometheus" / "prometheus.yml"


def check_exposition(text):
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"promtool check metrics: {done.stdout}{done.stderr}"]


class Prometheus:
    def __init__(self, target, scratch, stack):
        self.port = free_port()
        shutil.copy(RULES, scratch)
        config = CONFIG.read_text().replace("127.0.0.1:9433", target).replace("scrape_interval: 15s",
                                                                             "scrape_interval: 1s\n  evaluation_interval: 1s")
        assert target in config, "the deployed configuration names no target to replace"
        (scratch / "prometheus.yml").write_text(config)
        with open(scratch / "prometheus.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={scratch / 'prometheus.yml'}", f"--storage.tsdb.path={scratch / 'tsdb'}",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)
        stack.callback(self._stop)

    def _stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)

    def api(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        return {}

    def value(self, expression):
        result = self.api("query", query=expression).get("result", [])
        return float(result[0]["value"][1]) if result else None


def await_value(prometheus, expression, wanted, seconds=40):
    limit, got = time.monotonic() + seconds, None
    while time.monotonic() < limit:
        got = prometheus.value(expression)
        if got == wanted:
            return []
        time.sleep(0.2)
    return [f"{expression} is {got}, not {wanted}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    options = parser.parse_args()
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        print("SKIPPED: Prometheus is not installed (Debian: apt-get install prometheus)")
        return 77
    with tempfile.TemporaryDirectory() as scratch, fleet.running(options.bin, scratch) as samebits, \
            contextlib.ExitStack() as stack:
        scratch = pathlib.Path(scratch)
        troubles = check_exposition(samebits.get("/metrics"))
        prometheus = Prometheus(samebits.metrics, scratch, stack)
        troubles += await_value(prometheus, 'up{job="samebits"}', 1)
        samebits.start_worker("w", "--allow-submitted-kernels")
        samebits.ask("compare", *samebits.kernels, "--block", "32")
        samebits.verify()
        for expression, wanted in (('samebits_verdicts_total{verdict="EQUIVALENT"}', 1), ('samebits_workers{state="online"}', 1),
                                   ('samebits_verifications_total{agreement="CONSISTENT"}', 1),
                                   ('samebits_launches_total{backend="cpu",code="OK"}', 2),
                                   ('samebits_jobs_total{event="succeeded"}', 1), ("samebits_verdict_contradictions_total", 0),
                                   ('sum(samebits_devices{backend="cpu"})', 1)):
            troubles += await_value(prometheus, expression, wanted)
        troubles += check_exposition(samebits.get("/metrics"))
        rules = [rule for group in prometheus.api("rules").get("groups", []) for rule in group["rules"]]
        troubles += [f"rule {rule['name']}: {rule['health']} {rule.get('lastError', '')}" for rule in rules
                     if rule["health"] == "err"]
        if not rules:
            troubles.append("Prometheus has no rules")
        samebits.server.kill()
        samebits.server.wait()
        troubles += await_value(prometheus, 'up{job="samebits"}', 0)
    for trouble in troubles:
        print(trouble)
    print(f"{len(rules)} rules, {len(troubles)} troubles")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
