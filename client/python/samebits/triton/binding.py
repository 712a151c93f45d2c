"""From the arguments of a Triton launch to what Triton compiles and what the checker is told.

Uses parts of Triton that are not its public interface; tested with the versions in TESTED.
"""

import dataclasses
import hashlib
import json
from typing import Any, Dict, List, Optional, Tuple

import samebits
from samebits.v1 import launch_pb2

TESTED = ("3.6.0", "3.9.0")

_INTEGERS = ("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64")


class Unsupported(Exception):
    """A launch that cannot be described to the checker, so that nothing can be proved about it."""


class Buffer:
    """Stands for a tensor where there is none: an aligned device buffer of `dtype` ("fp32", "bf16", "i32", ...).

    Buffers of one `name` are one buffer; without a name each argument is a buffer of its own.
    """

    def __init__(self, dtype: str, name: str = ""):
        self.dtype = dtype
        self.name = name

    def data_ptr(self) -> int:
        return 0  # a multiple of 16, as allocators give


@dataclasses.dataclass
class Bound:
    """One configuration of a launch. `kernel_args` are those of the compiled kernel, without Triton's own."""

    source: Any  # triton.compiler.ASTSource
    options: Dict[str, Any]
    target: Any  # triton.backends.compiler.GPUTarget
    grid: Optional[Tuple[int, int, int]]
    kernel_args: List[launch_pb2.Argument]
    key: str  # of everything that the compiled kernel and its launch depend on


def unwrap(kernel: Any) -> Tuple[Any, List[Any]]:
    """The jitted function below autotuners and heuristics, and the heuristics from the outside in."""
    from triton.runtime.autotuner import Heuristics
    from triton.runtime.jit import JITFunction

    heuristics = []
    while not isinstance(kernel, JITFunction):
        if isinstance(kernel, Heuristics):
            heuristics.append(kernel)
        kernel = getattr(kernel, "fn", None)
        if kernel is None:
            raise TypeError("a kernel made with triton.jit is expected")
    return kernel, heuristics


def bind(kernel: Any, target: Any, named_args: Dict[str, Any], keywords: Dict[str, Any], *, symbolic: bool = False) -> Bound:
    """What `kernel[grid](**named_args, **keywords)` compiles for `target`; `keywords` holds the grid and the options.

    Unsupported where the launch cannot be described. `symbolic` withholds the grid and scalar arguments.
    """
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend
    from triton.runtime.jit import create_function_from_signature

    fn, heuristics = unwrap(kernel)
    keywords = dict(keywords)
    grid = keywords.pop("grid", None)
    keywords.pop("warmup", None)
    for heuristic in heuristics:
        for name, value in heuristic.values.items():
            keywords[name] = value({**named_args, **keywords})
    keywords.update(_implied_options(fn, keywords))
    backend = make_backend(target)
    binder = create_function_from_signature(fn.signature, fn.params, backend)
    bound, specialization, options = binder(**named_args, **keywords)
    options, signature, constants, attributes = fn._pack_args(backend, keywords, bound, specialization, options)
    if getattr(options, "num_ctas", 1) != 1:
        raise Unsupported("blocks in clusters (num_ctas) are not modelled")
    if callable(grid):
        grid = grid(bound)
    grid = None if grid is None or symbolic else (*map(int, grid), 1, 1)[:3]
    args = arguments(signature, bound, symbolic)
    source = ASTSource(fn, signature, constants, attributes)
    return Bound(source, options.__dict__, target, grid, args, launch_key(source_parts(source, options.__dict__), target, grid, args))


def _implied_options(fn: Any, keywords: Dict[str, Any]) -> Dict[str, Any]:
    """Options that JITFunction.run adds on its own, so that its compile cache is shared."""
    from triton import knobs

    implied = {"debug": keywords.get("debug", fn.debug) or knobs.runtime.debug}
    for name in ("instrumentation_mode", "fpsan_homomorphic_casts"):
        if hasattr(knobs.compilation, name):
            implied[name] = getattr(knobs.compilation, name)
    return implied


def arguments(signature: Dict[str, Any], bound: Dict[str, Any], symbolic: bool = False) -> List[launch_pb2.Argument]:
    """What the checker is told of each parameter that is no constant; `bound` has the values."""
    names = _buffer_names({name: bound[name] for name, kind in signature.items() if str(kind).startswith("*")})
    args = []
    for name, kind in signature.items():
        if kind == "constexpr":
            continue
        if not isinstance(kind, str):
            raise Unsupported(f"argument {name}: tuples are not described to the checker")
        if kind.startswith("*"):
            args.append(samebits.pointer(names[name]))
        elif "desc" in kind.lower():
            raise Unsupported(f"argument {name}: the contents of tensor descriptors are not described to the checker")
        elif symbolic:
            args.append(samebits.unknown())
        elif kind in _INTEGERS:
            args.append(samebits.integer(int(bound[name])))
        elif kind == "fp32":
            args.append(samebits.f32(bound[name]))
        elif kind == "fp64":
            args.append(samebits.f64(bound[name]))
        else:
            args.append(samebits.unknown())
    return args


def _extent(tensor: Any) -> Optional[Tuple[int, int]]:
    """First and one past the last byte of a tensor; None where it does not say."""
    if not all(hasattr(tensor, name) for name in ("stride", "shape", "element_size", "data_ptr")):
        return None
    if 0 in tuple(tensor.shape):
        return None
    first = tensor.data_ptr()
    steps = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return first, first + (steps + 1) * tensor.element_size()


def _buffer_names(tensors: Dict[str, Any]) -> Dict[str, str]:
    """A name for each pointer argument, the same for those that point to the same place."""
    names, seen = {}, []
    for argument, tensor in tensors.items():
        names[argument] = argument
        if isinstance(tensor, Buffer):
            names[argument] = tensor.name or argument
            continue
        extent = _extent(tensor)
        if extent is None:
            continue
        for other, other_extent in seen:
            if extent[0] == other_extent[0]:
                names[argument] = names[other]
            elif extent[0] < other_extent[1] and other_extent[0] < extent[1]:
                raise Unsupported(f"arguments {other} and {argument} overlap in memory")
        seen.append((argument, extent))
    return names


def _stable(value: Any) -> str:
    return getattr(value, "cache_key", None) or repr(value)


def source_parts(source: Any, options: Dict[str, Any]) -> List[Any]:
    """What the compiled kernel depends on besides its target."""
    import triton

    try:
        from triton._C.libtriton import get_cache_invalidating_env_vars

        environment = sorted(get_cache_invalidating_env_vars().items())
    except ImportError:
        environment = []
    return [triton.__version__, source.fn.cache_key, sorted((k, str(v)) for k, v in source.signature.items()),
            sorted((str(k), _stable(v)) for k, v in source.constants.items()),
            sorted((str(k), str(v)) for k, v in source.attrs.items()), sorted((k, str(v)) for k, v in options.items()), environment]


def launch_key(parts: List[Any], target: Any, grid: Any, args: List[launch_pb2.Argument]) -> str:
    """Of everything that the compiled kernel, which depends on `parts`, and its launch depend on."""
    whole = [*parts, [target.backend, target.arch, target.warp_size], grid,
             [arg.SerializeToString(deterministic=True).hex() for arg in args]]
    return hashlib.sha256(json.dumps(whole, default=str).encode()).hexdigest()
