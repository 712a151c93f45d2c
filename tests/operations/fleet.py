"""A server and workers of the built programs, for tests."""
import contextlib
import pathlib
import re
import subprocess
import time
import urllib.request

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
  mov.f32 %f2, 0f3f800001;
  add.rn.f32 %f3, {operands};
  st.global.f32 [%rd4], %f3;
  ret;
}}
"""


class Fleet:
    def __init__(self, bin_folder, scratch, stack):
        self.bin, self.scratch, self.stack = pathlib.Path(bin_folder), pathlib.Path(scratch), stack
        self.server = self._start("server", ["samebits", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                             "--data", self.scratch / "data"])
        self.address = self._line("server", r"serves (\S+)")
        self.metrics = self._line("server", r"metrics: http://(\S+)/metrics")
        self.kernels = []
        for number, operands in enumerate(("%f1, %f2", "%f2, %f1")):
            path = self.scratch / f"kernel{number}.ptx"
            path.write_text(KERNEL.format(operands=operands))
            self.kernels.append(str(path))

    def _start(self, name, words):
        with open(self.scratch / f"{name}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen([self.bin / words[0], *words[1:]], stdout=log, stderr=subprocess.STDOUT)
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
                              check=False)
        if code is not None and done.returncode != code:
            raise RuntimeError(f"{words}: exit code {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def start_worker(self, name, *more):
        process = self._start(name, ["samebits-worker", "--server", self.address, "--id", name, "--no-cuda", *more])
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
def running(bin_folder, scratch):
    with contextlib.ExitStack() as stack:
        yield Fleet(bin_folder, scratch, stack)
