"""A server and workers of the built programs, for tests."""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from local_service import add_kernel  # noqa: E402


class Fleet:
    """With `tls`: server.pem and server.key of the folder encrypt; the certificate is its own authority."""

    def __init__(self, bin_folder, scratch, stack, tls, more):
        self.bin, self.scratch, self.stack = pathlib.Path(bin_folder), pathlib.Path(scratch), stack
        self.environment = {**os.environ, **({"SAMEBITS_TLS_CA": str(self.scratch / "server.pem")} if tls else {})}
        self.server = self._start("server", ["samebits", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                             "--data", self.scratch / "data", "--drain-seconds", "3", *more,
                                             *(["--tls-cert", self.scratch / "server.pem", "--tls-key",
                                                self.scratch / "server.key"] if tls else [])])
        self.address = self._line("server", r"serves (\S+)")
        self.metrics = self._line("server", r"metrics: http://(\S+)/metrics")
        self.kernels = []
        for number, operands in enumerate(("%f1, %f2", "%f2, %f1")):
            path = self.scratch / f"kernel{number}.ptx"
            path.write_text(add_kernel(operands))
            self.kernels.append(str(path))

    def _start(self, name, words, variables=None):
        with open(self.scratch / f"{name}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen([self.bin / words[0], *words[1:]], stdout=log, stderr=subprocess.STDOUT,
                                       env={**self.environment, **(variables or {})})
        self.stack.callback(self._stop, process)
        return process

    @staticmethod
    def _stop(process):
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=60)

    def _line(self, name, pattern):
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            found = re.search(pattern, (self.scratch / f"{name}.log").read_text(encoding="utf-8"))
            if found:
                return found.group(1)
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not start: {(self.scratch / f'{name}.log').read_text()}")

    def ask(self, *words, code=0):
        done = subprocess.run([self.bin / "samebits", *words, "--server", self.address], capture_output=True, text=True,
                              check=False, env=self.environment)
        if code is not None and done.returncode != code:
            raise RuntimeError(f"{words}: exit code {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def start_worker(self, name, *more, variables=None):
        """With the CPU only, unless an option says --no-cpu."""
        cpu = [] if "--no-cpu" in more else ["--no-cuda"]
        process = self._start(name, ["samebits-worker", "--server", self.address, "--id", name, *cpu, *more], variables)
        limit = time.monotonic() + 30
        while f"workers/{name}" not in self.ask("fleet"):
            if time.monotonic() > limit:
                raise RuntimeError(f"{name} does not register")
            time.sleep(0.05)
        return process

    def verify(self, *more, code=0):
        return self.ask("verify", *self.kernels, "--block", "32", "--grid", "1", "--arg", "x=ptr:x", "--arg", "o=ptr:o",
                        "--buffer", "x=f32:32:in", "--buffer", "o=f32:32:out", "--distribution", "normal", *more, code=code)

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.metrics}{path}", timeout=30) as answer:
            return answer.read().decode()


@contextlib.contextmanager
def running(bin_folder, scratch, tls=False, more=()):
    with contextlib.ExitStack() as stack:
        yield Fleet(bin_folder, scratch, stack, tls, more)
