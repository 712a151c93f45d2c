"""Compiles many configurations at once, in child processes where the system can fork."""

import concurrent.futures
import math
import multiprocessing
import re
import time
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import samebits
from samebits.triton.binding import Bound
from samebits.v1 import launch_pb2

_STALL_SECONDS = 60.0  # without one compiled kernel: then threads take over
_work: Sequence[Bound] = ()


class Compiled(NamedTuple):
    """A kernel as compiled, or why it is not."""

    ptx: str = ""
    entry: str = ""
    block: int = 0
    shared: int = 0
    error: str = ""
    seconds: float = 0.0  # one compiler's time


def compile_one(bound: Bound) -> Compiled:
    import triton

    begin = time.perf_counter()
    try:
        compiled = triton.compile(bound.source, target=bound.target, options=bound.options)
    except Exception as error:  # whatever Triton or ptxas raises: the configuration does not compile
        first = next((line for line in str(error).splitlines() if line.strip()), "")
        return Compiled(error=f"{type(error).__name__}: {first}".strip()[:300], seconds=time.perf_counter() - begin)
    if "ptx" not in compiled.asm:
        return Compiled(error=f"no PTX for the target {bound.target.backend}")
    ptx, metadata = compiled.asm["ptx"], compiled.metadata
    required = re.search(r"\.reqntid\s+(\d+)", ptx)
    block = int(required.group(1)) if required else metadata.num_warps * bound.target.warp_size
    return Compiled(ptx, metadata.name, block, metadata.shared, seconds=time.perf_counter() - begin)


def _compile_index(index: int):
    return index, compile_one(_work[index])


def compile_all(bounds: Sequence[Bound], workers: int) -> List[Compiled]:
    """One result for each, in order."""
    if workers <= 1 or len(bounds) <= 1:
        return [compile_one(bound) for bound in bounds]
    results: Dict[int, Compiled] = {}
    if "fork" in multiprocessing.get_all_start_methods():
        results = _in_processes(bounds, min(workers, len(bounds)))
    left = [i for i in range(len(bounds)) if i not in results]
    if left:
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            results.update(zip(left, pool.map(compile_one, [bounds[i] for i in left])))
    return [results[i] for i in range(len(bounds))]


def _weight(bound: Bound) -> float:
    """Grows with the time that the compiler takes: elements of a tile for each warp."""
    constants = [value for value in bound.source.constants.values() if isinstance(value, int) and value > 1]
    return math.prod(constants) / bound.options.get("num_warps", 1)


def _longest_first(bounds: Sequence[Bound]) -> List[int]:
    """So that no core is left with a long compilation when the others are done."""
    return sorted(range(len(bounds)), key=lambda i: -_weight(bounds[i]))


def _in_processes(bounds: Sequence[Bound], workers: int) -> Dict[int, Compiled]:
    """Results of children, which inherit the work; those that are missing when the children stall are left out."""
    global _work
    _work = bounds
    results: Dict[int, Compiled] = {}
    pool: Optional[Any] = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # children only compile, and touch no other thread's state
            pool = multiprocessing.get_context("fork").Pool(workers)
        answers = pool.imap_unordered(_compile_index, _longest_first(bounds))
        for _ in bounds:
            index, compiled = answers.next(timeout=_STALL_SECONDS)
            results[index] = compiled
    except (OSError, multiprocessing.TimeoutError):
        pass
    finally:
        _work = ()
        if pool is not None:
            pool.terminate()
    return results


def kernel_launch(bound: Bound, compiled: Compiled) -> launch_pb2.KernelLaunch:
    """The launch as the checker takes it: Triton ends the parameters with pointers to scratch memory of its own."""
    head = re.search(r"\.entry\s+" + re.escape(compiled.entry) + r"\s*\((.*?)\)\s*(?:\.|\{)", compiled.ptx, re.S)
    declared = len(re.findall(r"\.param\b", head.group(1))) if head else len(bound.kernel_args)
    own = max(0, declared - len(bound.kernel_args))
    args = [*bound.kernel_args, *(samebits.scratch() for _ in range(min(own, 2)))]
    return samebits.launch(text=compiled.ptx, entry=compiled.entry, block=(compiled.block,), grid=bound.grid,
                           shared_bytes=compiled.shared, args=args)
