#!/usr/bin/env python3
"""First inputs of the fuzz targets, from the packed corpus: seeds.py KERNELS TARGET

KERNELS is the unpacked corpus. Fills TARGET/ptx_parser_fuzz with short texts of every group of kernels, and
TARGET/executor_fuzz with the same texts and their launches, and with generated kernels, in the forms that
executor_fuzz.cc reads."""
import json
import pathlib
import struct
import sys

MAX_TEXT = 8000
BLOCKS = [1, 32, 64, 128]  # of executor_fuzz.cc, FreeLaunch


def short_texts(kernels):
    """(name, row, text) of the shortest kernel of each group."""
    best = {}
    for line in (kernels / "manifest.jsonl").read_text().splitlines():
        row = json.loads(line)
        text = (kernels / row["path"]).read_bytes()
        if len(text) <= MAX_TEXT and len(text) < len(best.get(row["group"], (None, bytes(MAX_TEXT + 1)))[1]):
            best[row["group"]] = (row, text)
    return [(group, row, text) for group, (row, text) in sorted(best.items())]


def launch_word(row):
    """The word that FreeLaunch reads: index of the block, a known grid, shared memory in units of 256 bytes."""
    threads = row["block"][0] * row["block"][1] * row["block"][2]
    block = max(i for i, size in enumerate(BLOCKS) if i == 0 or size <= threads)
    return block + (1 << 4) + (1 << 6) + (min(15, row["shared"] // 256) << 12)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    kernels, target = map(pathlib.Path, sys.argv[1:])
    parser, executor = target / "ptx_parser_fuzz", target / "executor_fuzz"
    for folder in (parser, executor):
        folder.mkdir(parents=True, exist_ok=True)
    texts = short_texts(kernels)
    for name, row, text in texts:
        (parser / f"{name}.ptx").write_bytes(text)
        (executor / f"{name}.free").write_bytes(b"\0" + struct.pack("<I", launch_word(row)) + text)
    for seed in range(200):
        (executor / f"{seed}.generated").write_bytes(b"\1" + struct.pack("<Q", seed))
    print(f"{len(texts)} texts")


if __name__ == "__main__":
    main()
