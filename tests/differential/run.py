#!/usr/bin/env python3
"""Compare the output bytes of the checker's maps, evaluated on the CPU, with those that an H200 wrote.

    run.py [--binary B] [--only GROUP ...] [--exact] [--distinct] [--jobs N] [--out DIR]
    run.py --quick            a few seconds: small kernels of several families
    run.py --pack DIR         copies the evaluator and its libraries, for a machine that cannot build it

Build the target differential_evaluator first. Every kernel of tests/corpus that a GPU ran is evaluated on the draws of
tests/device/inputs.py and its outputs digested as tests/device/run_corpus.py does. Kernels with approximate functions
are left unanswered: tests/device/run_differential.py asks a GPU for their values. Exit status 1 if some
bytes differ or an evaluation failed. With --out writes DIR/differential.jsonl (id, verdict, seconds) and
DIR/differential-record.json.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import numpy_or_skip  # noqa: F401

import differential
import record
import unpack

BUILDS = ("release", "dev", "clang")
# Of each of these the first kernel, on two draws.
QUICK = ("row_sum_once_700", "row_dot_f16", "column_sum_f32", "row_argmax_f32", "row_sum_i32", "rotary_f32",
         "matmul_f32_fma", "matmul_nt_e4m3", "matmul_int8", "matmul_tail_f16", "matvec_bf16", "cuda_matrix",
         "quantize_e5m2", "transposed_copy_f32")
QUICK_DRAWS = [2, 6]


def find_binary():
    for build in BUILDS:
        path = HERE.parent.parent / "build" / build / "tests" / "differential" / "differential_evaluator"
        if path.exists():
            return path
    sys.exit("differential_evaluator is not built: cmake --build --preset release --target differential_evaluator")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, help="differential_evaluator (default: that of a build folder)")
    parser.add_argument("--manifest", type=pathlib.Path, help="an unpacked corpus (default: the committed one)")
    parser.add_argument("--only", nargs="*", help="groups")
    parser.add_argument("--ids", nargs="*", help="kernels")
    parser.add_argument("--draws", type=lambda t: [int(d) for d in t.split(",")], default=differential.DRAWS)
    parser.add_argument("--exact", action="store_true", help="only kernels without approximate functions")
    parser.add_argument("--distinct", action="store_true", help="evaluate one kernel for all of a group with one signature")
    parser.add_argument("--seconds", type=float, default=600.0, help="for one kernel")
    parser.add_argument("--total-seconds", type=float, help="stop starting work after this long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pack", type=pathlib.Path)
    options = parser.parse_args()
    if options.quick:
        options.only, options.draws = QUICK, QUICK_DRAWS
    return options


def select(rows, options):
    if options.ids:
        return [r for r in rows if r["id"] in options.ids]
    if not options.quick:
        return rows
    first = {}
    for row in rows:
        first.setdefault(row["group"], row)
    return list(first.values())


def write_results(out, rows, answers, figures, options, device="none: CPU", version=0):
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "differential.jsonl", "w") as lines:
        for row in rows:
            name, wrong = differential.verdict(row, answers[row["id"]])
            answer = answers[row["id"]] or {}
            lines.write(json.dumps({"id": row["id"], "verdict": name, "draws": wrong, "same_as": answer.get("same_as"),
                                    "asked": answer.get("asked"), "seconds": answer.get("seconds")}) + "\n")
    (out / "differential-record.json").write_text(json.dumps(
        {"what": "evaluated maps against the digests of the corpus", **record.environment(device, version, options.commit),
         "figures": figures}, indent=1) + "\n")


def pack(binary, folder):
    folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"=> (\S*/libabsl_\S+)", listed):
        shutil.copy(library, folder)
    subprocess.run(["strip", "-o", str(folder / binary.name), str(binary)], check=True)
    print(f"{folder / binary.name} and {len(list(folder.iterdir())) - 1} libraries")


def main():
    options = parse()
    begin = time.monotonic()
    binary = options.binary or find_binary()
    if options.pack:
        return pack(binary, options.pack)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        manifest = options.manifest or unpack.unpack(scratch / "corpus") / "manifest.jsonl"
        rows = select(differential.load_rows(manifest, options.only), options)
        if options.exact:
            rows = [r for r in rows if not differential.is_approximate(manifest, r)]
        if not rows:
            sys.exit("no such kernels")
        deadline = begin + options.total_seconds if options.total_seconds else None
        source = differential.Inputs(scratch / "inputs", options.draws)
        chosen = (differential.choose(binary, manifest, rows, options.jobs) if options.distinct
                  else {r["id"]: r["id"] for r in rows})
        answers = differential.evaluate_all(rows, chosen, options.jobs, lambda task: differential.evaluate(
            binary, manifest, task, source.of(task.rows[0]), options.draws, options.seconds), deadline)
    figures = {**differential.figures_of(rows, answers, options.draws), "seconds": round(time.monotonic() - begin, 1)}
    differential.print_troubles(rows, answers)
    print(json.dumps(figures))
    if options.out:
        write_results(options.out, rows, answers, figures, options)
    bad = figures.get(differential.DIFFERENT, 0) + figures.get(differential.FAILED, 0)
    if options.quick and figures["equal_without_approximate_functions"] < len(QUICK):
        print(f"{len(QUICK)} kernels should be equal")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
