#!/usr/bin/env python3
"""Make the record of a run of samebits_gemm_survey.

    gemm_record.py DIR --command "..." --commit C [--date YYYY-MM-DD] > records/gemm-h200.json

DIR is the run's folder, with record.json and survey.jsonl. Figures: by phase and types (and of all of one type of inputs)
the shapes, those explained by a descriptor that reproduces every draw, those of them that a rule predicted, medians of
launches and milliseconds a shape; every located defect; where unexplained shapes are.
"""
import argparse
import collections
import datetime
import json
import pathlib


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--command", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--date", default=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
    options = parser.parse_args()
    record = json.loads((options.folder / "record.json").read_text())
    library, version = record.pop("library").split()
    defects, unexplained = [], collections.Counter()
    for line in (options.folder / "survey.jsonl").open():
        row = json.loads(line)
        if row["phase"] == "walks" or not row.get("supported", True):
            continue
        if not row["explained"]:
            algorithm = (row["algorithm"] or "id=unknown").split()[0].split("=")[1]
            unexplained[f"{row['kind']}, algorithm {algorithm}"] += 1
        defects += [f"{row['kind']} {row['m']}x{row['n']}x{row['k']}: {line}"
                    for line in row.get("evidence", []) if line.startswith("DEFECT")]
    figures = record.pop("figures")
    record.update(command=options.command, commit=options.commit, date=options.date, versions={library: version},
                  figures=figures, defects=sorted(defects), unexplained=dict(sorted(unexplained.items())))
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
