"""Words in which kernel files describe what is compiled: buffers, cases and groups.

A group is a set of kernels over the same named inputs; a case is one configuration of one kernel. Sizes are in
elements. Everything here is plain data: nothing imports Triton or starts a compiler.
"""
import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Buffer:
    """A device buffer of a group. role: "in", "out", or "inout" (initialised like an input, compared like an output).

    low and high bound integer contents (high exclusive). values restricts floating-point draws: "any", "positive"
    (so that sums of weights make sense) or "unit" (0 <= v < 1).
    """
    dtype: str
    elements: int
    role: str = "in"
    low: int | None = None
    high: int | None = None
    values: str = "any"

    def as_row(self):
        row = {"dtype": self.dtype, "elements": self.elements, "role": self.role}
        if self.low is not None:
            row["low"], row["high"] = self.low, self.high
        if self.values != "any":
            row["values"] = self.values
        return row


@dataclasses.dataclass(frozen=True)
class Case:
    """One kernel configuration. `constants` are compile-time, `scalars` are (kind, value) by parameter name with kind
    "i32", "i64" or "f32"; `options` go to the compiler; `shared` is dynamic shared memory (CUDA only)."""
    kernel: object
    grid: tuple
    constants: dict = dataclasses.field(default_factory=dict)
    scalars: dict = dataclasses.field(default_factory=dict)
    options: dict = dataclasses.field(default_factory=dict)
    block: tuple = (1, 1, 1)
    shared: int = 0


@dataclasses.dataclass(frozen=True)
class Group:
    name: str
    family: str
    buffers: dict
    cases: list
    outputs: tuple = ("o",)


def grid3(*dims):
    return tuple(dims) + (1,) * (3 - len(dims))


def product(**axes):
    """Dictionaries of the cartesian product, in the order in which the axes are written."""
    names = list(axes)
    return [dict(zip(names, values)) for values in itertools.product(*axes.values())]


def cdiv(a, b):
    return -(-a // b)
