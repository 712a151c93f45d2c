#!/usr/bin/env python3
"""Compiles the kernels of kernels.txt from installed packages and asks samebits for their signatures.

Prints kernels, statuses and the reasons of UNKNOWN. Exit code 0 where at least --min-kernels have been asked about and
at most --max-unknown percent of them are UNKNOWN; 1 where not; 2 where samebits fails."""
import argparse
import ast
import collections
import json
import pathlib
import subprocess
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from package_kernels import Loader

HERE = pathlib.Path(__file__).resolve().parent


class Row:
    """A line of kernels.txt."""

    def __init__(self, words):
        self.file, self.kernel, warps, grid, *parameters = words
        self.warps, self.grid = int(warps), ([int(n) for n in grid.split(",")] + [1, 1])[:3]
        self.types, self.values, self.constants = {}, {}, {}
        for word in parameters:
            name, colon, rest = word.partition(":")
            if colon and "=" not in name:
                self.types[name], _, value = rest.partition("=")
                self.values[name] = ast.literal_eval(value) if value else None
            else:
                name, _, value = word.partition("=")
                self.constants[name] = ast.literal_eval(value)

    @property
    def id(self):
        return f"{self.file.removesuffix('.py')}:{self.kernel}"

    def argument(self, name):
        kind = self.types[name]
        return {"ptr": name} if kind.startswith("*") else {kind.replace("fp", "f"): self.values[name]}


def read_table(path):
    rows = []
    for line in path.read_text().splitlines():
        if line.startswith("+"):
            rows[-1] += line[1:].split()
        elif line and not line.startswith("#"):
            rows.append(line.split())
    return [Row(words) for words in rows]


def compile_row(row, loader, arch):
    kernel = getattr(loader.load(row.file), row.kernel)
    constants = {p.name: p.default for p in kernel.params if p.has_default} | row.constants
    signature = {p.name: row.types.get(p.name, "constexpr") for p in kernel.params}
    # What the runtime tells the compiler of arguments: pointers, and integers that are multiples of 16.
    aligned = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(signature)
               if signature[name].startswith("*") or signature[name] == "i32" and row.values[name] % 16 == 0}
    source = ASTSource(kernel, signature, {n: v for n, v in constants.items() if n not in row.types}, aligned)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": row.warps})


def launch(row, compiled):
    arguments = [row.argument(name) for name in row.types]
    return {"id": row.id, "path": f"{row.kernel}.ptx", "entry": compiled.metadata.name, "block": [32 * row.warps, 1, 1],
            "grid": row.grid, "shared": compiled.metadata.shared, "args": arguments + [{"scratch": True}] * 2}


def compile_all(rows, folder, loader, arch):
    """Writes texts and manifest; returns the manifest and what does not compile, with its reason."""
    lines, failures = [], {}
    for row in rows:
        try:
            compiled = compile_row(row, loader, arch)
        except Exception as error:  # pylint: disable=broad-except
            failures[row.id] = f"{type(error).__name__}: {' '.join(str(error).split())[-160:]}"
            continue
        (folder / f"{row.kernel}.ptx").write_text(compiled.asm["ptx"])
        lines.append(json.dumps(launch(row, compiled)))
    manifest = folder / "manifest.jsonl"
    manifest.write_text("\n".join(lines) + "\n")
    return manifest, failures


def report(answers, failures):
    for name, reason in failures.items():
        print(f"  not compiled  {name}: {reason}")
    for answer in answers:
        where = f": {answer['reason']} ({answer['place']['instruction']})" if answer["status"] != "OK" else ""
        print(f"  {answer['status']:13} {answer['id']}{where}")
    statuses = collections.Counter(answer["status"] for answer in answers)
    packages = collections.Counter(answer["id"].split("/")[0] for answer in answers)
    times = sorted(answer["micros"] / 1000 for answer in answers)
    print(f"{len(answers)} kernels of {len(packages)} packages: "
          + ", ".join(f"{name} {n}" for name, n in sorted(packages.items())))
    print(", ".join(f"{n} {status}" for status, n in sorted(statuses.items()))
          + f"; median {times[len(times) // 2]:.1f} ms, longest {times[-1]:.0f} ms")
    return 100 * statuses["UNKNOWN"] / len(answers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samebits", required=True)
    parser.add_argument("--site", required=True, help="folder into which the packages were installed")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="folder for texts and manifest")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--min-kernels", type=int, default=40)
    parser.add_argument("--max-unknown", type=float, default=5, help="percent")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    manifest, failures = compile_all(read_table(HERE / "kernels.txt"), options.work, Loader(options.site), options.arch)
    run = subprocess.run([options.samebits, "signature", "--local", "--quiet", "--manifest", manifest],
                         stdout=subprocess.PIPE, text=True, check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if run.returncode != 0 or not answers:
        print(f"error: samebits ends with exit code {run.returncode}", file=sys.stderr)
        return 2
    unknown = report(answers, failures)
    return 0 if len(answers) >= options.min_kernels and unknown <= options.max_unknown else 1


if __name__ == "__main__":
    sys.exit(main())
