"""The 28 cases of run_tuning.py's second part: operation, type and size, each with a pinned and a free space."""
import dataclasses
import typing

import torch
import triton

import free_ops
from samebits.triton import ops
from tuning_cases import random

PINNED, FREE = 48, 48  # configurations of each at most


@dataclasses.dataclass
class Launch:
    """One kernel of one configuration, ready to run."""
    kernel: typing.Any
    grid: tuple
    named: dict
    options: dict

    def run(self):
        self.kernel[self.grid](**self.named, **self.options)

    def keywords(self):
        return {"grid": self.grid, **self.options}


@dataclasses.dataclass
class Variant:
    """A configuration as one launch, or two where the axis is split."""
    name: str
    launches: list
    out: typing.Any

    def run(self):
        for launch in self.launches:
            launch.run()


def spread(items, count):
    """At most `count` of them, evenly."""
    return items if len(items) <= count else [items[i * len(items) // count] for i in range(count)]


def likely(c):
    """Without what need not exist; rows held whole with 8 elements a thread or more; 8 rows of columns or more."""
    k, threads = c.kwargs, 32 * c.num_warps
    if "BI" in k:
        return k["FULL"] and 8 * threads <= k["BO"] * k["BI"] <= 10240
    return k["FULL"] and k["U"] >= 8 and k["BO"] * k["S"] <= 4 * threads and k["SPAN"] // k["S"] // k["U"] <= 16


def chosen(op, n):
    """Part of ops.space: three in four of the likely ones, the others evenly."""
    space = [c for c in ops.space(op, n) if op != "mean" or c.kwargs["SPAN"] >= n]
    simple = spread([c for c in space if likely(c)], PINNED * 3 // 4)
    return simple + spread([c for c in space if c not in simple], PINNED - len(simple))


def free_rows(n, split):
    whole = ops._power(n)
    out = []
    for parts in (1, 4) if split else (1,):
        span = whole // parts
        for bi in ({span, 1024, 2048, 4096} if split else {whole}):
            for bo in (1, 2, 4, 8):
                out += [dict(BO=bo, BI=bi, SPAN=span, ONCE=once, num_warps=w) for w in (1, 2, 4, 8, 16) for once in (False, True)
                        if bi <= span and 4 <= bo * bi // (32 * w) <= 128]
    simple = [c for c in out if c["BI"] == c["SPAN"] == whole]
    return spread(simple, 32) + spread([c for c in out if c not in simple], FREE - min(32, len(simple)))


def free_columns(n):
    whole = ops._power(n)
    return spread([dict(BO=bo, BI=bi, SPAN=max(bi, whole // parts), num_warps=w) for parts in (1, 8, 32) for bo in (32, 64, 128, 256)
                   for bi in (8, 16, 32, 64) for w in (4, 8) if 8 <= bo * bi // (32 * w) <= 64], FREE)


def two_pass(make, second, parts, out, partial_size):
    """`make(target)` alone, or into partial sums and `second(partial)` after it."""
    if parts == 1:
        return [make(out)]
    partial = torch.empty(partial_size * parts, device="cuda", dtype=torch.float32)
    return [make(partial), second(partial)]


class Case:
    def __init__(self, op, dtype, rows, n):
        self.op, self.dtype, self.rows, self.n = op, dtype, rows, n
        self.name = f"{op} {str(dtype).split('.')[-1]} {rows}x{n}"

    def prepare(self):
        columns = self.op == "sum_columns"
        self.x = random((self.n, self.rows) if columns else (self.rows, self.n), self.dtype, 7)
        if self.op == "softmax":
            self.x *= 3
        self.y = random((self.n,), self.dtype, 8)

    def release(self):
        self.x = self.y = None

    def _out(self):
        wide = self.op in ("softmax", "rms_norm")
        return torch.empty((self.rows, self.n) if wide else (self.rows,), device="cuda", dtype=self.dtype)

    def variants(self, pinned):
        """Name, launches and output of each configuration. Outputs of one side share memory."""
        out = self._out()
        space = [{**c.kwargs, "num_warps": c.num_warps} for c in chosen(self.op, self.n)] if pinned else (
            free_columns(self.n) if self.op == "sum_columns" else free_rows(self.n, self.op in ("sum", "mean", "dot_rows")))
        if self.op == "mean" and not pinned:
            space = [c for c in space if c["SPAN"] >= self.n]
        build = getattr(self, "_" + self.op)
        return [Variant(f"{'pinned' if pinned else 'free'} {c}", build(pinned, dict(c), out), out) for c in space]

    def _grid(self, c, parts=None):
        first = -(-self.rows // c["BO"])
        return (first,) if parts is None else (first, parts)

    def _mean(self, pinned, c, out):
        """Axes that are not split: a second launch would divide, as ops.mean does."""
        named = dict(x=self.x, y=self.x, out=out, y_stride=0)
        if pinned:
            return [Launch(ops.sum_rows, self._grid(c, 1), dict(rows=self.rows, n=self.n, x_stride=self.n, divisor=float(self.n), **named),
                           dict(KIND="value", DIVIDE=True, **c))]
        return [Launch(free_ops.sum_rows, self._grid(c, 1), dict(rows=self.rows, n=self.n, x_stride=self.n, **named),
                       dict(PRODUCT=False, DIVIDE=True, **c))]

    def _sum(self, pinned, c, out, product=False):
        n, rows, parts = self.n, self.rows, -(-self.n // c["SPAN"])
        common = dict(rows=rows, n=n, x_stride=n, y_stride=0)
        second = dict(rows=rows, n=parts, x_stride=parts, y_stride=0)
        whole = ops._power(parts)
        small = dict(SPAN=whole, BO=max(1, 256 // whole), BI=whole, num_warps=1)
        grid2 = (-(-rows // small["BO"]), 1)
        y = self.y if product else self.x
        if pinned:
            kind = "product" if product else "value"
            return two_pass(
                lambda to: Launch(ops.sum_rows, self._grid(c, parts), dict(x=self.x, y=y, out=to, divisor=1.0, **common),
                                  dict(KIND=kind, DIVIDE=False, SHARED=product, **c)),
                lambda p: Launch(ops.sum_rows, grid2, dict(x=p, y=p, out=out, divisor=1.0, **second), dict(KIND="value", DIVIDE=False, S=1, **small)),
                parts, out, rows)
        return two_pass(
            lambda to: Launch(free_ops.sum_rows, self._grid(c, parts), dict(x=self.x, y=y, out=to, **common), dict(PRODUCT=product, **c)),
            lambda p: Launch(free_ops.sum_rows, grid2, dict(x=p, y=p, out=out, **second), dict(PRODUCT=False, **small)), parts, out, rows)

    def _dot_rows(self, pinned, c, out):
        return self._sum(pinned, c, out, product=True)

    def _sum_columns(self, pinned, c, out):
        n, columns, parts = self.n, self.rows, -(-self.n // c["SPAN"])
        whole = ops._power(parts)
        common = dict(n=n, columns=columns, x_stride=columns)
        second = dict(n=parts, columns=columns, x_stride=columns)
        if pinned:
            small = dict(SPAN=whole, BO=64, U=min(whole, 32), S=1, num_warps=2)
            return two_pass(
                lambda to: Launch(ops.sum_columns, self._grid(c, parts), dict(x=self.x, out=to, divisor=1.0, **common), dict(DIVIDE=False, **c)),
                lambda p: Launch(ops.sum_columns, (-(-columns // 64), 1), dict(x=p, out=out, divisor=1.0, **second), dict(DIVIDE=False, **small)),
                parts, out, columns)
        small = dict(SPAN=whole, BO=64, BI=whole, num_warps=2)
        return two_pass(
            lambda to: Launch(free_ops.sum_columns, self._grid(c, parts), dict(x=self.x, out=to, **common), c),
            lambda p: Launch(free_ops.sum_columns, (-(-columns // 64), 1), dict(x=p, out=out, **second), small), parts, out, columns)

    def _rows_kernel(self, pinned, c, named, kernel):
        if not pinned:
            c.pop("SPAN")
        module = ops if pinned else free_ops
        return [Launch(getattr(module, kernel), self._grid(c), dict(rows=self.rows, n=self.n, x_stride=self.n, **named), c)]

    def _var(self, pinned, c, out):
        return self._rows_kernel(pinned, c, dict(x=self.x, out=out, divisor=self.n - 1.0), "var_rows")

    def _softmax(self, pinned, c, out):
        return self._rows_kernel(pinned, c, dict(x=self.x, out=out, out_stride=self.n), "softmax_rows")

    def _rms_norm(self, pinned, c, out):
        return self._rows_kernel(pinned, c, dict(x=self.x, weight=self.y, out=out, out_stride=self.n, eps=1e-6), "rms_norm_rows")


def cases():
    """Memory-bound (512 MiB) and cache-resident (16 MiB) inputs, fp32 and bf16, rows and columns."""
    out = []
    for op in ("sum", "mean", "sum_columns", "dot_rows", "var", "softmax", "rms_norm"):
        for dtype, n in ((torch.float32, 4096), (torch.bfloat16, 5120)):
            for mebibytes in (512, 16):
                out.append(Case(op, dtype, (mebibytes << 20) // (n * dtype.itemsize), n))
    return out
