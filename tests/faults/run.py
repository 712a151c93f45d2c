#!/usr/bin/env python3
"""Disturb server, workers, connections, disk and clock under load; nothing accepted may be lost. See README.md.

    run.py [--points N] [--seconds S] [--seed N] [--bin DIR] [--workers N] [--clients N]
"""
import argparse
import collections
import contextlib
import json
import mmap
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import checks  # noqa: E402
import proxy  # noqa: E402
from local_service import add_kernel, free_port  # noqa: E402

LEASE_SECONDS = 2
DISK_BYTES = 256 << 20


class Daemon:
    """A process that is started again when it has gone."""

    def __init__(self, name, words, log):
        self.name, self.words, self.log, self.process = name, words, log, None
        self.start()

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def hold(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def ensure(self):
        """Starts it if it has ended by itself, which only a full disk may make it do."""
        if self.process.poll() is not None:
            self.start()

    def end(self):
        self.process.terminate()
        return self.process.wait(timeout=60)


class Accepted:
    """What the server has said that it keeps: jobs by request (verifications, numerics), and files by name."""

    def __init__(self):
        self.verifications, self.numerics, self.kernels, self.profiles = {}, {}, {}, {}

    def jobs(self):
        return {**self.verifications, **self.numerics}

    def snapshot(self):
        """Names: of jobs, kernels, profiles."""
        return list(self.jobs().values()), list(self.kernels), list(self.profiles)


class Load:
    """Clients that submit jobs and store kernels and profiles until stopped, each until it is accepted."""

    def __init__(self, ask, folder, pause, clients):
        self.ask, self.folder, self.pause = ask, folder, pause
        self.accepted, self.repeated, self.trouble = Accepted(), collections.Counter(), None
        self.stopping = False
        self.pair = []
        for i, operands in enumerate(("%f1, %f2", "%f2, %f1")):
            self.pair.append(str(folder / f"{i}.ptx"))
            pathlib.Path(self.pair[-1]).write_text(add_kernel(operands))
        self.threads = [threading.Thread(target=self._run, args=(range(i, 1 << 30, clients),)) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def _until_accepted(self, *words):
        while True:
            done = self.ask(*words)
            if done.returncode == 0:
                return done.stdout
            code = json.loads(done.stdout or "{}").get("error", {}).get("code", "")
            # A full disk and a full queue pass; other errors of input would be ours.
            if done.returncode != 4 and code != "RESOURCE_EXHAUSTED":
                raise RuntimeError(f"{words}: {done.stderr}")
            self.repeated[code or "UNAVAILABLE"] += 1
            time.sleep(0.05)

    def _submit(self, number):
        request = f"request-{number}"
        self.accepted.verifications[request] = json.loads(self._until_accepted(
            "verify", *self.pair, "--block", "32", "--grid", "1", "--arg", "x=ptr:x", "--arg", "o=ptr:o", "--buffer",
            "x=f32:32:in", "--buffer", "o=f32:32:out", "--device", "cpu", "--distribution", "normal", "--no-wait",
            "--request-id", request))["name"]

    def _decompose(self, number):
        request = f"numerics-{number}"
        self.accepted.numerics[request] = json.loads(self._until_accepted(
            "heal", "decompose", "--model", "synthetic:tiny:7", "--synthetic-prompts", "1x4", "--device", "cpu", "--no-wait",
            "--request-id", request))["name"]

    def _import(self, number):
        path = self.folder / f"{number}.profile"
        path.write_text(f"samebits-profile/1\ndevice made up {number}\narch 90 132\nlibrary simulated\nversion 1\n"
                        "driver none\nworkspace 33554432\n")
        self.accepted.profiles[self._until_accepted("profile", "import", str(path)).split()[0]] = path

    def _register(self, number):
        path = self.folder / f"kernel-{number}.ptx"
        path.write_text(add_kernel(constant=0x3F800002 + number))
        self.accepted.kernels[json.loads(self._until_accepted("register", str(path)))["name"]] = path

    def _run(self, numbers):
        try:
            for number in numbers:
                if self.stopping:
                    return
                self._submit(number)
                if number % 3 == 0:
                    self._register(number)
                if number % 4 == 0:
                    self._import(number)
                if number % 8 == 0:
                    self._decompose(number)
                time.sleep(self.pause)
        except Exception as error:  # the main thread reports it
            self.trouble = str(error)

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join()


class Disk:
    """A folder, on a file system of its own where this process may mount one."""

    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=700", "samebits-faults", str(folder)]
        self.mounted = os.geteuid() == 0 and subprocess.run(words, capture_output=True, check=False).returncode == 0

    def fill(self):
        """Leaves no byte."""
        with open(self.folder / "ballast", "ab", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        ballast.write(b"x" * size)

    def free(self):
        (self.folder / "ballast").unlink(missing_ok=True)

    def unmount(self):
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


class Control:
    """What faults_server reads: how far its clock is ahead, and how slow its disk is."""

    def __init__(self, path):
        path.write_bytes(bytes(16))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 16)
        self.clock = 0.0

    def set_clock(self, seconds):
        self.clock = seconds
        struct.pack_into("d", self.memory, 0, seconds)

    def set_sync(self, seconds):
        struct.pack_into("d", self.memory, 8, seconds)


class Faults:
    """Each method is one fault, from its begin to its end. Those that leave the server dead say so with True."""

    def __init__(self, dice, server, workers, connections, disk, control):
        self.dice, self.server, self.workers = dice, server, workers
        self.connections, self.disk, self.control = connections, disk, control

    def some_time(self, most):
        return self.dice.uniform(0.05, most)

    def kill_server(self):
        self.server.kill()
        return True

    def kill_worker(self):
        worker = self.dice.choice(self.workers)
        worker.kill()
        worker.start()

    def kill_all(self):
        for daemon in [*self.workers, self.server]:
            daemon.kill()
        for worker in self.workers:
            worker.start()
        return True

    def hold_server(self):
        self.server.hold(self.some_time(1.5 * LEASE_SECONDS))

    def hold_worker(self):
        self.dice.choice(self.workers).hold(self.some_time(1.5 * LEASE_SECONDS))

    def cut_connections(self):
        self.connections.cut()

    def cut_in_a_message(self):
        self.connections.cut_after(self.dice.randrange(1, 3000))
        time.sleep(self.some_time(0.5))

    def stall_connections(self):
        self.connections.stalled = True
        time.sleep(self.some_time(1.5 * LEASE_SECONDS))
        if self.dice.random() < 0.5:
            self.connections.cut()
        self.connections.stalled = False

    def refuse_connections(self):
        self.connections.refusing = True
        self.connections.cut()
        time.sleep(self.some_time(1.5 * LEASE_SECONDS))
        self.connections.refusing = False

    def fill_disk(self):
        self.disk.fill()
        time.sleep(self.some_time(2))
        dies = self.dice.random() < 0.3
        if dies:  # and is started on a full disk
            self.server.kill()
            self.server.start()
            time.sleep(self.some_time(1))
        self.disk.free()
        self.server.ensure()

    def slow_disk(self):
        self.control.set_sync(self.some_time(0.4))
        time.sleep(self.some_time(2))
        dies = self.dice.random() < 0.3
        if dies:
            self.server.kill()
        self.control.set_sync(0)
        return dies

    def jump_clock(self):
        self.control.set_clock(self.dice.uniform(-600, 600))
        time.sleep(self.some_time(1))


WEIGHTS = {"kill_server": 6, "kill_worker": 4, "kill_all": 1, "hold_server": 3, "hold_worker": 2, "cut_connections": 2,
           "cut_in_a_message": 3, "stall_connections": 2, "refuse_connections": 1, "fill_disk": 3, "slow_disk": 2,
           "jump_clock": 3}


def draw(dice, kinds, points):
    """Kinds of faults: each once, then by weight."""
    first = list(kinds)
    dice.shuffle(first)
    yield from first[:points]
    for _ in range(points - len(first)):
        yield dice.choices(list(kinds), weights=[WEIGHTS[kind] for kind in kinds])[0]


def await_end(ask, seconds):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        done = ask("jobs", "--open")
        if done.returncode == 0 and not done.stdout:
            return True
        time.sleep(0.2)
    return False


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=7200, help="no further faults after this long")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--clients", type=int, default=3, help="that submit at the same time")
    parser.add_argument("--pause", type=float, default=0.05, help="between submissions")
    return parser.parse_args()


class Run:
    """Server, workers and load in a folder, and what was found."""

    def __init__(self, options, scratch):
        self.scratch, self.begin = scratch, time.monotonic()
        self.dice, self.history = random.Random(options.seed), checks.History()
        self.done, self.troubles = collections.Counter(), []
        self.disk = Disk(scratch / "data")
        self.database = self.disk.folder / "samebits.db"
        self.control = Control(scratch / "control")
        port = free_port()
        self.connections = proxy.Proxy(port)
        self.program, self.address = options.bin / "samebits", f"127.0.0.1:{self.connections.port}"
        self.server = Daemon("server", [options.bin / "faults_server", f"127.0.0.1:{port}", self.database,
                                        str(LEASE_SECONDS), scratch / "control"], scratch / "server.log")
        self.workers = [Daemon(f"w{i}", [options.bin / "samebits-worker", "--server", self.address, "--id", f"w{i}",
                                         "--no-cuda", "--allow-submitted-kernels"], scratch / f"w{i}.log")
                        for i in range(options.workers)]
        while self.ask("fleet").stdout.count("devices") < 1:
            time.sleep(0.1)
        self.load = Load(self.ask, scratch, options.pause, options.clients)
        self.faults = Faults(self.dice, self.server, self.workers, self.connections, self.disk, self.control)

    def ask(self, *words):
        return subprocess.run([self.program, *words, "--server", self.address, "--format", "json", "--quiet", "--timeout",
                               "3"], capture_output=True, text=True, check=False)

    def point(self, kind):
        dead = getattr(self.faults, kind)()
        self.done[kind] += 1
        accepted = self.load.accepted.snapshot()
        if dead:
            self.note(kind, self.history.check_files(self.disk.folder, self.scratch / "copy", *accepted))
            self.server.start()
            self.note(kind, self.fsck(self.scratch / "copy" / "samebits.db"))
        else:
            self.note(kind, self.history.check_live(self.database, *accepted))
            self.note(kind, self.fsck(self.database))
        for daemon in [self.server, *self.workers]:
            if daemon.process.poll() is not None:
                self.note(kind, [f"{daemon.name} ended by itself: {daemon.log.read_text()[-500:]}"])
        if self.load.trouble:
            self.note(kind, [self.load.trouble])
        if sum(self.done.values()) % 50 == 0:
            print(f"{sum(self.done.values())} points, {len(accepted[0])} jobs, {len(self.troubles)} troubles, "
                  f"{time.monotonic() - self.begin:.0f} s", flush=True)

    def fsck(self, path):
        done = subprocess.run([self.program, "fsck", path], capture_output=True, text=True, check=False)
        return [] if done.returncode == 0 else [f"fsck ends with {done.returncode}: {done.stdout} {done.stderr}"]

    def note(self, kind, troubles):
        self.troubles += [f"after {sum(self.done.values())} points, {kind}: {trouble}" for trouble in troubles]

    def finish(self):
        self.load.stop()
        self.control.set_clock(0)
        if not await_end(self.ask, 180):
            self.troubles.append("jobs are still open long after the last fault")
        accepted = self.load.accepted
        found, states = checks.check_jobs(self.ask, accepted.verifications, accepted.numerics)
        self.troubles += found
        texts = checks.stored_texts(self.database)
        self.troubles += [f"{name} is not what was stored" for name, path in {**accepted.kernels, **accepted.profiles}.items()
                          if texts.get(name) != path.read_bytes()]
        jobs = sum(1 for _ in self.ask("jobs").stdout.splitlines())
        if jobs != len(accepted.jobs()):
            self.troubles.append(f"{jobs} jobs for {len(accepted.jobs())} requests")
        for daemon in [*self.workers, self.server]:
            if daemon.end() != 0:
                self.troubles.append(f"{daemon.name} did not end cleanly: {daemon.log.read_text()[-500:]}")
        self.connections.stop()
        self.note("the end", self.history.check_files(self.disk.folder, self.scratch / "copy",
                                                      *accepted.snapshot()))
        self.note("the end", self.fsck(self.database))
        return states

    def close(self):
        """Whatever happened before."""
        self.load.stopping = True
        for thread in self.load.threads:
            thread.join(timeout=10)
        for daemon in [*self.workers, self.server]:
            if daemon.process.poll() is None:
                daemon.kill()
        self.disk.unmount()


def main():
    options = parse()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        run = Run(options, pathlib.Path(scratch))
        kinds = [kind for kind in WEIGHTS if kind != "fill_disk" or run.disk.mounted]
        try:
            for kind in draw(run.dice, kinds, options.points):
                time.sleep(run.dice.uniform(0.02, 0.5))
                run.point(kind)
                if run.troubles or time.monotonic() - run.begin > options.seconds:
                    break
            states = run.finish()
        finally:
            run.close()
        attempts = run.history.attempts
    for line in run.troubles[:20]:
        print(line)
    print(json.dumps({
        "points": sum(run.done.values()), "faults": dict(sorted(run.done.items())),
        "left out": sorted(set(WEIGHTS) - set(kinds)), "jobs": len(run.load.accepted.jobs()), "of them numerics": len(run.load.accepted.numerics),
        "kernels": len(run.load.accepted.kernels), "profiles": len(run.load.accepted.profiles), "states": dict(states), "requests repeated": dict(run.load.repeated), "attempts lost": attempts,
        "troubles": len(run.troubles), "seconds": round(time.monotonic() - run.begin, 1)}))
    return 1 if run.troubles or not all(run.load.accepted.snapshot()) else 0


if __name__ == "__main__":
    sys.exit(main())
