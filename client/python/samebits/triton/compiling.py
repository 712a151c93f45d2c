"""Compiles many configurations at once, in child processes where the system can fork.

A signature needs a configuration's PTX, not its machine code, and configurations that differ in what no later stage of
the compiler looks at reach the same Triton GPU IR. So children stop at the PTX, make it once for each such IR, and
only what is kept goes through the assembler, into Triton's own cache, where the autotuner finds it.
"""

import concurrent.futures
import hashlib
import math
import multiprocessing
import os
import pathlib
import pickle
import re
import shutil
import tempfile
import time
import warnings
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import samebits
from samebits.triton.binding import TESTED, Bound
from samebits.v1 import launch_pb2

_STALL_SECONDS = 60.0  # without one compiled kernel: then threads take over
_LOWERED = ("ttir", "ttgir", "llir", "ptx")  # stages before the assembler


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


def compile_all(bounds: Sequence[Bound], workers: int) -> List[Compiled]:
    """All stages of all, one result for each, in order."""
    with Compilers(bounds, workers, whole=True) as compilers:
        results = dict(compilers.texts())
    return [results[i] for i in range(len(bounds))]


class Compilers:
    """Child processes that compile `bounds`. Use in a `with` statement; not thread-safe.

    whole: all stages at once, each configuration by itself.
    """

    def __init__(self, bounds: Sequence[Bound], workers: int, *, whole: bool = False):
        self._bounds, self._workers = bounds, min(workers, len(bounds))
        self._whole = whole or not _can_stop(bounds)
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="samebits-"))
        self._pool: Optional[Any] = None
        self._done: Dict[int, Compiled] = {}

    def __enter__(self) -> "Compilers":
        if self._workers > 1 and "fork" in multiprocessing.get_all_start_methods():
            try:
                self._pool = _forked(_Child(self._bounds, self._folder, self._whole), self._workers)
            except OSError:
                pass
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _stop(self) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool = None

    def texts(self) -> Iterator[Tuple[int, Compiled]]:
        """Index and result of each, as they come; `same_as` refers to a result that comes before or after."""
        order = _longest_first(self._bounds)
        for index, compiled in self._children(_lower, order):
            self._done[index] = compiled
            yield index, compiled
        made = {compiled.lowered for compiled in self._done.values() if compiled.lowered and not compiled.same_as}
        left = [i for i in order if i not in self._done or self._done[i].same_as and self._done[i].same_as not in made]
        for index, compiled in self._threads(left):
            self._done[index] = compiled
            yield index, compiled

    def finish(self, indices: Iterable[int]) -> None:
        """Has the machine code of these in Triton's cache, as far as it can be made. After texts() is exhausted."""
        left = [i for i in indices if self._done[i].lowered]
        for _ in self._children(_assemble, left):
            pass

    def _children(self, task: Any, order: Sequence[int]) -> Iterator[Tuple[int, Any]]:
        """What children return, until they are done or stall."""
        if self._pool is None or not order:
            return
        answers = self._pool.imap_unordered(task, order)
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


def _longest_first(bounds: Sequence[Bound]) -> List[int]:
    """So that no core is left with a long compilation when the others are done."""
    return sorted(range(len(bounds)), key=lambda i: -_weight(bounds[i]))


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


# In the children.

_child: Optional["_Child"] = None


def _become(child: "_Child") -> None:
    global _child
    _child = child


def _forked(child: "_Child", workers: int) -> Any:
    """A pool of processes that inherit `child`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # children only compile, and touch no other thread's state
        return multiprocessing.get_context("fork").Pool(workers, _become, (child,))


def _lower(index: int) -> Tuple[int, Compiled]:
    return index, _child.lower(index)


def _assemble(index: int) -> Tuple[int, bool]:
    return index, _child.assemble(index)


class _Stopped(BaseException):
    """Ends a compilation on purpose, with what it came to."""

    def __init__(self, compiled: Compiled):
        super().__init__()
        self.compiled = compiled


class _Child:
    """One process's compiler. `folder` is shared: a file for each Triton GPU IR, claimed by who creates it."""

    def __init__(self, bounds: Sequence[Bound], folder: pathlib.Path, whole: bool):
        self._bounds, self._folder, self._whole = bounds, folder, whole

    def lower(self, index: int) -> Compiled:
        bound, begin = self._bounds[index], time.perf_counter()
        if self._whole:
            return compile_one(bound)
        try:
            with _Stages(lambda stages, options: self._stop_at_ptx(stages, options, bound)):
                return compile_one(bound)
        except _Stopped as stopped:
            return stopped.compiled._replace(seconds=time.perf_counter() - begin)

    def _stop_at_ptx(self, stages: Dict[str, Any], options: Any, bound: Bound) -> None:
        if "cubin" not in stages:
            return
        texts: Dict[str, str] = {}
        before: Dict[str, Any] = {}
        name = ""

        def recorded(stage, make):
            def run(module, metadata):
                nonlocal name
                if stage == "llir":
                    before.update(metadata)
                    name = _lowered_name(texts["ttgir"], options)
                    if not self._claim(name):
                        raise _Stopped(Compiled(same_as=name, lowered=name))
                made = make(module, metadata)
                texts[stage] = str(made)
                return made
            return run

        def stop(ptx, metadata):
            added = {k: v for k, v in metadata.items() if k not in before or before[k] is not v}
            (self._folder / name).write_bytes(pickle.dumps((texts, added)))
            raise _Stopped(compiled_from(bound, ptx, metadata["name"], metadata["num_warps"], metadata["shared"])._replace(lowered=name))

        for stage in _LOWERED:
            stages[stage] = recorded(stage, stages[stage])
        stages["cubin"] = stop

    def _claim(self, name: str) -> bool:
        """Whether this process is the first that comes to this IR."""
        try:
            os.close(os.open(self._folder / f"{name}.claimed", os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False

    def assemble(self, index: int) -> bool:
        """The last stage alone, from the texts of lower()."""
        def resume(stages, options):
            texts: Dict[str, str] = {}

            def stored(stage, make):
                def run(module, metadata):
                    if stage in ("ttir", "ttgir"):
                        made = make(module, metadata)
                        if stage == "ttgir":
                            found, added = pickle.loads((self._folder / _lowered_name(str(made), options)).read_bytes())
                            texts.update(found)
                            metadata.update(added)
                        return made
                    return texts[stage]
                return run

            for stage in _LOWERED:
                stages[stage] = stored(stage, stages[stage])

        with _Stages(resume):
            return compile_one(self._bounds[index]).finished


def _lowered_name(ttgir: str, options: Any) -> str:
    """Of what the stages after the Triton GPU IR depend on: its text, and all options but the number of stages, which
    those of the versions in TESTED do not read."""
    read = sorted((k, str(v)) for k, v in options.__dict__.items() if k != "num_stages")
    return hashlib.sha256(repr((ttgir, read)).encode()).hexdigest()


class _Stages:
    """While entered, `change(stages, options)` is applied to the stages of each compilation of this process."""

    def __init__(self, change: Any):
        from triton.backends.nvidia.compiler import CUDABackend

        self._backend, self._change, self._add = CUDABackend, change, CUDABackend.add_stages

    def __enter__(self) -> None:
        add, change = self._add, self._change

        def add_stages(backend, stages, options, *more, **named):
            add(backend, stages, options, *more, **named)
            change(stages, options)

        self._backend.add_stages = add_stages

    def __exit__(self, *_: object) -> None:
        self._backend.add_stages = self._add


def kernel_launch(bound: Bound, compiled: Compiled) -> launch_pb2.KernelLaunch:
    """The launch as the checker takes it: Triton ends the parameters with pointers to scratch memory of its own."""
    head = re.search(r"\.entry\s+" + re.escape(compiled.entry) + r"\s*\((.*?)\)\s*(?:\.|\{)", compiled.ptx, re.S)
    declared = len(re.findall(r"\.param\b", head.group(1))) if head else len(bound.kernel_args)
    own = max(0, declared - len(bound.kernel_args))
    args = [*bound.kernel_args, *(samebits.scratch() for _ in range(min(own, 2)))]
    return samebits.launch(text=compiled.ptx, entry=compiled.entry, block=(compiled.block,), grid=bound.grid,
                           shared_bytes=compiled.shared, args=args)
