"""Attention: tiles over keys with an online softmax, one query over a long context, and the linear form."""
import triton
import triton.language as tl

from space import Buffer, Case, Group, cdiv, grid3, product


@triton.jit
def attention(q, k, v, o, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    first = tl.program_id(0) * BM
    head = tl.program_id(1) * T * D
    rm = first + tl.arange(0, BM)
    rd = tl.arange(0, D)
    vq = tl.load(q + head + rm[:, None] * D + rd[None, :])
    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    last = first + BM if CAUSAL else T
    for start in range(0, last, BN):
        rn = start + tl.arange(0, BN)
        s = tl.dot(vq, tl.trans(tl.load(k + head + rn[:, None] * D + rd[None, :]))) * scale
        if CAUSAL:
            s = tl.where(rm[:, None] >= rn[None, :], s, float("-inf"))
        new = tl.maximum(peak, tl.max(s, axis=1))
        shrink = tl.exp2(peak - new)
        p = tl.exp2(s - new[:, None])
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype.element_ty), tl.load(v + head + rn[:, None] * D + rd[None, :]), acc * shrink[:, None])
        peak = new
    tl.store(o + head + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(o.dtype.element_ty))


@triton.jit
def decode_attention(q, k, v, o, scale, T, D: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(0)
    rd = tl.arange(0, D)
    vq = tl.load(q + head * D + rd).to(tl.float32) * scale
    peak = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, T, BN):
        rn = start + tl.arange(0, BN)
        at = head * T * D + rn[:, None] * D + rd[None, :]
        keep = rn[:, None] < T
        s = tl.sum(tl.load(k + at, mask=keep, other=0.0).to(tl.float32) * vq[None, :], axis=1)
        s = tl.where(rn < T, s, float("-inf"))
        new = tl.maximum(peak, tl.max(s, axis=0))
        p = tl.exp2(s - new)
        shrink = tl.exp2(peak - new)
        total = total * shrink + tl.sum(p, axis=0)
        acc = acc * shrink + tl.sum(p[:, None] * tl.load(v + at, mask=keep, other=0.0).to(tl.float32), axis=0)
        peak = new
    tl.store(o + head * D + rd, (acc / total).to(o.dtype.element_ty))


@triton.jit
def linear_attention(q, k, v, o, T, D: tl.constexpr, BT: tl.constexpr):
    """Causal, unnormalised: state = sum of k v^T over earlier chunks, within a chunk a masked product."""
    head = tl.program_id(0) * T * D
    rd = tl.arange(0, D)
    rt = tl.arange(0, BT)
    state = tl.zeros((D, D), tl.float32)
    for start in range(0, T, BT):
        at = head + (start + rt)[:, None] * D + rd[None, :]
        vq = tl.load(q + at)
        vk = tl.load(k + at)
        vv = tl.load(v + at)
        s = tl.dot(vq, tl.trans(vk))
        s = tl.where(rt[:, None] >= rt[None, :], s, 0.0)
        y = tl.dot(s.to(vv.dtype), vv)
        y = tl.dot(vq, state.to(vq.dtype), y)
        state = tl.dot(tl.trans(vk), vv, state)
        tl.store(o + at, y.to(o.dtype.element_ty))


def groups():
    out = []
    for dtype, t, d in (("f16", 256, 32), ("bf16", 192, 64)):
        bufs = {name: Buffer(dtype, 2 * t * d) for name in "qkv"}
        bufs["o"] = Buffer(dtype, 2 * t * d, "out")
        out.append(Group(f"attention_{dtype}_{d}", "attention", bufs, [
            Case(attention, grid3(t // c["BM"], 2), {"D": d, "BM": c["BM"], "BN": c["BN"], "CAUSAL": c["CAUSAL"]},
                 {"scale": ("f32", 0.25), "T": ("i32", t)}, {"num_warps": c["num_warps"], "num_stages": c["num_stages"]})
            for c in product(CAUSAL=[False, True], BM=[32, 64], BN=[32, 64], num_warps=[2, 4], num_stages=[1, 2])
            if not (c["BM"] == 64 and c["num_warps"] == 2 and c["num_stages"] == 2)]))
    bufs = {"q": Buffer("f16", 6 * 64), "k": Buffer("f16", 6 * 300 * 64), "v": Buffer("f16", 6 * 300 * 64),
            "o": Buffer("f16", 6 * 64, "out")}
    out.append(Group("decode_attention_f16", "attention", bufs, [
        Case(decode_attention, grid3(6), {"D": 64, "BN": c["BN"]}, {"scale": ("f32", 0.18), "T": ("i32", 300)},
             {"num_warps": c["num_warps"]}) for c in product(BN=[16, 32, 128], num_warps=[1, 2, 4])]))
    bufs = {name: Buffer("f16", 2 * 128 * 32) for name in "qkv"}
    bufs["o"] = Buffer("f16", 2 * 128 * 32, "out")
    out.append(Group("linear_attention_f16", "attention", bufs, [
        Case(linear_attention, grid3(2), {"D": 32, "BT": c["BT"]}, {"T": ("i32", 128)},
             {"num_warps": c["num_warps"], "num_stages": 1}) for c in product(BT=[16, 32, 64], num_warps=[1, 2, 4])]))
    return out
