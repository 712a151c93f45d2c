#!/usr/bin/env python3
"""What the direct AMDGCN interpreter computes for the corpus's Triton kernels, against NumPy in double precision.

    amdgcn_reference.py [--manifest M] [--binary B] [--only GROUP ...] [--draws 0,1] [--quick] [--jobs N] [--total-seconds S]

Each kernel's output must be the reference's: exactly for integers, moves and extrema, else within rounding, which is taken
relative to the sum of magnitudes that the kernel adds. Kernels without a reference here are counted. Exit status 1 where
one differs.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import numpy_or_skip  # noqa: F401
import numpy as np

import amdgcn
import differential
from amdgcn_compiled import values

QUICK = ("row_sum_once_700", "row_argmax_f32", "rotary_f32", "transposed_copy_f32", "unpack_int4", "matmul_int8", "cross_entropy_f32")
# Rounding of results by output type, and of sums in f32: relative to magnitudes.
OUTPUT = {"f32": 2.0 ** -23, "f16": 2.0 ** -10, "bf16": 2.0 ** -7, "i32": 0.0, "i8": 0.0}
SUM = 2.0 ** -20


def rows(v, row, name="x"):
    return v[name].reshape(row["grid"][0] if not row["config"].get("BM") else -1, -1)


def product(v, row, magnitude=False):
    """a times b of a matrix kernel, by its entry."""
    s = [a["i32"] for a in row["args"] if "i32" in a]
    m, n, k = s[:3]
    if row["entry"] == "matmul_batched":
        batches = row["grid"][2]
        return (v["a"].reshape(batches, m, k) @ v["b"].reshape(batches, k, n)).ravel()
    a = v["a"].reshape(m, k)
    b = v["b"].reshape(n, k).T if row["entry"] in ("matmul_nt", "matmul_int8") else v["b"].reshape(k, n)
    if row["entry"] == "matmul_split":
        parts = row["config"]["SPLIT"]
        span = k // parts
        done = [a[:, p * span:(p + 1) * span] @ b[p * span:(p + 1) * span] for p in range(parts)]
        return np.concatenate([d.ravel() for d in done])
    c = a @ b
    if row["entry"] == "matmul_epilogue":
        c = c + v["w"]
        if not magnitude and row["config"]["ACT"] == 1:
            c = np.maximum(c, 0)
        elif not magnitude and row["config"]["ACT"] == 2:
            c = c / (1 + np.exp(-c))
        c = c + v["r"].reshape(m, n)
    return c.ravel()


def softmax(v, row):
    n = row["config"].get("N") or next(a["i32"] for a in row["args"] if "i32" in a)
    x = v["x"].reshape(-1, n)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).ravel()


def layer_norm(v, row):
    n, eps = next(a["i32"] for a in row["args"] if "i32" in a), next(a["f32"] for a in row["args"] if "f32" in a)
    x = v["x"].reshape(-1, n)
    d = x - x.mean(axis=1, keepdims=True)
    return (d / np.sqrt((d * d).mean(axis=1, keepdims=True) + eps) * v["w"] + v["b"]).ravel()


def rms_norm(v, row):
    x = v["x"].reshape(row["grid"][0], -1)
    return (x / np.sqrt((x * x).mean(axis=1, keepdims=True) + next(a["f32"] for a in row["args"] if "f32" in a)) * v["w"]).ravel()


def cross_entropy(v, row):
    x = rows(v, row)
    peak = x.max(axis=1, keepdims=True)
    return (peak[:, 0] + np.log(np.exp(x - peak).sum(axis=1))) - x[np.arange(len(x)), v["t"]]


def rotary(v, row, magnitude=False):
    x, y = v["x"].reshape(-1, 2, 32), v["y"].reshape(-1, 2, 32)
    minus = 1 if magnitude else -1
    return np.stack([x[:, 0] * y[:, 0] + minus * x[:, 1] * y[:, 1], x[:, 1] * y[:, 0] + x[:, 0] * y[:, 1]], axis=1).ravel()


def unpack_int4(v, row):
    i = np.arange(len(v["q"]) * 8)
    return ((v["q"][i // 8] >> (i % 8 * 4) & 15) - 8) * v["s"][i // 64]


def gelu(v, row):
    u = 0.7978845608028654 * (v["x"] + 0.044715 * v["x"] ** 3)
    return 0.5 * v["x"] * (1 + np.tanh(u))


def running_sum(v, row):
    return rows(v, row).cumsum(axis=1).ravel()


def extreme(v, row):
    return rows(v, row).max(axis=1) if row["config"]["WHICH"] == 0 else rows(v, row).min(axis=1)


def row_product(v, row):
    # Lanes beyond the row hold 1.0, which counts as the others do.
    beyond = row["config"]["BLOCK"] - row["config"]["N"]
    return (1 + rows(v, row) * 0.0009765625).prod(axis=1) * 1.0009765625 ** beyond


def merge_parts(v, row):
    return v["x"].reshape(-1, 12000)[:row["config"]["PARTS"]].sum(axis=0)


# entry: (reference, exact, reference of magnitudes or None where results are of the inputs' size).
MAPS = {
    "row_sum_once": (lambda v, r: rows(v, r).sum(axis=1), False, lambda v, r: rows(v, r).sum(axis=1)),
    "row_sum_chunks": (lambda v, r: rows(v, r).sum(axis=1), False, lambda v, r: rows(v, r).sum(axis=1)),
    "row_sum_backwards": (lambda v, r: rows(v, r).sum(axis=1), False, lambda v, r: rows(v, r).sum(axis=1)),
    "row_mean_vector": (lambda v, r: rows(v, r).mean(axis=1), False, lambda v, r: rows(v, r).mean(axis=1)),
    "tile_row_norm": (lambda v, r: np.sqrt((v["x"].reshape(200, -1) ** 2).sum(axis=1)), False, None),
    "column_sum": (lambda v, r: v["x"].reshape(-1, 256).sum(axis=0), False, lambda v, r: v["x"].reshape(-1, 256).sum(axis=0)),
    "row_extreme": (extreme, True, None),
    "row_argmax": (lambda v, r: rows(v, r).argmax(axis=1), True, None),
    "row_sum_integer": (lambda v, r: rows(v, r).sum(axis=1), True, None),
    "row_product": (row_product, False, lambda v, r: 16 * row_product(v, r)),
    "row_dot": (lambda v, r: rows(v, r) @ v["y"], False, lambda v, r: rows(v, r) @ v["y"]),
    "running_sum": (running_sum, False, running_sum),
    "softmax_tile": (softmax, False, None), "softmax_online": (softmax, False, None), "softmax_rows_tile": (softmax, False, None),
    "layer_norm_loop": (layer_norm, False, lambda v, r: 16 * (np.abs(layer_norm(v, r)) + 1)),
    "rms_norm_tile": (rms_norm, False, lambda v, r: 16 * np.abs(rms_norm(v, r))),
    "cross_entropy": (cross_entropy, False, lambda v, r: np.abs(rows(v, r)).max(axis=1) + 8),
    "gelu_tanh": (gelu, False, lambda v, r: 8 * np.abs(v["x"])),
    "silu_gate": (lambda v, r: v["x"] / (1 + np.exp(-v["x"])) * v["y"], False, lambda v, r: np.abs(v["x"] * v["y"])),
    "bias_residual": (lambda v, r: v["x"] * 0.125 + np.resize(v["w"], len(v["x"])) + v["y"], False, lambda v, r: v["x"] * 0.125 + np.resize(v["w"], len(v["x"])) + v["y"]),
    "persistent_scale": (lambda v, r: v["x"] * v["y"] - v["x"], False, lambda v, r: v["x"] * v["y"] + v["x"]),
    "transposed_copy": (lambda v, r: v["x"].reshape(180, 140).T.ravel(), True, None),
    "unpack_int4": (unpack_int4, False, None),
    "rotary": (rotary, False, lambda v, r: rotary(v, r, True)),
    "merge_parts": (merge_parts, False, merge_parts),
    "matvec": (lambda v, r: v["a"].reshape(140, -1) @ v["x"], False, lambda v, r: v["a"].reshape(140, -1) @ v["x"]),
    "matmul_int8": (product, True, None),
    **{name: (product, False, lambda v, r: product(v, r, True)) for name in ("matmul", "matmul_nt", "matmul_epilogue", "matmul_split", "matmul_persistent", "matmul_batched")},
}
# Results that the interpreter has stand-ins for: matrix steps whose arithmetic is not established.
STAND_INS = ("matmul_tf32", "matmul_nt_e4m3", "matmul_nt_e5m2")


def compare(row, inputs, got):
    """A sentence where `got` is not the reference, else None."""
    reference, exact, magnitude = MAPS[row["entry"]]
    name = row["outputs"][0]
    dtype = row["buffers"][name]["dtype"]
    with np.errstate(all="ignore"):
        want = np.asarray(reference(inputs, row))
        got = got[:len(want)]  # buffers of a group serve its largest configuration
        if exact:
            want = want.astype(np.int64).astype(np.int32) if dtype == "i32" else want  # sums wrap
            return None if np.array_equal(got, want) else f"{int((got != want).sum())} of {len(want)} values differ"
        size = np.abs(want) if magnitude is None else np.abs(np.asarray(magnitude({n: np.abs(v) for n, v in inputs.items()}, row)))
    # Accumulators of half precision round at each step.
    step = 2.0 ** -8 if row["config"].get("ACC16") else SUM
    bound = step * size + OUTPUT[dtype] * np.maximum(np.abs(want), 2.0 ** -14 if dtype == "f16" else 0) + 1e-37
    far = ~(np.abs(got - want) <= bound)
    if not far.any():
        return None
    i = int(np.argmax(far))
    return f"{int(far.sum())} of {len(want)} values differ, element {i} is {got[i]} and not {want[i]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = HERE.parent.parent / "build" / "release" / "tests"
    parser.add_argument("--manifest", type=pathlib.Path, default=build / "corpus" / "amdgcn" / "amdgcn.jsonl")
    parser.add_argument("--binary", type=pathlib.Path, default=build / "differential" / "differential_evaluator")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--draws", type=lambda t: [int(d) for d in t.split(",")], default=[1])
    parser.add_argument("--quick", action="store_true", help="a few small kernels")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--total-seconds", type=float, default=1e9, help="stop starting kernels after this long")
    options = parser.parse_args()
    if options.quick:
        options.only = QUICK
    all_rows = [json.loads(line) for line in open(options.manifest) if line.strip()]
    all_rows = [r for r in all_rows if not options.only or r["group"] in options.only]
    chosen = [r for r in all_rows if r["entry"] in MAPS and r["group"] not in STAND_INS]
    begin, failures, counts = time.monotonic(), [], collections.Counter()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        inputs, outputs = differential.Inputs(scratch + "/inputs", options.draws), pathlib.Path(scratch, "outputs")
        outputs.mkdir()

        def one(row):
            if time.monotonic() - begin > options.total_seconds:
                return "not run", None
            folder = inputs.of(row)
            run = amdgcn.ask(options.binary, options.manifest, row,
                             ["--interpret", "--outputs", str(outputs), "--inputs", str(folder), "--draws", ",".join(map(str, options.draws))])
            if "error" in run:
                return "not interpreted", run["error"]
            name = row["outputs"][0]
            for draw in options.draws:
                given = {n: values(np.fromfile(folder / str(draw) / n, np.uint8), b["dtype"]) for n, b in row["buffers"].items() if b["role"] == "in"}
                file = outputs / f"{row['id'].replace('/', '_')}.{draw}.{name}"
                got = values(np.fromfile(file, np.uint8), row["buffers"][name]["dtype"])
                file.unlink()
                if what := compare(row, given, got):
                    return "differ", f"draw {draw}: {what}"
            return "agree", None

        for row, (outcome, what) in zip(chosen, pool.map(one, chosen)):
            counts[outcome] += 1
            if what:
                failures.append(f"{row['id']}: {what}")
    print(f"{len(chosen)} kernels of {len({r['entry'] for r in chosen})} functions: " + ", ".join(f"{n} {o}" for o, n in counts.most_common())
          + f"; {len(all_rows) - len(chosen)} kernels have no reference")
    for failure in failures:
        print("failed", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
