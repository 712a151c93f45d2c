"""Pinned-order reductions: one class over tiles, warps, rows a program, parts and loops, whatever the length."""

import pytest
import samebits.triton
import triton
from samebits.triton import Buffer, KeepEquivalent, ops
from triton.backends.compiler import GPUTarget

TARGET = GPUTarget("cuda", 90, 32)
ROWS = 6


def launch(op, n, dtype):
    """Kernel, named arguments and further constants of an operation."""
    x, y, out = Buffer(dtype), Buffer(dtype), Buffer(dtype)
    common = dict(x=x, out=out, rows=ROWS, n=n, x_stride=n)
    if op in ("sum", "mean", "dot_rows"):
        return ops.sum_rows, dict(common, y=y, y_stride=0, divisor=float(n)), dict(KIND="product" if op == "dot_rows" else "value", DIVIDE=op == "mean")
    if op == "sum_columns":
        return ops.sum_columns, dict(x=x, out=out, n=n, columns=96, x_stride=96, divisor=1.0), dict(DIVIDE=False)
    if op == "var":
        return ops.var_rows, dict(common, divisor=n - 1.0), {}
    if op == "softmax":
        return ops.softmax_rows, dict(common, out_stride=n), {}
    return ops.rms_norm_rows, dict(common, weight=y, out_stride=n, eps=1e-6), {}


def classes(op, n, dtype, configs):
    kernel, named, fixed = launch(op, n, dtype)
    keep = KeepEquivalent("largest", kernel=kernel, target=TARGET, workers=2, cache=None)
    size = 96 if op == "sum_columns" else ROWS
    kept = keep(configs, named, grid=lambda meta: (-(-size // meta["BO"]), 1), **fixed)
    return kept, keep.report()


def whole_axis(op, n):
    """Configurations that reduce the axis in one launch."""
    return [c for c in ops.space(op, n) if c.kwargs["SPAN"] == ops._power(n)]


CASES = [("sum", 1000, "fp32"), ("sum", 1280, "fp32"), ("mean", 3000, "bf16"), ("var", 400, "fp32"), ("dot_rows", 1000, "fp16"),
         ("softmax", 400, "bf16"), ("rms_norm", 1280, "fp32"), ("sum_columns", 500, "fp32")]


@pytest.mark.parametrize("op,n,dtype", CASES)
def test_one_class(op, n, dtype):
    space = whole_axis(op, n)
    configs = space[::max(1, len(space) // 5)][:6]
    kept, report = classes(op, n, dtype, configs)
    assert kept == configs, str(report)
    tiles = {c.kwargs.get("BI") or c.kwargs["U"] for c in configs}
    assert len(configs) >= 5 and len(tiles) > 1 and len({c.num_warps for c in configs}) > 1


def test_the_length_is_part_of_the_bits():
    """One tile with a tail, and the same kernel on another length: another class, so the test above can fail."""
    kernel, named, fixed = launch("sum", 1000, "fp32")
    config = [triton.Config(dict(BO=1, BI=1024, S=1, SPAN=1024), num_warps=4)]
    digests = set()
    for n in (1000, 1001):
        keep = KeepEquivalent("first", kernel=kernel, target=TARGET, cache=None)
        keep(config, dict(named, n=n, x_stride=1024), grid=(ROWS, 1), **fixed)
        digests.add(keep.report().rows[0].signature.digest)
    assert len(digests) == 2


def test_pieces_and_runs_are_the_padded_tree():
    """1280 = 1024 + 256 without padding, in runs side by side, and the tile of 2048 filled up: one class."""
    configs = [triton.Config(dict(BO=1, BI=2048, S=1, SPAN=2048), num_warps=4),
               *(triton.Config(dict(BO=bo, BI=1280, S=1, SPAN=2048, K=k, FULL=full), num_warps=2)
                 for bo, k, full in ((1, 1, True), (1, 2, True), (2, 1, False), (1, 4, False)))]
    kept, report = classes("softmax", 1280, "fp32", configs)
    assert kept == configs, str(report)


def test_full_is_checked():
    tile = dict(BO=1, S=1, SPAN=2048, K=1, FULL=True)
    ops._check_full(triton.Config(dict(tile, BI=1280)), 1280)
    ops._check_full(triton.Config(dict(tile, BI=2048)), 4096)
    ops._check_full(triton.Config(dict(BO=64, U=8, S=2, SPAN=1024, FULL=True)), 5120)
    for wrong, n in ((dict(tile, BI=1280), 1279), (dict(tile, BI=2048), 2049), (dict(BO=64, U=8, S=2, SPAN=1024, FULL=True), 5000)):
        with pytest.raises(ValueError):
            ops._check_full(triton.Config(wrong), n)


def test_spaces_are_large_and_valid():
    for op in ("sum", "mean", "var", "dot_rows", "softmax", "rms_norm", "sum_columns", "mean_columns"):
        for n in (128, 1000, 4096, 5120, 100_000):
            space = ops.space(op, n)
            for config in space:
                ops._check_full(config, n)
            assert len(space) >= 40 and len(set(map(str, space))) == len(space)
            assert all(ops._power(n) % c.kwargs["SPAN"] == 0 for c in space)
    with pytest.raises(ValueError):
        ops.space("median", 10)
