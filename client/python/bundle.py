#!/usr/bin/env python3
"""Collects the package with all that it needs in one folder, for a machine without a registry:

    bundle.py FOLDER --library build/release/lib/libsamebits.so

FOLDER goes on PYTHONPATH there. It holds samebits with its generated modules, libsamebits.so with the libraries that it
needs besides the C and C++ runtimes, and protobuf of the interpreter that runs this (which must have grpcio-tools).
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SYSTEM = ("linux-vdso", "ld-linux", "libc.so", "libm.so", "libgcc_s", "libstdc++", "libpthread", "libdl", "librt")


def libraries(library):
    """Paths of the shared libraries that `library` needs, without the system's own."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    listing = subprocess.run(["ldd", str(pathlib.Path(library).resolve())], capture_output=True, text=True, check=True, env=environment).stdout
    for line in listing.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if rest and not name.startswith(SYSTEM):
            yield pathlib.Path(rest.split()[0])


def copy_native(library, folder):
    """The library and what it needs, side by side; it looks for them in its own folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(library, folder / "libsamebits.so")
    for needed in libraries(library):
        shutil.copy(needed, folder / needed.name)
    astray = [str(path) for path in libraries(folder / "libsamebits.so") if path.parent != folder.resolve()]
    if astray:
        raise RuntimeError(f"{library} does not look beside itself for {', '.join(astray)}: build target samebits_native again")


def copy_protobuf(out):
    site = pathlib.Path(importlib.util.find_spec("google.protobuf").origin).parents[2]
    for part in ("google/protobuf", "google/_upb", "google/rpc"):
        if (site / part).is_dir():
            shutil.copytree(site / part, out / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from generate import generate

    shutil.copytree(HERE / "samebits", options.folder / "samebits", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    generate(options.folder)
    copy_native(options.library, options.folder / "samebits" / "_native")
    copy_protobuf(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
