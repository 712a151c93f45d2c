#!/usr/bin/env python3
"""Kill and hold server and workers under load; every accepted job must end exactly once. See README.md.

    run.py [--points N] [--seconds S] [--seed N] [--bin DIR] [--workers N]
"""
import argparse
import collections
import json
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEASE_SECONDS = 2
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 4 x, .param .u64 .ptr .global .align 4 o)
{{
  .reg .b32 %r<3>; .reg .f32 %f<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [o];
  mov.u32 %r1, %tid.x;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd3, %rd1, %rd5;
  add.s64 %rd4, %rd2, %rd5;
  ld.global.f32 %f1, [%rd3];
  mov.f32 %f2, 0f{constant:08x};
  add.rn.f32 %f3, {operands};
  st.global.f32 [%rd4], %f3;
  ret;
}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    """A process that is started again when it was killed."""

    def __init__(self, name, words, log):
        self.name, self.words, self.log, self.process = name, words, log, None
        self.start()

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        return self.process.wait(timeout=60)


class Load:
    """Submits jobs until stopped, each until it is accepted."""

    def __init__(self, ask, kernels, pause):
        self.ask, self.kernels, self.pause = ask, kernels, pause
        self.accepted, self.repeated, self.stopping = {}, 0, False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        number = 0
        while not self.stopping:
            request = f"request-{number}"
            number += 1
            words = ["verify", *self.kernels, "--block", "32", "--grid", "1", "--arg", "x=ptr:x", "--arg", "o=ptr:o",
                     "--buffer", "x=f32:32:in", "--buffer", "o=f32:32:out", "--device", "cpu", "--distribution", "normal",
                     "--no-wait", "--request-id", request]
            while True:
                done = self.ask(*words)
                if done.returncode == 0:
                    self.accepted[request] = json.loads(done.stdout)["name"]
                    break
                if done.returncode != 4:
                    raise SystemExit(f"{request}: {done.stderr}")
                self.repeated += 1
                time.sleep(0.05)
            time.sleep(self.pause)

    def stop(self):
        self.stopping = True
        self.thread.join()


def check_database(path):
    """Troubles of the database of a server that does not run."""
    with sqlite3.connect(path) as db:
        troubles = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        troubles += [f"foreign key: {row}" for row in db.execute("PRAGMA foreign_key_check")]
        for what, sql in {
            "ended jobs with open tasks": "SELECT count(*) FROM jobs WHERE state <> 0 AND (open_tasks <> 0 OR EXISTS"
                                          " (SELECT 1 FROM tasks WHERE job = sequence AND tasks.state < 2))",
            "wrong counts of open tasks": "SELECT count(*) FROM jobs WHERE state = 0 AND open_tasks <>"
                                          " (SELECT count(*) FROM tasks WHERE job = sequence AND tasks.state < 2)",
            "completed tasks without a result": "SELECT count(*) FROM tasks WHERE state = 2 AND length(result) = 0",
            "succeeded jobs without a result": "SELECT count(*) FROM jobs JOIN job_bodies ON job = sequence"
                                               " WHERE state = 1 AND length(result) = 0",
            "tokens of two tasks": "SELECT count(*) FROM (SELECT token FROM tasks WHERE token > 0 GROUP BY token"
                                   " HAVING count(*) > 1)",
        }.items():
            (count,) = db.execute(sql).fetchone()
            if count:
                troubles.append(f"{count} {what}")
    db.close()
    return troubles


def copy_and_check(folder, scratch):
    """The same for the files as a crash left them: they are copied, so that the server recovers them by itself."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(folder, scratch)
    return check_database(scratch / "samebits.db")


def check_jobs(ask, accepted):
    troubles, states = [], collections.Counter()
    for request, name in accepted.items():
        done = ask("jobs", name)
        if not done.stdout:
            troubles.append(f"{request}: {name} is not there: {done.stderr}")
            continue
        operation = json.loads(done.stdout)
        states[operation["state"]] += 1
        result = operation.get("verify_kernels")
        if operation["state"] == "FAILED" and "did not report in time" in operation["error"]["message"]:
            continue  # all attempts were lost to faults: ended, with its cause
        if operation["state"] != "SUCCEEDED":
            troubles.append(f"{name}: {operation['state']}: {operation.get('error')}")
        elif result["agreement"] != "CONSISTENT" or len(result["classes"]) != 1 or result["devices"][0].get("error"):
            troubles.append(f"{name}: {result['agreement']}, {len(result['classes'])} classes, {result['devices']}")
    if len(set(accepted.values())) != len(accepted):
        troubles.append("two requests have one job")
    return troubles, states


def await_end(ask, seconds):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        done = ask("jobs", "--open")
        if done.returncode == 0 and not done.stdout:
            return True
        time.sleep(0.2)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=3600, help="no further faults after this long")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.05, help="between submissions")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    dice, begin, faults, troubles = random.Random(options.seed), time.monotonic(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        data, port = scratch / "data", free_port()
        data.mkdir()
        address = f"127.0.0.1:{port}"

        def ask(*words):
            return subprocess.run([options.bin / "samebits", *words, "--server", address, "--format", "json", "--quiet",
                                   "--timeout", "3"], capture_output=True, text=True, check=False)

        kernels = []
        for i, operands in enumerate(("%f1, %f2", "%f2, %f1")):
            kernels.append(str(scratch / f"{i}.ptx"))
            pathlib.Path(kernels[-1]).write_text(KERNEL.format(constant=0x3F800001, operands=operands))
        server = Daemon("server", [options.bin / "samebits", "serve", "--listen", address, "--metrics", "none", "--data",
                                   data, "--lease-seconds", str(LEASE_SECONDS)], scratch / "server.log")
        workers = [Daemon(f"w{i}", [options.bin / "samebits-worker", "--server", address, "--id", f"w{i}", "--no-cuda",
                                    "--allow-submitted-kernels"], scratch / f"w{i}.log") for i in range(options.workers)]
        while ask("fleet").stdout.count("devices") < 1:
            time.sleep(0.1)
        load = Load(ask, kernels, options.pause)
        point = 0
        while point < options.points and time.monotonic() - begin < options.seconds:
            time.sleep(dice.uniform(0.02, 0.5))
            victim = server if dice.random() < 0.5 else dice.choice(workers)
            kind = dice.choice(("kill", "hold"))
            faults[f"{kind} {'server' if victim is server else 'worker'}"] += 1
            point += 1
            if kind == "hold":
                victim.process.send_signal(signal.SIGSTOP)
                time.sleep(dice.uniform(0.05, 1.5 * LEASE_SECONDS))
                victim.process.send_signal(signal.SIGCONT)
                continue
            victim.kill()
            if victim is server:
                troubles += copy_and_check(data, scratch / "copy")
            victim.start()
            if troubles:
                break
        load.stop()
        if not await_end(ask, 180):
            troubles.append("jobs are still open long after the last fault")
        found, states = check_jobs(ask, load.accepted)
        troubles += found
        jobs = sum(1 for _ in ask("jobs").stdout.splitlines())
        if jobs != len(load.accepted):
            troubles.append(f"{jobs} jobs for {len(load.accepted)} requests")
        for daemon in [*workers, server]:
            if daemon.end() != 0:
                troubles.append(f"{daemon.name} did not end cleanly: {daemon.log.read_text()[-500:]}")
        troubles += check_database(data / "samebits.db")
        with sqlite3.connect(data / "samebits.db") as db:
            (retried,) = db.execute("SELECT count(*) FROM task_attempts").fetchone()
        db.close()
    for line in troubles[:20]:
        print(line)
    print(json.dumps({"points": point, "faults": dict(sorted(faults.items())), "jobs": len(load.accepted),
                      "states": dict(states), "requests_repeated": load.repeated, "attempts_lost": retried,
                      "troubles": len(troubles), "seconds": round(time.monotonic() - begin, 1)}))
    return 1 if troubles or not load.accepted else 0


if __name__ == "__main__":
    sys.exit(main())
