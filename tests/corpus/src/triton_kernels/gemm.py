"""Matrix products: wgmma and mma.sync tiles, tails, grouped order, split K and its merge, persistent, GEMV."""
import triton
import triton.language as tl

from space import Buffer, Case, Group, cdiv, grid3, product


@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
           PREC: tl.constexpr, TAIL: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    band = pid // (GROUP * tiles_n)
    first = band * GROUP
    height = min(tiles_m - first, GROUP)
    rm = (first + (pid % (GROUP * tiles_n)) % height) * BM + tl.arange(0, BM)
    rn = ((pid % (GROUP * tiles_n)) // height) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + (rm % M)[:, None] * sa + rk[None, :]
    pb = b + rk[:, None] * sb + (rn % N)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        if TAIL:
            va = tl.load(pa, mask=rk[None, :] < K - k, other=0.0)
            vb = tl.load(pb, mask=rk[:, None] < K - k, other=0.0)
        else:
            va = tl.load(pa)
            vb = tl.load(pb)
        acc = tl.dot(va, vb, acc, input_precision=PREC)
        pa += BK
        pb += BK * sb
    keep = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=keep)


@triton.jit
def matmul_nt(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """B is given transposed, N rows of K."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        va = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        vb = tl.load(b + rn[:, None] * K + (k + rk)[None, :])
        acc = tl.dot(va, tl.trans(vb), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def matmul_epilogue(a, b, w, r, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACT: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(a + rm[:, None] * K + (k + rk)[None, :]), tl.load(b + (k + rk)[:, None] * N + rn[None, :]), acc)
    acc += tl.load(w + rn)[None, :].to(tl.float32)
    if ACT == 1:
        acc = tl.maximum(acc, 0.0)
    if ACT == 2:
        acc = acc * tl.sigmoid(acc)
    acc += tl.load(r + rm[:, None] * N + rn[None, :]).to(tl.float32)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def matmul_split(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    span = K // SPLIT
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(part * span, (part + 1) * span, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]), acc)
    tl.store(c + part * M * N + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def merge_parts(x, o, n, PARTS: tl.constexpr, BLOCK: tl.constexpr, TREE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    if TREE:
        p = tl.arange(0, PARTS)
        total = tl.sum(tl.load(x + p[:, None] * n + i[None, :], mask=keep[None, :], other=0.0), axis=0)
    else:
        total = tl.load(x + i, mask=keep, other=0.0)
        for p in tl.static_range(1, PARTS):
            total += tl.load(x + p * n + i, mask=keep, other=0.0)
    tl.store(o + i, total, mask=keep)


@triton.jit
def matmul_persistent(a, b, c, M, N, K, programs, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, programs):
        rm = (tile // tiles_n) * BM + tl.arange(0, BM)
        rn = (tile % tiles_n) * BN + tl.arange(0, BN)
        rk = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            va = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
            acc = tl.dot(va, tl.load(b + (k + rk)[:, None] * N + rn[None, :]), acc)
        tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def matmul_batched(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC16: tl.constexpr):
    batch = tl.program_id(2)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float16 if ACC16 else tl.float32)
    for k in range(0, K, BK):
        va = tl.load(a + batch * M * K + rm[:, None] * K + (k + rk)[None, :])
        vb = tl.load(b + batch * K * N + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(va, vb, acc, out_dtype=tl.float16 if ACC16 else tl.float32)
    tl.store(c + batch * M * N + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def matmul_int8(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        va = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        vb = tl.load(b + rn[None, :] * K + (k + rk)[:, None])
        acc = tl.dot(va, vb, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def matvec(a, x, o, rows, n, BM: tl.constexpr, BK: tl.constexpr, SPREAD: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    if SPREAD:
        wide = tl.zeros((BM, BK), tl.float32)
        for k in range(0, n, BK):
            c = k + tl.arange(0, BK)
            m = tl.load(a + r[:, None] * n + c[None, :], mask=(r < rows)[:, None] & (c < n)[None, :], other=0.0)
            v = tl.load(x + c, mask=c < n, other=0.0)
            wide += m.to(tl.float32) * v.to(tl.float32)[None, :]
        acc = tl.sum(wide, axis=1)
    else:
        acc = tl.zeros((BM,), tl.float32)
        for k in range(0, n, BK):
            c = k + tl.arange(0, BK)
            m = tl.load(a + r[:, None] * n + c[None, :], mask=(r < rows)[:, None] & (c < n)[None, :], other=0.0)
            v = tl.load(x + c, mask=c < n, other=0.0)
            acc += tl.sum(m.to(tl.float32) * v.to(tl.float32)[None, :], axis=1)
    tl.store(o + r, acc, mask=r < rows)


def _mnk(m, n, k):
    return {"M": ("i32", m), "N": ("i32", n), "K": ("i32", k)}


def _matmul(m, n, k, configs, prec="ieee", tail=False):
    return [
        Case(matmul, grid3(cdiv(m, c["BM"]) * cdiv(n, c["BN"])),
             {"BM": c["BM"], "BN": c["BN"], "BK": c["BK"], "GROUP": c.get("GROUP", 4), "PREC": prec, "TAIL": tail},
             {**_mnk(m, n, k), "sa": ("i32", k), "sb": ("i32", n)},
             {"num_warps": c["num_warps"], "num_stages": c["num_stages"]}) for c in configs
    ]


def _square(kernel, m, n, k, configs, depth=1, scalars=None):
    options = ("num_warps", "num_stages")
    return [
        Case(kernel, grid3(m // c["BM"], n // c["BN"], c.get("SPLIT", depth)),
             {name: v for name, v in c.items() if name not in options}, {**_mnk(m, n, k), **(scalars or {})},
             {name: v for name, v in c.items() if name in options}) for c in configs
    ]


def _matrices(ta, tb, tc, m, n, k, **more):
    return {"a": Buffer(ta, m * k), "b": Buffer(tb, k * n), "c": Buffer(tc, m * n, "out"), **more}


def groups():
    out = []
    wide = product(BM=[64, 128], BN=[32, 64], BK=[32, 64], GROUP=[2, 8], num_warps=[4], num_stages=[1, 3])
    small = product(BM=[16, 32], BN=[16, 32], BK=[16, 32], num_warps=[1, 2], num_stages=[2])
    out.append(Group("matmul_f16_f32", "gemm", _matrices("f16", "f16", "f32", 128, 192, 384),
                     _matmul(128, 192, 384, wide + product(BM=[64], BN=[64], BK=[16, 128], num_warps=[4, 8],
                                                           num_stages=[2, 4]) + small), ("c",)))
    out.append(Group("matmul_bf16_bf16", "gemm", _matrices("bf16", "bf16", "bf16", 192, 128, 320),
                     _matmul(192, 128, 320, product(BM=[64, 128], BN=[64, 128], BK=[32, 64], num_warps=[4, 8],
                                                    num_stages=[2, 3])
                             + product(BM=[16, 32], BN=[32], BK=[32, 64], num_warps=[1, 4], num_stages=[2, 4])), ("c",)))
    out.append(Group("matmul_tail_f16", "gemm", _matrices("f16", "f16", "f16", 150, 104, 200),
                     _matmul(150, 104, 200, product(BM=[64], BN=[32, 64], BK=[32, 64], num_warps=[4, 8], num_stages=[2])
                             + product(BM=[16, 32], BN=[32, 64], BK=[16, 64], num_warps=[2], num_stages=[1, 3]),
                             tail=True), ("c",)))
    out.append(Group("matmul_tf32", "gemm", _matrices("f32", "f32", "f32", 128, 128, 288),
                     _matmul(128, 128, 288, product(BM=[64], BN=[32, 64], BK=[32], num_warps=[4], num_stages=[1, 2, 3])
                             + product(BM=[16, 32], BN=[32, 64], BK=[16, 32], num_warps=[2, 4], num_stages=[2]),
                             prec="tf32"), ("c",)))
    out.append(Group("matmul_f32_fma", "gemm", _matrices("f32", "f32", "f32", 64, 64, 160),
                     _matmul(64, 64, 160, product(BM=[16, 32], BN=[16, 32], BK=[16, 32], num_warps=[2, 4],
                                                  num_stages=[2])), ("c",)))
    for dtype in ("e4m3", "e5m2"):
        out.append(Group(f"matmul_nt_{dtype}", "gemm", _matrices(dtype, dtype, "f32", 128, 128, 512),
                         _square(matmul_nt, 128, 128, 512, product(BM=[64], BN=[32, 64], BK=[32, 64, 128],
                                                                   num_warps=[4, 8], num_stages=[2])), ("c",)))
    out.append(Group("matmul_nt_bf16", "gemm", _matrices("bf16", "bf16", "f32", 128, 128, 256),
                     _square(matmul_nt, 128, 128, 256, product(BM=[32, 64], BN=[32, 128], BK=[32, 64],
                                                               num_warps=[2, 4], num_stages=[1, 3])), ("c",)))
    extra = {"w": Buffer("f16", 128), "r": Buffer("f16", 128 * 128)}
    out.append(Group("matmul_epilogue_f16", "gemm", _matrices("f16", "f16", "f16", 128, 128, 256, **extra),
                     _square(matmul_epilogue, 128, 128, 256, product(ACT=[0, 1, 2], BM=[64], BN=[32, 64], BK=[32, 64],
                                                                     num_warps=[4, 8], num_stages=[2])), ("c",)))
    parts = {"a": Buffer("f16", 64 * 768), "b": Buffer("f16", 768 * 64), "c": Buffer("f32", 6 * 64 * 64, "out")}
    out.append(Group("matmul_split_f16", "gemm", parts, _square(matmul_split, 64, 64, 768, product(
        SPLIT=[1, 2, 3, 6], BM=[64, 32], BN=[32, 64], BK=[32, 64], num_warps=[4], num_stages=[2])), ("c",)))
    n = 12_000
    out.append(Group("merge_parts_f32", "reduction", {"x": Buffer("f32", 8 * n), "o": Buffer("f32", n, "out")}, [
        Case(merge_parts, grid3(cdiv(n, c["BLOCK"])), {name: c[name] for name in ("PARTS", "BLOCK", "TREE")},
             {"n": ("i32", n)}, {"num_warps": c["num_warps"]})
        for c in product(PARTS=[2, 4, 8], TREE=[False, True], BLOCK=[128, 512], num_warps=[2, 4])]))
    out.append(Group("matmul_persistent_f16", "gemm", _matrices("f16", "f16", "f16", 256, 128, 192), [
        Case(matmul_persistent, grid3(c["programs"]), {"BM": c["BM"], "BN": c["BN"], "BK": c["BK"]},
             {**_mnk(256, 128, 192), "programs": ("i32", c["programs"])}, {"num_warps": 4, "num_stages": c["num_stages"]})
        for c in product(programs=[3, 8], BM=[64], BN=[32, 64], BK=[32, 64], num_stages=[1, 3])], ("c",)))
    batch = {"a": Buffer("f16", 3 * 64 * 128), "b": Buffer("f16", 3 * 128 * 64), "c": Buffer("f16", 3 * 64 * 64, "out")}
    out.append(Group("matmul_batched_f16", "gemm", batch, _square(matmul_batched, 64, 64, 128, product(
        ACC16=[False, True], BM=[16, 64], BN=[32, 64], BK=[32, 64], num_warps=[2, 4], num_stages=[2]), depth=3), ("c",)))
    ints = {"a": Buffer("i8", 64 * 256, low=-128, high=128), "b": Buffer("i8", 64 * 256, low=-128, high=128),
            "c": Buffer("i32", 64 * 64, "out")}
    out.append(Group("matmul_int8", "order-free", ints, _square(matmul_int8, 64, 64, 256, product(
        BM=[16, 64], BN=[32, 64], BK=[32, 64], num_warps=[2, 4], num_stages=[2])), ("c",)))
    vec = {"a": Buffer("bf16", 140 * 1000), "x": Buffer("bf16", 1000), "o": Buffer("f32", 140, "out")}
    out.append(Group("matvec_bf16", "gemv", vec, [
        Case(matvec, grid3(cdiv(140, c["BM"])), {"BM": c["BM"], "BK": c["BK"], "SPREAD": c["SPREAD"]},
             {"rows": ("i32", 140), "n": ("i32", 1000)}, {"num_warps": c["num_warps"]})
        for c in product(SPREAD=[False, True], BM=[1, 4, 16], BK=[128, 512], num_warps=[1, 4])]))
    return out
