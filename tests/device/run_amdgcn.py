#!/usr/bin/env python3
"""Run the AMDGCN kernels of the corpus on an AMD GPU and on the CPU, through a server and workers.

    run_amdgcn.py [--only GROUP ...] [--limit N] [--bin DIR] [--out DIR] [--commit C]

Starts `samebits serve`, a worker with the GPUs that HIP shows and one with the CPU, and asks `samebits verify` for each group
on the first eight distributions. Says how many kernels ran on the GPU; where certified pairs differ or a launch does not
repeat; and, of the kernels that the CPU computes to the bit, which have other bytes on the GPU (a NaN's payload may). It was
only ever run with stand-ins of AMD's libraries (SAMEBITS_HIP, SAMEBITS_COMGR), never on an AMD GPU. With --out writes
DIR/amdgcn-record.json. Exit status 1 where a verdict is contradicted, a launch does not repeat or nothing ran.
"""
import argparse
import collections
import json
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "corpus"):
    sys.path.insert(0, str(folder))

from run_service import DISTRIBUTIONS, ROOT, Service


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=pathlib.Path, default=ROOT / "build" / "release" / "tests" / "corpus" / "amdgcn" / "amdgcn.jsonl")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--only", nargs="*", help="groups")
    parser.add_argument("--limit", type=int, help="kernels of a group")
    parser.add_argument("--seconds", type=float, default=480, help="start no group after this long")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    return parser.parse_args()


def verify(service, manifest, group, rows):
    """What `samebits verify` says of a group, GPU first; None where it fails."""
    words = ["verify", "--manifest", str(manifest), *[r["id"] for r in rows], "--seed", group, "--device", "rocm", "--device", "cpu"]
    for name in DISTRIBUTIONS:
        words += ["--distribution", name]
    done = service.ask(*words)
    operation = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    result = operation.get("verify_kernels")
    if result is None or result["devices"][0].get("error"):
        print(f"{group}: {done.stderr.strip() or result['devices'][0]['error']}", flush=True)
        return None
    return result


def count(result, counts, answers, wrong):
    on_gpu, on_cpu = [device.get("outcomes", []) for device in result["devices"]]
    for position, outcome in enumerate(on_gpu):
        name = result["launch_ids"][position]
        if "error" in outcome:
            counts["refused or failed"] += 1
            answers[f"{outcome['error']['code']}: {outcome['error'].get('message', '')[:120]}"] += 1
            continue
        counts["ran"] += 1
        if not outcome.get("stable"):
            wrong.append(f"{name}: does not repeat")
        beside = on_cpu[position] if position < len(on_cpu) else {"error": {}}
        if "error" not in beside:
            counts["equal to the CPU" if beside["digests"] == outcome["digests"] else "other bytes than the CPU"] += 1
            parted = [d for d, a, b in zip(DISTRIBUTIONS, outcome["digests"], beside["digests"]) if a != b]
            if parted:
                answers[f"{name}: other bytes than the CPU on {', '.join(parted)}"] += 1
    counts["pairs"] += int(result.get("pairs", 0))
    counts["certified pairs"] += int(result.get("certified_pairs", 0))
    for found in result.get("contradictions", []):
        wrong.append(f"{found['a']}, {found.get('b', '')}: contradicts a certificate on {found['distribution']}")


def main():
    options = parse()
    groups = collections.defaultdict(list)
    for line in options.manifest.read_text().splitlines():
        row = json.loads(line)
        if not options.only or row["group"] in options.only:
            groups[row["group"]].append(row)
    counts, answers, wrong, start = collections.Counter(), collections.Counter(), [], time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        service = Service(options.bin, pathlib.Path(scratch), "rocm", workers=0)
        try:
            service.start_worker("gpu", "--no-cuda")
            service.backend = "cpu"
            service.start_worker("cpu", "--no-rocm")
            device = next((d for w in service.registered(2) for d in w["devices"] if d["backend"] == "rocm"), None)
            for group, rows in groups.items():
                if device is None or time.monotonic() - start > options.seconds:
                    counts["left out"] += len(rows)
                    continue
                result = verify(service, options.manifest, group, rows[:options.limit])
                if result is None:
                    counts["failed"] += len(rows[:options.limit])
                else:
                    count(result, counts, answers, wrong)
        finally:
            service.stop()
    record = {"what": "AMDGCN kernels on an AMD GPU and on the CPU", "commit": options.commit,
              "device": f"{device['name']} ({device['architecture']})" if device else "none",
              "seconds": round(time.monotonic() - start, 1), "figures": dict(counts), "wrong": wrong, "answers": dict(answers)}
    print(json.dumps(record, indent=2))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "amdgcn-record.json").write_text(json.dumps(record, indent=2) + "\n")
    return 1 if wrong or not counts["ran"] else 0


if __name__ == "__main__":
    sys.exit(main())
