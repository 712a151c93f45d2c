#!/usr/bin/env python3
"""The mutation gate: no mutant whose bytes changed on hardware may keep its base's signature.

    gate.py --samebits PATH [--mutants mutants.jsonl] [--jobs N] [--min-known 0.9] [--min-changed N] [--all] [--list]

Writes bases and mutants with verdict "changed" or "unstable" (--all: every mutant, which also tells how many without a
change of bytes have another signature) to a scratch folder with a manifest, runs `samebits signature --local --manifest` over it once, and compares. Fails (exit status 1)
if a changed mutant has its base's OK signature, if fewer than --min-known of the bases are OK (a gate over kernels
that the checker refuses would prove nothing), if there are fewer changed mutants than --min-changed, or if the checker
left a kernel out. --list prints each offender.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "corpus"))

import unpack

CHANGED = ("changed", "unstable")


def mutated(source, mutant):
    lines = source.split("\n")
    if lines[mutant["line"] - 1] != mutant["old"]:
        raise SystemExit(f"{mutant['id']}: line {mutant['line']} of its base is not what it was made from")
    lines[mutant["line"] - 1] = mutant["new"]
    return "\n".join(lines)


def write_manifest(folder, mutants):
    """Manifest over the bases and mutants; returns its path."""
    rows = {r["id"]: r for r in map(json.loads, open(folder / "manifest.jsonl"))}
    (folder / "mutants").mkdir(exist_ok=True)
    out = []
    sources = {}
    for mutant in mutants:
        base = rows[mutant["base"]]
        if base["id"] not in sources:
            sources[base["id"]] = (folder / base["path"]).read_text()
            out.append(base)
        path = f"mutants/{len(out)}.ptx"
        (folder / path).write_text(mutated(sources[base["id"]], mutant))
        out.append({**base, "id": mutant["id"], "path": path})
    target = folder / "mutants.jsonl"
    target.write_text("".join(json.dumps(row) + "\n" for row in out))
    return target


def signatures(samebits, manifest, jobs):
    done = subprocess.run([samebits, "signature", "--local", "--manifest", str(manifest), "--jobs", str(jobs)],
                          stdout=subprocess.PIPE, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not rows:
        raise SystemExit(f"samebits signature printed nothing, exit status {done.returncode}")
    return {row["id"]: row for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samebits", required=True)
    parser.add_argument("--mutants", type=pathlib.Path, default=HERE / "mutants.jsonl")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--min-known", type=float, default=0.9)
    parser.add_argument("--min-changed", type=int, default=500)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    everything = [json.loads(line) for line in open(options.mutants)]
    mutants = everything if options.all else [m for m in everything if m.get("device") in CHANGED]
    with tempfile.TemporaryDirectory() as scratch:
        folder = unpack.unpack(scratch)
        signed = signatures(options.samebits, write_manifest(folder, mutants), options.jobs)
    kept, counts, missing = [], collections.Counter(), []
    changed = [m for m in mutants if m.get("device") in CHANGED]
    bases = sorted({m["base"] for m in mutants})
    known = [b for b in bases if signed.get(b, {}).get("status") == "OK"]
    for mutant in mutants:
        base, own = signed.get(mutant["base"]), signed.get(mutant["id"])
        if base is None or own is None:
            missing.append(mutant["id"])
        elif base["status"] == "OK" and own["status"] == "OK" and own["signature"] == base["signature"]:
            kept.append(mutant)
            counts["kept"] += 1
        else:
            counts["base not OK" if base["status"] != "OK" else "another signature" if own["status"] == "OK" else own["status"]] += 1
    alike = [m for m in mutants if m.get("device") == "same"]
    if alike:
        split = sum(signed[m["id"]]["signature"] != signed[m["base"]]["signature"] for m in alike if m["id"] in signed)
        print(f"{len(alike)} mutants showed no change of bytes, {split} of them ({split / len(alike):.1%}) have a signature of their own")
    print(f"{len(mutants)} mutants of {len(bases)} kernels, {len(known)} kernels with a signature: {dict(counts)}")
    violations = [m for m in kept if m.get("device") in CHANGED]
    if violations or options.list:
        for mutant in kept if options.list else violations:
            print(f"kept: {mutant['id']} {mutant['kind']} ({mutant.get('device', 'not run')}) line {mutant['line']}\n"
                  f"  - {mutant['old'].strip()}\n  + {mutant['new'].strip()}")
    problems = []
    if violations:
        problems.append(f"{len(violations)} changed mutants keep their base's signature")
    if missing:
        problems.append(f"{len(missing)} kernels without an answer, e.g. {missing[0]}")
    if len(known) < options.min_known * len(bases):
        problems.append(f"only {len(known)} of {len(bases)} bases have a signature")
    if len(changed) < options.min_changed:
        problems.append(f"only {len(changed)} changed mutants, {options.min_changed} are wanted")
    print("\n".join(problems) or "gate passed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
