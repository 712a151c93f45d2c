"""Reductions: rows and columns, one tile or a loop, vector and scalar accumulators, order-free folds."""
import triton
import triton.language as tl

from space import Buffer, Case, Group, cdiv, grid3, product


@triton.jit
def row_sum_once(x, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=0.0)
    tl.store(o + row, tl.sum(v, axis=0))


@triton.jit
def row_mean_vector(x, o, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        acc += tl.load(x + row * n + col, mask=col < n, other=0.0).to(tl.float32)
    tl.store(o + row, tl.sum(acc, axis=0) / n)


@triton.jit
def row_sum_chunks(x, o, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * n + col, mask=col < n, other=0.0), axis=0)
    tl.store(o + row, total)


@triton.jit
def row_sum_backwards(x, o, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        col = n - 1 - start - tl.arange(0, BLOCK)
        acc += tl.load(x + row * n + col, mask=col >= 0, other=0.0)
    tl.store(o + row, tl.sum(acc, axis=0))


@triton.jit
def tile_row_norm(x, o, rows, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, N, BN):
        c = start + tl.arange(0, BN)
        v = tl.load(x + r[:, None] * N + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < N), other=0.0)
        acc += v * v
    tl.store(o + r, tl.sqrt(tl.sum(acc, axis=1)), mask=r < rows)


@triton.jit
def column_sum(x, o, rows, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, rows, BM):
        r = start + tl.arange(0, BM)
        acc += tl.load(x + r[:, None] * N + c[None, :], mask=r[:, None] < rows, other=0.0)
    tl.store(o + c, tl.sum(acc, axis=0), mask=c < N)


@triton.jit
def row_extreme(x, o, n, BLOCK: tl.constexpr, WHICH: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.full((BLOCK,), float("-inf") if WHICH == 0 else float("inf"), tl.float32)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + col, mask=col < n, other=float("-inf") if WHICH == 0 else float("inf"))
        acc = tl.maximum(acc, v) if WHICH == 0 else tl.minimum(acc, v)
    tl.store(o + row, tl.max(acc, axis=0) if WHICH == 0 else tl.min(acc, axis=0))


@triton.jit
def row_argmax(x, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=float("-inf"))
    tl.store(o + row, tl.argmax(v, axis=0))


@triton.jit
def row_sum_integer(x, o, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        acc += tl.load(x + row * n + col, mask=col < n, other=0)
    tl.store(o + row, tl.sum(acc, axis=0))


@triton.jit
def row_xor(x, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=0)
    tl.store(o + row, tl.xor_sum(v, axis=0))


@triton.jit
def _times(a, b):
    return a * b


@triton.jit
def row_product(x, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=1.0)
    tl.store(o + row, tl.reduce(1.0 + v * 0.0009765625, 0, _times))


@triton.jit
def _merge(count_a, mean_a, m2_a, count_b, mean_b, m2_b):
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    delta = mean_b - mean_a
    return count, mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share


@triton.jit
def row_welford(x, o, rows, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=0.0)
    count = (col < N).to(tl.float32)
    count, mean, m2 = tl.reduce((count, v, v * 0.0), 0, _merge)
    tl.store(o + row, mean)
    tl.store(o + rows + row, m2 / count)


@triton.jit
def row_dot(x, y, o, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + col, mask=col < n, other=0.0).to(tl.float32)
        b = tl.load(y + col, mask=col < n, other=0.0).to(tl.float32)
        acc = tl.fma(a, b, acc)
    tl.store(o + row, tl.sum(acc, axis=0))


@triton.jit
def running_sum(x, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, N, BLOCK):
        col = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * N + col, mask=col < N, other=0.0)
        tl.store(o + row * N + col, tl.cumsum(v, axis=0) + carry, mask=col < N)
        carry += tl.sum(v, axis=0)


@triton.jit
def _recur(decay_a, value_a, decay_b, value_b):
    return decay_a * decay_b, value_a * decay_b + value_b


@triton.jit
def linear_recurrence(x, y, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    decay = tl.load(y + row * N + col, mask=col < N, other=1.0)
    value = tl.load(x + row * N + col, mask=col < N, other=0.0)
    _, state = tl.associative_scan((decay, value), 0, _recur)
    tl.store(o + row * N + col, state, mask=col < N)


def _rows(kernel, rows, configs, scalars=None):
    """Cases with one program a row; each config holds constants and compiler options by name."""
    options = ("num_warps", "num_stages", "enable_fp_fusion")
    return [
        Case(kernel, grid3(rows), {k: v for k, v in c.items() if k not in options}, dict(scalars or {}),
             {k: v for k, v in c.items() if k in options}) for c in configs
    ]


def groups():
    out = []
    x80 = {"x": Buffer("f32", 80 * 3000), "o": Buffer("f32", 80, "out")}
    out.append(Group("row_sum_once_3000", "reduction", x80, _rows(row_sum_once, 80, product(
        N=[3000], BLOCK=[4096, 8192], num_warps=[1, 2, 4, 8, 16]))))
    x700 = {"x": Buffer("f32", 56 * 700), "o": Buffer("f32", 56, "out")}
    out.append(Group("row_sum_once_700", "reduction", x700, _rows(row_sum_once, 56, product(
        N=[700], BLOCK=[1024, 2048], num_warps=[1, 2, 4, 8]))))
    x5000 = {"x": Buffer("f32", 40 * 5000), "o": Buffer("f32", 40, "out")}
    n5000 = {"n": ("i32", 5000)}
    loops = product(BLOCK=[128, 256, 512, 1024, 2048], num_warps=[1, 2, 4, 8])
    out.append(Group("row_mean_vector_f32", "reduction", x5000, _rows(row_mean_vector, 40, loops, n5000)))
    out.append(Group("row_sum_chunks_f32", "reduction", x5000, _rows(row_sum_chunks, 40, loops, n5000)
                     + _rows(row_sum_backwards, 40, product(BLOCK=[256, 1024], num_warps=[2, 4, 8]), n5000)))
    xb = {"x": Buffer("bf16", 24 * 2304), "o": Buffer("f32", 24, "out")}
    out.append(Group("row_mean_vector_bf16", "reduction", xb, _rows(row_mean_vector, 24, product(
        BLOCK=[256, 512, 1024], num_warps=[1, 2, 4, 8], num_stages=[1, 3]), {"n": ("i32", 2304)})))
    xt = {"x": Buffer("f32", 200 * 768), "o": Buffer("f32", 200, "out")}
    out.append(Group("tile_row_norm_f32", "reduction", xt, [
        Case(tile_row_norm, grid3(cdiv(200, c["BM"])), {"N": 768, "BM": c["BM"], "BN": c["BN"]},
             {"rows": ("i32", 200)}, {"num_warps": c["num_warps"]})
        for c in product(BM=[1, 4, 16], BN=[128, 256, 1024], num_warps=[1, 4, 8])]))
    xc = {"x": Buffer("f32", 300 * 256), "o": Buffer("f32", 256, "out")}
    out.append(Group("column_sum_f32", "reduction", xc, [
        Case(column_sum, grid3(256 // c["BN"]), {"N": 256, "BM": c["BM"], "BN": c["BN"]},
             {"rows": ("i32", 300)}, {"num_warps": c["num_warps"]})
        for c in product(BM=[8, 32, 64], BN=[16, 64], num_warps=[1, 2, 4])]))
    out.append(Group("row_extreme_f32", "order-free", x5000, [
        Case(row_extreme, grid3(40), {"BLOCK": c["BLOCK"], "WHICH": c["WHICH"]}, n5000, {"num_warps": c["num_warps"]})
        for c in product(WHICH=[0, 1], BLOCK=[128, 512, 2048], num_warps=[1, 4])]))
    xa = {"x": Buffer("f32", 32 * 900), "o": Buffer("i32", 32, "out")}
    out.append(Group("row_argmax_f32", "order-free", xa, _rows(row_argmax, 32, product(
        N=[900], BLOCK=[1024, 2048], num_warps=[1, 2, 4]))))
    xi = {"x": Buffer("i32", 36 * 1500, low=-(1 << 31), high=1 << 31), "o": Buffer("i32", 36, "out")}
    out.append(Group("row_sum_i32", "order-free", xi, _rows(row_sum_integer, 36, product(
        BLOCK=[64, 256, 1024], num_warps=[1, 2, 4]), {"n": ("i32", 1500)})
        + _rows(row_xor, 36, product(N=[1500], BLOCK=[2048], num_warps=[1, 4, 8]))))
    xp = {"x": Buffer("f32", 48 * 320), "o": Buffer("f32", 48, "out")}
    out.append(Group("row_product_f32", "reduction", xp, _rows(row_product, 48, product(
        N=[320], BLOCK=[512], num_warps=[1, 2, 4, 8], enable_fp_fusion=[False, True]))))
    xw = {"x": Buffer("f32", 28 * 1100), "o": Buffer("f32", 56, "out")}
    out.append(Group("row_welford_f32", "reduction", xw, _rows(row_welford, 28, product(
        N=[1100], BLOCK=[2048], num_warps=[1, 2, 4, 8]), {"rows": ("i32", 28)})))
    xd = {"x": Buffer("f16", 64 * 1920), "y": Buffer("f16", 1920), "o": Buffer("f32", 64, "out")}
    out.append(Group("row_dot_f16", "reduction", xd, _rows(row_dot, 64, product(
        BLOCK=[128, 512, 1024], num_warps=[1, 2, 4], num_stages=[2, 4]), {"n": ("i32", 1920)})))
    xs = {"x": Buffer("f32", 20 * 640), "y": Buffer("f32", 20 * 640, values="unit"), "o": Buffer("f32", 20 * 640, "out")}
    out.append(Group("running_sum_f32", "scan", xs, _rows(running_sum, 20, product(
        N=[640], BLOCK=[128, 256, 1024], num_warps=[1, 4]))
        + _rows(linear_recurrence, 20, product(N=[640], BLOCK=[1024], num_warps=[1, 2, 4]))))
    return out
