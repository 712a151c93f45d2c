"""Makes the client importable and starts servers. Needs grpcio, grpcio-tools, googleapis-common-protos and the built
test server (SAMEBITS_TEST_SERVER, or build/*/tests/integration/integration_server of this checkout)."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLIENT = ROOT / "client" / "python"


def pytest_configure():
    if any(importlib.util.find_spec(module) is None for module in ("grpc", "grpc_tools", "google.rpc")):
        return
    out = ROOT / "build" / "python"
    shutil.copytree(CLIENT / "samebits", out / "samebits", dirs_exist_ok=True)
    sys.path.insert(0, str(CLIENT))
    from generate import generate

    generate(out)
    sys.path.insert(0, str(out))


def _server_binary():
    if "SAMEBITS_TEST_SERVER" in os.environ:
        return os.environ["SAMEBITS_TEST_SERVER"]
    built = sorted(ROOT.glob("build/*/tests/integration/integration_server"), key=os.path.getmtime)
    return str(built[-1]) if built else None


@pytest.fixture
def server_address(tmp_path):
    binary = _server_binary()
    if binary is None:
        pytest.skip("integration_server is not built")
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            [binary, str(tmp_path / "store.db"), "1"], stdout=subprocess.PIPE, stderr=log, text=True)
    yield process.stdout.readline().strip()
    process.terminate()
    assert process.wait(timeout=20) == 0
