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
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from local_service import free_port
from record import environment

KINDS = "bf16,bf16,f32,bf16;f16,f16,f32,f32:NT;e4m3,e4m3,f32,bf16"
SIMULATED_KINDS = "bf16,bf16,f32,bf16;f16,f16,f32,f32:NT"


def study(options):
    kinds = SIMULATED_KINDS if options.library.startswith("simulated") else KINDS
    return ["profile", "build", "--library", options.library, "--kinds", kinds, "--shapes", str(options.shapes), "--no-models",
            "--most-k", str(options.most_k), "--seed", "11", "--quiet"]


def run(options, *words, check=True):
    result = subprocess.run([options.bin / "samebits", *words], capture_output=True, text=True)
    if check and result.returncode != 0:
        sys.exit(f"samebits {' '.join(map(str, words))}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def comparable(text):
    return [line for line in text.splitlines() if not line.startswith(("device ", "driver "))]


class Service:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.address = f"127.0.0.1:{free_port()}"
        self.server = subprocess.Popen([options.bin / "samebits", "serve", "--listen", self.address, "--data", folder / "data",
                                        "--lease-seconds", "2", "--metrics", "none"], stderr=open(folder / "server.txt", "w"))
        self.wait(lambda: run(options, "fleet", "--server", self.address, check=False))

    @staticmethod
    def wait(condition, seconds=60):
        end = time.time() + seconds
        while not condition():
            if time.time() > end:
                sys.exit("the service does not start")
            time.sleep(0.1)

    def worker(self, name):
        process = subprocess.Popen([self.options.bin / "samebits-worker", "--server", self.address, "--id", name],
                                   stdout=open(self.folder / f"{name}.txt", "w"), stderr=subprocess.STDOUT)
        self.wait(lambda: name in run(self.options, "fleet", "--server", self.address, check=False))
        return process

    def operation(self, name):
        return json.loads(run(self.options, "jobs", name, "--format", "json", "--server", self.address, check=False))


def interrupted(options, service):
    """The profile's text of a study whose first worker is killed, and what was seen of it."""
    first = service.worker("first")
    begin = time.time()
    name = run(options, *study(options), "--server", service.address, "--on", options.on, "--no-wait").strip()
    done = total = 0
    while total == 0 or done < 0.4 * total:
        operation = service.operation(name)
        task = operation["tasks"][0]
        if operation["state"] not in ("QUEUED", "RUNNING"):
            sys.exit(f"it ended before it could be disturbed: {operation}")
        done, total = int(task.get("done", 0)), int(task.get("total", 0))
        time.sleep(0.05)
    first.kill()
    second = service.worker("second")
    run(options, "jobs", name, "--watch", "--quiet", "--server", service.address, check=False)
    operation = service.operation(name)
    seconds = time.time() - begin
    second.terminate()
    second.wait()
    if operation["state"] != "SUCCEEDED":
        sys.exit(json.dumps(operation, indent=1))
    path = service.folder / "stored.txt"
    run(options, "profile", "export", operation["arch_profile"]["name"], "--out", path, "--server", service.address)
    return path.read_text(), {"profile": operation["arch_profile"], "killed after shapes": done, "shapes": total,
                              "attempts": operation["tasks"][0]["attempt"], "seconds": round(seconds, 1)}


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
        service = Service(options, folder)
        try:
            stored, seen = interrupted(options, service)
        finally:
            service.server.terminate()
            service.server.wait()
        begin = time.time()
        run(options, *study(options), "--out", folder / "local.txt")
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
