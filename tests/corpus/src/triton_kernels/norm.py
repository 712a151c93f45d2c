"""Row normalisations and losses: softmax, layer norm, RMS norm, cross entropy."""
import triton
import triton.language as tl

from space import Buffer, Case, Group, grid3, product


@triton.jit
def softmax_tile(x, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(o + row * N + col, (e / tl.sum(e, axis=0)).to(o.dtype.element_ty), mask=col < N)


@triton.jit
def softmax_online(x, o, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    peak = float("-inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + col, mask=col < n, other=float("-inf")).to(tl.float32)
        new = tl.maximum(peak, tl.max(v, axis=0))
        total = total * tl.exp(peak - new) + tl.sum(tl.exp(v - new), axis=0)
        peak = new
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + col, mask=col < n, other=0.0).to(tl.float32)
        tl.store(o + row * n + col, (tl.exp(v - peak) / total).to(o.dtype.element_ty), mask=col < n)


@triton.jit
def log_softmax_tile(x, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=float("-inf")).to(tl.float32)
    v -= tl.max(v, axis=0)
    tl.store(o + row * N + col, (v - tl.log(tl.sum(tl.exp(v), axis=0))).to(o.dtype.element_ty), mask=col < N)


@triton.jit
def layer_norm_loop(x, w, b, o, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        acc += tl.load(x + row * n + col, mask=col < n, other=0.0).to(tl.float32)
    mean = tl.sum(acc, axis=0) / n
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + col, mask=col < n, other=0.0).to(tl.float32)
        d = tl.where(col < n, v - mean, 0.0)
        acc += d * d
    scale = 1.0 / tl.sqrt(tl.sum(acc, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        keep = col < n
        v = tl.load(x + row * n + col, mask=keep, other=0.0).to(tl.float32)
        g = tl.load(w + col, mask=keep, other=0.0).to(tl.float32)
        s = tl.load(b + col, mask=keep, other=0.0).to(tl.float32)
        tl.store(o + row * n + col, ((v - mean) * scale * g + s).to(o.dtype.element_ty), mask=keep)


@triton.jit
def rms_norm_tile(x, w, o, eps, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=0.0).to(tl.float32)
    g = tl.load(w + col, mask=col < N, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / N + eps)
    tl.store(o + row * N + col, (v * scale * g).to(o.dtype.element_ty), mask=col < N)


@triton.jit
def cross_entropy(x, t, o, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=float("-inf")).to(tl.float32)
    peak = tl.max(v, axis=0)
    total = tl.sum(tl.exp(v - peak), axis=0)
    picked = tl.load(x + row * N + tl.load(t + row)).to(tl.float32)
    tl.store(o + row, peak + tl.log(total) - picked)


@triton.jit
def softmax_rows_tile(x, o, rows, N: tl.constexpr, BM: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, N)
    keep = (r < rows)[:, None]
    v = tl.load(x + r[:, None] * N + c[None, :], mask=keep, other=0.0)
    e = tl.exp2((v - tl.max(v, axis=1)[:, None]) * 1.4426950408889634)
    tl.store(o + r[:, None] * N + c[None, :], e / tl.sum(e, axis=1)[:, None], mask=keep)


def _rows(kernel, rows, configs, scalars=None):
    options = ("num_warps", "num_stages", "enable_fp_fusion")
    return [
        Case(kernel, grid3(rows), {k: v for k, v in c.items() if k not in options}, dict(scalars or {}),
             {k: v for k, v in c.items() if k in options}) for c in configs
    ]


def groups():
    out = []
    for dtype in ("f32", "bf16"):
        bufs = {"x": Buffer(dtype, 40 * 1500), "o": Buffer(dtype, 40 * 1500, "out")}
        out.append(Group(f"softmax_1500_{dtype}", "normalization", bufs, _rows(softmax_tile, 40, product(
            N=[1500], BLOCK=[2048, 4096], num_warps=[2, 4, 8], enable_fp_fusion=[False, True]))
            + _rows(softmax_online, 40, product(BLOCK=[256, 512, 1024], num_warps=[1, 4]), {"n": ("i32", 1500)})
            + _rows(log_softmax_tile, 40, product(N=[1500], BLOCK=[2048], num_warps=[2, 4, 8]))))
    bufs = {"x": Buffer("f32", 150 * 256), "o": Buffer("f32", 150 * 256, "out")}
    out.append(Group("softmax_rows_tile_256", "normalization", bufs, [
        Case(softmax_rows_tile, grid3(-(-150 // c["BM"])), {"N": 256, "BM": c["BM"]}, {"rows": ("i32", 150)},
             {"num_warps": c["num_warps"]}) for c in product(BM=[1, 2, 8, 32], num_warps=[1, 2, 4, 8])]))
    for dtype in ("f32", "f16"):
        bufs = {"x": Buffer(dtype, 32 * 1200), "w": Buffer(dtype, 1200), "b": Buffer(dtype, 1200),
                "o": Buffer(dtype, 32 * 1200, "out")}
        out.append(Group(f"layer_norm_loop_{dtype}", "normalization", bufs, _rows(layer_norm_loop, 32, product(
            BLOCK=[256, 512, 2048], num_warps=[1, 4, 8], enable_fp_fusion=[False, True]),
            {"n": ("i32", 1200), "eps": ("f32", 1e-5)})))
    bufs = {"x": Buffer("f16", 48 * 1920), "w": Buffer("f16", 1920), "o": Buffer("f16", 48 * 1920, "out")}
    out.append(Group("rms_norm_f16", "normalization", bufs, _rows(rms_norm_tile, 48, product(
        N=[1920], BLOCK=[2048, 4096], num_warps=[1, 2, 4, 8, 16]), {"eps": ("f32", 1e-6)})))
    bufs = {"x": Buffer("f32", 60 * 1000), "t": Buffer("i32", 60, low=0, high=1000), "o": Buffer("f32", 60, "out")}
    out.append(Group("cross_entropy_f32", "normalization", bufs, _rows(cross_entropy, 60, product(
        N=[1000], BLOCK=[1024, 2048], num_warps=[1, 2, 4, 8]))))
    return out
