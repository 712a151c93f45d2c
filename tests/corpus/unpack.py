#!/usr/bin/env python3
"""Unpack the committed corpus: unpack.py DIR writes DIR/manifest.jsonl and DIR/ptx/."""
import pathlib
import shutil
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent


def unpack(target):
    """Fills `target` with manifest and texts; does nothing where the same archive was unpacked before."""
    target = pathlib.Path(target)
    archive, stamp = HERE / "kernels.tar.xz", target / "unpacked"
    state = f"{archive.stat().st_size} {archive.stat().st_mtime_ns}"
    if not stamp.exists() or stamp.read_text() != state:
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as texts:
            texts.extractall(target)
        stamp.write_text(state)
    shutil.copyfile(HERE / "manifest.jsonl", target / "manifest.jsonl")
    return target


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    unpack(sys.argv[1])
