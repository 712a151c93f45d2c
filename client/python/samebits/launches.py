"""Messages that describe launches."""

import struct
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from samebits.errors import Code, make_error
from samebits.v1 import launch_pb2, verification_pb2

BufferSpecs = Union[Iterable[verification_pb2.BufferSpec], Mapping[str, Mapping[str, Any]]]
# By id: a dict, or pairs.
Launches = Union[Mapping[str, launch_pb2.KernelLaunch], Iterable[Tuple[str, launch_pb2.KernelLaunch]]]
_BUFFER_KEYS = ("dtype", "elements", "role", "values", "low", "high")


def pointer(buffer: str = "") -> launch_pb2.Argument:
    """Device buffer. Equal names are the same buffer; without a name its position counts."""
    return launch_pb2.Argument(pointer=launch_pb2.Argument.Pointer(buffer=buffer))


def integer(value: int) -> launch_pb2.Argument:
    """Integer of any width up to 64, signed or unsigned."""
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"{value} does not fit 64 bits")
    return launch_pb2.Argument(integer=value if value < 2**63 else value - 2**64)


def f32(value: float) -> launch_pb2.Argument:
    """A 32-bit float, rounded to nearest."""
    return launch_pb2.Argument(float32_bits=struct.unpack("<I", struct.pack("<f", value))[0])


def f64(value: float) -> launch_pb2.Argument:
    """A 64-bit float."""
    return launch_pb2.Argument(float64_bits=struct.unpack("<Q", struct.pack("<d", value))[0])


def scratch() -> launch_pb2.Argument:
    """Pointer to memory whose contents are not compared."""
    return launch_pb2.Argument(scratch=launch_pb2.Argument.Scratch())


def aggregate(data: bytes) -> launch_pb2.Argument:
    """By-value struct, as laid out in memory."""
    return launch_pb2.Argument(aggregate=data)


def unknown() -> launch_pb2.Argument:
    """An argument of any value."""
    return launch_pb2.Argument()


def _dim(dim: Sequence[int]) -> launch_pb2.Dim3:
    x, y, z = (tuple(dim) + (1, 1))[:3]
    return launch_pb2.Dim3(x=x, y=y, z=z)


def launch(
    *, kernel: Optional[str] = None, text: Union[str, bytes, None] = None, block: Sequence[int],
    grid: Optional[Sequence[int]] = None, entry: str = "", shared_bytes: int = 0,
    args: Optional[Iterable[launch_pb2.Argument]] = None, outputs: Iterable[str] = (),
) -> launch_pb2.KernelLaunch:
    """A registered kernel (its resource name) or a text (str or bytes), and how it is launched.

    `block` and `grid` are tuples of up to three numbers; without a grid the answer is for every grid. `args` is a list
    made with the functions above; without it all arguments are unknown. `shared_bytes`: dynamic shared memory. `outputs`:
    names of the buffers that are compared; none: every buffer that is written.
    """
    if (kernel is None) == (text is None):
        raise ValueError("give either kernel or text")
    message = launch_pb2.Launch(entry=entry, block=_dim(block), shared_bytes=shared_bytes, outputs=outputs)
    if grid is not None:
        message.grid.CopyFrom(_dim(grid))
    if args is not None:
        message.args.SetInParent()
        message.args.arguments.extend(args)
    if kernel is not None:
        return launch_pb2.KernelLaunch(kernel=kernel, launch=message)
    return launch_pb2.KernelLaunch(text=text.encode() if isinstance(text, str) else text, launch=message)


def buffer(name: str, type: str, elements: int, *, role: str = "inout", unit: bool = False, low: Optional[int] = None,
           high: Optional[int] = None) -> verification_pb2.BufferSpec:
    """What a buffer holds before each launch of a verification.

    name: as pointer() gives it; the position, "0", where it has none. type: f32, f16, bf16, e4m3, e5m2, f64, i32, i8 or
    raw. elements: how many, of that type. role: "in" is filled from the distribution and not compared, "out" is filled
    with 0x5a and compared, "inout" is filled and compared. unit: floats lie in [0, 1) on every distribution. low, high:
    of integers, low <= value < high; default 0 and 100.
    """
    roles = verification_pb2.BufferSpec.Role
    if role not in ("in", "out", "inout"):
        raise ValueError(f"role {role!r} of buffer {name!r}; write in, out or inout")
    if isinstance(elements, bool) or elements != int(elements) or not 0 < elements < 2**64:
        raise ValueError(f"{elements!r} elements of buffer {name!r}; a positive number is expected")
    return verification_pb2.BufferSpec(
        name=name, type=type, elements=int(elements), role=roles.Value(role.upper()), unit=unit, low=low, high=high)


def check_options(**options: bool) -> launch_pb2.CheckOptions:
    """What counts as equal: ignore_signed_zero, strict_contraction."""
    known = launch_pb2.CheckOptions.DESCRIPTOR.fields_by_name
    for name in options:
        if name not in known:
            raise TypeError(f"there is no option {name!r}; options are {', '.join(sorted(known))}")
    return launch_pb2.CheckOptions(**options)


def launch_pairs(launches: Launches) -> List[Tuple[str, launch_pb2.KernelLaunch]]:
    """Pairs (id, launch) from a dict or an iterable of pairs."""
    if isinstance(launches, Mapping):
        launches = launches.items()
    pairs = [launches] if isinstance(launches, launch_pb2.KernelLaunch) else list(launches)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], launch_pb2.KernelLaunch):
            raise TypeError("launches are a dict {id: launch}, or pairs (id, launch), made with samebits.launch")
    return pairs


def buffer_specs(buffers: BufferSpecs, place: str = "buffers") -> List[verification_pb2.BufferSpec]:
    """From messages, or from a dict as in a manifest's row: {"x": {"dtype": "f32", "elements": 96, "role": "in"}}."""
    if not isinstance(buffers, Mapping):
        made = list(buffers)
        if not all(isinstance(spec, verification_pb2.BufferSpec) for spec in made):
            raise TypeError("buffers are made with samebits.buffer(name, type, elements, role=...), or a dict")
        return made
    specs = []
    for name, given in buffers.items():
        try:
            unknown_keys = set(given) - set(_BUFFER_KEYS)
            if unknown_keys:
                raise ValueError(f"unknown key {sorted(unknown_keys)[0]!r}; keys are: {', '.join(_BUFFER_KEYS)}")
            specs.append(buffer(name, given.get("dtype") or "", given.get("elements", 0), role=given.get("role") or "inout",
                                unit=given.get("values") == "unit", low=given.get("low"), high=given.get("high")))
        except (TypeError, ValueError, AttributeError) as error:
            raise make_error(Code.INVALID_ARGUMENT, f"{place}.{name}: {error}") from None
    return specs
