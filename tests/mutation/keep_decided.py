#!/usr/bin/env python3
"""Keep the mutants that the checker decides: keep_decided.py --samebits PATH IN.jsonl [IN.jsonl ...] > mutants.jsonl

A mutant (or base) without a signature can't keep its base's signature, so a GPU run of it would decide nothing; and it
is among these that accesses fault and loops hang.
"""
import argparse
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "corpus"))

import gate
import unpack


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samebits", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("mutants", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    mutants = [json.loads(line) for path in options.mutants for line in open(path)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = unpack.unpack(scratch)
        signed = gate.signatures(options.samebits, gate.write_manifest(folder, mutants), options.jobs)
    kept = [m for m in mutants if signed[m["id"]]["status"] == signed[m["base"]]["status"] == "OK"]
    sys.stdout.writelines(json.dumps(m) + "\n" for m in kept)
    print(f"{len(kept)} of {len(mutants)} mutants kept", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
