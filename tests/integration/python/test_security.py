"""Tokens and TLS of the Python client, against the program."""

import subprocess

import pytest
import samebits
from samebits import Code
from conftest import ADD, SWAPPED, element_launch, the_program


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    """Address of a server with TLS and tokens, and the folder of ca.pem, viewer and submitter."""
    program = the_program()
    for variable in ("SAMEBITS_TLS_CA", "SAMEBITS_TLS_CERT", "SAMEBITS_TLS_KEY", "SAMEBITS_TOKEN_FILE"):
        monkeypatch.delenv(variable, raising=False)
    key = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    subprocess.run(["openssl", "req", "-x509", "-days", "1", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "ca.pem", *key], cwd=tmp_path, check=True,
                   capture_output=True)
    lines = ""
    for role in ("viewer", "submitter"):
        made = subprocess.run([program, "token", role, "me"], check=True, capture_output=True, text=True)
        (tmp_path / role).write_text(made.stdout)
        lines += made.stderr
    (tmp_path / "tokens").write_text(lines)
    (tmp_path / "tokens").chmod(0o600)
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--metrics", "none", "--in-memory", "--tls-cert", "ca.pem",
             "--tls-key", "key.pem", "--tokens", "tokens"], stdout=subprocess.PIPE, stderr=log, text=True, cwd=tmp_path)
    yield process.stdout.readline().strip().rpartition(" serves ")[2], tmp_path
    process.terminate()
    assert process.wait(timeout=20) == 0


def test_token_and_certificates(fleet, monkeypatch):
    address, folder = fleet
    ca = str(folder / "ca.pem")
    with samebits.Client(address, tls_ca=ca, token_file=str(folder / "viewer"), max_attempts=1) as client:
        assert client.compare(element_launch(ADD), element_launch(SWAPPED))
        items = [("a", element_launch(ADD)), ("b", element_launch(SWAPPED))]
        assert len(client.partition(items).classes) == 1
        with pytest.raises(samebits.SamebitsError) as failure:
            client.register_kernel("x")
        assert failure.value.code == Code.PERMISSION_DENIED
        assert failure.value.reason == "NOT_PERMITTED"
    with samebits.Client(address, tls_ca=ca, max_attempts=1) as client, pytest.raises(samebits.SamebitsError) as failure:
        list(client.list_kernels())
    assert failure.value.code == Code.UNAUTHENTICATED
    with samebits.Client(address, max_attempts=1, timeout=5) as client, pytest.raises(samebits.SamebitsError) as failure:
        list(client.list_kernels())
    assert failure.value.code == Code.UNAVAILABLE  # not encrypted
    monkeypatch.setenv("SAMEBITS_TLS_CA", ca)
    monkeypatch.setenv("SAMEBITS_TOKEN_FILE", str(folder / "submitter"))
    with samebits.Client(address) as client:
        assert list(client.list_kernels()) == []


def test_refuses_what_would_show_the_token(tmp_path):
    (tmp_path / "token").write_text("samebits_secret\n")
    with pytest.raises(samebits.SamebitsError) as failure:
        samebits.Client("203.0.113.1:7433", token_file=str(tmp_path / "token"))
    assert failure.value.code == Code.INVALID_ARGUMENT
    samebits.Client("203.0.113.1:7433", token_file=str(tmp_path / "token"), token_over_plaintext=True).close()
    for address in ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/x"):
        samebits.Client(address, token_file=str(tmp_path / "token")).close()
    for bad in ({"token_file": str(tmp_path / "none")}, {"tls_cert": str(tmp_path / "token")}):
        with pytest.raises(samebits.SamebitsError):
            samebits.Client("127.0.0.1:1", **bad)
