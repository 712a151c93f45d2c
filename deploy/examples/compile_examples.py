#!/usr/bin/env python3
"""Compiles the example kernels of this folder with Triton; no GPU is needed.

    python3 -m pip install triton numpy && deploy/examples/compile_examples.py

Writes for each configuration the kernel NAME.ptx and its launch NAME.json.
"""
import json
import pathlib
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGET = GPUTarget("cuda", 90, 32)


@triton.jit
def row_sum(x, out, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    tl.store(out + row, tl.sum(values, axis=0))


@triton.jit
def matmul(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a_tile = a + rows[:, None] * K + steps[None, :]
    b_tile = b + steps[:, None] * N + columns[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(a_tile), tl.load(b_tile), total)
        a_tile += BLOCK_K
        b_tile += BLOCK_K * N
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


def without_folders(ptx):
    """The text with source files named independently of the machine."""
    return re.sub(r'(\.file\s+\d+\s+)"([^"]*)"', shorten, ptx)


def shorten(match):
    path = match.group(2)
    short = path[path.rindex("/triton/") + 1:] if "/triton/" in path else pathlib.PurePath(path).name
    return f'{match.group(1)}"{short}"'


def buffer(dtype, elements, role):
    return {"dtype": dtype, "elements": elements, "role": role}


def compile_kernel(kernel, signature, constants, name, grid, args, buffers, num_warps=4, num_stages=2):
    hints = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(signature.values()) if t != "constexpr"}
    source = ASTSource(kernel, signature, constexprs=constants, attrs=hints)
    compiled = triton.compile(source, target=TARGET, options={"num_warps": num_warps, "num_stages": num_stages})
    launch = {
        "entry": compiled.metadata.name,
        "block": [32 * num_warps, 1, 1],
        "grid": grid,
        "shared": compiled.metadata.shared,
        "args": args + [{"scratch": True}, {"scratch": True}],
        "buffers": buffers,
    }
    folder = pathlib.Path(__file__).parent
    (folder / f"{name}.ptx").write_text(without_folders(compiled.asm["ptx"]))
    (folder / f"{name}.json").write_text(json.dumps(launch) + "\n")


def row_sums():
    rows, width = 96, 1024
    signature = {"x": "*fp32", "out": "*fp32", "N": "constexpr", "BLOCK": "constexpr"}
    for warps in (4, 8):
        compile_kernel(row_sum, signature, {"N": width, "BLOCK": 1024}, f"row_sum_{warps}_warps", [rows, 1, 1],
                       [{"ptr": "x"}, {"ptr": "out"}],
                       {"x": buffer("f32", rows * width, "in"), "out": buffer("f32", rows, "out")}, num_warps=warps)


def matmuls():
    m = n = k = 512
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32",
                 "BLOCK_M": "constexpr", "BLOCK_N": "constexpr", "BLOCK_K": "constexpr"}
    for block_m, block_n, block_k, warps in ((32, 32, 32, 4), (64, 128, 64, 4), (128, 64, 32, 8)):
        compile_kernel(matmul, signature, {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k},
                       f"matmul_{block_m}x{block_n}x{block_k}", [m // block_m, n // block_n, 1],
                       [{"ptr": "a"}, {"ptr": "b"}, {"ptr": "c"}, {"i32": m}, {"i32": n}, {"i32": k}],
                       {name: buffer("f16", m * n, "out" if name == "c" else "in") for name in "abc"}, num_warps=warps)


row_sums()
matmuls()
