"""Starts servers for the tests. run.sh installs the package and sets SAMEBITS_TEST_SERVER and SAMEBITS_TEST_PROGRAM."""

import os
import pathlib
import subprocess
import time

import pytest
import samebits


class Fleet:
    """A server with its database in `folder` and one worker, as processes. Both keep their names over restarts."""

    def __init__(self, program, folder):
        self._program, self._folder = program, folder
        self.address, self._server, self._worker = "127.0.0.1:0", None, None

    def _start(self, words, log):
        with open(self._folder / log, "ab") as out:
            return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=out, text=True)

    def start_server(self):
        self._server = self._start([self._program, "serve", "--listen", self.address, "--metrics", "none", "--data",
                                    str(self._folder)], "server.log")
        self.address = self._server.stdout.readline().strip().rpartition(" serves ")[2]

    def start_worker(self):
        worker = str(pathlib.Path(self._program).parent / "samebits-worker")
        self._worker = self._start([worker, "--server", self.address, "--id", "w", "--allow-submitted-kernels", "--no-cuda"], "worker.log")
        with samebits.Client(self.address) as client:
            for _ in range(200):
                if any(worker.state == worker.ONLINE for worker in client.workers()):
                    return
                time.sleep(0.05)
        raise AssertionError("the worker does not register")

    def run(self, *words):
        return subprocess.run([self._program, *words, "--server", self.address], check=True, capture_output=True, text=True).stdout

    def stop_server(self):
        self._server.terminate()
        assert self._server.wait(timeout=20) == 0
        self._server = None

    def stop(self):
        for process in (self._worker, self._server):
            if process is not None:
                process.terminate()
                assert process.wait(timeout=20) == 0


def the_program():
    """The program samebits; the test is skipped without it."""
    program = os.environ.get("SAMEBITS_TEST_PROGRAM")
    if not program:
        pytest.skip("SAMEBITS_TEST_PROGRAM names no program")
    return program


@pytest.fixture(scope="module")
def fleet_of_module(tmp_path_factory):
    """A Fleet that runs, for all tests of a module."""
    fleet = Fleet(the_program(), tmp_path_factory.mktemp("fleet"))
    fleet.start_server()
    fleet.start_worker()
    yield fleet
    fleet.stop()


@pytest.fixture
def server_address(tmp_path):
    binary = os.environ.get("SAMEBITS_TEST_SERVER")
    if not binary:
        pytest.skip("SAMEBITS_TEST_SERVER names no server")
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            [binary, str(tmp_path / "store.db"), "1"], stdout=subprocess.PIPE, stderr=log, text=True)
    yield process.stdout.readline().strip()
    process.terminate()
    assert process.wait(timeout=20) == 0


@pytest.fixture
def real_server_address(tmp_path):
    """A server with the real checker: the program itself."""
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen([the_program(), "serve", "--listen", "127.0.0.1:0", "--metrics", "none", "--in-memory"],
                                   stdout=subprocess.PIPE, stderr=log, text=True)
    yield process.stdout.readline().strip().rpartition(" serves ")[2]
    process.terminate()
    assert process.wait(timeout=20) == 0


def element_kernel(body, entry="k"):
    """out[i] = f(x[i], s), one thread an element: `body` turns %f1 and %f2 into %f3."""
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry {entry}(.param .u64 {entry}_param_0, .param .u64 {entry}_param_1, .param .f32 {entry}_param_2)
{{
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [{entry}_param_0];
  ld.param.u64 %rd2, [{entry}_param_1];
  ld.param.f32 %f2, [{entry}_param_2];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd5, %r4, 4;
  add.s64 %rd3, %rd1, %rd5;
  add.s64 %rd4, %rd2, %rd5;
  ld.global.f32 %f1, [%rd3];
  {body}
  st.global.f32 [%rd4], %f3;
  ret;
}}
"""


def element_launch(body, **more):
    """The kernel on 4 blocks of 32 threads."""
    args = more.pop("args", [samebits.pointer("x"), samebits.pointer("o"), samebits.unknown()])
    return samebits.launch(text=element_kernel(body), block=(32,), grid=(4,), args=args, **more)


ADD, SWAPPED, MULTIPLY = "add.rn.f32 %f3, %f1, %f2;", "add.rn.f32 %f3, %f2, %f1;", "mul.rn.f32 %f3, %f1, %f2;"
