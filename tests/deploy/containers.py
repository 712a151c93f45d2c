#!/usr/bin/env python3
"""Container file, Kubernetes manifests and systemd units.

    containers.py [--bin DIR]

Always: every option that they give to samebits and samebits-worker is one, and on Debian 12 the packages of the runtime
image bring all libraries that the programs need. With the linters of requirements.txt, from build/python-env or PATH: the
container file by hadolint, the manifests by the schemas of Kubernetes, strictly. Without them exit code 77."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
CONTAINERFILE = DEPLOY / "containers" / "Containerfile"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
KUBERNETES = ("1.27.0", "1.30.0", "1.37.0")
BASE_PACKAGES = {"libc6", "libgcc-s1"}


def given_options():
    """Options by program and file, from lines that run one of them."""
    for path in (CONTAINERFILE, *MANIFESTS, *UNITS):
        for line in path.read_text().splitlines():
            if not re.match(r"\s*(CMD|args:|ExecStart=)", line):
                continue
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
    troubles = check_options(options.bin) + check_libraries(options.bin)
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
