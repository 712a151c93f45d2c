#!/usr/bin/env python3
"""Have a worker study this machine's library of matrix products, kill it midway, and compare with a study in one process.

    run_profile_job.py [--library cublaslt] [--on cuda] [--shapes N] [--bin DIR] [--out FILE] [--commit C]

Starts `samebits serve` and a `samebits-worker`, starts `samebits profile build --server`, kills the worker with SIGKILL when
two fifths of the shapes are done, starts another one, and waits. The stored profile must be that of `samebits profile build`
in one process, but for the lines that name device and driver. With --out writes a record. Exit status 1 if not.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

from job_service import JobService, run
from record import environment

HERE = pathlib.Path(__file__).resolve().parent

KINDS = "bf16,bf16,f32,bf16;f16,f16,f32,f32:NT;e4m3,e4m3,f32,bf16"
SIMULATED_KINDS = "bf16,bf16,f32,bf16;f16,f16,f32,f32:NT"


def study(options):
    kinds = SIMULATED_KINDS if options.library.startswith("simulated") else KINDS
    return ["profile", "build", "--library", options.library, "--kinds", kinds, "--shapes", str(options.shapes), "--no-models",
            "--most-k", str(options.most_k), "--seed", "11", "--quiet"]


def comparable(text):
    return [line for line in text.splitlines() if not line.startswith(("device ", "driver "))]


def interrupted(options, service):
    """The profile's text of a study whose first worker is killed, and what was seen of it."""
    operation, seen = service.disturb(*study(options), "--on", options.on)
    path = service.folder / "stored.txt"
    service.ask("profile", "export", operation["arch_profile"]["name"], "--out", path)
    return path.read_text(), {"profile": operation["arch_profile"], **seen}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="cublaslt")
    parser.add_argument("--on", default="cuda")
    parser.add_argument("--shapes", type=int, default=96)
    parser.add_argument("--most-k", type=int, default=30000)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        service = JobService(options.bin, folder)
        try:
            stored, seen = interrupted(options, service)
        finally:
            service.stop()
        begin = time.time()
        run(options.bin, *study(options), "--out", folder / "local.txt")
        seen["seconds in one process, undisturbed"] = round(time.time() - begin, 1)
        seen["same profile"] = comparable(stored) == comparable((folder / "local.txt").read_text())
    profile = seen.pop("profile")
    record = {"what": "an arch profile by a job whose worker is killed, against one process",
              **environment(profile["device"], "", options.commit), "figures": {**seen, "threads": os.cpu_count(),
                                                                                "explained": int(profile["explained_shapes"])}}
    record["versions"][profile["library"]] = profile["library_version"]
    print(json.dumps(record, indent=1))
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(0 if seen["same profile"] else 1)


if __name__ == "__main__":
    main()
