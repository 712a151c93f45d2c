"""The free-order counterparts of samebits.triton.ops: the same work, summed in whatever order Triton chooses. ONCE: as
there, caches are told that no program reads the elements again."""
import triton
import triton.language as tl


@triton.jit
def _load(at, here, other, ONCE: tl.constexpr):
    if ONCE:
        return tl.load(at, mask=here, other=other, eviction_policy="evict_first").to(tl.float32)
    else:
        return tl.load(at, mask=here, other=other).to(tl.float32)


@triton.jit
def sum_rows(x, y, out, rows, n, x_stride, y_stride, SPAN: tl.constexpr, PRODUCT: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr,
             ONCE: tl.constexpr = False, DIVIDE: tl.constexpr = False):
    row = tl.program_id(0) * BO + tl.arange(0, BO)
    first = tl.program_id(1) * SPAN
    fits = row < rows
    wide = row.to(tl.int64)
    acc = tl.zeros((BO, BI), tl.float32)
    for start in range(first, min(first + SPAN, n), BI):
        i = start + tl.arange(0, BI)
        here = fits[:, None] & (i < n)[None, :]
        v = _load(x + (wide * x_stride)[:, None] + i[None, :], here, 0.0, ONCE)
        if PRODUCT:
            v *= tl.load(y + (wide * y_stride)[:, None] + i[None, :], mask=here, other=0.0).to(tl.float32)
        acc += v
    total = tl.sum(acc, axis=1)
    if DIVIDE:
        total = total / n
    tl.store(out + wide * tl.num_programs(1) + tl.program_id(1), total.to(out.dtype.element_ty), mask=fits)


@triton.jit
def sum_columns(x, out, n, columns, x_stride, SPAN: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr):
    column = tl.program_id(0) * BO + tl.arange(0, BO)
    first = tl.program_id(1) * SPAN
    acc = tl.zeros((BI, BO), tl.float32)
    for start in range(first, min(first + SPAN, n), BI):
        i = start + tl.arange(0, BI)
        here = (i < n)[:, None] & (column < columns)[None, :]
        acc += tl.load(x + (i.to(tl.int64) * x_stride)[:, None] + column[None, :], mask=here, other=0.0).to(tl.float32)
    tl.store(out + tl.program_id(1).to(tl.int64) * columns + column, tl.sum(acc, axis=0).to(out.dtype.element_ty), mask=column < columns)


@triton.jit
def var_rows(x, out, rows, n, x_stride, divisor, BO: tl.constexpr, BI: tl.constexpr, ONCE: tl.constexpr = False):
    row = tl.program_id(0) * BO + tl.arange(0, BO)
    i = tl.arange(0, BI)
    here = (row < rows)[:, None] & (i < n)[None, :]
    v = _load(x + (row.to(tl.int64) * x_stride)[:, None] + i[None, :], here, 0.0, ONCE)
    mean = tl.sum(v, axis=1) / n
    d = tl.where(here, v - mean[:, None], 0.0)
    tl.store(out + row, (tl.sum(d * d, axis=1) / divisor).to(out.dtype.element_ty), mask=row < rows)


@triton.jit
def softmax_rows(x, out, rows, n, x_stride, out_stride, BO: tl.constexpr, BI: tl.constexpr, ONCE: tl.constexpr = False):
    row = tl.program_id(0) * BO + tl.arange(0, BO)
    i = tl.arange(0, BI)
    here = (row < rows)[:, None] & (i < n)[None, :]
    wide = row.to(tl.int64)
    v = _load(x + (wide * x_stride)[:, None] + i[None, :], here, float("-inf"), ONCE)
    e = tl.exp(v - tl.max(v, axis=1)[:, None])
    tl.store(out + (wide * out_stride)[:, None] + i[None, :], (e / tl.sum(e, axis=1)[:, None]).to(out.dtype.element_ty), mask=here)


@triton.jit
def rms_norm_rows(x, weight, out, rows, n, x_stride, out_stride, eps, BO: tl.constexpr, BI: tl.constexpr, ONCE: tl.constexpr = False):
    row = tl.program_id(0) * BO + tl.arange(0, BO)
    i = tl.arange(0, BI)
    here = (row < rows)[:, None] & (i < n)[None, :]
    wide = row.to(tl.int64)
    v = _load(x + (wide * x_stride)[:, None] + i[None, :], here, 0.0, ONCE)
    g = tl.load(weight + i, mask=i < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=1) / n + eps)
    tl.store(out + (wide * out_stride)[:, None] + i[None, :], (v * scale[:, None] * g[None, :]).to(out.dtype.element_ty), mask=here)
