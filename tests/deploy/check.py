#!/usr/bin/env python3
"""Check what is deployed: alert rules by promtool (skipped where it is missing), and that rules and dashboard name only
metrics that the server has."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "samebits.json"


def known_metrics():
    names = set(re.findall(r'"(samebits_[a-z_]+)"', (ROOT / "server" / "metrics" / "metrics.cc").read_text()))
    return names | {name + end for name in names for end in ("_bucket", "_count", "_sum")}


def main():
    board = json.loads(DASHBOARD.read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids)), "two panels have one id"
    dashboard = " ".join(target["expr"] for panel in board["panels"] for target in panel["targets"])
    rules = " ".join(re.findall(r"expr: (.*)", RULES.read_text()))
    known = known_metrics()
    for where, text in ((DASHBOARD, dashboard), (RULES, rules)):
        used = set(re.findall(r"samebits_[a-z_]+", text))
        assert used, f"{where} names no metric"
        assert used <= known, f"{where} names metrics that no server has: {sorted(used - known)}"
    promtool = shutil.which("promtool")
    if promtool is None:
        print("promtool is not there: rules not checked")
        return
    for command in (["check", "config", ROOT / "deploy" / "prometheus" / "prometheus.yml"],
                    ["test", "rules", ROOT / "tests" / "deploy" / "alerts_test.yml"]):
        subprocess.run([promtool, *command], check=True)


if __name__ == "__main__":
    sys.exit(main())
