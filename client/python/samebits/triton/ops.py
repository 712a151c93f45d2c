"""Reductions whose bits no configuration changes: sum, mean, var, dot_rows, softmax, rms_norm.

The additions of each form one tree that the text fixes: the balanced binary tree over the logical index, neighbours
first. Layout, warps, tile size, rows a program and split leave it as it is, so an autotuner may choose freely among
space(...). How: within a tile the axis is folded by pairs (a sum over two elements is one addition, and that commutes);
tiles are combined by a binary counter of partial sums, which pairs those of equal size; a split axis is cut at powers of
two. Lengths that are no power of two are filled up with -0.0, the exact identity of addition; subtrees of nothing else
are left out, which changes no bit. Products are rounded before they are added (no contraction). Values are added in fp32
whatever the inputs.

The functions take PyTorch tensors on a GPU; the kernels (…_rows, …_columns) are plain Triton and can be compiled
without one.
"""

import math
from typing import Any, Dict, List, Optional

import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import num_warps

__all__ = ["dot_rows", "mean", "rms_norm", "softmax", "space", "sum", "tune", "var"]


@triton.constexpr_function
def _log2(n):
    return n.bit_length() - 1


@triton.constexpr_function
def _runs(length, K, V):
    """A tile as (elements, offset, runs, number) a run: it consists of powers of two, the largest first, each of them of
    interleaved runs; run `number` takes V of every runs * V neighbours."""
    found, offset = [], 0
    for bit in range(length.bit_length() - 1, -1, -1):
        size = length & (1 << bit)
        runs = K if size >= 32 * K * V else 1
        found += [(size, offset, runs, run) for run in range(runs) if size]
        offset += size
    return found


@triton.constexpr_function
def _count_runs(length, K, V):
    return len(_runs(length, K, V))


@triton.constexpr_function
def _elements(length, K, V, index):
    """Of the power of two that this run is part of."""
    return _runs(length, K, V)[index][0]


@triton.constexpr_function
def _offset(length, K, V, index):
    return _runs(length, K, V)[index][1]


@triton.constexpr_function
def _side_by_side(length, K, V, index):
    return _runs(length, K, V)[index][2]


@triton.constexpr_function
def _number(length, K, V, index):
    return _runs(length, K, V)[index][3]


@triton.constexpr_function
def _vector(pointer):
    """Elements of 16 bytes, what a thread loads at once."""
    return 128 // pointer.element_ty.primitive_bitwidth


@triton.jit
def _nothing():
    """-0.0, the identity of addition; written as bits, because Triton makes the literal +0.0."""
    return tl.full((), -2147483648, tl.int32).to(tl.float32, bitcast=True)


@triton.constexpr_function
def _trades(left, length, V, warps):
    """Whether at this level threads trade: each then has neighbours of all its own, instead of a part of all neighbours.

    First where each thread has folded its vector and still has several values: one exchange of them costs less than
    log2(32) shuffles of each. Then where each warp has folded its own: at once, as otherwise every level between warps
    would wait for a barrier of its own."""
    if left * V <= length and left >= 64 * warps:
        return True
    return left >= 4 and left == min(length // (32 * V), warps)


@triton.jit
def _fold(x, R: tl.constexpr, N: tl.constexpr, V: tl.constexpr = 4):
    """[R, N] -> [R]: the balanced tree over the second axis, a power of two long. V neighbours are in one thread."""
    for level in tl.static_range(_log2(N)):
        pairs = tl.reshape(x, (R, N >> (level + 1), 2))
        if _trades(N >> level, N, V, num_warps()):
            left, right = tl.split(pairs)
            x = left + right
        else:
            x = tl.sum(pairs, axis=2)
    return tl.reshape(x, (R,))


@triton.jit
def _fold_first(x, N: tl.constexpr, C: tl.constexpr):
    """[N, C] -> [C]: the same over the first axis."""
    for level in tl.static_range(_log2(N)):
        x = tl.sum(tl.reshape(x, (N >> (level + 1), 2, C)), axis=1)
    return tl.reshape(x, (C,))


@triton.jit
def _empty(like, LEVELS: tl.constexpr):
    """A counter of partial sums with nothing in it: level l holds the sum of 2**l tiles where bit l of the count is set."""
    counter = ()
    for _ in tl.static_range(LEVELS):
        counter = counter + (like,)
    return counter


@triton.jit
def _count(counter, value, t, LEVELS: tl.constexpr):
    """Adds the sum of tile t: equal sizes meet, the earlier tiles on the left."""
    out = ()
    carries = 1
    for level in tl.static_range(LEVELS):
        bit = (t >> level) & 1
        met = counter[level] + value
        out = out + (tl.where((carries == 1) & (bit == 0), value, counter[level]),)
        value = tl.where((carries == 1) & (bit == 1), met, value)
        carries = carries & bit
    return out


@triton.jit
def _total(counter, tiles, nothing, LEVELS: tl.constexpr):
    """The sum of all: sizes from small to large, which is the tree filled up with the identity `nothing`."""
    total = nothing
    for level in tl.static_range(LEVELS):
        total = tl.where(((tiles >> level) & 1) == 1, counter[level] + total, total)
    return total


@triton.jit
def _leaf(v, w, shift, KIND: tl.constexpr):
    """What is added for one element."""
    if KIND == "value":
        return v
    elif KIND == "square":
        return libdevice.mul_rn(v, v)
    elif KIND == "centered":
        d = v - shift
        return libdevice.mul_rn(d, d)
    elif KIND == "product":
        return libdevice.mul_rn(v, tl.broadcast_to(w, v.shape))
    else:
        tl.static_assert(KIND == "exp")
        return tl.exp(v - shift)


@triton.jit
def _spread(x, R: tl.constexpr, S: tl.constexpr):
    """[R] -> [R * S], each S times."""
    return tl.reshape(tl.broadcast_to(tl.expand_dims(x, 1), (R, S)), (R * S,))


@triton.jit
def _tree(x, x_start, y, y_start, first, n, shift, SPAN: tl.constexpr, R: tl.constexpr, BI: tl.constexpr,
          S: tl.constexpr, KIND: tl.constexpr):
    """[R]: for each row the tree over its elements first .. first + SPAN - 1, of which those below n exist.

    x_start, y_start: [R], element 0 of each row; shift: [R]. S parts of the span are summed side by side, in tiles of BI
    elements.
    """
    CHUNK: tl.constexpr = SPAN // S
    LEVELS: tl.constexpr = _log2(CHUNK // BI) + 1
    part = _spread(tl.zeros((R,), tl.int32), R, S) + tl.arange(0, R * S) % S
    begin = first + part * CHUNK
    x_row = x + _spread(x_start, R, S)
    y_row = y + _spread(y_start, R, S)
    row_shift = _spread(shift, R, S)
    nothing = tl.broadcast_to(_nothing(), (R * S,))
    counter = _empty(nothing, LEVELS)
    tiles = CHUNK // BI if S > 1 else tl.minimum(tl.cdiv(n - first, BI), CHUNK // BI)
    for t in range(0, tiles):
        i = (begin + t * BI)[:, None] + tl.arange(0, BI)[None, :]
        here = i < n
        v = tl.load(x_row[:, None] + i, mask=here, other=0.0).to(tl.float32)
        w = v
        if KIND == "product":
            w = tl.load(y_row[:, None] + i, mask=here, other=0.0).to(tl.float32)
        leaf = tl.where(here, _leaf(v, w, row_shift[:, None], KIND), _nothing())
        counter = _count(counter, _fold(leaf, R * S, BI), t, LEVELS)
    return _fold(tl.reshape(_total(counter, tiles, nothing, LEVELS), (R, S)), R, S)


@triton.jit
def _existing(row, rows):
    """The rows that are read: those past the last read the last, so that loads need no mask. Only stores have one."""
    return tl.minimum(row, rows - 1).to(tl.int64)


@triton.jit
def _place(BI: tl.constexpr, K: tl.constexpr, V: tl.constexpr, r: tl.constexpr):
    """Indices of the elements of run r of a tile."""
    RUNS: tl.constexpr = _side_by_side(BI, K, V, r)
    j = tl.arange(0, _elements(BI, K, V, r) // RUNS)
    if RUNS > 1:
        j = (j // V) * (V * RUNS) + _number(BI, K, V, r) * V + j % V
    return _offset(BI, K, V, r) + j


@triton.jit
def _load(at, fits, READ: tl.constexpr):
    """Elements that exist. READ "ahead": under a mask, though none is needed, with a register for each, so that more loads
    are under way at once; "once": caches are told that no program reads them again."""
    if READ == "ahead":
        return tl.load(at, mask=fits, other=0.0)
    elif READ == "once":
        return tl.load(at, eviction_policy="evict_first")
    else:
        tl.static_assert(READ == "plain")
        return tl.load(at)


@triton.jit
def _load_runs(x, start, first, n, fits, BI: tl.constexpr, K: tl.constexpr, V: tl.constexpr, FULL: tl.constexpr,
               READ: tl.constexpr):
    """The elements first .. first + BI - 1 of each row in fp32; zero where there is none. fits: which rows exist."""
    values = ()
    for r in tl.static_range(_count_runs(BI, K, V)):
        i = first + _place(BI, K, V, r)
        at = x + start[:, None] + i[None, :]
        v = _load(at, fits[:, None], READ) if FULL else tl.load(at, mask=(i < n)[None, :], other=0.0)
        values = values + (v.to(tl.float32),)
    return values


@triton.jit
def _store_runs(out, start, n, fits, values, BI: tl.constexpr, K: tl.constexpr, V: tl.constexpr, FULL: tl.constexpr):
    for r in tl.static_range(_count_runs(BI, K, V)):
        i = _place(BI, K, V, r)
        here = fits[:, None] if FULL else fits[:, None] & (i < n)[None, :]
        tl.store(out + start[:, None] + i[None, :], values[r].to(out.dtype.element_ty), mask=here)


@triton.jit
def _fold_piece(runs, BEGIN: tl.constexpr, RUNS: tl.constexpr, R: tl.constexpr, N: tl.constexpr, V: tl.constexpr):
    """[R]: the tree over the N elements in runs[BEGIN] .. runs[BEGIN + RUNS - 1]."""
    if RUNS == 1:
        return _fold(runs[BEGIN], R, N, V)
    sums = ()
    for k in tl.static_range(RUNS):
        x = runs[BEGIN + k]
        for level in tl.static_range(_log2(V)):
            x = tl.sum(tl.reshape(x, (R, (N // RUNS) >> (level + 1), 2)), axis=2)
        sums = sums + (x,)
    for level in tl.static_range(_log2(RUNS)):
        met = ()
        for k in tl.static_range(RUNS >> (level + 1)):
            met = met + (sums[2 * k] + sums[2 * k + 1],)
        sums = met
    return _fold(tl.reshape(sums[0], (R, N // RUNS // V)), R, N // RUNS // V, 1)


@triton.jit
def _fold_runs(values, others, shift, first, n, R: tl.constexpr, BI: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
               FULL: tl.constexpr, KIND: tl.constexpr):
    """[R]: the tree over the leaves of a tile. Its pieces are the subtrees that are not empty."""
    COUNT: tl.constexpr = _count_runs(BI, K, V)
    leaves = ()
    for r in tl.static_range(COUNT):
        leaf = _leaf(values[r], others[r], shift[:, None], KIND)
        if not FULL:
            leaf = tl.where((first + _place(BI, K, V, r) < n)[None, :], leaf, _nothing())
        leaves = leaves + (leaf,)
    sums = ()
    for r in tl.static_range(COUNT):
        if _number(BI, K, V, r) == 0:
            sums = sums + (_fold_piece(leaves, r, _side_by_side(BI, K, V, r), R, _elements(BI, K, V, r), V),)
    return _right_to_left(sums, BI)


@triton.constexpr_function
def _pieces(length):
    return bin(length).count("1")


@triton.jit
def _right_to_left(sums, BI: tl.constexpr):
    """The sum of a tile from those of its powers of two: each is the left half of what is left."""
    LAST: tl.constexpr = _pieces(BI) - 1
    total = sums[LAST]
    for back in tl.static_range(LAST):
        total = sums[LAST - 1 - back] + total
    return total


@triton.jit
def sum_rows(x, y, out, rows, n, x_stride, y_stride, divisor, SPAN: tl.constexpr, KIND: tl.constexpr,
             DIVIDE: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr, S: tl.constexpr, K: tl.constexpr = 1,
             FULL: tl.constexpr = False, SHARED: tl.constexpr = False, READ: tl.constexpr = "plain"):
    """out[row, part] = tree over x[row, i], i in part * SPAN ...; parts are the second grid axis.

    KIND "value", "square" or "product" (with y[row, i]; SHARED: y_stride is 0); DIVIDE: divided by `divisor`, rounded
    once.
    """
    row = tl.program_id(0) * BO + tl.arange(0, BO)
    fits = row < rows
    first = tl.program_id(1) * SPAN
    wide = _existing(row, rows)
    none = tl.zeros((BO,), tl.float32)
    if 2 * BI > SPAN:
        V: tl.constexpr = _vector(x.dtype)
        v = _load_runs(x, wide * x_stride, first, n, fits, BI, K, V, FULL, READ)
        w = v
        if KIND == "product":
            w = _load_runs(y, tl.zeros((1,), tl.int64) if SHARED else wide * y_stride, first, n, fits, BI, K, V, FULL, "plain")
        total = _fold_runs(v, w, none, first, n, BO, BI, K, V, FULL, KIND)
    else:
        total = _tree(x, wide * x_stride, y, wide * y_stride, first, n, none, SPAN, BO, BI, S, KIND)
    if DIVIDE:
        total = tl.div_rn(total, tl.full((BO,), 1.0, tl.float32) * divisor)
    tl.store(out + row.to(tl.int64) * tl.num_programs(1) + tl.program_id(1), total.to(out.dtype.element_ty), mask=fits)


@triton.jit
def sum_columns(x, out, n, columns, x_stride, divisor, SPAN: tl.constexpr, DIVIDE: tl.constexpr, BO: tl.constexpr,
                U: tl.constexpr, S: tl.constexpr, FULL: tl.constexpr = False):
    """out[part, column] = tree over x[i, column], i in part * SPAN ...; parts are the second grid axis.

    Each thread adds U rows at a time in registers; S parts of the span are summed side by side.
    """
    CHUNK: tl.constexpr = SPAN // S
    LEVELS: tl.constexpr = _log2(CHUNK // U) + 1
    column = tl.program_id(0) * BO + tl.arange(0, BO)
    first = tl.program_id(1) * SPAN
    begin = first + tl.arange(0, S) * CHUNK
    fits = (column < columns)[None, :]
    nothing = tl.broadcast_to(_nothing(), (S, BO))
    counter = _empty(nothing, LEVELS)
    tiles = CHUNK // U if FULL or S > 1 else tl.minimum(tl.cdiv(n - first, U), CHUNK // U)
    wide = tl.full((), 1, tl.int64) * x_stride
    start = x + (begin.to(tl.int64) * x_stride)[:, None] + column[None, :]
    for t in range(0, tiles):
        values = ()
        for u in tl.static_range(U):
            at = start + u * wide
            if FULL:
                values = values + (tl.load(at, mask=fits, other=0.0).to(tl.float32),)
            else:
                here = (begin + t * U + u < n)[:, None]
                v = tl.load(at, mask=here & fits, other=0.0)
                values = values + (tl.where(here, v.to(tl.float32), _nothing()),)
        start += U * wide
        for level in tl.static_range(_log2(U)):
            sums = ()
            for k in tl.static_range(U >> (level + 1)):
                sums = sums + (values[2 * k] + values[2 * k + 1],)
            values = sums
        counter = _count(counter, values[0], t, LEVELS)
    total = _fold_first(_total(counter, tiles, nothing, LEVELS), S, BO)
    if DIVIDE:
        total = tl.div_rn(total, tl.full((BO,), 1.0, tl.float32) * divisor)
    tl.store(out + tl.program_id(1).to(tl.int64) * columns + column, total.to(out.dtype.element_ty), mask=column < columns)


@triton.jit
def var_rows(x, out, rows, n, x_stride, divisor, SPAN: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr, S: tl.constexpr,
             K: tl.constexpr = 1, FULL: tl.constexpr = False, READ: tl.constexpr = "plain"):
    """out[row] = tree over (x - mean)**2, divided by `divisor`; the mean is the tree over x, divided by n."""
    row = tl.program_id(0) * BO + tl.arange(0, BO)
    fits = row < rows
    wide = _existing(row, rows)
    one = tl.full((BO,), 1.0, tl.float32)
    start = wide * x_stride
    if 2 * BI > SPAN:
        V: tl.constexpr = _vector(x.dtype)
        v = _load_runs(x, start, 0, n, fits, BI, K, V, FULL, READ)
        center = tl.div_rn(_fold_runs(v, v, one, 0, n, BO, BI, K, V, FULL, "value"), one * n)
        total = _fold_runs(v, v, center, 0, n, BO, BI, K, V, FULL, "centered")
    else:
        center = tl.div_rn(_tree(x, start, x, start, 0, n, 0.0 * one, SPAN, BO, BI, S, "value"), one * n)
        total = _tree(x, start, x, start, 0, n, center, SPAN, BO, BI, S, "centered")
    tl.store(out + row, tl.div_rn(total, one * divisor).to(out.dtype.element_ty), mask=fits)


@triton.jit
def softmax_rows(x, out, rows, n, x_stride, out_stride, SPAN: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr,
                 S: tl.constexpr, K: tl.constexpr = 1, FULL: tl.constexpr = False):
    """out[row, i] = exp(x - max) / tree over exp(x - max). The maximum has no order."""
    row = tl.program_id(0) * BO + tl.arange(0, BO)
    fits = row < rows
    wide = _existing(row, rows)
    if 2 * BI > SPAN:
        V: tl.constexpr = _vector(x.dtype)
        COUNT: tl.constexpr = _count_runs(BI, K, V)
        v = _load_runs(x, wide * x_stride, 0, n, fits, BI, K, V, FULL, "plain")
        top = tl.full((BO,), float("-inf"), tl.float32)
        for r in tl.static_range(COUNT):
            if FULL:
                top = tl.maximum(top, tl.max(v[r], axis=1))
            else:
                top = tl.maximum(top, tl.max(tl.where((_place(BI, K, V, r) < n)[None, :], v[r], float("-inf")), axis=1))
        e = ()
        for r in tl.static_range(COUNT):
            e = e + (_leaf(v[r], v[r], top[:, None], "exp"),)
        total = _fold_runs(e, e, top, 0, n, BO, BI, K, V, FULL, "value")
        y = ()
        for r in tl.static_range(COUNT):
            y = y + (e[r] / total[:, None],)
        _store_runs(out, wide * out_stride, n, fits, y, BI, K, V, FULL)
    else:
        largest = tl.full((BO, BI), float("-inf"), tl.float32)
        for t in range(0, tl.cdiv(n, BI)):
            i = t * BI + tl.arange(0, BI)
            here = fits[:, None] & (i < n)[None, :]
            v = tl.load(x + (wide * x_stride)[:, None] + i[None, :], mask=here, other=0.0).to(tl.float32)
            largest = tl.maximum(largest, tl.where(here, v, float("-inf")))
        top = tl.max(largest, axis=1)
        start = wide * x_stride
        total = _tree(x, start, x, start, 0, n, top, SPAN, BO, BI, S, "exp")
        for t in range(0, tl.cdiv(n, BI)):
            i = t * BI + tl.arange(0, BI)
            here = fits[:, None] & (i < n)[None, :]
            v = tl.load(x + (wide * x_stride)[:, None] + i[None, :], mask=here, other=0.0).to(tl.float32)
            e = _leaf(v, v, top[:, None], "exp")
            tl.store(out + (wide * out_stride)[:, None] + i[None, :], (e / total[:, None]).to(out.dtype.element_ty), mask=here)


@triton.jit
def _normalized(v, scale, weight):
    return libdevice.mul_rn(libdevice.mul_rn(v, scale), weight)


@triton.jit
def rms_norm_rows(x, weight, out, rows, n, x_stride, out_stride, eps, SPAN: tl.constexpr, BO: tl.constexpr,
                  BI: tl.constexpr, S: tl.constexpr, K: tl.constexpr = 1, FULL: tl.constexpr = False):
    """out[row, i] = x * rsqrt(tree over x**2 / n + eps) * weight[i]."""
    row = tl.program_id(0) * BO + tl.arange(0, BO)
    fits = row < rows
    wide = _existing(row, rows)
    one = tl.full((BO,), 1.0, tl.float32)
    if 2 * BI > SPAN:
        V: tl.constexpr = _vector(x.dtype)
        v = _load_runs(x, wide * x_stride, 0, n, fits, BI, K, V, FULL, "plain")
        g = _load_runs(weight, tl.zeros((1,), tl.int64), 0, n, fits, BI, K, V, FULL, "plain")
        total = _fold_runs(v, v, one, 0, n, BO, BI, K, V, FULL, "square")
        scale = tl.rsqrt(tl.div_rn(total, one * n) + eps)
        y = ()
        for r in tl.static_range(_count_runs(BI, K, V)):
            y = y + (_normalized(v[r], tl.broadcast_to(scale[:, None], v[r].shape), tl.broadcast_to(g[r], v[r].shape)),)
        _store_runs(out, wide * out_stride, n, fits, y, BI, K, V, FULL)
    else:
        start = wide * x_stride
        total = _tree(x, start, x, start, 0, n, 0.0 * one, SPAN, BO, BI, S, "square")
        scale = tl.rsqrt(tl.div_rn(total, one * n) + eps)
        for t in range(0, tl.cdiv(n, BI)):
            i = t * BI + tl.arange(0, BI)
            here = fits[:, None] & (i < n)[None, :]
            v = tl.load(x + (wide * x_stride)[:, None] + i[None, :], mask=here, other=0.0).to(tl.float32)
            g = tl.load(weight + i, mask=i < n, other=0.0).to(tl.float32)
            y = _normalized(v, tl.broadcast_to(scale[:, None], v.shape), tl.broadcast_to(g[None, :], v.shape))
            tl.store(out + (wide * out_stride)[:, None] + i[None, :], y.to(out.dtype.element_ty), mask=here)


# The functions on tensors.

_TILE = 16384  # elements of the largest tile that is folded at once


def _power(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(0, n - 1).bit_length()


def space(op: str, n: int) -> List[triton.Config]:
    """Configurations of `op` for an axis of n elements; all return the same bits.

    op: "sum", "mean", "var", "dot_rows", "softmax", "rms_norm"; "sum_columns" and "mean_columns" along the first axis.
    Constants: BO rows or columns a program, BI elements a tile (U rows in registers), S parts side by side, SPAN
    elements of the axis a program (less than the axis: a second pass adds the parts), K vectors of 16 bytes that a
    thread takes side by side, FULL: all elements of all tiles exist, READ: how these are loaded (see _load).
    """
    whole = _power(n)
    if op in ("sum_columns", "mean_columns"):
        found = [dict(BO=bo, U=u, S=s, SPAN=span, FULL=n % span == 0) for bo in (32, 64, 128, 256, 512) for u in (4, 8, 16, 32)
                 for s in (1, 2, 4, 8, 16) if u * s <= whole and 128 <= bo * s <= 2048
                 for span in sorted({max(whole // parts, u * s) for parts in (1, 8, 16, 32)}, reverse=True)]
        return [triton.Config(c, num_warps=w) for c in found for w in (2, 4, 8) if c["BO"] * c["S"] >= 32 * w]
    if op not in ("sum", "mean", "var", "dot_rows", "softmax", "rms_norm"):
        raise ValueError(f"no operation {op!r}")
    return _whole_tiles(op, n) + _loops(op, n)


def _tight(n: int) -> int:
    """At least n, the sum of at most three powers of two, none below 64."""
    total = 0
    for left in (2, 1, 0):
        rest = n - total
        if rest > 0:
            total += max(64, _power(rest) if left == 0 else 1 << (rest.bit_length() - 1))
    return min(total, _power(n))


def _whole_tiles(op: str, n: int) -> List[triton.Config]:
    """Each program holds its rows whole, in K runs a thread side by side."""
    whole, tight = _power(n), _tight(n)
    if tight > _TILE:
        return []
    tiles = [(tight, tight == n)] + [(whole, False)] * (tight < whole)
    twice = op in ("var", "softmax", "rms_norm")  # Triton takes minutes where several rows are read twice in runs
    runs = (1,) if op == "softmax" else (1, 2)  # no faster there, and unproved for many rows
    shapes = [dict(BO=bo, BI=bi, S=1, SPAN=whole, K=k, FULL=full) for bi, full in tiles for k in runs
              for bo in ((1,) if k > 1 and twice or bi < whole and op == "var" else (1, 2, 4, 8, 16))
              if k == 1 or (bi == tight and tight >= 512 * k)]
    if op not in ("softmax", "rms_norm"):
        shapes += [dict(c, READ=read) for read in ("ahead", "once") for c in shapes if c["K"] == 1 and c["FULL"]]
    return [triton.Config(c, num_warps=w) for c in shapes for w in (1, 2, 4, 8, 16)
            if 1 <= c["BO"] * c["BI"] / (32 * w) <= (128 if c["FULL"] else 64) and c["BO"] * c["BI"] <= _TILE]


def _loops(op: str, n: int) -> List[triton.Config]:
    """Programs that go through their rows tile by tile, and split axes."""
    whole = _power(n)
    spans = [whole] if op in ("var", "softmax", "rms_norm") else sorted({whole, max(whole // 8, 2048)} & {whole, whole // 8})
    found = [dict(BO=bo, BI=bi, S=s, SPAN=span, K=1, FULL=False) for span in spans for bo in (1, 2, 4, 8, 16) for s in (1, 4, 16)
             for bi in sorted({span // s, 1024, 256, 64}) if 16 <= bi and bi * s <= span and bo * s * bi <= _TILE]
    found = [c for c in found if (c["S"] == 1 or c["BI"] < c["SPAN"]) and c["SPAN"] // c["S"] // c["BI"] <= 256
             and not c["BI"] == c["SPAN"] == whole]
    return [triton.Config(c, num_warps=w) for c in found for w in (1, 2, 4, 8, 16)
            if 2 <= c["BO"] * c["S"] * c["BI"] // (32 * w) <= 64]


_tuned: Dict[Any, triton.Config] = {}


def _config(op: str, outer: int, n: int, dtype: Any, given: Optional[triton.Config]) -> triton.Config:
    return given or _tuned.get((op, outer, n, dtype)) or _guess(op, outer, n)


def _guess(op: str, outer: int, n: int) -> triton.Config:
    """A configuration that is rarely far from the best."""
    whole = _power(n)
    if op in ("sum_columns", "mean_columns"):
        s = min(8, max(1, whole // 16))
        u = min(16, whole // s)
        parts = min(32, max(1, whole // (u * s))) if outer < 64 * 264 else 1
        span = max(whole // parts, u * s)
        return triton.Config(dict(BO=64, U=u, S=s, SPAN=span, FULL=n % span == 0), num_warps=4)
    if whole <= _TILE:
        bo, tight = max(1, min(16, 2048 // whole)), _tight(n)
        return triton.Config(dict(BO=bo, BI=tight, S=1, SPAN=whole, K=1, FULL=tight == n), num_warps=max(1, min(16, bo * whole // 512)))
    return triton.Config(dict(BO=1, BI=4096, S=1, SPAN=whole, K=1, FULL=False), num_warps=8)


def tune(function: Any, *args: Any, **keywords: Any) -> triton.Config:
    """Times the whole space of `function`, such as ops.sum, on these arguments, and uses the best for their shapes from
    now on. The bits stay what they are."""
    from triton.testing import do_bench

    op, outer, n, dtype = _subject(function, args[0], keywords.get("dim", args[1] if function in (sum, mean) and len(args) > 1 else -1))
    times = {}
    for config in space(op, n):
        try:
            times[config] = do_bench(lambda: function(*args, **keywords, config=config))
        except triton.runtime.errors.OutOfResources:
            continue
    best = _tuned[op, outer, n, dtype] = min(times, key=times.get)
    return best


def _subject(function: Any, x: Any, dim: int):
    columns = function in (sum, mean) and x.ndim > 1 and dim in (0, -x.ndim)
    n = x.shape[0] if columns else x.shape[-1]
    return function.__name__ + ("_columns" if columns else ""), x.numel() // max(n, 1), n, x.dtype


def _check(x: Any, n: int) -> None:
    if n == 0:
        raise ValueError("the axis is empty")
    if not x.is_floating_point() or x.dtype.itemsize > 4:
        raise TypeError(f"{x.dtype}: a floating-point type of at most 32 bits is expected")


def _check_full(config: triton.Config, n: int) -> None:
    constants = config.kwargs
    if not constants.get("FULL"):
        return
    tile = constants.get("BI", constants["SPAN"])
    exact = n == tile or (tile == _power(tile) and n % constants["SPAN"] == 0)
    if not exact:
        raise ValueError(f"FULL: an axis of {n} is no sum of whole tiles")


def _reduce(op: str, x: Any, y: Any, kind: str, dim: int, divide: bool, dtype: Any, given: Optional[triton.Config]) -> Any:
    import torch

    columns = op.endswith("_columns")
    n = x.shape[0] if columns else x.shape[-1]
    _check(x, n)
    flat = x.reshape(n, -1) if columns else x.reshape(-1, n)
    flat = flat if flat.stride(-1) == 1 else flat.contiguous()
    outer = flat.shape[1] if columns else flat.shape[0]
    config = _config(op, outer, n, x.dtype, given)
    span = config.kwargs["SPAN"]
    _check_full(config, n)
    parts = -(-n // span)
    shape = x.shape[1:] if columns else x.shape[:-1]
    out = torch.empty(outer, dtype=dtype or x.dtype, device=x.device)
    partial = out if parts == 1 else torch.empty(outer * parts, dtype=torch.float32, device=x.device)
    run = {**config.kwargs, "num_warps": config.num_warps}
    grid = (-(-outer // run["BO"]), parts)
    if outer and columns:
        sum_columns[grid](flat, partial, n, outer, flat.stride(0), float(n), DIVIDE=divide and parts == 1, **run)
    elif outer:
        flat_y, y_stride = flat, 0
        if y is not None:
            flat_y = y.contiguous() if y.ndim == 1 else y.reshape(-1, n).contiguous()
            y_stride = 0 if y.ndim == 1 else flat_y.stride(0)
        sum_rows[grid](flat, flat_y, partial, outer, n, flat.stride(0), y_stride, float(n), KIND=kind,
                       DIVIDE=divide and parts == 1, SHARED=y is not None and y_stride == 0, **run)
    if outer and parts > 1:
        _second_pass(columns, partial, out, outer, parts, float(n), divide)
    return out.reshape(shape)


def _second_pass(columns: bool, partial: Any, out: Any, outer: int, parts: int, divisor: float, divide: bool) -> None:
    whole = _power(parts)
    if columns:
        bo = 64
        sum_columns[(-(-outer // bo), 1)](partial, out, parts, outer, outer, divisor, SPAN=whole, DIVIDE=divide, BO=bo,
                                          U=min(whole, 32), S=1, num_warps=2)
    else:
        bo = max(1, 256 // whole)
        sum_rows[(-(-outer // bo), 1)](partial, partial, out, outer, parts, parts, 0, divisor, SPAN=whole, KIND="value",
                                       DIVIDE=divide, BO=bo, BI=whole, S=1, num_warps=1)


def sum(x: Any, dim: int = -1, *, dtype: Any = None, config: Optional[triton.Config] = None) -> Any:
    """Sum over the last or the first axis. dtype: of the result, default x's."""
    return _reduce(_along(x, dim, "sum"), x, None, "value", dim, False, dtype, config)


def mean(x: Any, dim: int = -1, *, dtype: Any = None, config: Optional[triton.Config] = None) -> Any:
    """The sum divided by the length, rounded once."""
    return _reduce(_along(x, dim, "mean"), x, None, "value", dim, True, dtype, config)


def _along(x: Any, dim: int, op: str) -> str:
    if dim in (-1, x.ndim - 1):
        return op
    if dim in (0, -x.ndim):
        return op + "_columns"
    raise ValueError(f"dim {dim}: only the last and the first axis are reduced; move the axis first")


def dot_rows(x: Any, y: Any, *, dtype: Any = None, config: Optional[triton.Config] = None) -> Any:
    """Sum over the last axis of x * y, each product rounded to fp32; y has the shape of x, or its last axis."""
    if y.shape not in (x.shape, x.shape[-1:]):
        raise ValueError(f"shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit")
    return _reduce("dot_rows", x, y, "product", -1, False, dtype, config)


def _rows(op: str, x: Any, config: Optional[triton.Config]):
    n = x.shape[-1]
    _check(x, n)
    flat = x.reshape(-1, n)
    flat = flat if flat.stride(-1) == 1 else flat.contiguous()
    chosen = _config(op, flat.shape[0], n, x.dtype, config)
    run = {**chosen.kwargs, "num_warps": chosen.num_warps}
    _check_full(chosen, n)
    if run["SPAN"] != _power(n):
        raise ValueError(f"SPAN {run['SPAN']} does not fit an axis of {n}")
    return flat, n, run, (-(-flat.shape[0] // run["BO"]),)


def var(x: Any, *, correction: int = 1, dtype: Any = None, config: Optional[triton.Config] = None) -> Any:
    """Variance over the last axis, in two passes over the data: about the mean, divided by n - correction."""
    import torch

    flat, n, run, grid = _rows("var", x, config)
    out = torch.empty(flat.shape[0], dtype=dtype or x.dtype, device=x.device)
    if flat.shape[0]:
        divisor = float(n - correction) if n > correction else math.nan
        var_rows[grid](flat, out, flat.shape[0], n, flat.stride(0), divisor, **run)
    return out.reshape(x.shape[:-1])


def softmax(x: Any, *, config: Optional[triton.Config] = None) -> Any:
    """Softmax over the last axis."""
    import torch

    flat, n, run, grid = _rows("softmax", x, config)
    out = torch.empty(flat.shape, dtype=x.dtype, device=x.device)
    if flat.shape[0]:
        softmax_rows[grid](flat, out, flat.shape[0], n, flat.stride(0), n, **run)
    return out.reshape(x.shape)


def rms_norm(x: Any, weight: Any, *, eps: float = 1e-6, config: Optional[triton.Config] = None) -> Any:
    """x / sqrt(mean of x**2 over the last axis + eps) * weight."""
    import torch

    flat, n, run, grid = _rows("rms_norm", x, config)
    if tuple(weight.shape) != (n,):
        raise ValueError(f"weight of shape {tuple(weight.shape)} does not fit an axis of {n}")
    out = torch.empty(flat.shape, dtype=x.dtype, device=x.device)
    if flat.shape[0]:
        rms_norm_rows[grid](flat, weight.contiguous(), out, flat.shape[0], n, flat.stride(0), n, eps, **run)
    return out.reshape(x.shape)
