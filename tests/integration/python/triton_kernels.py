"""Kernels for test_triton.py; Triton reads them from this file."""

import triton
import triton.language as tl


@triton.jit
def row_sum(x, o, n, B: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        acc += tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(o + row, tl.sum(acc, axis=0))


@triton.jit
def scaled(x, o, scale, n, B: tl.constexpr):
    """One class for every B and warp count."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) * scale, mask=i < n)


@triton.jit
def racing(x, o, B: tl.constexpr):
    tl.atomic_add(o + tl.program_id(0) * 0, tl.sum(tl.load(x + tl.arange(0, B)), axis=0))


@triton.jit
def broken(x, o, B: tl.constexpr):
    tl.static_assert(B < 256, "too large")
    tl.store(o + tl.arange(0, B), tl.load(x + tl.arange(0, B)))


@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def padded(x, o, n, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if EVEN:
        tl.store(o + i, tl.load(x + i) + 1.0)
    else:
        tl.store(o + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
