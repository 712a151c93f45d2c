#!/usr/bin/env python3
"""Print the records of device runs as a table: show_records.py [FILE ...] (default: records/*.json)."""
import json
import pathlib
import sys

RECORDS = pathlib.Path(__file__).resolve().parent / "records"


def flat(figures, prefix=""):
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def main():
    files = [pathlib.Path(f) for f in sys.argv[1:]] or sorted(RECORDS.glob("*.json"))
    if not files:
        print(f"no records in {RECORDS}")
    for path in files:
        record = json.loads(path.read_text())
        print(f"{path.name}: {record['what']}")
        for name in ("date", "device", "driver", "commit", "command"):
            print(f"  {name:<26} {record.get(name) or '-'}")
        for name, value in flat(record.get("versions", {})):
            print(f"  {'version of ' + name:<26} {value}")
        for name, value in flat(record["figures"]):
            print(f"  {name:<26} {value}")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
