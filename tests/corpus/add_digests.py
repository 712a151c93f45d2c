#!/usr/bin/env python3
"""Merge the digests of a device run into the committed manifest: add_digests.py DIR/digests.jsonl

Rows whose kernel faulted or did not run keep no digests; they are listed and the exit status is 1. The record of the
run belongs into tests/device/records/.
"""
import json
import pathlib
import sys

MANIFEST = pathlib.Path(__file__).resolve().parent / "manifest.jsonl"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = {r["id"]: r for r in map(json.loads, open(sys.argv[1]))}
    rows = [json.loads(line) for line in open(MANIFEST)]
    missing = []
    for row in rows:
        result = results.get(row["id"], {})
        row.pop("digests", None), row.pop("stable", None)
        if "digests" in result:
            row["digests"], row["stable"] = result["digests"], result["stable"]
        else:
            missing.append(f"{row['id']}: {result.get('fault', 'not run')}")
    MANIFEST.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{len(rows) - len(missing)} of {len(rows)} rows have digests")
    print("\n".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
