#!/usr/bin/env python3
"""Products of this machine's library through server and workers: recovered, with a worker killed midway; then emulated.

    run_gemm_jobs.py [--library cublaslt] [--on cuda] [--bin DIR] [--call FILE] [--out FILE] [--commit C]

`samebits gemm probe --server` recovers some dozens of shapes; the worker is killed with SIGKILL when two fifths are done, and
another one goes on: the result must be that of an undisturbed job. Then `samebits gemm emulate --server` computes some of the
products whole on the CPU, from generated operands, and samebits_gemm_call has the library compute them: the digests must be
equal. One large product is emulated with a worker killed midway, too. Exit status 1 if not.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from job_service import JobService
from record import environment

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {"bf16,bf16,f32,bf16": "TN", "f16,f16,f32,f32": "NT", "e4m3,e4m3,f32,bf16": "TN"}
SHAPES = ["1x4096x4096", "2x1024x14336", "8x6144x4096", "16x4096x4096", "24x4096x14336", "33x112x16384", "64x2560x9728", "128x128x11520",
          "100x272x3008", "256x512x8192", "300x400x2064", "512x1024x1024"]
EMULATED = ["1x4096x4096", "16x4096x4096", "33x112x16384", "100x272x3008", "256x512x8192", "300x400x2064"]
LARGE = "1024x1024x4096"


def probe(options, types, layout):
    words = ["gemm", "probe", "--library", options.library, "--on", options.on, "--types", types, "--layout", layout, "--seed", "7"]
    return words + [word for shape in SHAPES + [LARGE] for word in ("--shape", shape)]


def recovered(options, service):
    """By types, the shapes' results; figures. For the first types a worker is killed."""
    found, figures = {}, {}
    types, layout = next(iter(TYPES.items()))
    operation, figures["a worker killed midway"] = service.disturb(*probe(options, types, layout), "--quiet")
    worker = service.worker("steady")
    for types, layout in TYPES.items():
        if types.startswith("e4m3") and options.library.startswith("simulated"):
            continue
        begin = time.time()
        response = json.loads(service.ask(*probe(options, types, layout), "--quiet", "--format", "json", check=False))
        gemms = response["gemms"]
        figures[f"{types} {layout}"] = {
            "shapes": len(gemms), "explained": sum(g["state"] == "EXPLAINED" for g in gemms), "seconds": round(time.time() - begin, 1),
            "launches, median": statistics.median(int(g.get("launches", 0)) for g in gemms),
            "not explained": [f"{g['shape']}: {g['state']}" for g in gemms if g["state"] != "EXPLAINED"]}
        found[types] = gemms
        if layout == TYPES[types] and "same" not in figures["a worker killed midway"]:
            figures["a worker killed midway"]["same"] = response == operation["recover_gemms"]
        where = response
    return worker, found, where, figures


def emulate_words(gemm, architecture):
    shape = gemm["shape"]
    words = ["gemm", "emulate", gemm["text"], "--sm", str(architecture), "--a", "generate:7:normal", "--b", "generate:7:normal", "--quiet"]
    return words + [word for side in "mnk" for word in (f"--{side}", shape[side])]


def called(options, gemm):
    shape = gemm["shape"]
    words = [options.call, options.library, shape["types"], shape["layout"], *(shape[side] for side in "mnk"), "7", "normal"]
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{words}: {result.stderr}")
    return result.stdout.strip()


def name_of(gemm):
    return "x".join(gemm["shape"][side] for side in "mnk")


def hex_digest(response):
    import base64
    return base64.b64decode(response["sha256"]).hex()


def emulated(options, service, found, architecture):
    """Products emulated by jobs, against the library's own bytes."""
    figures = {"products": 0, "equal": 0, "outputs": 0, "different": [], "seconds": 0}
    for types, gemms in found.items():
        for gemm in gemms:
            if name_of(gemm) not in EMULATED or gemm["state"] != "EXPLAINED":
                continue
            begin = time.time()
            response = json.loads(service.ask(*emulate_words(gemm, architecture), "--format", "json"))
            figures["seconds"] += time.time() - begin
            equal = hex_digest(response) == called(options, gemm)
            figures["products"] += 1
            figures["equal"] += equal
            figures["outputs"] += int(response["outputs"])
            if not equal:
                figures["different"].append(f"{types} {name_of(gemm)}")
    figures["seconds"] = round(figures["seconds"], 1)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="cublaslt")
    parser.add_argument("--on", default="cuda")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin")
    parser.add_argument("--call", type=pathlib.Path, default=HERE.parents[1] / "build/release/tests/device/samebits_gemm_call")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.call = options.call.resolve()
    with tempfile.TemporaryDirectory() as name:
        service = JobService(options.bin, pathlib.Path(name))
        try:
            worker, found, where, figures = recovered(options, service)
            figures["emulated by jobs, against the library"] = emulated(options, service, found, where["architecture"])
            worker.terminate()
            worker.wait()
            large = next(g for g in next(iter(found.values())) if name_of(g) == LARGE)
            operation, seen = service.disturb(*emulate_words(large, where["architecture"]))
            seen["equal"] = hex_digest(operation["emulate_gemm"]) == called(options, large)
            figures[f"{LARGE}, emulated by two workers, the first killed"] = seen
        finally:
            service.stop()
    figures["threads"] = os.cpu_count()
    record = {"what": "products of a library through server and workers: recovered by probes, emulated whole, workers killed",
              **environment(where["device"], "", options.commit), "figures": figures}
    record["versions"][where["library"]] = where["library_version"]
    print(json.dumps(record))
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")
    emulation = figures["emulated by jobs, against the library"]
    sys.exit(0 if figures["a worker killed midway"]["same"] and emulation["products"] == emulation["equal"] > 0 and seen["equal"] else 1)


if __name__ == "__main__":
    main()
