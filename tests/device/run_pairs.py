#!/usr/bin/env python3
"""Ask the GPU whether the adversarial pairs' expectations about bytes hold.

    run_pairs.py --out DIR [--commit C] [--workers N]

Both launches of each pair (tests/adversarial) run on the draws of inputs.py and the pair's fills, twice each. A pair
that expects EQUIVALENT alone is contradicted by any difference, one that expects NOT_EQUIVALENT alone by none at all.
Left out: open grids, and texts for sm_80 with matrix steps, which this device computes in its own way. Pairs without a
claim (races) are run and counted. Writes DIR/pairs.jsonl and DIR/pairs-record.json; exit status 1 if a claim is
contradicted or a claimed pair faulted.
"""
import argparse
import collections
import json
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "corpus", HERE.parent / "adversarial"):
    sys.path.insert(0, str(folder))

import arena as arena_module
import assemble
import pairs
import pool
import record
from run_corpus import device


class Runner:
    def __init__(self):
        from cuda_driver import Driver
        self.driver = Driver()
        self.base = self.driver.allocate(arena_module.ALLOCATION)

    def prepare(self, task):
        return None

    def run(self, _, job):
        pair, sides = job
        row = sides[0][1]
        fills = [{name: int(bits, 16) for name, bits in fill.items()} for fill in pair.get("fills", [])]
        arena = arena_module.Arena(self.driver, self.base, "pairs", row["buffers"], row["outputs"], fills)
        a, b = (arena_module.run_kernel(self.driver, arena, r, pathlib.Path(cubin).read_bytes()) for cubin, r in sides)
        arena.release()
        differing = [d for d, (x, y) in enumerate(zip(a["digests"], b["digests"])) if x != y]
        return {"differing_draws": differing, "stable": a["stable"] and b["stable"],
                "outside": not (a["guards"] and b["guards"])}

    def finish(self, _):
        pass


def runnable(sides):
    foreign = any(re.search(r"\.target\s+sm_80\b", text) and re.search(r"\bw?mma\.", text) for text, _ in sides)
    return not foreign and all(row["grid"] for _, row in sides)


def outcome(pair, result):
    """confirmed, contradicted, fault, or what happened to a pair without a claim."""
    claim = pair["expect"] if isinstance(pair["expect"], str) and pair.get("witness", True) else None
    if "fault" in result:
        return "fault" if claim else "unclaimed, fault"
    differs = bool(result["differing_draws"]) or not result["stable"]
    if claim == "EQUIVALENT":
        return "contradicted" if differs else "confirmed"
    if claim == "NOT_EQUIVALENT":
        return "confirmed" if differs else "contradicted"
    return "unclaimed, " + ("unstable" if not result["stable"] else "different" if differs else "same")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--commit", default="")
    parser.add_argument("--workers", type=int, default=8)
    options = parser.parse_args()
    begin = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    table = list(pairs.sides())
    chosen = [(pair, sides) for pair, sides in table if runnable(sides)]
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        texts = {text: str(number) for number, text in enumerate(dict.fromkeys(t for _, sides in chosen for t, _ in sides))}
        cubins = assemble.assemble_all(((key, text) for text, key in texts.items()), scratch)
        tasks = []
        for pair, sides in chosen:
            built = [(cubins[texts[text]], row) for text, row in sides]
            errors = [error for (_, error), _ in built if error]
            if errors:
                results[pair["name"]] = {"fault": errors[0]}
            else:
                tasks.append(pool.Task(pair["name"], [(pair, [(str(path), row) for (path, _), row in built])]))
        left = pool.run_tasks(tasks, Runner, lambda task, _, result: results.update({task.key: result}), options.workers,
                              deadline=begin + 300)
    outcomes = {pair["name"]: outcome(pair, results[pair["name"]]) for pair, _ in chosen if pair["name"] in results}
    with open(options.out / "pairs.jsonl", "w") as out:
        out.writelines(json.dumps({"name": n, "outcome": o, **results[n]}) + "\n" for n, o in outcomes.items())
    wrong = sorted(name for name, o in outcomes.items() if o in ("contradicted", "fault"))
    figures = {"pairs": len(table), "ran": len(outcomes), "left_out": left, **dict(sorted(collections.Counter(outcomes.values()).items())),
               "seconds": round(time.monotonic() - begin, 1)}
    name, version = device()
    (options.out / "pairs-record.json").write_text(json.dumps(
        {"what": "adversarial pairs against the hardware", **record.environment(name, version, options.commit),
         "figures": figures, "contradicted": wrong}, indent=1) + "\n")
    for name in wrong:
        print(outcomes[name], name, results[name])
    print(json.dumps(figures))
    return 1 if wrong or left else 0


if __name__ == "__main__":
    sys.exit(main())
