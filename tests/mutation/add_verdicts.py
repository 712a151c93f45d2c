#!/usr/bin/env python3
"""Merge a device run's verdicts into mutants.jsonl: add_verdicts.py DIR/verdicts.jsonl

Mutants that the run left out keep the verdict they have.
"""
import collections
import json
import pathlib
import sys

MUTANTS = pathlib.Path(__file__).resolve().parent / "mutants.jsonl"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    verdicts = {v["id"]: v for v in map(json.loads, open(sys.argv[1]))}
    rows = [json.loads(line) for line in open(MUTANTS)]
    for row in rows:
        if row["id"] in verdicts:
            row["device"] = verdicts[row["id"]]["device"]
    MUTANTS.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(dict(collections.Counter(row.get("device", "not run") for row in rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
