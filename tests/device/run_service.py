#!/usr/bin/env python3
"""Run the corpus through a server and a worker and compare its bytes with those that an H200 wrote.

    run_service.py [--device cuda|cpu] [--only GROUP ...] [--limit N] [--bin DIR] [--out DIR] [--commit C]
    run_service.py --pack DIR      copies the programs and their libraries, for a machine that cannot build them (needs patchelf)
    run_service.py --quick         a few seconds on the CPU: small kernels of several families

Starts `samebits serve` and `samebits-worker` on free ports and asks `samebits verify` for each group of tests/corpus
with the group as seed and the first eight distributions, so that digests must be the manifest's. Kernels that the
device refuses (the CPU: approximate functions, contraction) are counted. Exit status 1 where a digest differs, a launch
does not repeat, or a verdict is contradicted. With --out writes DIR/service-record.json.
"""
import argparse
import base64
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
for folder in (HERE, ROOT / "tests" / "corpus"):
    sys.path.insert(0, str(folder))

DISTRIBUTIONS = ("uniform", "normal", "scales", "unit", "integers", "sparse", "wide", "cancelling")
PROGRAMS = ("samebits", "samebits-worker")
QUICK = ("row_sum_once_700", "column_sum_f32", "row_sum_i32")
KERNELS_A_CALL = 16


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--only", nargs="*", help="groups")
    parser.add_argument("--limit", type=int, help="kernels of a group")
    parser.add_argument("--seconds", type=float, default=480, help="start no group after this long")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--pack", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.device, options.only, options.limit = "cpu", QUICK, 2
    return options


def pack(bin_folder, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        listed = subprocess.run(["ldd", str(bin_folder / program)], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"=> (\S+)", listed):
            if not re.search(r"/(ld-linux|libc\.so|libm\.so|libpthread|libdl|librt)", library):
                shutil.copy(library, folder)
        subprocess.run(["strip", "-o", str(folder / program), str(bin_folder / program)], check=True)
        # A worker's children have a clean environment: the libraries are found beside the program.
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN", str(folder / program)], check=True)
    print(f"{folder}: {len(list(folder.iterdir()))} files")


class Service:
    """A server and workers, as processes. Each worker has all devices of the machine."""

    def __init__(self, bin_folder, scratch, device, worker_options=(), workers=1, server_options=()):
        self.bin, self.scratch, self.backend = bin_folder, scratch, device
        # Packed programs lie beside their libraries.
        packed = any(bin_folder.glob("lib*.so*"))
        self.environment = {**os.environ, **({"LD_LIBRARY_PATH": str(bin_folder)} if packed else {})}
        self.processes = []
        out, _ = self._start("samebits", "serve", "--listen", "127.0.0.1:0", "--data", str(scratch),
                             *(server_options or ["--metrics", "none"]))
        self.address = self._wait(out, r" serves (\S+)")
        names = [f"w{i}" for i in range(workers)] if workers > 1 else ["w"][:workers]
        for out, _ in [self.start_worker(name, *worker_options, wait=False) for name in names]:
            self._wait(out, r"devices: (\d+)")
        if workers:
            self.device = self.registered(workers)[0]["devices"][0]

    def start_worker(self, name, *options, wait=True, **environment):
        """Its file of output, and the process."""
        words = ["--no-cuda", "--cpu-sm", "90"] if self.backend == "cpu" else ["--no-cpu"]
        out, process = self._start("samebits-worker", "--server", self.address, "--id", name, "--allow-submitted-kernels",
                                   *words, *options, log=name, **environment)
        if wait:
            self._wait(out, r"devices: (\d+)")
        return out, process

    def _start(self, program, *words, log=None, **environment):
        path = self.scratch / f"{log or program}.out"
        with open(path, "w") as out, open(path.with_suffix(".err"), "w") as err:
            self.processes.append(subprocess.Popen([str(self.bin / program), *words], stdout=out, stderr=err,
                                                   env={**self.environment, **environment}))
        return path, self.processes[-1]

    def _wait(self, path, pattern):
        for _ in range(600):
            found = re.search(pattern, path.read_text())
            if found:
                return found.group(1)
            if any(p.poll() not in (None, -signal.SIGKILL) for p in self.processes):
                break
            time.sleep(0.05)
        sys.exit(f"did not start: {path.with_suffix('.err').read_text()}")

    def workers(self):
        return [json.loads(line) for line in self.ask("fleet").stdout.splitlines()]

    def registered(self, count):
        """The workers that are online, once there are so many."""
        for _ in range(200):
            workers = [worker for worker in self.workers() if worker["state"] == "ONLINE"]
            if len(workers) == count:
                return workers
            time.sleep(0.05)
        sys.exit("the worker did not register" if count == 1 else f"{len(workers)} of {count} workers registered")

    def ask(self, *words):
        return subprocess.run([str(self.bin / "samebits"), *words, "--server", self.address, "--format", "json", "--quiet"],
                              capture_output=True, text=True, env=self.environment, check=False)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)


def verify(service, manifest, group, rows, device, counts, wrong):
    words = ["verify", "--manifest", str(manifest), *[r["id"] for r in rows], "--seed", group, "--device", device]
    for name in DISTRIBUTIONS:
        words += ["--distribution", name]
    done = service.ask(*words)
    operation = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    result = operation.get("verify_kernels")
    if result is None or result["devices"][0].get("error"):
        counts["failed"] += len(rows)
        wrong.append(f"{group}: {done.stderr.strip() or operation}"[:300])
        return
    if result["agreement"] == "CONTRADICTED":
        wrong.append(f"{group}: contradictions {result['contradictions']}"[:600])
    counts["certified pairs"] += int(result["certified_pairs"])
    for row, outcome in zip(rows, result["devices"][0]["outcomes"]):
        digests = [base64.b64decode(d).hex()[:16] for d in outcome["digests"]]
        if outcome.get("error"):
            counts["refused"] += 1
            if device != "cpu":
                wrong.append(f"{row['id']}: {outcome['error']['message']}")
        elif not outcome["stable"] and row["stable"]:
            counts["does not repeat"] += 1
            wrong.append(f"{row['id']}: does not repeat")
        elif outcome["stable"] and digests != row["digests"]:
            counts["different"] += 1
            wrong.append(f"{row['id']}: digests differ")
        else:
            counts["equal"] += 1


def main():
    options = parse()
    if options.pack:
        return pack(options.bin, options.pack)
    try:
        import record
    except ImportError:
        print("needs numpy (Debian: python3-numpy)")
        return 77  # skipped
    import unpack
    begin = time.monotonic()
    counts, wrong, left = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        manifest = unpack.unpack(scratch / "corpus") / "manifest.jsonl"
        groups = collections.OrderedDict()
        for row in map(json.loads, open(manifest)):
            if row.get("digests") and "buffers" in row and (not options.only or row["group"] in options.only):
                groups.setdefault(row["group"], []).append(row)
        service = Service(options.bin, scratch, options.device)
        try:
            for group, rows in groups.items():
                rows = rows[:options.limit]
                if time.monotonic() - begin > options.seconds:
                    left += len(rows)
                    continue
                for i in range(0, len(rows), KERNELS_A_CALL):
                    verify(service, manifest, group, rows[i:i + KERNELS_A_CALL], options.device, counts, wrong)
                print(f"{sum(counts.values())} after {time.monotonic() - begin:.0f} s: {group}", flush=True)
        finally:
            service.stop()
    for line in wrong:
        print(line)
    figures = {**counts, "left_out": left, "groups": len(groups), "seconds": round(time.monotonic() - begin, 1)}
    print(json.dumps(figures))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        name = f"{service.device['name']} ({service.device['architecture']})"
        (options.out / "service-record.json").write_text(json.dumps(
            {"what": "corpus through server and worker, against its recorded digests",
             **record.environment(name, service.device["driver_version"], options.commit), "figures": figures}, indent=1) + "\n")
    return 1 if wrong or counts["equal"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
