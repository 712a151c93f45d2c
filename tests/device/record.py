"""What every record of a device run says about where it came from."""
import datetime
import json
import platform
import subprocess
import sys

import numpy


def _output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _without_folder(word):
    """Absolute paths say more of the machine than of the run."""
    return word.rstrip("/").rsplit("/", 1)[-1] if word.startswith("/") else word


def environment(device, cuda_version, commit):
    """Fields common to all records. `commit` of the tree that ran, where the machine has no repository."""
    release = [line for line in _output("ptxas", "--version").splitlines() if "release" in line]
    return {
        "command": " ".join(["python3", *map(_without_folder, sys.argv)]),
        "commit": commit or _output("git", "rev-parse", "HEAD"),
        "device": device,
        "driver": _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").split("\n")[0],
        "versions": {"cuda_driver_api": cuda_version, "ptxas": release[0].split("release")[-1].strip() if release else "",
                     "python": platform.python_version(), "numpy": numpy.__version__},
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }


def renewed(path, key, rows, commit):
    """Rows of a run, in the place of those of the same name in the record that `path` holds from before, if it does: so a
    run of some of the cases renews these. Each says of which commit it is."""
    new = {row[key]: {**row, "commit": commit} for row in rows}
    before = json.loads(path.read_text()) if path.exists() else {}
    kept = [{"commit": before.get("commit", ""), **row} for row in before.get("cases", before.get("kernels", []))]
    return [new.pop(row[key], row) for row in kept] + list(new.values())
