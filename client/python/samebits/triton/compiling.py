"""Compiles many configurations at once, in child processes where the system can fork.

A signature needs a configuration's PTX, not its machine code, and configurations that differ in what no later stage of
the compiler looks at reach the same Triton GPU IR. So children stop at the PTX, make it once for each such IR, and
only what is kept goes through the assembler, into Triton's own cache, where the autotuner finds it.
"""

import concurrent.futures
import contextlib
import math
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from samebits.triton import child
from samebits.triton.binding import TESTED, Bound
from samebits.triton.compiled import Compiled, compile_one

_STALL_SECONDS = 60.0  # without one compiled kernel: then threads take over

class KeyAhead:
    """Triton's digest of itself, which every process needs that compiles, on its way from a child process: it takes half a
    second, once, in which this process has other things to do. Not thread-safe."""

    _known: Optional[str] = None

    def __init__(self) -> None:
        self._process: Optional[Any] = None
        if self._known is None and _may_fork() and not _has_key():
            self._answer, there = multiprocessing.Pipe(duplex=False)
            self._process = child.apart(_send_key, there)
            there.close()

    def get(self) -> Optional[str]:
        """None where this process knows it, or it could not be had: then each finds it out for itself."""
        if self._process is not None:
            with contextlib.suppress(EOFError, OSError):
                if self._answer.poll(_STALL_SECONDS):
                    KeyAhead._known = self._answer.recv()
                    self._process.join()
            self._process = None
        return self._known


def _may_fork() -> bool:
    """Not beside a gRPC whose handlers of fork may never end: it was imported before samebits, or the user wants them."""
    handled = "grpc" in sys.modules and os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower() not in ("0", "false", "no", "f", "n")
    return not handled and "fork" in multiprocessing.get_all_start_methods()


def _has_key() -> bool:
    """Also where this Triton has no such thing."""
    try:
        from triton.runtime.cache import triton_key

        return triton_key.cache_info().currsize > 0
    except (ImportError, AttributeError):
        return True


def _send_key(there: Any) -> None:
    from triton.runtime.cache import triton_key

    with contextlib.suppress(OSError):  # nobody asked
        there.send(triton_key())


def compile_all(bounds: Sequence[Bound], workers: int) -> List[Compiled]:
    """All stages of all, one result for each, in order."""
    with Compilers(bounds, workers, whole=True) as compilers:
        results = dict(compilers.texts())
    return [results[i] for i in range(len(bounds))]


class Compilers:
    """Child processes that compile `bounds`. Use in a `with` statement. One thread at a time, but finish() may be called
    while another takes texts().

    whole: all stages at once, each configuration by itself. exact: of which a draft will not do; they come first.
    """

    def __init__(self, bounds: Sequence[Bound], workers: int, *, whole: bool = False, exact: Sequence[int] = (),
                 key: Optional[KeyAhead] = None):
        self._bounds, self._workers = bounds, min(workers, len(bounds))
        self._whole = whole or not _can_stop(bounds)
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="samebits-"))
        self._pool: Optional[Any] = None
        self._done: Dict[int, Compiled] = {}
        self._exact, self._key = set(exact), key
        self._assembling: Dict[int, Any] = {}

    def __enter__(self) -> "Compilers":
        if self._workers > 1 and _may_fork():
            with contextlib.suppress(OSError):
                key = self._key.get() if self._key else None
                self._pool = child.forked(child.Child(self._bounds, self._folder, self._whole, key), self._workers)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()

    def texts(self, indices: Optional[Sequence[int]] = None, *, exact: bool = False) -> Iterator[Tuple[int, Compiled]]:
        """Index and result of each, default of all, as they come; `same_as` refers to a result that comes before or after.
        exact: no drafts."""
        order = self._ordered(range(len(self._bounds)) if indices is None else indices)
        if exact:
            self._exact.update(order)
        for index, compiled in self._lowered(order):
            self._done[index] = compiled
            yield index, compiled
        made = {compiled.lowered for compiled in self._done.values() if compiled.lowered and not compiled.same_as}
        left = [i for i in order if i not in self._done or self._done[i].same_as and self._done[i].same_as not in made
                or i in self._exact and self._done[i].draft]
        for index, compiled in self._threads(left):
            self._done[index] = compiled
            yield index, compiled

    def _ordered(self, indices: Iterable[int]) -> List[int]:
        """Longest first, so that no core is left with a long compilation when the others are done."""
        return sorted(indices, key=lambda i: (i not in self._exact, -_weight(self._bounds[i])))

    def finish(self, indices: Iterable[int]) -> None:
        """Begins to make the machine code of these, which texts() gave, in Triton's cache; once each."""
        pool = self._pool
        for i in indices:
            compiled = self._done.get(i)
            if pool is not None and compiled is not None and compiled.lowered and not compiled.draft and i not in self._assembling:
                with contextlib.suppress(ValueError):  # stopped meanwhile
                    self._assembling[i] = pool.apply_async(child.assemble, (i,))

    def finished(self) -> None:
        """Waits until all that finish() was told is made, as far as it can be."""
        for answer in self._assembling.values():
            if self._pool is None:
                return
            try:
                answer.get(timeout=_STALL_SECONDS)
            except multiprocessing.TimeoutError:
                self._stop()

    def _lowered(self, order: Sequence[int]) -> Iterator[Tuple[int, Compiled]]:
        """What children return, until they are done or stall."""
        pool = self._pool
        if pool is None or not order:
            return
        answers = pool.imap_unordered(child.lower, [(i, i in self._exact) for i in order])
        try:
            for _ in order:
                yield answers.next(timeout=_STALL_SECONDS)
        except multiprocessing.TimeoutError:
            self._stop()

    def _threads(self, order: Sequence[int]) -> Iterator[Tuple[int, Compiled]]:
        if not order:
            return
        with concurrent.futures.ThreadPoolExecutor(max(1, self._workers)) as pool:
            yield from zip(order, pool.map(compile_one, [self._bounds[i] for i in order]))


def _weight(bound: Bound) -> float:
    """Grows with the time that the compiler takes: elements of a tile for each warp."""
    constants = [value for value in bound.source.constants.values() if isinstance(value, int) and value > 1]
    return math.prod(constants) / bound.options.get("num_warps", 1)


def _can_stop(bounds: Sequence[Bound]) -> bool:
    """Whether this Triton's stages are known, and nothing of the user's takes part in them."""
    import triton
    from triton import knobs

    compilation = knobs.compilation
    changed = [getattr(compilation, name, None) for name in (
        "override", "use_ir_loc", "dump_ir", "store_binary_only", "always_compile", "instrumentation_mode", "listener")]
    hook = getattr(knobs.runtime, "add_stages_inspection_hook", None)
    overridden = any(bound.options.get("ir_override") for bound in bounds)
    return triton.__version__ in TESTED and not any(changed) and hook is None and not overridden
