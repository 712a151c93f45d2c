#!/usr/bin/env python3
"""Decide on the GPU which prepared mutants change bytes.

    run_mutants.py --out DIR [--mutants M] [--missing] [--commit C] [--workers N] [--seconds S]

Reads tests/mutation/mutants.jsonl and the committed corpus. Base and mutant run on the same 8 draws, twice each
(arena.py); a mutant's verdict is
  changed   stable, and some draw's output bytes, or bytes outside the outputs, differ from the base's
  unstable  two runs on one input differed (the base's did not)
  same      no difference seen
  fault     an illegal or misaligned access, or no end within the watchdog's patience
Faults end a worker process, not the run. --missing leaves out mutants that have a verdict already; integer instructions,
which may lead addresses astray, come last. Writes DIR/verdicts.jsonl (id, device, draws that changed) and
DIR/mutants-record.json. tests/mutation/add_verdicts.py merges the verdicts. Exit status 1 if a base failed or mutants
were left out for time.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "corpus", HERE.parent / "mutation"):
    sys.path.insert(0, str(folder))

import arena as arena_module
import assemble
import inputs
import pool
import record
import unpack
from run_corpus import device, load_rows


def with_mutation(source, mutant):
    """The base's text with the mutant's line; an error where the line is not what the mutant was made from."""
    lines = source.split("\n")
    if lines[mutant["line"] - 1] != mutant["old"]:
        raise ValueError(f"{mutant['id']}: the base's text has changed, prepare the mutants again")
    lines[mutant["line"] - 1] = mutant["new"]
    return "\n".join(lines)


STRAYING = ("immediate", "modifier", "offset", "operand_order", "predicate", "registers", "special", "trip_count")


class Runner:
    """As the corpus runner; runs the base of a task before its mutants, also after a loss."""

    def __init__(self):
        from cuda_driver import Driver
        self.driver = Driver()
        self.base = self.driver.allocate(arena_module.ALLOCATION)

    def prepare(self, task):
        row, cubin = task.shared
        arena = arena_module.Arena(self.driver, self.base, row["group"], row["buffers"], row["outputs"])
        return arena, row, arena_module.run_kernel(self.driver, arena, row, pathlib.Path(cubin).read_bytes())

    def run(self, prepared, job):
        arena, row, reference = prepared
        if job[0] is None:
            return {"base": reference}
        if not (reference["stable"] and reference["guards"]):  # such a base decides nothing
            return {"device": "undecided"}
        result = arena_module.run_kernel(self.driver, arena, row, pathlib.Path(job[1]).read_bytes())
        changed = [d for d, (a, b) in enumerate(zip(reference["digests"], result["digests"])) if a != b]
        verdict = "unstable" if not result["stable"] else "changed" if changed or not result["guards"] else "same"
        return {"device": verdict, "draws": changed, "outside": not result["guards"]}

    def finish(self, prepared):
        prepared[0].release()


def may_stray(mutant):
    """Whether the mutation may move an address or a bound far away."""
    return mutant["kind"] in STRAYING and re.search(r"\.[subx](16|32|64)\b", mutant["old"]) is not None


def make_tasks(mutants, rows, cubins):
    by_base = collections.OrderedDict()
    for mutant in sorted(mutants, key=may_stray):
        by_base.setdefault((may_stray(mutant), mutant["base"]), []).append(mutant)
    tasks = []
    for (_, base), members in by_base.items():
        jobs = [(None, base)] + [(m["id"], str(cubins[m["id"]][0])) for m in members if cubins[m["id"]][0]]
        tasks.append(pool.Task(base, jobs, (rows[base], str(cubins[base][0]))))
    return tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--mutants", type=pathlib.Path, default=HERE.parent / "mutation" / "mutants.jsonl")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--commit", default="")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--patience", type=float, default=15.0, help="seconds after which a worker counts as hung")
    parser.add_argument("--seconds", type=float, default=500.0, help="stop starting work after this long")
    options = parser.parse_args()
    begin = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    mutants = [json.loads(line) for line in open(options.mutants)]
    if options.missing:
        mutants = [m for m in mutants if "device" not in m]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        corpus = unpack.unpack(scratch / "corpus")
        rows = {r["id"]: r for r in load_rows(corpus / "manifest.jsonl", None)}
        sources = {base: (corpus / rows[base]["path"]).read_text() for base in {m["base"] for m in mutants}}
        texts = list(sources.items()) + [(m["id"], with_mutation(sources[m["base"]], m)) for m in mutants]
        cubins = assemble.assemble_all(texts, scratch / "cubins")
        assembled = time.monotonic()
        print(f"{len(texts)} texts assembled in {assembled - begin:.1f} s", flush=True)
        verdicts = {m["id"]: {"device": "unassembled"} for m in mutants if cubins[m["id"]][1]}
        base_results = {}

        def on_result(task, job, result):
            if job[0] is None:
                base_results[task.key] = result
                return
            verdicts[job[0]] = {"device": "fault", "reason": result["fault"]} if "fault" in result else result
            if len(verdicts) % 500 == 0:
                print(f"{len(verdicts)}/{len(mutants)} after {time.monotonic() - begin:.0f} s", flush=True)

        left = pool.run_tasks(make_tasks(mutants, rows, cubins), Runner, on_result, options.workers, options.patience,
                              begin + options.seconds)
    bad_bases = sorted(b for b, r in base_results.items() if "fault" in r or not (r["base"]["stable"] and r["base"]["guards"]))
    with open(options.out / "verdicts.jsonl", "w") as out:
        out.writelines(json.dumps({"id": m["id"], **verdicts[m["id"]]}) + "\n" for m in mutants if m["id"] in verdicts)
    counts = collections.Counter(v["device"] for v in verdicts.values())
    kinds = collections.Counter(m["kind"] for m in mutants if verdicts.get(m["id"], {}).get("device") == "changed")
    figures = {"mutants": len(mutants), "bases": len(sources), **dict(sorted(counts.items())), "left_out": left,
               "bad_bases": len(bad_bases), "changed_by_kind": dict(sorted(kinds.items())), "draws": inputs.DRAWS,
               "seconds_assembling": round(assembled - begin, 1), "seconds": round(time.monotonic() - begin, 1)}
    name, version = device()
    (options.out / "mutants-record.json").write_text(json.dumps(
        {"what": "which one-instruction mutants change bytes", **record.environment(name, version, options.commit),
         "figures": figures}, indent=1) + "\n")
    print("bad bases", bad_bases)
    print("fault reasons", collections.Counter(v["reason"] for v in verdicts.values() if "reason" in v).most_common(8))
    print(json.dumps(figures))
    return 1 if bad_bases or left else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # does not wait for workers that hang
