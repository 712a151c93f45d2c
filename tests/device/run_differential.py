#!/usr/bin/env python3
"""Compare evaluated maps with what the GPU wrote, kernels with approximate functions included.

    run_differential.py --out DIR [--binary B] [--commit C] [--all] [--every] [--only GROUP ...] [--seconds S]

Kernels of tests/corpus are evaluated on the CPU by differential_evaluator (tests/differential); what it asks about
approximate functions is answered by one-instruction kernels on the GPU (approximate.py), and it is run again with the
answers, until nothing is left to ask. Then the digests of all outputs must be those that the manifest records of the
GPU. Where they are not, and the signature rests on the assumption about contraction, the assembler may have fused a
product into a sum: the kernel is assembled again without contraction (ptxas -fmad=false), run, and compared. By default only kernels whose text has approximate functions are taken (tests/differential/run.py does the others
without a GPU), and of those with equal signatures one is evaluated; --all takes every kernel, --every evaluates each.
For kernels that differ, the kernel is run and the first differing elements are printed. Writes DIR/differential.jsonl
and DIR/differential-record.json. Exit status 1 if some bytes differ or kernels were left out.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "corpus", HERE.parent / "differential"):
    sys.path.insert(0, str(folder))

import numpy as np

import approximate
import arena
import assemble
import differential
import inputs
import record
import run as local
import unpack

ROUNDS = 64  # functions of functions need one each


class Rounds:
    """Evaluates tasks, asks the GPU, and evaluates again what had questions."""

    def __init__(self, options, source, asker, scratch, deadline):
        self.options, self.source, self.asker, self.scratch = options, source, asker, scratch
        self.deadline, self.most, self.oracles = deadline, 0, {}

    def run(self, task):
        """Answers by id; the oracle that gave them is kept under the ids."""
        oracle, answers, rows = approximate.Oracle(), {}, task.rows
        stem = self.scratch / task.key[1].replace("/", "_")
        questions, table = stem.with_suffix(".questions"), stem.with_suffix(".oracle")
        for number in range(1, ROUNDS + 1):
            oracle.write(table)
            answers.update(differential.evaluate(
                self.options.binary, self.options.manifest, differential.Task(rows), self.source.of(rows[0]),
                self.source.draws, self.options.kernel_seconds, ["--oracle", str(table), "--questions", str(questions)]))
            asked = approximate.read_sections(questions) if questions.exists() else {}
            for name, records in asked.items():
                oracle.add(name, records, self.asker.answers(name, records))
            questions.unlink(missing_ok=True)
            self.most = max(self.most, number)
            rows = [r for r in rows if any(answers[r["id"]].get("unanswered") or [])]
            if not asked or not rows or time.monotonic() > self.deadline:
                break
        table.unlink(missing_ok=True)
        self.oracles.update({r["id"]: oracle for r in task.rows})
        return answers


def without_contraction(row, options, asker, scratch):
    """The digests of all draws when no product is fused into a sum; None where they cannot be had."""
    cubin = scratch / "uncontracted.cubin"
    if assemble.assemble((options.manifest.parent / row["path"]).read_text(), cubin, contract=False):
        return None

    def on_device(driver):
        base = driver.allocate(arena.ALLOCATION)
        place = arena.Arena(driver, base, row["group"], row["buffers"], row["outputs"])
        result = arena.run_kernel(driver, place, row, cubin.read_bytes())
        place.release()
        driver.free(base)
        return result["digests"] if result["stable"] and result["guards"] else None

    return asker.on_device(on_device)


def settle_contraction(rows, answers, options, asker, scratch, deadline):
    """Gives rows that differ under the assumption about contraction the digests of a run without it; returns how many
    of them then agree."""
    agree = 0
    for row in rows:
        answer = answers[row["id"]] or {}
        if differential.verdict(row, answer)[0] != differential.DIFFERENT or time.monotonic() > deadline:
            continue
        if not any(a.startswith("contraction") for a in answer.get("assumptions", [])):
            continue
        digests = without_contraction(row, options, asker, scratch)
        if digests is not None and differential.verdict({**row, "digests": digests}, answer)[0] == differential.EQUAL:
            row["digests"] = digests
            agree += 1
    return agree


def explain(row, draw, options, source, oracle, asker, scratch):
    """Prints the first elements at which evaluation and GPU part."""
    table = scratch / "explain.oracle"
    oracle.write(table)
    differential.evaluate(options.binary, options.manifest, differential.Task([row]), source.of(row), [draw],
                          options.kernel_seconds, ["--oracle", str(table), "--outputs", str(scratch)])
    cubin = scratch / "explain.cubin"
    text = (options.manifest.parent / row["path"]).read_text()
    assemble.assemble(text, cubin)

    def on_device(driver):
        base = driver.allocate(arena.ALLOCATION)
        place = arena.Arena(driver, base, row["group"], row["buffers"], row["outputs"])
        module, function = driver.load(cubin.read_bytes(), row["entry"], row["shared"])
        place.run(function, row, place.values(row["args"]), draw)
        found = {}
        for name in place.outputs:
            found[name] = np.empty(place.bytes_of(name), np.uint8)
            driver.download(found[name], place.base + place.offsets[name])
        driver.unload(module)
        place.release()
        driver.free(base)
        return found

    for name, theirs in asker.on_device(on_device).items():
        path = scratch / f"{row['id'].replace('/', '_')}.{draw}.{name}"
        size = inputs.ITEM_BYTES[row["buffers"][name]["dtype"]]
        ours = np.fromfile(path, f"<u{size}")
        theirs = theirs.view(f"<u{size}")
        wrong = np.flatnonzero(ours != theirs)
        print(f"{row['id']} draw {draw} {name}: {len(wrong)} of {len(ours)} elements differ:",
              [(int(i), f"map {int(ours[i]):#x}", f"GPU {int(theirs[i]):#x}") for i in wrong[:4]])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--binary", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--all", action="store_true", help="kernels without approximate functions too")
    parser.add_argument("--every", action="store_true", help="evaluate every kernel, also of equal signatures")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--draws", type=lambda t: [int(d) for d in t.split(",")], default=differential.DRAWS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--kernel-seconds", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=120.0, help="stop starting work after this long")
    return parser.parse_args()


def main():
    options = parse()
    begin = time.monotonic()
    options.binary = options.binary or local.find_binary()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        options.manifest = unpack.unpack(scratch / "corpus") / "manifest.jsonl"
        rows = differential.load_rows(options.manifest, options.only)
        if not options.all:
            rows = [r for r in rows if differential.is_approximate(options.manifest, r)]
        source = differential.Inputs(scratch / "inputs", options.draws)
        asker = approximate.Asker(scratch / "functions")
        rounds = Rounds(options, source, asker, scratch, begin + options.seconds)
        chosen = ({r["id"]: r["id"] for r in rows} if options.every
                  else differential.choose(options.binary, options.manifest, rows, options.jobs))
        answers = differential.evaluate_all(rows, chosen, options.jobs, rounds.run, begin + options.seconds, size=1)
        uncontracted = settle_contraction(rows, answers, options, asker, scratch, begin + options.seconds + 60)
        figures = {**differential.figures_of(rows, answers, options.draws), "equal_once_not_contracted": uncontracted,
                   "rounds": rounds.most,
                   "questions": asker.asked, "seconds": round(time.monotonic() - begin, 1)}
        differential.print_troubles(rows, answers)
        different = [(r, differential.verdict(r, answers[r["id"]])) for r in rows]
        different = [(r, wrong[0]) for r, (name, wrong) in different if name == differential.DIFFERENT]
        shown = {}
        for row, draw in different:  # one of each group
            if shown.setdefault(row["group"], row) is row and time.monotonic() < begin + options.seconds + 20:
                explain(row, draw, options, source, rounds.oracles[chosen[row["id"]]], asker, scratch)
        name, version = asker.on_device(lambda driver: driver.describe())
    print(json.dumps(figures))
    local.write_results(options.out, rows, answers, figures, options, name, version)
    left = sum(figures.get(k, 0) for k in (differential.DIFFERENT, differential.FAILED, differential.UNANSWERED,
                                           differential.UNFINISHED, differential.NOT_RUN))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
