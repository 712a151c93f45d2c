#!/usr/bin/env python3
"""Every metric by its name: a server with TLS that has done some of everything exposes what docs/operations.md lists and
nothing else, each with help and type; rules and dashboard ask for nothing else.

    metrics.py [--bin DIR] [--driver FILE]
"""
import argparse
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error

import fleet

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "samebits.json"
EXPIRY = "samebits_tls_certificate_expiry_timestamp_seconds"
# A barrier that only some threads may reach: its signature is UNKNOWN.
UNKNOWN = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o) { .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [o]; ld.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
 bar.sync 0; st.global.u32 [%rd2], %r1;
DONE: ret; }
"""


def documented():
    """Type by name, from the table of docs/operations.md."""
    rows = re.findall(r"^\| `(samebits_[a-z_]+)` \| (counter|gauge|histogram) \|", (ROOT / "docs" / "operations.md").read_text(),
                      re.M)
    assert len(rows) == len(dict(rows)), "a metric is documented twice"
    return dict(rows)


def exposed(text):
    """Type and help by name, and the names of all samples."""
    kinds, helps = (dict(re.findall(rf"^# {word} (\S+) (.*)$", text, re.M)) for word in ("TYPE", "HELP"))
    return kinds, helps, set(re.findall(r"^(samebits_[a-z_]+)[ {]", text, re.M))


def families(samples, kinds):
    """Names of samples without the endings that histograms add."""
    return {re.sub(r"_(bucket|count|sum)$", "", name) if name not in kinds else name for name in samples}


def compare(text):
    wanted, (kinds, helps, samples) = documented(), exposed(text)
    troubles = [f"{name} is not documented as {kinds[name]}" for name in kinds if wanted.get(name) != kinds[name]]
    troubles += [f"{name} is documented and not exposed" for name in wanted if name not in kinds]
    troubles += [f"{name} has no help" for name in kinds if not helps.get(name)]
    troubles += [f"{name} has no sample" for name in kinds if name not in families(samples, kinds)]
    for path, expressions in ((DASHBOARD, r'"expr": "(.*)"'), (RULES, r"expr: (.*)")):
        used = set(re.findall(r"samebits_[a-z_]+", " ".join(re.findall(expressions, path.read_text()))))
        troubles += [f"{path.name} asks for {name}, which has no sample" for name in sorted(used - samples)]
        if not used:
            troubles.append(f"{path.name} asks for nothing")
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        troubles += [] if done.returncode == 0 else [f"promtool check metrics: {done.stdout}{done.stderr}"]
    return troubles


def make_certificate(folder, days):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    folder / "server.key", "-out", folder / "server.pem", "-days", str(days), "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)


def check_expiry(samebits, folder):
    """The metric follows the file that is in force."""
    limit = time.monotonic() + 20
    end = subprocess.run(["openssl", "x509", "-enddate", "-noout", "-in", folder / "server.pem"], capture_output=True,
                         text=True, check=True).stdout.strip().removeprefix("notAfter=")
    wanted = ssl.cert_time_to_seconds(end)
    while time.monotonic() < limit:
        shown = float(re.search(rf"^{EXPIRY} (\S+)$", samebits.get("/metrics"), re.M).group(1))
        if shown == wanted:
            return []
        time.sleep(0.2)
    return [f"{EXPIRY} is {shown}, the certificate ends at {wanted}"]


def check_health(samebits):
    """/healthz says whether gRPC is served, also while the server drains."""
    if samebits.get("/healthz") != "serving\n":
        return ["/healthz does not answer"]
    follower = subprocess.Popen([samebits.bin / "samebits", "jobs", samebits.held, "--watch", "--server", samebits.address],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    samebits.server.terminate()
    codes = set()
    try:
        while samebits.server.poll() is None and 503 not in codes:
            try:
                samebits.get("/healthz")
            except urllib.error.HTTPError as error:
                codes.add(error.code)
            except OSError:
                break
    finally:
        follower.kill()
        follower.wait()
    return [] if codes == {503} else [f"/healthz of a server that drains answers {codes}"]


def do_everything(samebits, scratch, driver):
    samebits.start_worker("w", "--allow-submitted-kernels")
    libraries = ("CUDA_DRIVER", "CUDART", "NVRTC", "CUBLAS", "CUBLASLT")
    samebits.start_worker("gpu", "--no-cpu", "--no-profiles", variables={f"SAMEBITS_{name}": driver for name in libraries})
    samebits.ask("compare", *samebits.kernels, "--block", "32")
    samebits.verify("--device", "cpu")
    unknown = scratch / "unknown.ptx"
    unknown.write_text(UNKNOWN)
    samebits.ask("compare", unknown, unknown, "--block", "32", code=3)
    samebits.ask("fleet", "w", "--drain")
    samebits.held = samebits.verify("--device", "cpu", "--no-wait").split()[0]
    samebits.verify("--device", "cpu", "--no-wait", code=2)  # one more than the server accepts of one caller


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--driver", type=pathlib.Path, help="the stand-in for a GPU's driver")
    options = parser.parse_args()
    options.driver = options.driver or options.bin.parent / "tests" / "support" / "fake_gpu" / "libsamebits_fake_driver.so"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        make_certificate(scratch, 30)
        with fleet.running(options.bin, scratch, tls=True, more=("--max-jobs-per-principal", "1")) as samebits:
            do_everything(samebits, scratch, str(options.driver))
            troubles = compare(samebits.get("/metrics"))
            troubles += check_expiry(samebits, scratch)
            make_certificate(scratch, 60)
            troubles += check_expiry(samebits, scratch)
            troubles += check_health(samebits)
    for trouble in troubles:
        print(trouble)
    print(f"{len(documented())} metrics, {len(troubles)} troubles")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
