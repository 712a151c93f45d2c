#!/usr/bin/env python3
"""Run every kernel of a manifest on the GPU and write the digests of its outputs.

    run_corpus.py --out DIR [--manifest M] [--commit C] [--only GROUP ...] [--workers N] [--seconds S]

Without --manifest the committed corpus is unpacked and used. Each kernel is assembled with ptxas (all CPU cores),
run on 8 draws of inputs (inputs.py) twice each, from a fresh image of all buffers with poisoned outputs (arena.py),
in worker processes that survive faults (pool.py). Writes DIR/digests.jsonl (id, digests, stable, guards; or fault)
and DIR/corpus-record.json. tests/corpus/add_digests.py merges the digests into the manifest. Exit status 1 if a
kernel could not be assembled, faulted, was left out for time or wrote outside its outputs.
"""
import argparse
import json
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "corpus"))

import arena as arena_module
import assemble
import inputs
import pool
import record
import unpack
from cuda_driver import Driver

TASK_KERNELS = 24


class Runner:
    """Lives in a worker: one context, one allocation, one arena at a time."""

    def __init__(self):
        self.driver = Driver()
        self.base = self.driver.allocate(arena_module.ALLOCATION)

    def prepare(self, task):
        row = task.shared
        return arena_module.Arena(self.driver, self.base, row["group"], arena_module.buffers_of(row), row["outputs"])

    def run(self, arena, job):
        row, cubin = job
        return arena_module.run_kernel(self.driver, arena, row, pathlib.Path(cubin).read_bytes())

    def finish(self, arena):
        arena.release()


def describe_device(pipe):
    pipe.send(Driver().describe())


def device():
    """Name and version, asked in a process of its own: the parent stays without a context."""
    ours, theirs = pool.multiprocessing.Pipe()
    asker = pool.multiprocessing.Process(target=describe_device, args=(theirs,))
    asker.start()
    answer = ours.recv()
    asker.join()
    return answer


def load_rows(manifest, only):
    rows = [json.loads(line) for line in open(manifest) if line.strip()]
    rows = [row for row in rows if row.get("args") and row.get("grid")]
    return [row for row in rows if not only or row["group"] in only]


def tasks_of(rows, cubins):
    tasks, open_tasks = [], {}
    for row in rows:
        cubin, error = cubins[row["id"]]
        if error:
            continue
        task = open_tasks.get(row["group"])
        if task is None or len(task.jobs) == TASK_KERNELS:
            task = open_tasks[row["group"]] = pool.Task(row["id"], [], row)
            tasks.append(task)
        task.jobs.append((row, str(cubin)))
    return tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--manifest", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=500.0, help="stop starting work after this long")
    options = parser.parse_args()
    begin = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        manifest = options.manifest or unpack.unpack(scratch / "corpus") / "manifest.jsonl"
        rows = load_rows(manifest, options.only)
        cubins = assemble.assemble_all(((r["id"], (manifest.parent / r["path"]).read_text()) for r in rows), scratch / "cubins")
        assembled = time.monotonic()
        print(f"{len(rows)} kernels assembled in {assembled - begin:.1f} s", flush=True)
        results = {row["id"]: {"fault": "ptxas: " + cubins[row["id"]][1]} for row in rows if cubins[row["id"]][1]}

        def on_result(_, job, result):
            results[job[0]["id"]] = result
            if len(results) % 200 == 0:
                print(f"{len(results)}/{len(rows)} after {time.monotonic() - begin:.0f} s", flush=True)

        left = pool.run_tasks(tasks_of(rows, cubins), Runner, on_result, options.workers, deadline=begin + options.seconds)
    with open(options.out / "digests.jsonl", "w") as out:
        out.writelines(json.dumps({"id": r["id"], **results[r["id"]]}) + "\n" for r in rows if r["id"] in results)
    faults = {name: r["fault"] for name, r in results.items() if "fault" in r}
    ran = [r for r in results.values() if "fault" not in r]
    figures = {"kernels": len(rows), "ran": len(ran), "faults": len(faults), "left_out": left,
               "unstable": sum(not r["stable"] for r in ran), "outside_writes": sum(not r["guards"] for r in ran),
               "classes": len({(row["group"], *results[row["id"]]["digests"]) for row in rows
                               if "digests" in results.get(row["id"], {})}),
               "draws": inputs.DRAWS, "seconds_assembling": round(assembled - begin, 1),
               "seconds": round(time.monotonic() - begin, 1)}
    name, version = device()
    (options.out / "corpus-record.json").write_text(json.dumps(
        {"what": "digests of the corpus", **record.environment(name, version, options.commit), "figures": figures}, indent=1) + "\n")
    for key, reason in list(faults.items())[:20]:
        print("fault", key, reason)
    print("unstable", sorted({row["group"] for row in rows if not results.get(row["id"], {}).get("stable", True)}))
    print("outside writes", [k for k, r in results.items() if r.get("guards") is False][:20])
    print(json.dumps(figures))
    return 1 if faults or left or figures["outside_writes"] else 0


if __name__ == "__main__":
    sys.exit(main())
