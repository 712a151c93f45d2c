"""Products of matrix libraries: descriptors of what decides their bits, profiles, and answers about them (docs/gemm.md)."""

import dataclasses
import struct
from typing import Any, Iterable, Optional, Sequence, Tuple, Union

from samebits import _gemm_display
from samebits.gemm_jobs import Generated, RecoveredGemm
from samebits.v1 import arch_profile_pb2, gemm_jobs_pb2, gemm_pb2

# "bf16,bf16,f32,bf16", or the four in a sequence: of A, B, the accumulator and the output.
Types = Union[str, Sequence[str]]

# By type: bytes of an element, and the names of NumPy's (or ml_dtypes') types that hold its values or its patterns.
_ELEMENTS = {
    "E4M3": (1, ("float8_e4m3fn", "uint8")), "E5M2": (1, ("float8_e5m2", "uint8")), "F16": (2, ("float16", "uint16")),
    "BF16": (2, ("bfloat16", "uint16")), "TF32": (4, ("float32", "uint32")), "F32": (4, ("float32", "uint32")),
    "F64": (8, ("float64", "uint64"))}


@dataclasses.dataclass(frozen=True)
class ArchProfile:
    """What a study found of a library on a device.

    name: `archProfiles/...`. architecture: 90 for sm_90. library_version: 130100 for 13.1.0. shapes: studied;
    explained_shapes: of these. rule_kinds: kinds of answers of the cost model that have rules.
    """

    name: str
    device: str
    architecture: int
    multiprocessors: int
    library: str
    library_version: int
    driver: str
    workspace_bytes: int
    shapes: int
    explained_shapes: int
    rule_kinds: int

    def __str__(self) -> str:
        return (f"{self.name}  {self.device}, {self.library} {self.library_version}, {self.explained_shapes} of "
                f"{self.shapes} shapes explained")

    def _repr_html_(self) -> str:
        return _gemm_display.profile_html(self)


@dataclasses.dataclass(frozen=True)
class GemmDescription:
    """The descriptor that a library follows for D (m x n) = A (m x k) B^T (B is n x k).

    desc: the record; text: its canonical line; description: a sentence for people. algorithm: the cost model's answer.
    summed_k: less than k where the library leaves out the elements from here on. studied: this very shape reproduced
    fresh draws; else a rule gives it, which rule_shapes shapes confirmed. architecture: 90 for sm_90, of the profile.
    """

    m: int
    n: int
    k: int
    types: str
    layout: str
    desc: gemm_pb2.GemmDesc = dataclasses.field(repr=False)
    text: str
    description: str
    algorithm: str
    summed_k: int
    studied: bool
    rule_shapes: int
    architecture: int

    @property
    def drops_tail(self) -> bool:
        """The library leaves out the end of the contracted axis: a defect."""
        return self.summed_k < self.k

    def svg(self) -> str:
        """How K is cut, and in which order and at which types the parts meet."""
        return _gemm_display.description_svg(self)

    def __str__(self) -> str:
        return f"{self.m} x {self.n} x {self.k} {self.types} {self.layout}: {self.description}\n{self.text}"

    def _repr_html_(self) -> str:
        return _gemm_display.description_html(self)


@dataclasses.dataclass(frozen=True)
class BatchRun:
    """Batch sizes first_m <= m <= last_m that owe a row the same bits, or of which the same is not known.

    bits: runs of one number owe the same bits; None where not known, and `why` says why. changes: fields of the
    descriptor that changed since the last known run. summed_k: less than k where the library drops the tail.
    """

    first_m: int
    last_m: int
    bits: Optional[int]
    text: str
    summed_k: int
    changes: Tuple[str, ...]
    why: str


@dataclasses.dataclass(frozen=True)
class BatchInvariance:
    """At which batch sizes m the bits of a row change. True in a condition where a row keeps its bits at every m.

    kinds_of_bits: numbers that runs have. unknown_m: batch sizes of which the profile does not know the descriptor.
    """

    n: int
    k: int
    types: str
    layout: str
    runs: Tuple[BatchRun, ...]
    kinds_of_bits: int
    unknown_m: int
    invariant: bool

    def __bool__(self) -> bool:
        return self.invariant

    def run_of(self, m: int) -> Optional[BatchRun]:
        """The run that holds m; None outside the range asked for."""
        return next((run for run in self.runs if run.first_m <= m <= run.last_m), None)

    def svg(self) -> str:
        """A band over m on a logarithmic axis, one colour for equal bits."""
        return _gemm_display.invariance_svg(self)

    def __str__(self) -> str:
        return _gemm_display.invariance_text(self)

    def _repr_svg_(self) -> str:
        return self.svg()


@dataclasses.dataclass(frozen=True)
class ProfileDifference:
    """Shapes first_m <= m <= last_m of which the bits changed, and by which fields of the descriptor."""

    first_m: int
    last_m: int
    n: int
    k: int
    types: str
    layout: str
    changes: Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class ProfileComparison:
    """Two profiles at the shapes that both list. identity_changes: of device, library, versions. unknown: shapes of
    which one does not give a descriptor. differences: at most 10,000."""

    identity_changes: Tuple[str, ...]
    same: int
    changed: int
    unknown: int
    differences: Tuple[ProfileDifference, ...]

    def _repr_html_(self) -> str:
        return _gemm_display.comparison_html(self)


# What names a descriptor; a bare one names no architecture.
Described = Union[GemmDescription, RecoveredGemm, gemm_pb2.GemmDesc]


def described(desc: Described, architecture: Optional[int]) -> Tuple[gemm_pb2.GemmDesc, int]:
    """The descriptor, and the architecture of its matrix units."""
    if isinstance(desc, gemm_pb2.GemmDesc):
        if architecture is None:
            raise ValueError("give the architecture, 90 for sm_90: a bare descriptor names none")
        return desc, architecture
    if desc.desc is None:
        raise ValueError(f"there is no descriptor: {desc}")
    return desc.desc, desc.architecture if architecture is None else architecture


def types_text(types: Types) -> str:
    return types if isinstance(types, str) else ",".join(types)


def shape_message(types: Types, m: int, n: int, k: int, layout: str) -> gemm_pb2.GemmShape:
    return gemm_pb2.GemmShape(m=m, n=n, k=k, types=types_text(types), layout=layout)


def profile_from(message: arch_profile_pb2.ArchProfile) -> ArchProfile:
    return ArchProfile(
        name=message.name, device=message.device, architecture=message.architecture, multiprocessors=message.multiprocessors,
        library=message.library, library_version=message.library_version, driver=message.driver,
        workspace_bytes=message.workspace_bytes, shapes=message.shapes, explained_shapes=message.explained_shapes,
        rule_kinds=message.rule_kinds)


def description_from(shape: Any, architecture: int, message: Any) -> GemmDescription:
    return GemmDescription(
        m=shape.m, n=shape.n, k=shape.k, types=shape.types, layout=shape.layout, desc=message.desc, text=message.text,
        description=message.description, algorithm=message.algorithm, summed_k=message.summed_k, studied=message.studied,
        rule_shapes=message.rule_shapes, architecture=architecture)


def invariance_from(shape: Any, message: Any) -> BatchInvariance:
    runs = tuple(BatchRun(run.first_m, run.last_m, run.bits if run.text else None, run.text, run.summed_k,
                          tuple(run.changes), run.why) for run in message.runs)
    return BatchInvariance(shape.n, shape.k, shape.types, shape.layout, runs, message.kinds_of_bits, message.unknown_m,
                           message.invariant)


def profile_comparison_from(message: Any) -> ProfileComparison:
    differences = tuple(
        ProfileDifference(d.shape.m, d.last_m, d.shape.n, d.shape.k, d.shape.types, d.shape.layout, tuple(d.changes))
        for d in message.differences)
    return ProfileComparison(tuple(message.identity_changes), message.same, message.changed, message.unknown, differences)


def type_name(number: int) -> str:
    return gemm_pb2.GemmDesc.Type.Name(number)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "tobytes")


def packed(name: str, operand: Any, type_number: int, shape: Sequence[int]) -> bytes:
    """Little-endian elements of an operand: bytes as they are, arrays checked for type and shape. Nothing is rounded."""
    kind = type_name(type_number)
    size, dtypes = _ELEMENTS[kind]
    if _is_array(operand):
        if operand.dtype.name not in dtypes:
            raise TypeError(f"{name} is an array of {operand.dtype.name}, the descriptor takes {kind.lower()}: give "
                            f"{' or '.join(dtypes)} (patterns); nothing is rounded here, since that changes bits")
        if tuple(operand.shape) != tuple(shape):
            raise ValueError(f"{name} has shape {tuple(operand.shape)}, expected {tuple(shape)}")
        little = operand if operand.dtype.byteorder != ">" else operand.byteswap()
        return little.tobytes()
    data = bytes(operand)
    expected = size
    for side in shape:
        expected *= side
    if len(data) != expected:
        sides_text = " x ".join(map(str, shape))
        raise ValueError(f"{name} has {len(data)} bytes, expected {expected}: {sides_text} elements of {kind.lower()}")
    return data


def operand(name: str, given: Any, type_number: int, shape: Sequence[int]) -> gemm_jobs_pb2.GemmOperand:
    """For a worker, which makes what is Generated."""
    if isinstance(given, Generated):
        return gemm_jobs_pb2.GemmOperand(generated=dict(seed=given.seed, buffer=given.buffer, distribution=given.distribution))
    return gemm_jobs_pb2.GemmOperand(packed=packed(name, given, type_number, shape))


def sides(a: Any, b: Any, m: Optional[int], n: Optional[int], k: Optional[int]) -> Tuple[int, int, int]:
    """m, n and k, from the arrays where they are not given."""
    for name, operand in (("a", a), ("b", b)):
        if _is_array(operand) and len(operand.shape) != 2:
            raise ValueError(f"{name} has {len(operand.shape)} axes; a is m x k, b is n x k")
    m = a.shape[0] if m is None and _is_array(a) else m
    n = b.shape[0] if n is None and _is_array(b) else n
    k = a.shape[1] if k is None and _is_array(a) else k
    if m is None or n is None or k is None:
        raise ValueError("give m, n and k with operands that are no arrays")
    return int(m), int(n), int(k)


def scalar_pattern(value: float, accumulate_type: int) -> int:
    """Of alpha or beta: f64 where that accumulates, else f32."""
    wide = type_name(accumulate_type) == "F64"
    return struct.unpack("<Q", struct.pack("<d", value))[0] if wide else struct.unpack("<I", struct.pack("<f", value))[0]


def unpacked(data: bytes, type_number: int, m: int, n: int, like: Iterable[Any]) -> Any:
    """The output: bytes where no operand is an array; else an array m x n, of values where NumPy or an operand has the
    type, of patterns elsewhere."""
    arrays = [operand for operand in like if _is_array(operand)]
    if not arrays:
        return data
    import numpy

    dtypes = _ELEMENTS[type_name(type_number)][1]
    own = next((operand.dtype for operand in arrays if operand.dtype.name == dtypes[0]), None)
    if own is None:
        own = numpy.dtype(dtypes[0]) if dtypes[0] in ("float16", "float32", "float64") else numpy.dtype(dtypes[1])
    return numpy.frombuffer(data, own.newbyteorder("<") if own.byteorder == ">" else own).reshape(m, n).copy()
