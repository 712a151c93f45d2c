#!/usr/bin/env python3
"""Condense what samebits_gemm_recovery wrote into a record.

    gemm_record.py gemm.jsonl --text gemm.txt --command "..." --commit C --driver D [--date YYYY-MM-DD] > record.json

gemm.jsonl has one shape a line; the text's first line names library, device and seed. Figures: by types the shapes, the
explained ones (a descriptor that reproduces every compared byte), unexplained, those with a located defect, distinct
answers of the heuristic, distinct descriptors, medians and maxima of launches and of milliseconds a shape.
"""
import argparse
import collections
import datetime
import json
import statistics


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes")
    parser.add_argument("--text", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--device", default="NVIDIA H200")
    parser.add_argument("--driver", required=True)
    parser.add_argument("--date", default=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
    options = parser.parse_args()
    by_types = collections.defaultdict(list)
    for line in open(options.shapes):
        row = json.loads(line)
        by_types[row["types"]].append(row)
    figures = {}
    defects = []
    for types, rows in sorted(by_types.items()):
        located = [r for r in rows if any(e.startswith("DEFECT") for e in r["evidence"])]
        defects += [f"{types} {r['shape']}: {e}" for r in located for e in r["evidence"] if e.startswith("DEFECT")]
        figures[types] = {
            "shapes": len(rows),
            "explained": sum(r["explained"] for r in rows),
            "unexplained": sum(not r["explained"] for r in rows),
            "defects": len(located),
            "answers": len({r["algorithm"] for r in rows}),
            "descriptors": len({r["desc"] for r in rows if r["explained"]}),
            "outputs compared": sum(r["outputs"] for r in rows),
            "launches, median": statistics.median(r["launches"] for r in rows),
            "launches, most": max(r["launches"] for r in rows),
            "ms, median": statistics.median(r["ms"] for r in rows),
            "ms, most": max(r["ms"] for r in rows),
        }
    with open(options.text) as text:
        setting = text.readline().strip()
    print(json.dumps({"what": "descriptors of cuBLASLt's products, recovered and validated", "command": options.command,
                      "commit": options.commit, "device": options.device, "driver": options.driver, "setting": setting,
                      "versions": {"cublasLt": setting.split(",")[0].split()[-1]}, "date": options.date,
                      "figures": figures, "defects": defects}, indent=1))


if __name__ == "__main__":
    main()
