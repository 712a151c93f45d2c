"""Elementwise maps, moves, quantisers, dropout by counter, and atomics."""
import triton
import triton.language as tl

from space import Buffer, Case, Group, cdiv, grid3, product


@triton.jit
def gelu_tanh(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    t = 1.0 - 2.0 / (tl.exp(2.0 * u) + 1.0)
    tl.store(o + i, (0.5 * v * (1.0 + t)).to(o.dtype.element_ty), mask=i < n)


@triton.jit
def silu_gate(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    b = tl.load(y + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(o + i, (a * tl.sigmoid(a) * b).to(o.dtype.element_ty), mask=i < n)


@triton.jit
def bias_residual(x, y, w, o, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    r = tl.load(y + i, mask=i < n, other=0.0)
    b = tl.load(w + i % width, mask=i < n, other=0.0)
    tl.store(o + i, a * 0.125 + b + r, mask=i < n)


@triton.jit
def persistent_scale(x, y, o, n, programs, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), programs):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(x + i, mask=i < n, other=0.0)
        b = tl.load(y + i, mask=i < n, other=0.0)
        tl.store(o + i, a * b - a, mask=i < n)


@triton.jit
def quantize_int8(x, o, s, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + c, mask=c < N, other=0.0)
    peak = tl.maximum(tl.max(tl.abs(v), axis=0), 1e-8)
    q = v * (127.0 / peak)
    q = tl.floor(q + 0.5)
    tl.store(o + row * N + c, q.to(tl.int8), mask=c < N)
    tl.store(s + row, peak / 127.0)


@triton.jit
def quantize_fp8(x, o, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0) * scale
    v = tl.minimum(tl.maximum(v, -448.0), 448.0)
    tl.store(o + i, v.to(o.dtype.element_ty), mask=i < n)


@triton.jit
def transposed_copy(x, o, M: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=(r[:, None] < M) & (c[None, :] < N))
    tl.store(o + c[:, None] * M + r[None, :], tl.trans(v), mask=(c[:, None] < N) & (r[None, :] < M))


@triton.jit
def dropout_counter(x, o, n, seed, keep, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    u = tl.rand(seed, i)
    tl.store(o + i, tl.where(u < keep, v / keep, 0.0), mask=i < n)


@triton.jit
def unpack_int4(q, s, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(q + i // 8, mask=i < n, other=0)
    nibble = (word >> ((i % 8) * 4)) & 15
    scale = tl.load(s + i // 64, mask=i < n, other=0.0)
    tl.store(o + i, (nibble - 8).to(tl.float32) * scale, mask=i < n)


@triton.jit
def rotary(x, y, o, T: tl.constexpr, D: tl.constexpr, BT: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.arange(0, D // 2)
    at = t[:, None] * D + d[None, :]
    cos = tl.load(y + at, mask=t[:, None] < T, other=0.0)
    sin = tl.load(y + at + D // 2, mask=t[:, None] < T, other=0.0)
    a = tl.load(x + at, mask=t[:, None] < T, other=0.0)
    b = tl.load(x + at + D // 2, mask=t[:, None] < T, other=0.0)
    tl.store(o + at, a * cos - b * sin, mask=t[:, None] < T)
    tl.store(o + at + D // 2, b * cos + a * sin, mask=t[:, None] < T)


@triton.jit
def atomic_column_sum(x, o, rows, N: tl.constexpr, BM: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, N)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=r[:, None] < rows, other=0.0)
    tl.atomic_add(o + c, tl.sum(v, axis=0))


@triton.jit
def atomic_histogram(q, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(o + (tl.load(q + i, mask=i < n, other=0) & 63), 1, mask=i < n)


def _flat(kernel, n, blocks, warps, scalars=None, **options):
    axes = product(BLOCK=blocks, num_warps=warps, **options)
    return [
        Case(kernel, grid3(cdiv(n, c["BLOCK"])), {"BLOCK": c["BLOCK"]}, {"n": ("i32", n), **(scalars or {})},
             {k: v for k, v in c.items() if k != "BLOCK"}) for c in axes
    ]


def groups():
    out = []
    n = 50_000
    for dtype in ("f32", "f16"):
        bufs = {"x": Buffer(dtype, n), "o": Buffer(dtype, n, "out")}
        out.append(Group(f"gelu_tanh_{dtype}", "elementwise", bufs,
                         _flat(gelu_tanh, n, [128, 512, 1024], [1, 4], enable_fp_fusion=[False, True])))
    bufs = {"x": Buffer("bf16", n), "y": Buffer("bf16", n), "o": Buffer("bf16", n, "out")}
    out.append(Group("silu_gate_bf16", "elementwise", bufs, _flat(silu_gate, n, [256, 1024, 2048], [1, 2, 4, 8])))
    m = 96 * 500
    bufs = {"x": Buffer("f32", m), "y": Buffer("f32", m), "w": Buffer("f32", 500), "o": Buffer("f32", m, "out")}
    out.append(Group("bias_residual_f32", "elementwise", bufs,
                     _flat(bias_residual, m, [128, 256, 1024], [2, 4], {"width": ("i32", 500)},
                           enable_fp_fusion=[False, True])
                     + [Case(persistent_scale, grid3(c["programs"]), {"BLOCK": c["BLOCK"]},
                             {"n": ("i32", m), "programs": ("i32", c["programs"])}, {"num_warps": c["num_warps"]})
                        for c in product(programs=[7, 24], BLOCK=[256, 1024], num_warps=[2, 4])]))
    bufs = {"x": Buffer("f32", 44 * 600), "o": Buffer("i8", 44 * 600, "out"), "s": Buffer("f32", 44, "out")}
    out.append(Group("quantize_int8", "elementwise", bufs, [
        Case(quantize_int8, grid3(44), {"N": 600, "BLOCK": c["BLOCK"]}, {}, {"num_warps": c["num_warps"]})
        for c in product(BLOCK=[1024, 2048], num_warps=[1, 2, 4, 8])], ("o", "s")))
    for dtype in ("e4m3", "e5m2"):
        bufs = {"x": Buffer("f32", n), "o": Buffer(dtype, n, "out")}
        out.append(Group(f"quantize_{dtype}", "elementwise", bufs,
                         _flat(quantize_fp8, n, [256, 1024], [2, 4], {"scale": ("f32", 1.75)})))
    bufs = {"x": Buffer("f32", 180 * 140), "o": Buffer("f32", 180 * 140, "out")}
    out.append(Group("transposed_copy_f32", "elementwise", bufs, [
        Case(transposed_copy, grid3(cdiv(180, c["BM"]), cdiv(140, c["BN"])),
             {"M": 180, "N": 140, "BM": c["BM"], "BN": c["BN"]}, {}, {"num_warps": c["num_warps"]})
        for c in product(BM=[16, 32, 64], BN=[16, 64], num_warps=[1, 4])]))
    bufs = {"x": Buffer("f32", 20_000), "o": Buffer("f32", 20_000, "out")}
    out.append(Group("dropout_counter_f32", "elementwise", bufs,
                     _flat(dropout_counter, 20_000, [256, 1024], [1, 4], {"seed": ("i32", 1234), "keep": ("f32", 0.75)})))
    bufs = {"q": Buffer("i32", 4096, low=-(1 << 31), high=1 << 31), "s": Buffer("f32", 512),
            "o": Buffer("f32", 32768, "out")}
    out.append(Group("unpack_int4", "elementwise", bufs, _flat(unpack_int4, 32768, [256, 1024, 2048], [2, 4])))
    bufs = {"x": Buffer("f32", 130 * 64), "y": Buffer("f32", 130 * 64), "o": Buffer("f32", 130 * 64, "out")}
    out.append(Group("rotary_f32", "elementwise", bufs, [
        Case(rotary, grid3(cdiv(130, c["BT"])), {"T": 130, "D": 64, "BT": c["BT"]}, {},
             {"num_warps": c["num_warps"], "enable_fp_fusion": c["enable_fp_fusion"]})
        for c in product(BT=[1, 8, 32], num_warps=[1, 4], enable_fp_fusion=[False, True])]))
    bufs = {"x": Buffer("f32", 3000 * 128), "o": Buffer("f32", 128, "inout")}
    out.append(Group("atomic_column_sum_f32", "nondeterministic", bufs, [
        Case(atomic_column_sum, grid3(cdiv(3000, c["BM"])), {"N": 128, "BM": c["BM"]}, {"rows": ("i32", 3000)},
             {"num_warps": c["num_warps"]}) for c in product(BM=[8, 32], num_warps=[4, 8])]))
    bufs = {"q": Buffer("i32", 10_000, low=0, high=1 << 20), "o": Buffer("i32", 64, "inout", low=0, high=100)}
    out.append(Group("atomic_histogram_i32", "order-free", bufs, _flat(atomic_histogram, 10_000, [128, 512], [1, 4])))
    return out
