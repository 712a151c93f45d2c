#!/usr/bin/env python3
"""Prepare one-instruction mutants of corpus kernels, in delta form.

    mutate.py [--seed S] [--per-kernel N] [--at F [F ...]] [--out mutants.jsonl]

For a fixed choice of base kernels over all families (bases()), draws mutations per kernel, as evenly over the kinds as
the kernel allows, and keeps those that ptxas assembles to other machine code than the base: a mutant with the same
machine code cannot change bytes. Deterministic by seed, corpus and ptxas version. A row is {id, base, kind, line, old,
new}: `line` counts from 1 in the base's text; `new` replaces that line. tests/device/run_mutants.py decides on a GPU
which of them change bytes and add_verdicts.py adds `device` to each row.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "corpus"))
sys.path.insert(0, str(HERE.parent / "device"))

import assemble
import operators
import unpack
from ptx_lines import Text

MAX_TEXT = 60_000
MATRIX_FAMILIES = ("gemm", "attention")  # more kinds apply to them, so they get more mutants
MATRIX_FACTOR = 2


def bases(rows, texts, fractions):
    """Of every deterministic Triton group the kernels at these fractions of its order by text size, and the smallest
    configuration of every CUDA kernel."""
    groups = collections.OrderedDict()
    for row in rows:
        if row["family"] != "nondeterministic":
            key = row["group"] if row["set"] == "triton" else row["group"] + "/" + row["entry"]
            groups.setdefault(key, []).append(row)
    chosen = []
    for members in groups.values():
        members = sorted((r for r in members if len(texts[r["id"]]) < MAX_TEXT), key=lambda r: (len(texts[r["id"]]), r["id"]))
        picks = [0] if members[0]["set"] == "cuda" else [int(len(members) * f) for f in fractions]
        chosen += [members[i] for i in dict.fromkeys(picks)]
    return chosen


def draw(row, source, count, rng):
    """Up to `count` candidate mutations, kinds in turn."""
    by_kind = collections.defaultdict(list)
    for kind, index, new in operators.mutations(Text(source)):
        if new != source.split("\n")[index]:
            by_kind[kind].append((index, new))
    for candidates in by_kind.values():
        rng.shuffle(candidates)
    kinds, out = sorted(by_kind), []
    while kinds and len(out) < count:
        rng.shuffle(kinds)
        for kind in list(kinds):
            if not by_kind[kind]:
                kinds.remove(kind)
            elif len(out) < count:
                out.append((kind, *by_kind[kind].pop()))
    return out


def apply(source, line, new):
    lines = source.split("\n")
    lines[line - 1] = new
    return "\n".join(lines)


def code_sections(elf):
    """Names and bytes of an ELF64 image's code and constant sections."""
    table, = struct.unpack_from("<Q", elf, 40)
    entry, count, strings = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<II4Q", elf, table + i * entry) for i in range(count)]
    names = headers[strings][4]
    out = {}
    for name, _, _, _, start, size in headers:
        name = elf[names + name:elf.index(b"\0", names + name)].decode()
        if name.startswith((".text", ".nv.constant")):
            out[name] = elf[start:start + size]
    return out


def machine_code(text, folder, name):
    """Code and constants of the cubin, to compare; None where ptxas refuses the text."""
    cubin = folder / (name + ".cubin")
    if assemble.assemble(text, cubin):
        return None
    sections = code_sections(cubin.read_bytes())
    cubin.unlink()
    return sections


def prepare(row, source, seed, per_kernel, folder):
    rng = random.Random(f"{seed}/{row['id']}")
    per_kernel *= MATRIX_FACTOR if row["family"] in MATRIX_FAMILIES else 1
    name = row["id"].replace("/", "_")
    original = machine_code(source, folder, name)
    lines, kept = source.split("\n"), []
    for kind, index, new in draw(row, source, 3 * per_kernel, rng):
        code = machine_code(apply(source, index + 1, new), folder, name)
        if code is None or code == original:
            continue
        kept.append({"id": f"{row['id']}#{len(kept):02d}", "base": row["id"], "kind": kind, "line": index + 1,
                     "old": lines[index], "new": new})
        if len(kept) == per_kernel:
            break
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-kernel", type=int, default=10)
    parser.add_argument("--at", type=float, nargs="+", default=[0.25, 0.75], metavar="F",
                        help="which kernels of a group, in [0, 1) of its order by size")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "mutants.jsonl")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = unpack.unpack(pathlib.Path(scratch) / "corpus")
        rows = [json.loads(line) for line in open(folder / "manifest.jsonl")]
        texts = {row["id"]: (folder / row["path"]).read_text() for row in rows}
        chosen = bases(rows, texts, options.at)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            lists = list(pool.map(lambda r: prepare(r, texts[r["id"]], options.seed, options.per_kernel, folder), chosen))
    mutants = [m for kept in lists for m in kept]
    options.out.write_text("".join(json.dumps(m) + "\n" for m in mutants))
    print(f"{len(mutants)} mutants of {len(chosen)} kernels")
    for kind, count in sorted(collections.Counter(m["kind"] for m in mutants).items()):
        print(f"  {kind:14s} {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
