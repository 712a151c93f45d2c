#!/usr/bin/env python3
"""Our own HIP and OpenCL kernels, compiled for gfx942 by clang: the checker, the direct interpreter and NumPy.

    amdgcn_compiled.py [--binary B] [--draws 0,1,...] [--only KERNEL ...] [--keep DIR]

Compiles tests/corpus/src/hip (no ROCm headers) and requires of each kernel
- the status that table.py expects,
- the interpreter's bytes from the checker's map, on every draw,
- the reference's values within rounding (exactly for integers, moves and maxima),
- one signature for kernels of a group that add in one order, and another for others.
Needs clang-19 and numpy. Exit status 1 where one of these fails.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent / "corpus" / "src" / "hip"
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(SOURCES)]

import numpy_or_skip  # noqa: F401
import numpy as np

import amdgcn
import differential
import table

COMMANDS = {"kernels.hip": ["-x", "hip", "--offload-arch=gfx942", "--offload-device-only", "-nogpulib", "-nogpuinc"],
            "kernels.cl": ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib"]}
TYPES = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i32": np.int32, "i8": np.int8}
# Relative to the largest sum of magnitudes: a few rounding steps of the narrowest type that takes part.
TOLERANCE = {"f32": 2e-6, "f16": 2e-3, "f64": 1e-14}


def compile_all(compiler, folder):
    for source, options in COMMANDS.items():
        subprocess.run([compiler, *options, "-O2", "-S", str(SOURCES / source), "-o", str(folder / (source + ".s"))], check=True)


def values(data, dtype):
    if dtype == "bf16":
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    array = data.view(TYPES[dtype])
    return array.astype(np.int64 if dtype.startswith("i") else np.float64)


def wrong_values(row, folder, outputs, draws):
    """What the interpreter left against the group's reference: a sentence, or None."""
    buffers, reference = table.GROUPS[row["group"]]
    if reference is None:
        return None
    dtype = buffers["o"]["dtype"]
    for draw in draws:
        inputs = {name: values(np.fromfile(folder / str(draw) / name, np.uint8), b["dtype"]) for name, b in buffers.items() if b["role"] == "in"}
        with np.errstate(all="ignore"):
            want = reference(inputs)
        got = values(np.fromfile(outputs / f"{row['id']}.{draw}.o", np.uint8), dtype)
        if dtype == "i32":
            if not np.array_equal(got, want.astype(np.int64).astype(np.int32)):
                return f"draw {draw}: integers differ from the reference"
            continue
        # Magnitudes that a sum of this group can have had.
        absolute = reference({name: np.abs(v) for name, v in inputs.items()}) if row["group"] not in ("softmax", "layer_norm", "divide", "clamp") else want
        bound = TOLERANCE[dtype] * (np.abs(absolute) + (1 if row["group"] in ("softmax", "layer_norm") else 0)) + 1e-37 * (dtype == "f32") + 6e-8 * (dtype == "f16")
        limit = float(np.finfo(TYPES[dtype]).max)
        far = ~(np.abs(got - want) <= bound) & (np.abs(absolute) < limit)
        if far.any():
            i = int(np.argmax(far))
            return f"draw {draw}: {int(far.sum())} values differ from the reference, element {i} is {got[i]} and not {want[i]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = HERE.parent.parent / "build" / "release" / "tests"
    parser.add_argument("--binary", type=pathlib.Path, default=build / "differential" / "differential_evaluator")
    parser.add_argument("--draws", type=lambda t: [int(d) for d in t.split(",")], default=differential.DRAWS)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--keep", type=pathlib.Path, help="write the texts and the manifest here")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    compiler = shutil.which("clang-19")
    if not compiler:
        print("needs clang-19")
        return 77  # skipped
    failures, answers, classes = [], {}, {}
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        compile_all(compiler, folder)
        rows = [r for r in table.rows(lambda name: "kernels.cl.s" if name.startswith("cl_") else "kernels.hip.s") if not options.only or r["id"] in options.only]
        manifest = folder / "manifest.jsonl"
        manifest.write_text("".join(json.dumps(r) + "\n" for r in rows))
        inputs, outputs = differential.Inputs(scratch + "/inputs", options.draws), pathlib.Path(scratch, "outputs")
        outputs.mkdir()
        common = ["--draws", ",".join(map(str, options.draws))]

        def one(row):
            answer = amdgcn.ask(options.binary, manifest, row, ["--signatures"])
            status = answer.get("status", "ERROR")
            if status != table.EXPECTED_STATUS.get(row["id"], "OK"):
                return answer, f"{status}: {answer.get('error') or answer.get('reason')}"
            if status != "OK" or row["id"] in table.NOT_EVALUATED:
                return answer, None
            here = ["--inputs", str(inputs.of(row)), *common]
            run = amdgcn.ask(options.binary, manifest, row, ["--interpret", "--outputs", str(outputs), *here])
            evaluated = amdgcn.ask(options.binary, manifest, row, ["--stand-ins", *here])
            if "error" in run or "error" in evaluated:
                return answer, run.get("error") or evaluated.get("error")
            if run["digests"] != evaluated.get("digests"):
                return answer, f"the map's bytes are not the interpreter's: {run['digests']} {evaluated.get('digests')}"
            # Special values and overflow are compared above, bit for bit.
            return answer, wrong_values(row, inputs.of(row), outputs, [d for d in options.draws if d < 6])

        for row, (answer, failure) in zip(rows, pool.map(one, rows)):
            answers[row["id"]] = answer
            if failure:
                failures.append(f"{row['id']}: {failure}")
    for name, (group, order, *_) in table.KERNELS.items():
        if order is not None and answers.get(name, {}).get("status") == "OK":
            classes.setdefault((group, order), {})[name] = answers[name]["signature"]
    for (group, order), members in classes.items():
        if len(set(members.values())) > 1:
            failures.append(f"{group}, {order}: kernels of one order have several signatures: {members}")
        for (other, another), rest in classes.items():
            if other == group and another > order and set(members.values()) & set(rest.values()):
                failures.append(f"{group}: the orders '{order}' and '{another}' have one signature")
    print(f"{len(rows)} kernels of {len({r['group'] for r in rows})} functions, {len(classes)} orders: {len(failures)} failures")
    for failure in failures:
        print("failed", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
