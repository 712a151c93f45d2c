"""torch.compile with equal bits: Inductor's autotuning chooses among what is proved to return the reference's bits.

    import samebits.inductor

    with samebits.inductor.keep_equivalent() as hook:
        compiled = torch.compile(model, mode="max-autotune")
        compiled(x)            # kernels of a graph are tuned on its first call: make it inside
    print(hook.report())

What is filtered before it is timed: the Triton templates among the choices for a matrix product or convolution; the
configurations of generated kernels (reductions, pointwise, the user's own), with those that coordinate descent proposes.
Other things that Inductor may time are left as they are; the class KeepEquivalent names them.
"""

import time
import warnings
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import samebits
from samebits.results import Status, Verdict
from samebits.triton.batch import Batch
from samebits.triton.binding import Bound, Buffer, Unsupported, arguments, launch_key, source_parts
from samebits.triton.compiled import Compiled, compiled_from
from samebits.triton.deciding import Decider
from samebits.triton.report import Report

TESTED = ("2.11.0",)

__all__ = ["TESTED", "KeepEquivalent", "UntestedVersion", "keep_equivalent"]


class UntestedVersion(RuntimeError):
    """This PyTorch's Inductor is not one that the hook was tested on."""


def keep_equivalent(reference: str = "first", **options: Any) -> "KeepEquivalent":
    """A hook for `with`. Options are those of KeepEquivalent."""
    return KeepEquivalent(reference, **options)


class KeepEquivalent:
    """Filters what Inductor tunes while entered. One at a time in a process; not thread-safe.

    reference: what the bits are compared with, of each list of choices or configurations: "first": its first Triton kernel;
    "largest": its largest class; "extern": for products the vendor's kernel alone, which cannot be checked and so is never
    kept beside others, for generated kernels as "first". Where the reference is not decided it alone is kept, with a
    RuntimeWarning. untested: also with a PyTorch that is not in TESTED, whose internals may differ. Further options are
    those of samebits.triton.keep_equivalent: client, workers, cache, ignore_signed_zero, strict_contraction.

    Inductor's caches of compiled graphs and of best configurations are off meanwhile: what they hold was chosen without
    the filter. Left as they are: what Inductor fuses by its own rules; a template's epilogue and prologue, which are fused
    after the choice and are not part of the proof (torch._inductor.config.epilogue_fusion = False keeps them apart); C++
    kernels for CPUs. Multi-kernels (config.triton.multi_kernel) are refused.
    """

    def __init__(self, reference: str = "first", *, untested: bool = False, **options: Any):
        if reference not in ("first", "largest", "extern"):
            raise ValueError(f"reference {reference!r}: write \"first\", \"largest\" or \"extern\"")
        self._reference, self._untested = reference, untested
        self._decider = Decider("largest" if reference == "largest" else "first", **options)
        self._undo: List[Any] = []

    @property
    def reports(self) -> List[Report]:
        """One for each list of choices or configurations, in order."""
        return self._decider.reports

    def report(self) -> str:
        """All of them as text."""
        return "\n".join(map(str, self.reports)) or "nothing was tuned"

    def __enter__(self) -> "KeepEquivalent":
        import torch

        version = torch.__version__.split("+")[0]
        if version not in TESTED and not self._untested:
            raise UntestedVersion(f"samebits.inductor was tested with PyTorch {', '.join(TESTED)}, this is {version}: "
                                  "install one of those, or try keep_equivalent(untested=True)")
        if torch._inductor.config.triton.multi_kernel:
            raise ValueError("torch._inductor.config.triton.multi_kernel chooses among kernels of other bits: set it to 0")
        try:
            self._install()
        except Exception:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        while self._undo:
            self._undo.pop()()

    def _install(self) -> None:
        import torch._inductor.select_algorithm as select_algorithm
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        self._patch_config()
        selector = select_algorithm.get_algorithm_selector_cache()
        selector.add_preprocessing_fn(self._choices)
        self._undo.append(lambda: selector.preprocessing_fns.remove(self._choices))
        self._replace(CachingAutotuner, "autotune_to_one_config", self._tune)
        self._replace(CachingAutotuner, "coordinate_descent_tuning", self._descend)

    def _patch_config(self) -> None:
        from torch._inductor import config

        wanted = {"fx_graph_cache": False, "fx_graph_remote_cache": False, "autotune_local_cache": False,
                  "autotune_remote_cache": False, "bundled_autotune_remote_cache": False, "use_static_cuda_launcher": False}
        patch = config.patch({name: value for name, value in wanted.items() if hasattr(config, name)})
        patch.__enter__()
        self._undo.append(lambda: patch.__exit__(None, None, None))

    def _replace(self, owner: Any, name: str, method: Any) -> None:
        """`method(original, instance, ...)` takes the place of owner.name."""
        original = getattr(owner, name)

        def replaced(instance, *args, **keywords):
            return method(original, instance, *args, **keywords)

        setattr(owner, name, replaced)
        self._undo.append(lambda: setattr(owner, name, original))

    # Choices for a product or convolution.

    def _choices(self, choices: List[Any]) -> List[Any]:
        from torch._inductor.select_algorithm import ExternKernelCaller

        if len(choices) < 2 or any(choice.layout.device.type != "cuda" for choice in choices):
            return choices
        externs = [choice for choice in choices if isinstance(choice, ExternKernelCaller)]
        if self._reference == "extern" and externs:
            return externs[:1]
        begin = time.perf_counter()
        batch = _batch([_Named(choice, choice.description or choice.name) for choice in choices])
        for i, choice in enumerate(choices):
            try:
                batch.bound[i] = _bound_choice(choice)
            except Unsupported as error:
                batch.fail(i, f"unknown: {error}")
        if not batch.bound:
            return self._alone(batch, externs[:1] or choices[:1])
        batch.reference = None if self._reference == "largest" else min(batch.bound)
        rows = self._decider.decide(batch, choices[0].name, begin)
        kept = [row.config.value for row in rows if row.kept]
        return self._warned(kept) if kept else self._alone(batch, [choices[min(batch.bound)]])

    def _alone(self, batch: Batch, kept: List[Any]) -> List[Any]:
        warnings.warn(f"samebits: nothing is proved about the choices for {kept[0].name}; {_word(kept[0])} alone is kept",
                      RuntimeWarning, stacklevel=3)
        return kept

    def _warned(self, kept: List[Any]) -> List[Any]:
        report = self._decider.report()
        rows = [row for row in report.rows if row.kept]
        if len(rows) == 1 and rows[0].verdict is not Verdict.EQUIVALENT:
            warnings.warn(f"samebits: {report.kernel}: only the reference ({report.reference}) is kept: {rows[0].reason}",
                          RuntimeWarning, stacklevel=3)
        return kept

    # Configurations of generated kernels.

    def _tune(self, original: Any, autotuner: Any, *args: Any, **keywords: Any) -> None:
        begin = time.perf_counter()
        launchers = list(autotuner.launchers)
        results = {id(result.config): result for result in autotuner.compile_results}
        batch, texts = _batch([_Named(launcher, launcher.config) for launcher in launchers]), {}
        for i, launcher in enumerate(launchers):
            try:
                batch.bound[i], texts[i] = _bound_result(autotuner, results.get(id(launcher.config)), args, keywords)
            except Unsupported as error:
                batch.fail(i, f"unknown: {error}")
        batch.reference = None if self._reference == "largest" else 0
        rows = self._decider.decide(batch, autotuner.fn.__name__, begin, lambda _, order: _Ready([texts[i] for i in order]))
        autotuner.launchers = self._warned([row.config.value for row in rows if row.kept]) or launchers[:1]
        if len(autotuner.launchers) > 1:
            original(autotuner, *args, **keywords)

    def _descend(self, original: Any, autotuner: Any, launcher: Any, *args: Any, **keywords: Any) -> Any:
        """Coordinate descent whose candidates are timed only where they are proved equal to `launcher`."""
        guard = _Guard(self._decider, autotuner, launcher, args, keywords)
        autotuner._precompile_config, autotuner.bench = guard.precompile, guard.bench
        try:
            return original(autotuner, launcher, *args, **keywords)
        finally:
            del autotuner._precompile_config, autotuner.bench
            guard.tell()


def _word(choice: Any) -> str:
    return str(choice.description or choice.name)


def _batch(configs: List["_Named"]) -> Batch:
    return Batch(configs, None)


class _Named:
    """One of the choices, with the name that reports show."""

    pre_hook = None

    def __init__(self, value: Any, name: Any):
        self.value, self._name = value, name

    def __str__(self) -> str:
        return str(self._name)


class _Ready:
    """Takes the place of compilers where all is compiled."""

    def __init__(self, texts: Sequence[Compiled]):
        self._texts = texts

    def __enter__(self) -> "_Ready":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def texts(self, indices: Sequence[int], *, exact: bool) -> Iterator[Tuple[int, Compiled]]:
        return iter([(i, self._texts[i]) for i in indices])

    def finish(self, indices: Sequence[int]) -> None:
        pass

    def finished(self) -> None:
        pass


class _Guard:
    """What coordinate descent compiles and times, of one kernel. Only equal candidates have a time."""

    def __init__(self, decider: Decider, autotuner: Any, launcher: Any, args: Any, keywords: Any):
        self._decider, self._autotuner, self._args, self._keywords = decider, autotuner, args, keywords
        self._precompile, self._bench = autotuner._precompile_config, autotuner.bench
        self._results: Dict[int, Any] = {id(result.config): result for result in autotuner.compile_results}
        self._start = launcher
        self._begin, self._rows = time.perf_counter(), []
        self._wanted: Optional[str] = None  # not asked for yet

    def precompile(self, config: Any) -> Any:
        result = self._precompile(config)
        self._results[id(config)] = self._results[id(result.config)] = result
        return result

    def bench(self, launcher: Any, *args: Any, **keywords: Any) -> float:
        if self._wanted is None:
            self._wanted = self._digest(self._start)
        equal = launcher.config == self._start.config or (self._wanted and self._digest(launcher) == self._wanted)
        self._rows.append((launcher.config, equal))
        return self._bench(launcher, *args, **keywords) if equal else float("inf")

    def _digest(self, launcher: Any) -> str:
        """"" where nothing is proved."""
        result = self._results.get(id(launcher.config))
        try:
            bound, text = _bound_result(self._autotuner, result, self._args, self._keywords)
        except Unsupported:
            return ""
        batch = Batch([_Named(launcher, launcher.config)], 0)
        batch.bound[0] = bound
        self._decider.decide(batch, self._autotuner.fn.__name__, time.perf_counter(), lambda *_: _Ready([text]))
        signature = batch.signatures.get(0)
        self._decider.reports.pop()
        return signature.digest if signature is not None and signature.status is Status.OK else ""

    def tell(self) -> None:
        """One report for all that was proposed, if anything was."""
        if not self._rows:
            return
        from samebits.triton.report import Row

        rows = [Row(config, bool(equal), Verdict.EQUIVALENT if equal else Verdict.DISTINCT if self._wanted else Verdict.UNKNOWN,
                    "" if equal else "not proved equal", None) for config, equal in self._rows]
        seconds = {"total": time.perf_counter() - self._begin}
        self._decider.reports.append(Report(f"{self._autotuner.fn.__name__}, coordinate descent", str(self._start.config),
                                            tuple(rows), "each when it is proposed", 0, seconds))


# From Inductor's objects to launches.


def _bound_choice(choice: Any) -> Bound:
    """A template's kernel, not compiled yet, on buffers that do not overlap."""
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.select_algorithm import TritonTemplateCaller

    if not isinstance(choice, TritonTemplateCaller):
        raise Unsupported("no Triton kernel, so that its instructions are not known")
    if choice.mutated_inputs:
        raise Unsupported("a choice that writes to its inputs is not described to the checker")
    request = choice.bmreq
    autotuner = getattr(PyCodeCache.load_by_key_path(request.module_cache_key, request.module_path), request.kernel_name)
    if not autotuner.configs or len(autotuner.configs) != 1:
        raise Unsupported("a template with several configurations of its own")
    metas = request.input_tensor_meta if isinstance(request.input_tensor_meta, (list, tuple)) else [request.input_tensor_meta]
    values = [Buffer("") for _ in (*metas, "output")] + list(request.extra_args)
    return _bound(autotuner, autotuner.configs[0], values, {})


def _bound_result(autotuner: Any, result: Any, args: Sequence[Any], keywords: Dict[str, Any]) -> Tuple[Bound, Compiled]:
    """A kernel that is compiled, on the arguments that it is about to get."""
    text = getattr(getattr(result, "kernel", None), "asm", {}).get("ptx")
    if not text:
        raise Unsupported("no PTX is at hand")
    metadata = result.kernel.metadata
    bound = _bound(autotuner, result.config, list(args), keywords, [text, metadata.name, metadata.num_warps, metadata.shared])
    return bound, compiled_from(bound, text, metadata.name, metadata.num_warps, metadata.shared)


def _bound(autotuner: Any, config: Any, values: List[Any], keywords: Dict[str, Any], parts: Optional[List[Any]] = None) -> Bound:
    """`parts`: what the kernel depends on; default: its source and options."""
    from torch._inductor.runtime.triton_compat import ASTSource, GPUTarget, cc_warp_size

    if keywords:
        raise Unsupported(f"arguments by name ({', '.join(keywords)}) are not described to the checker")
    meta = autotuner._create_compile_meta(config)
    if meta["device_type"] != "cuda":
        raise Unsupported(f"no PTX for {meta['device_type']}")
    target = GPUTarget(meta["device_type"], meta["cc"], cc_warp_size(meta["cc"]))
    options = autotuner._create_compile_options(config, meta)
    source = ASTSource(autotuner.fn, meta["signature"], meta["constants"], meta["configs"][0])
    given, grid = autotuner._interpret_args_grid(tuple(values), config)
    names = [name for i, name in enumerate(autotuner.fn.arg_names) if i not in autotuner.fn.constexprs]
    if len(names) != len(given):
        raise Unsupported(f"{len(given)} arguments for {len(names)} parameters")
    signature = {name: kind for name, kind in meta["signature"].items() if kind != "constexpr" and name not in meta["constants"]}
    args = arguments(signature, dict(zip(names, given)))
    grid = (*map(int, grid), 1, 1)[:3]
    parts = source_parts(source, options) if parts is None else parts
    return Bound(source, options, target, grid, args, launch_key(parts, target, grid, args))
