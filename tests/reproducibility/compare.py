#!/usr/bin/env python3
"""Are the signatures of a manifest's kernels the same over runs, threads, names and builds?

Asks each program for the signatures with one thread; the first one also once more, with eight threads, and for the
texts with all registers and labels renamed. Compares signature, status, reason code and lines, kernel by kernel.
Exit code 0: all the same; 1: not; 2: something did not run."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


def signatures(program, manifest, jobs):
    """From id to what must not change. Work done is left out: it may differ with the allocation of names."""
    start = time.monotonic()
    run = subprocess.run([program, "signature", "--local", "--manifest", manifest, "--jobs", str(jobs), "--quiet"],
                         stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"error: {program} ends with exit code {run.returncode}")
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    answers = {row["id"]: (row["signature"], row["status"], row.get("reason_code", ""),
                           row.get("place", {}).get("line", 0)) for row in rows}
    return answers, time.monotonic() - start


def renamed(renamer, manifest, seed, folder):
    """Manifest of the renamed texts below `folder`."""
    subprocess.run([renamer, str(seed), manifest.parent, folder], check=True, stdout=subprocess.DEVNULL)
    return pathlib.Path(shutil.copy(manifest, folder))


class Comparison:
    """Of everything with the first run's answers for one manifest."""

    def __init__(self, manifest, expected, seconds):
        self.manifest, self.expected, self.differ = manifest, expected, 0
        statuses = [answer[1] for answer in expected.values()]
        counts = ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses)))
        print(f"{manifest}: {len(expected)} kernels ({counts}), {seconds:.0f} s")

    def add(self, what, answers, seconds):
        wrong = [i for i in self.expected.keys() | answers.keys() if self.expected.get(i) != answers.get(i)]
        self.differ += len(wrong)
        print(f"  {what}: {len(answers) - len(wrong)} the same, {len(wrong)} differ, {seconds:.0f} s", flush=True)
        for i in sorted(wrong)[:5]:
            print(f"    {i}: {self.expected.get(i)} and {answers.get(i)}")


def check(manifest, programs, renamer, seeds):
    """Number of answers that differ."""
    first, others = programs[0], programs[1:]
    comparison = Comparison(manifest, *signatures(first, manifest, 1))
    if not any(answer[1] == "OK" for answer in comparison.expected.values()):
        sys.exit(f"error: no kernel of {manifest} has a signature")
    for other in others:
        comparison.add(f"by {other}", *signatures(other, manifest, 1))
    comparison.add("run again", *signatures(first, manifest, 1))
    comparison.add("8 threads", *signatures(first, manifest, 8))
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            copy = renamed(renamer, manifest, seed, pathlib.Path(folder))
            comparison.add(f"registers and labels renamed, seed {seed}", *signatures(first, copy, 1))
    return comparison.differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", action="append", required=True, help="samebits; repeat for other builds")
    parser.add_argument("--renamer", required=True, help="samebits_rename")
    parser.add_argument("--seeds", type=int, default=1, help="renamings tried (default 1)")
    parser.add_argument("manifests", nargs="+", type=pathlib.Path, metavar="MANIFEST")
    options = parser.parse_args()
    try:
        differ = sum(check(m, options.program, options.renamer, options.seeds) for m in options.manifests)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
    print("all the same" if differ == 0 else f"{differ} answers differ")
    return 0 if differ == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
