#!/usr/bin/env python3
"""Several devices a worker and several workers a node, on a machine with at least two GPUs.

    run_fleet.py [--device cuda|cpu] [--groups REGEX] [--limit N] [--bin DIR] [--seconds S] [--out DIR] [--commit C]
    run_service.py --pack DIR      copies the programs for a machine that cannot build them

Starts `samebits serve` with one worker that has every GPU ("both"), one that has them too ("twin"), and one for each GPU
alone ("only0", "only1", by CUDA_VISIBLE_DEVICES), and looks at these in turn:
- every worker names the GPUs that it was given, and no GPU has two names,
- groups of tests/corpus run on every device of every worker: the classes by device, digests equal on all devices, and
  those that the manifest has from another GPU,
- tasks run on all devices of one worker at the same time,
- "both" is killed while each of its devices runs a task: jobs for any GPU go on with other workers, one for a device of
  "both" waits and ends when it is there again; each job ends once, with the digests from before.
With --device cpu, two slots of the CPU take the GPUs' place. Exit status 1 where something differs. With --out writes
DIR/fleet-record.json.
"""
import argparse
import base64
import collections
import json
import pathlib
import re
import sys
import tempfile
import time
import urllib.request

import run_service

RUNS_OF_LONG_JOBS = {"cuda": 100, "cpu": 6}
LEASE_SECONDS = 3


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--groups", default="",
                        help="a regular expression that a group's name must contain")
    parser.add_argument("--limit", type=int, default=8, help="kernels of a group")
    parser.add_argument("--bin", type=pathlib.Path, default=run_service.ROOT / "build" / "release" / "bin")
    parser.add_argument("--seconds", type=float, default=300, help="start no comparison of a group after this long")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    return parser.parse_args()


class Run:
    def __init__(self, options, service, manifest):
        self.options, self.service, self.manifest = options, service, manifest
        self.figures, self.wrong = collections.Counter(), []
        self.processes = {}

    def expect(self, what, is_so):
        if not is_so:
            self.wrong.append(what)

    def start(self, name, gpu=None):
        environment = {} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)}
        slots = [] if self.options.device == "cuda" or gpu is not None else ["--cpu-slots", "2"]
        self.processes[name] = self.service.start_worker(name, *slots, **environment)[1]

    def start_all(self):
        self.start("both")
        (both,) = self.service.registered(1)
        self.devices = both["devices"]
        self.expect(f"{len(self.devices)} device: two are needed", len(self.devices) >= 2)
        self.start("twin")
        for gpu in range(len(self.devices)):
            self.start(f"only{gpu}", gpu)
        self.workers = {w["name"].split("/")[1]: w for w in self.service.registered(2 + len(self.devices))}
        self.figures["workers"] = len(self.workers)
        uuids = [device["uuid"] for device in self.devices]
        self.expect(f"devices share a name: {uuids}", self.options.device == "cpu" or len(set(uuids)) == len(uuids))
        self.expect("two workers with all devices name others", self.workers["twin"]["devices"] == self.devices)
        for gpu, uuid in enumerate(uuids):
            alone = self.workers[f"only{gpu}"]["devices"]
            self.expect(f"only{gpu} names {alone}, not {uuid}", [device["uuid"] for device in alone] == [uuid])

    def targets(self):
        return [f"workers/{name}/devices/{d['index']}" for name in sorted(self.workers) for d in self.workers[name]["devices"]]

    def verify(self, rows, targets, *more):
        words = ["verify", "--manifest", str(self.manifest), *[r["id"] for r in rows], "--seed", rows[0]["group"], *more]
        for target in targets:
            words += ["--device", target]
        for name in run_service.DISTRIBUTIONS:
            words += ["--distribution", name]
        done = self.service.ask(*words)
        if not done.stdout:
            sys.exit(f"{rows[0]['group']}: {done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def compare(self, group, rows):
        """Every device of every worker against the manifest."""
        targets = self.targets()
        result = self.verify(rows, targets).get("verify_kernels")
        if result is None or any(device.get("error") for device in result["devices"]):
            return self.wrong.append(f"{group}: no result on some device: {result}"[:400])
        self.figures["groups"] += 1
        self.expect(f"{group}: {result['agreement']}", result["agreement"] != "CONTRADICTED")
        self.figures["certified pairs"] += int(result["certified_pairs"])
        for i, row in enumerate(rows):
            outcomes = [device["outcomes"][i] for device in result["devices"]]
            if any(outcome.get("error") for outcome in outcomes):
                self.figures["refused"] += 1
                self.expect(f"{row['id']}: {outcomes}"[:300], self.options.device == "cpu")
                continue
            self.figures["kernels"] += 1
            self.expect(f"{row['id']}: does not repeat", all(outcome["stable"] for outcome in outcomes))
            self.expect(f"{row['id']}: devices wrote different bytes",
                        all(outcome["digests"] == outcomes[0]["digests"] for outcome in outcomes))
            recorded = [base64.b64decode(d).hex()[:16] for d in outcomes[0]["digests"]]
            self.expect(f"{row['id']}: not the recorded digests", recorded == row["digests"])
        for one in result["classes"]:
            self.figures["classes"] += 1
            members = collections.defaultdict(set)
            for device, launch in zip(one["devices"], one["launches"]):
                members[launch].add(device)
            on_all = all(len(devices) == len(targets) for devices in members.values())
            self.figures["classes with every device"] += on_all
            self.expect(f"{group}: a class holds a kernel on some devices only", on_all)

    def level(self, pattern):
        text = urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=10).read().decode()
        found = re.search(rf"^{pattern} (\S+)$", text, re.M)
        return float(found.group(1)) if found else 0

    def tasks(self, job):
        return json.loads(self.service.ask("jobs", job).stdout)["tasks"]

    def await_running(self, jobs):
        """True once all tasks of the jobs run."""
        for _ in range(400):
            if all(task["state"] == "RUNNING" for job in jobs for task in self.tasks(job)):
                return True
            time.sleep(0.05)
        return False

    def kill(self, rows):
        """Long jobs on each device of "both" and of no particular worker; "both" dies meanwhile."""
        named = [t for t in self.targets() if t.startswith("workers/both/")]
        long_job = ("--runs", str(RUNS_OF_LONG_JOBS[self.options.device]), "--no-wait")
        for name in self.workers:
            if name != "both":
                self.service.ask("fleet", name, "--drain")
        free = [self.verify(rows, [self.options.device], *long_job)["name"] for _ in named]
        self.expect("tasks do not run on all devices of one worker at once", self.await_running(free))
        self.figures["tasks at once on one worker"] = int(self.level('samebits_tasks{state="leased"}'))
        bound = self.verify(rows, [named[-1]], *long_job)["name"]
        self.processes["both"].kill()
        self.processes["both"].wait()
        killed = time.monotonic()
        for name in self.workers:
            if name != "both":
                self.service.ask("fleet", name, "--undrain")
        ended = [json.loads(self.service.ask("jobs", job, "--watch").stdout.splitlines()[-1]) for job in free]
        self.figures["seconds from the kill to the end"] = round(time.monotonic() - killed, 1)
        self.expect("the job for a device of the killed worker did not wait",
                    self.tasks(bound)[0]["state"] in ("QUEUED", "RUNNING"))
        self.start("both")
        ended.append(json.loads(self.service.ask("jobs", bound, "--watch").stdout.splitlines()[-1]))
        for job in ended:
            self.expect(f"{job['name']}: {job['state']}", job["state"] == "SUCCEEDED")
            if job["state"] != "SUCCEEDED":
                continue
            task, device = job["tasks"][0], job["verify_kernels"]["devices"][0]
            self.figures["jobs that lost an attempt"] += task["attempt"] > 1
            for row, outcome in zip(rows, device["outcomes"]):
                recorded = [base64.b64decode(d).hex()[:16] for d in outcome["digests"]]
                self.expect(f"{job['name']}: {row['id']}: {outcome.get('error')}", not outcome.get("error"))
                self.expect(f"{job['name']}: {row['id']}: other digests than before the kill", recorded == row["digests"])
        self.expect("no job was taken from the killed worker", all(job["tasks"][0]["attempt"] > 1 for job in ended[:-1]))
        self.expect("the job for the killed worker's device ended elsewhere", ended[-1]["tasks"][0]["worker"] == "both")
        self.figures["jobs that ended"] = int(self.level('samebits_jobs_total{event="succeeded"}'))
        self.figures["leases that expired"] = int(self.level('samebits_leases_total{event="expired"}'))


def groups_of(manifest, options):
    groups = collections.OrderedDict()
    for row in map(json.loads, open(manifest)):
        if row.get("digests") and row["stable"] and "buffers" in row and re.search(options.groups, row["group"]):
            groups.setdefault(row["group"], []).append(row)
    return {group: rows[:options.limit] for group, rows in groups.items()}


def main():
    options = parse()
    try:
        import record
    except ImportError:
        print("needs numpy (Debian: python3-numpy)")
        return 77  # skipped
    import unpack
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        manifest = unpack.unpack(scratch / "corpus") / "manifest.jsonl"
        groups = groups_of(manifest, options)
        service = run_service.Service(options.bin, scratch, options.device, workers=0,
                                      server_options=["--metrics", "127.0.0.1:0", "--lease-seconds", str(LEASE_SECONDS)])
        run = Run(options, service, manifest)
        run.metrics = re.search(r"metrics: http://(\S+)/metrics", (scratch / "samebits.out").read_text()).group(1)
        try:
            run.start_all()
            print(f"{', '.join(d['name'] for d in run.devices)}; {len(run.workers)} workers, {len(groups)} groups", flush=True)
            longest = None
            for group, rows in groups.items():
                if time.monotonic() - begin > options.seconds:
                    run.wrong.append(f"{group}: no time left")
                    break
                run.compare(group, rows)
                if longest is None or len(rows) > len(longest):
                    longest = rows
            print(f"{run.figures['groups']} groups after {time.monotonic() - begin:.0f} s", flush=True)
            run.kill(longest)
        finally:
            service.stop()
    for line in run.wrong:
        print(line)
    figures = {"devices": len(run.devices), **run.figures, "wrong": len(run.wrong), "seconds": round(time.monotonic() - begin, 1)}
    print(json.dumps(figures))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        names = collections.Counter(f"{d['name']} ({d['architecture']})" for d in run.devices)
        (options.out / "fleet-record.json").write_text(json.dumps(
            {"what": "several devices a worker and several workers a node",
             **record.environment(", ".join(f"{n} x {name}" for name, n in names.items()), run.devices[0]["driver_version"],
                                  options.commit), "figures": figures}, indent=1) + "\n")
    return 1 if run.wrong or not run.figures["kernels"] else 0


if __name__ == "__main__":
    sys.exit(main())
