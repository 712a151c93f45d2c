"""One configuration as Triton compiles it."""

import re
import time
from typing import NamedTuple

import samebits
from samebits.triton.binding import Bound
from samebits.v1 import launch_pb2


class Compiled(NamedTuple):
    """A kernel as compiled, or why it is not."""

    ptx: str = ""
    entry: str = ""
    block: int = 0
    shared: int = 0
    error: str = ""
    seconds: float = 0.0  # one compiler's time
    finished: bool = False  # whether Triton's cache holds the machine code
    same_as: str = ""  # where another configuration makes this text: the name that both have for it
    lowered: str = ""  # that name
    draft: bool = False  # not the text that will run: see drafts.py


def compile_one(bound: Bound) -> Compiled:
    """All stages; the result is in Triton's cache."""
    import triton

    begin = time.perf_counter()
    try:
        compiled = triton.compile(bound.source, target=bound.target, options=bound.options)
    except Exception as error:  # whatever Triton or ptxas raises: the configuration does not compile
        return Compiled(error=_in_words(error), seconds=time.perf_counter() - begin)
    if "ptx" not in compiled.asm:
        return Compiled(error=f"no PTX for the target {bound.target.backend}")
    metadata = compiled.metadata
    return compiled_from(bound, compiled.asm["ptx"], metadata.name, metadata.num_warps, metadata.shared)._replace(
        seconds=time.perf_counter() - begin, finished=True)


def _in_words(error: Exception) -> str:
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}".strip()[:300]


def compiled_from(bound: Bound, ptx: str, entry: str, warps: int, shared: int) -> Compiled:
    """A kernel whose text and metadata are known."""
    required = re.search(r"\.reqntid\s+(\d+)", ptx)
    return Compiled(ptx, entry, int(required.group(1)) if required else warps * bound.target.warp_size, shared)


def kernel_launch(bound: Bound, compiled: Compiled) -> launch_pb2.KernelLaunch:
    """The launch as the checker takes it: Triton ends the parameters with pointers to scratch memory of its own."""
    head = re.search(r"\.entry\s+" + re.escape(compiled.entry) + r"\s*\((.*?)\)\s*(?:\.|\{)", compiled.ptx, re.S)
    declared = len(re.findall(r"\.param\b", head.group(1))) if head else len(bound.kernel_args)
    own = max(0, declared - len(bound.kernel_args))
    args = [*bound.kernel_args, *(samebits.scratch() for _ in range(min(own, 2)))]
    return samebits.launch(text=compiled.ptx, entry=compiled.entry, block=(compiled.block,), grid=bound.grid,
                           shared_bytes=compiled.shared, args=args)
