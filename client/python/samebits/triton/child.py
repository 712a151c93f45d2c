"""What runs in the child processes of Compilers: one configuration at a time, stage by stage."""

import contextlib
import gc
import hashlib
import multiprocessing
import os
import pathlib
import pickle
import time
import warnings
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

from samebits.triton.binding import Bound
from samebits.triton.compiled import Compiled, compile_one, compiled_from
from samebits.triton.drafts import Draft, bulky

_LOWERED = ("ttir", "ttgir", "llir", "ptx")  # stages before the assembler

_child: Optional["Child"] = None


def forked(child: "Child", workers: int) -> Any:
    """A pool of processes that inherit `child`."""
    with _unwarned():
        return multiprocessing.get_context("fork").Pool(workers, _become, (child,))


def apart(task: Any, *args: Any) -> Any:
    """A process that runs task(*args)."""
    with _unwarned():
        process = multiprocessing.get_context("fork").Process(target=task, args=args, daemon=True)
        process.start()
        return process


@contextlib.contextmanager
def _unwarned() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # children only compile, and touch no other thread's state
        yield


def _become(child: "Child") -> None:
    global _child
    _child = child
    child.begin()


def lower(task: Tuple[int, bool]) -> Tuple[int, Compiled]:
    index, exact = task
    return index, _child.lower(index, exact)


def assemble(index: int) -> bool:
    return _child.assemble(index)


class _Stopped(BaseException):
    """Ends a compilation on purpose, with what it came to."""

    def __init__(self, compiled: Compiled):
        super().__init__()
        self.compiled = compiled


class _NoDraft(BaseException):
    """Ends a compilation whose draft cannot be made."""


class Child:
    """One process's compiler. `folder` is shared: a file for each Triton GPU IR, claimed by who creates it, and one for each
    configuration. key: Triton's digest of itself, where it is known."""

    def __init__(self, bounds: Sequence[Bound], folder: pathlib.Path, whole: bool, key: Optional[str] = None):
        self._bounds, self._folder, self._whole, self._key = bounds, folder, whole, key

    def begin(self) -> None:
        """In a process of its own."""
        gc.freeze()  # what is inherited is never looked through, so that its pages stay shared
        gc.set_threshold(50_000)
        if self._key is not None:
            from triton.runtime import cache

            cache.triton_key = lambda: self._key

    def lower(self, index: int, exact: bool) -> Compiled:
        """To PTX. exact: no draft."""
        bound, begin = self._bounds[index], time.perf_counter()
        if self._whole:
            return compile_one(bound)
        try:
            with Stages(lambda stages, options: self._stop_at_ptx(stages, options, index, exact)):
                return compile_one(bound)
        except _NoDraft:
            return self.lower(index, True)
        except _Stopped as stopped:
            return stopped.compiled._replace(seconds=time.perf_counter() - begin)

    def _stop_at_ptx(self, stages: Dict[str, Any], options: Any, index: int, exact: bool) -> None:
        if "cubin" not in stages:
            return
        bound = self._bounds[index]
        texts: Dict[str, str] = {}
        before: Dict[str, Any] = {}
        name, draft = "", False

        def recorded(stage, make):
            def run(module, metadata):
                nonlocal name, draft
                if stage == "ttir":
                    texts["source"] = str(module)
                if stage == "llir":
                    before.update(metadata)
                    (self._folder / f"{index}.own").write_bytes(pickle.dumps((texts, before)))
                    draft = not exact and bulky(texts["ttgir"], options)
                    name = _lowered_name(texts["ttgir"], options) + (".draft" if draft else "")
                    if not self._claim(name):
                        raise _Stopped(Compiled(same_as=name, lowered=name, draft=draft))
                made = self._drafted(make, module, metadata, options) if draft and stage == "llir" else make(module, metadata)
                texts[stage] = str(made)
                return made
            return run

        def stop(ptx, metadata):
            added = {k: v for k, v in metadata.items() if k not in before or before[k] is not v}
            (self._folder / name).write_bytes(pickle.dumps(({k: texts[k] for k in ("llir", "ptx")}, added)))
            made = compiled_from(bound, ptx, metadata["name"], metadata["num_warps"], metadata["shared"])
            raise _Stopped(made._replace(lowered=name, draft=draft))

        for stage in _LOWERED:
            stages[stage] = recorded(stage, stages[stage])
        stages["cubin"] = stop

    def _drafted(self, make: Any, module: Any, metadata: Dict[str, Any], options: Any) -> Any:
        try:
            with Draft(options.enable_fp_fusion):
                return make(module, metadata)
        except Exception as error:
            raise _NoDraft() from error

    def _claim(self, name: str) -> bool:
        """Whether this process is the first that comes to this IR."""
        try:
            os.close(os.open(self._folder / f"{name}.claimed", os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False

    def assemble(self, index: int) -> bool:
        """The last stage alone, from the texts of lower()."""
        texts, own = pickle.loads((self._folder / f"{index}.own").read_bytes())
        bound = self._bounds[index]

        def resume(stages, options):
            shared, added = pickle.loads((self._folder / _lowered_name(texts["ttgir"], options)).read_bytes())
            texts.update(shared)

            def stored(stage):
                def run(module, metadata):
                    metadata.update({"ttgir": own, "llir": added}.get(stage, {}))
                    return texts[stage]
                return run

            for stage in _LOWERED:
                stages[stage] = stored(stage)

        bound.source.make_ir = lambda *_, **__: texts["source"]
        try:
            with Stages(resume):
                return compile_one(bound).finished
        finally:
            del bound.source.make_ir


def _lowered_name(ttgir: str, options: Any) -> str:
    """Of what the stages after the Triton GPU IR depend on: its text, and all options but the number of stages, which
    those of the versions in TESTED do not read."""
    read = sorted((k, str(v)) for k, v in options.__dict__.items() if k != "num_stages")
    return hashlib.sha256(repr((ttgir, read)).encode()).hexdigest()


class Stages:
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
