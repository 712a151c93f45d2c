#!/usr/bin/env python3
"""AMDGCN kernels: the checker against the direct interpreter.

    amdgcn.py [--manifest M] [--binary B] [--only GROUP ...] [--draws 0,1,...] [--every N] [--seconds S] [--no-map]
              [--distinct] [--witnesses N] [--jobs N] [--out FILE] [--summary FILE]
    amdgcn.py --score FILE ...        the score of what --out of earlier runs kept

For each kernel of an unpacked AMDGCN corpus (tests/corpus/build_amdgcn.py) and each draw (numbers of docs/inputs.md plus
16 for another seed): the output bytes of the interpreter, the output bytes of the checker's map (approximate
functions take the same stand-ins in both), and the signature. --distinct takes one kernel for each signature of a group.
--witnesses looks for further inputs, N seeds of the first seven distributions, on which kernels of different signatures but
equal bytes write different ones.
Prints
- kernels whose map's bytes are not the interpreter's (none may be),
- pairs of one group with one signature and different bytes (unsound; none may be),
- classes by signature over classes by bytes (over-split), and what is UNKNOWN, by reason.
No AMD device takes part. Exit status 1 on the first two.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import numpy_or_skip  # noqa: F401

import differential

# Uniform, normal, scales, unit, varied, vanishing, ones, and normal once more: eight that tell many orders apart.
# Classes by bytes are those on the first eight; sparse, wide and zeros (of both signs) look for unsound pairs beside them.
DRAWS = [0, 1, 2, 3, 10, 11, 13, 17, 5, 6, 12]
PARTITION = 8
FIRST = ("attention", "gemm")  # families that take long
QUICK = ("row_sum_once_700", "row_mean_vector_f32", "column_sum_f32", "row_argmax_f32", "row_sum_i32", "row_dot_f16", "running_sum_f32",
         "rotary_f32", "quantize_int8", "matmul_tail_f16", "matvec_bf16", "transposed_copy_f32", "cross_entropy_f32")


def ask(binary, manifest, row, options, seconds=None):
    """The tool's answer about one kernel; an error where it takes longer than `seconds`."""
    command = [str(binary), "--manifest", str(manifest), *options, row["id"]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"error": "time"}
    lines = done.stdout.splitlines()
    return json.loads(lines[0]) if lines else {"error": f"ended with {done.returncode}: {done.stderr.strip()[:200]}"}


def examine(binary, manifest, row, folder, options):
    signature = ask(binary, manifest, row, ["--signatures"])
    answer = {"id": row["id"], "group": row["group"], "family": row["family"], "status": signature.get("status", "ERROR"),
              "signature": signature.get("signature", ""), "reason": signature.get("error") or signature.get("reason", ""),
              "line": signature.get("line", 0), "microseconds": signature.get("microseconds", 0)}
    if options.only_signatures or (options.no_map and answer["status"] != "OK"):
        return answer
    common = ["--inputs", str(folder), "--draws", ",".join(map(str, options.draws))]
    run = ask(binary, manifest, row, ["--interpret", *common], options.seconds)
    answer["bytes"] = None if "error" in run else run["digests"]  # with an error, those of the draws before it
    answer["model"] = run.get("model", 0)
    if "error" in run:
        answer["interpreter"] = run["error"]
    elif answer["status"] == "OK" and not options.no_map:
        evaluated = ask(binary, manifest, row, ["--stand-ins", "--seconds", str(options.seconds), *common], 2 * options.seconds)
        answer["map"] = evaluated.get("digests")
        answer["inexact"] = evaluated.get("inexact", 0)
        if "error" in evaluated:
            answer["map_error"] = evaluated["error"]
        elif answer["map"] is None:
            answer["map_error"] = "time"
    return answer


def distinct(options, rows):
    """The first row of each group for each signature."""
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(lambda row: ask(options.binary, options.manifest, row, ["--signatures"]), rows)
        first = {}
        for row, answer in zip(rows, found):
            if answer.get("status") == "OK":
                first.setdefault((row["group"], answer["signature"]), row)
    return list(first.values())


def seek_witnesses(options, rows, answers, deadline):
    """Classes by bytes over all groups when further seeds part what has different signatures, and what stays together."""
    by_id = {row["id"]: row for row in rows}
    groups = collections.defaultdict(dict)  # by group and signature the first kernel
    for a in answers:
        if a["status"] == "OK" and a.get("bytes"):
            groups[a["group"]].setdefault(a["signature"], a)
    classes = []  # of kernels that wrote the same so far, one for each signature
    for members in groups.values():
        together = collections.defaultdict(list)
        for a in members.values():
            together[tuple(a["bytes"][:PARTITION])].append(a["id"])
        classes += together.values()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed in range(1, options.witnesses + 1):
            if time.monotonic() > deadline or all(len(c) == 1 for c in classes):
                break
            draws = [differential.SEEDS * (seed + 1) + d % differential.SEEDS for d in options.draws[:PARTITION - 1]]
            with tempfile.TemporaryDirectory() as scratch:
                inputs = differential.Inputs(scratch, draws)

                def run(name, inputs=inputs, draws=draws):
                    folder = inputs.of(by_id[name])
                    answer = ask(options.binary, options.manifest, by_id[name],
                                 ["--interpret", "--inputs", str(folder), "--draws", ",".join(map(str, draws))], options.seconds)
                    return tuple(answer.get("digests", []))

                open_names = [name for c in classes if len(c) > 1 for name in c]
                found = dict(zip(open_names, pool.map(run, open_names)))
            parted = []
            for members in classes:
                together = collections.defaultdict(list)
                for name in members:
                    together[found.get(name)].append(name)
                parted += together.values()
            classes = parted
    return len(classes), [c for c in classes if len(c) > 1]


def score(answers):
    """(report lines, figures, unsound pairs, wrong maps)."""
    lines, figures, unsound, wrong = [], {}, [], []
    status = collections.Counter(a["status"] for a in answers)
    compared = [a for a in answers if a.get("bytes") and a.get("map") and None not in a["map"]]
    wrong = [a["id"] for a in compared if a["bytes"] != a["map"]]
    exact = [a for a in compared if a["inexact"] == 0]
    lines.append(f"{len(answers)} kernels in {len({a['group'] for a in answers})} groups: "
                 + ", ".join(f"{n} {s}" for s, n in status.most_common()))
    claimed = [a for a in answers if a["status"] == "OK"]
    lines.append(f"maps evaluated: {len(compared)} of {len(claimed)}, of them {len(exact)} without approximate functions; "
                 f"{len(wrong)} differ from the interpreter")
    groups = collections.defaultdict(list)
    for a in answers:
        if a["status"] == "OK" and a.get("bytes"):
            groups[a["group"]].append(a)
    by_signature = by_bytes = pairs = 0
    split = []
    for name, members in groups.items():
        signatures = {a["signature"] for a in members}
        contents = {tuple(a["bytes"][:PARTITION]) for a in members}
        by_signature += len(signatures)
        by_bytes += len(contents)
        if len(signatures) > len(contents):
            split.append(f"{name} {len(signatures)}/{len(contents)}")
        for i, a in enumerate(members):
            for b in members[:i]:
                pairs += 1
                if a["signature"] == b["signature"] and a["bytes"] != b["bytes"]:
                    unsound.append((b["id"], a["id"]))
    lines.append(f"pairs within groups: {pairs}, unsound {len(unsound)}; classes {by_signature} by signature, {by_bytes} by bytes"
                 + (f", over-split {by_signature / by_bytes:.3f}" if by_bytes else ""))
    figures.update(kernels=len(answers), **status, maps=len(compared), exact_maps=len(exact), wrong_maps=len(wrong), pairs=pairs,
                   unsound=len(unsound), by_signature=by_signature, by_bytes=by_bytes, split=split)
    if split:
        lines.append("split: " + ", ".join(split))
    for reason, n in collections.Counter((a["status"], a["reason"][:110]) for a in answers if a["status"] != "OK").most_common():
        lines.append(f"{n:5d} {reason[0]}: {reason[1]}")
    for what in ("interpreter", "map_error"):
        for reason, n in collections.Counter(a[what].split("line")[0][:60] + a[what][-60:] for a in answers if what in a).most_common(12):
            lines.append(f"{n:5d} {what}: {reason}")
    times = sorted(a["microseconds"] for a in answers if a["status"] == "OK")
    if times:
        figures["median_milliseconds"] = round(times[len(times) // 2] / 1000, 2)
        lines.append(f"check: median {times[len(times) // 2] / 1000:.2f} ms, 90 % {times[len(times) * 9 // 10] / 1000:.1f} ms, most {times[-1] / 1000:.0f} ms")
    return lines, figures, unsound, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = HERE.parent.parent / "build" / "release" / "tests"
    parser.add_argument("--manifest", type=pathlib.Path, default=build / "corpus" / "amdgcn" / "amdgcn.jsonl")
    parser.add_argument("--binary", type=pathlib.Path, default=build / "differential" / "differential_evaluator")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--draws", type=lambda t: [int(d) for d in t.split(",")], default=DRAWS)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="for one kernel's interpretation, and for its map")
    parser.add_argument("--total-seconds", type=float, default=1e9, help="stop starting kernels after this long")
    parser.add_argument("--no-map", action="store_true", help="signatures and interpreter only")
    parser.add_argument("--only-signatures", action="store_true")
    parser.add_argument("--distinct", action="store_true", help="one kernel for each signature of a group")
    parser.add_argument("--quick", action="store_true", help="a few seconds: small kernels of several families, one draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--witnesses", type=int, default=0, metavar="N", help="further seeds for kernels that no draw parts")
    parser.add_argument("--summary", type=pathlib.Path, help="where to write the figures, as JSON")
    parser.add_argument("--score", type=pathlib.Path, nargs="*")
    options = parser.parse_args()
    if options.score:
        return report([json.loads(line) for path in options.score for line in open(path, encoding="utf-8")], options.summary)
    if options.quick:
        options.only, options.draws = QUICK, [6]
    rows = [json.loads(line) for line in open(options.manifest) if line.strip()]
    rows = [r for r in rows if not options.only or r["group"] in options.only][::options.every]
    rows.sort(key=lambda r: FIRST.index(r["family"]) if r["family"] in FIRST else len(FIRST))
    if options.distinct:
        rows = distinct(options, rows)
    begin, answers = time.monotonic(), []
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        inputs = differential.Inputs(scratch, options.draws)

        def one(row):
            if time.monotonic() - begin > options.total_seconds:
                return None
            return examine(options.binary, options.manifest, row, None if options.only_signatures else inputs.of(row), options)

        last = None
        for row, answer in zip(rows, pool.map(one, rows)):
            if last is not None and last != row["group"]:
                inputs.remove(last)
            last = row["group"]
            if answer is not None:
                answers.append(answer)
                if options.out:
                    with open(options.out, "a", encoding="utf-8") as out:
                        out.write(json.dumps(answer) + "\n")
    found = seek_witnesses(options, rows, answers, begin + options.total_seconds) if options.witnesses else None
    return report(answers, options.summary, found)


def report(answers, summary=None, witnesses=None):
    """Prints the score; the exit status."""
    lines, figures, unsound, wrong = score(answers)
    if witnesses:
        figures["by_witnesses"], left = witnesses
        lines.append(f"classes by bytes with further seeds: {witnesses[0]}, over-split {figures['by_signature'] / max(1, witnesses[0]):.3f}")
        lines += ["never parted: " + " ".join(c) for c in left]
    print("\n".join(lines))
    if summary:
        summary.write_text(json.dumps(figures) + "\n", encoding="utf-8")
    for pair in unsound[:20]:
        print("unsound", *pair)
    for name in wrong[:40]:
        print("map differs", name)
    return 1 if unsound or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
