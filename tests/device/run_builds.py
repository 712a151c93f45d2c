#!/usr/bin/env python3
"""Ask the GPU whether `samebits ci check` is right about two builds of the corpus.

    run_builds.py pack DIR --baseline M --candidate M --report R [--pairs N]
    run_builds.py run DIR --out OUT [--commit C]

pack, without a GPU: BASELINE and CANDIDATE are manifests that tests/corpus/build.py wrote with two compilers, REPORT is what
`samebits ci check --json` said about them. Writes a sample of N pairs to DIR (default 100): half of the changed kernels, half of
the equal ones whose texts differ, a group after the other. run: runs both sides of each on the draws of inputs.py. Writes
OUT/builds-record.json; exit status 1 where a kernel that was reported as equal wrote other bytes.
"""
import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def spread(ids, count):
    """`count` of them, the groups in turn."""
    groups = collections.defaultdict(list)
    for name in ids:
        groups[name.split("/")[0]].append(name)
    out = []
    while len(out) < count and any(groups.values()):
        for names in groups.values():
            if names and len(out) < count:
                out.append(names.pop(len(names) // 2))
    return out


def pack(options):
    findings = json.loads(options.report.read_text())["findings"]
    changed = spread([f["id"] for f in findings if f["outcome"] == "changed"], options.pairs // 2)
    equal = spread([f["id"] for f in findings if f["outcome"] == "equal" and not f["same_text"]], options.pairs - len(changed))
    outcomes = {**{name: "changed" for name in changed}, **{name: "equal" for name in equal}}
    rows = []
    for side, manifest in (("baseline", options.baseline), ("candidate", options.candidate)):
        for row in map(json.loads, open(manifest)):
            if row["id"] not in outcomes:
                continue
            text = options.folder / side / row["path"]
            text.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(manifest.parent / row["path"], text)
            rows.append({**row, "id": f"{side}:{row['id']}", "path": f"{side}/{row['path']}"})
    rows.sort(key=lambda row: row["group"])
    (options.folder / "manifest.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (options.folder / "outcomes.json").write_text(json.dumps({"outcomes": outcomes, "counts": json.loads(options.report.read_text())["counts"]}))
    print(f"{len(outcomes)} pairs: {len(changed)} changed, {len(equal)} equal")
    return 0


def run(options):
    import record
    from run_corpus import device

    subprocess.run([sys.executable, str(HERE / "run_corpus.py"), "--manifest", str(options.folder / "manifest.jsonl"), "--out",
                    str(options.out)], check=False)
    reported = json.loads((options.folder / "outcomes.json").read_text())
    results = {row["id"]: row for row in map(json.loads, open(options.out / "digests.jsonl"))}
    pairs, counts = [], collections.Counter()
    for name, outcome in reported["outcomes"].items():
        a, b = (results.get(f"{side}:{name}", {}) for side in ("baseline", "candidate"))
        if "digests" not in a or "digests" not in b:
            said = "did not run"
        else:
            draws = [i for i, (x, y) in enumerate(zip(a["digests"], b["digests"])) if x != y]
            said = "differs" if draws or not (a["stable"] and b["stable"]) else "same bytes"
        counts[f"{outcome}: {said}"] += 1
        pairs.append({"id": name, "outcome": outcome, "hardware": said})
    wrong = [p["id"] for p in pairs if p["outcome"] == "equal" and p["hardware"] != "same bytes"]
    (options.out / "builds-record.json").write_text(json.dumps(
        {"what": "two compilers' builds of the corpus: samebits ci check against the hardware", **record.environment(*device(), options.commit),
         "figures": {"reported, of all kernels": reported["counts"], "pairs run": len(pairs), **dict(sorted(counts.items()))},
         "wrong": wrong, "pairs": pairs}, indent=1) + "\n")
    print(json.dumps({"pairs": len(pairs), **counts, "wrong": wrong}))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack")
    packing.add_argument("folder", type=pathlib.Path)
    for name in ("baseline", "candidate", "report"):
        packing.add_argument(f"--{name}", type=pathlib.Path, required=True)
    packing.add_argument("--pairs", type=int, default=100)
    running = verbs.add_parser("run")
    running.add_argument("folder", type=pathlib.Path)
    running.add_argument("--out", type=pathlib.Path, required=True)
    running.add_argument("--commit", default="")
    options = parser.parse_args()
    return pack(options) if options.verb == "pack" else run(options)


if __name__ == "__main__":
    sys.exit(main())
