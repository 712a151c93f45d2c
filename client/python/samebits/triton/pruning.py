"""keep_equivalent: of an autotuner's configurations those that return the reference's bits."""

import dataclasses
import html
import math
import os
import sys
import time
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import samebits
from samebits.results import Signature, Status, Verdict
from samebits.triton.binding import Bound, Unsupported, bind, unwrap
from samebits.triton.cache import SignatureCache, default_folder
from samebits.triton.compiling import compile_all, kernel_launch


class EquivalenceError(Exception):
    """No configuration can be kept: none is proved to return the reference's bits."""


@dataclasses.dataclass(frozen=True)
class Row:
    """What became of one configuration."""

    config: Any  # triton.Config
    kept: bool
    verdict: Optional[Verdict]  # against the reference; None where the configuration does not compile
    reason: str
    signature: Optional[Signature]


@dataclasses.dataclass(frozen=True)
class Report:
    """One pruning: every configuration with its fate, and where the time went."""

    kernel: str
    reference: str
    rows: Tuple[Row, ...]
    checked_by: str
    cached: int  # signatures that were known before
    seconds: Dict[str, float]

    @property
    def kept(self) -> Tuple[Any, ...]:
        return tuple(row.config for row in self.rows if row.kept)

    @property
    def dropped(self) -> Tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.kept)

    def __str__(self) -> str:
        lines = [f"{self.kernel}: {len(self.kept)} of {len(self.rows)} configurations kept, reference: {self.reference}; "
                 f"{self.checked_by}, {self.seconds['total']:.2f} s"]
        lines += [f"  dropped  {row.config}: {row.reason}" for row in self.dropped]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td style='text-align:left'>{'kept' if row.kept else '<b>dropped</b>'}</td>"
            f"<td style='text-align:left'>{html.escape(str(row.config))}</td>"
            f"<td style='text-align:left'>{html.escape(row.reason)}</td></tr>" for row in self.rows)
        return f"<p>{html.escape(str(self).splitlines()[0])}</p><table>{cells}</table>"


Reference = Union[str, Dict[str, Any], Any]


def keep_equivalent(reference: Reference = "first", **options: Any) -> "KeepEquivalent":
    """For triton.autotune(prune_configs_by={"early_config_prune": keep_equivalent(...)}).

    reference: "first": the first configuration; "largest": the largest class; a triton.Config, or a dict of the values
    that single it out; the 32 hexadecimal digits of a signature that was stored earlier for the same launch. Options are
    those of KeepEquivalent.
    """
    return KeepEquivalent(reference, **options)


class KeepEquivalent:
    """Callable as Triton calls an `early_config_prune`. Not thread-safe.

    A configuration is kept only where its signature is the reference's. Where the reference itself has none (or nothing
    answers), the reference alone is kept, with a RuntimeWarning; where there is no such configuration,
    EquivalenceError is raised.

    kernel: what is tuned; default: the autotuner that calls. client: who is asked, a samebits.Client or Local; default:
    $SAMEBITS_SERVER, and this process where that does not answer or is not set. target: a GPUTarget; default: the
    current device's. workers: compilers at once, default one a core. cache: a folder, None for none; default
    $SAMEBITS_CACHE, else ~/.cache/samebits. symbolic: for all sizes, so that one answer serves every shape; more stays
    unknown. ignore_signed_zero, strict_contraction: as the checker's.
    """

    def __init__(self, reference: Reference = "first", *, kernel: Any = None, client: Optional[samebits.Asked] = None,
                 target: Any = None, workers: Optional[int] = None, cache: Any = "default", symbolic: bool = False,
                 ignore_signed_zero: bool = False, strict_contraction: bool = False):
        self._reference, self._kernel, self._client, self._target = reference, kernel, client, target
        self._workers = workers or len(os.sched_getaffinity(0))
        self._cache_folder = default_folder() if cache == "default" else cache
        self._symbolic = symbolic
        self._options = {"ignore_signed_zero": ignore_signed_zero, "strict_contraction": strict_contraction}
        self.reports: List[Report] = []

    def report(self) -> Report:
        """Of the last pruning."""
        if not self.reports:
            raise LookupError("nothing has been pruned yet")
        return self.reports[-1]

    def __call__(self, configs: Sequence[Any], named_args: Dict[str, Any], **keywords: Any) -> List[Any]:
        begin = time.perf_counter()
        kernel = self._kernel or _calling_autotuner()
        target = self._target or _current_target()
        batch = _Batch(list(configs), _named_reference(self._reference, configs))
        batch.bind(kernel, target, named_args, keywords, self._symbolic)
        bound_at = time.perf_counter()
        checked_by, compiled_at, cached, work = self._sign(batch)
        signed_at = time.perf_counter()
        wanted, shown = batch.wanted(self._reference)
        rows = batch.rows(wanted)
        seconds = {"bind": bound_at - begin, "compile": compiled_at - bound_at, "check": signed_at - compiled_at,
                   "total": time.perf_counter() - begin, "compilers": work}
        self.reports.append(Report(unwrap(kernel)[0].__name__, shown, tuple(rows), checked_by, cached, seconds))
        return self._kept(rows, shown)

    def _kept(self, rows: List[Row], shown: str) -> List[Any]:
        kept = [row for row in rows if row.kept]
        if not kept:
            raise EquivalenceError(f"no configuration is proved to return the reference's bits\n{self.report()}")
        if len(kept) == 1 and kept[0].verdict is not Verdict.EQUIVALENT:
            warnings.warn(f"samebits: only the reference ({shown}) is kept: {kept[0].reason}", RuntimeWarning, stacklevel=4)
        return [row.config for row in kept]

    def _sign(self, batch: "_Batch") -> Tuple[str, float, int, float]:
        """Signatures of all that is bound: who gave them, when all was compiled, how many were known, and the compilers'
        time one after the other."""
        version = _signature_version()
        cache = SignatureCache(self._cache_folder if version else None, {"version": version, **self._options})
        known = {i: cache.get(bound.key) for i, bound in batch.bound.items()}
        known = {i: signature for i, signature in known.items() if signature is not None}
        batch.signatures.update(known)
        left = [i for i in batch.bound if i not in known]
        compiled = dict(zip(left, compile_all([batch.bound[i] for i in left], self._workers)))
        compiled_at = time.perf_counter()
        work = math.fsum(result.seconds for result in compiled.values())
        items = []
        for i, result in compiled.items():
            if result.error:
                batch.fail(i, f"does not compile: {result.error}", compiles=False)
            else:
                items.append((str(i), kernel_launch(batch.bound[i], result)))
        if not items:
            return "all known", compiled_at, len(known), work
        partition, checked_by = self._ask(items)
        for item_id, _ in items:
            signature = partition.signatures.get(item_id) if partition else None
            if signature is None:
                batch.fail(int(item_id), partition.errors.get(item_id, "no answer") if partition else checked_by)
                continue
            batch.signatures[int(item_id)] = signature
            if signature.version == version:
                cache.put(batch.bound[int(item_id)].key, signature)
        return checked_by, compiled_at, len(known), work

    def _ask(self, items: List[Any]) -> Tuple[Optional[samebits.Partition], str]:
        """One call; in this process where the server is away. (None, why) where nobody answers."""
        failures = []
        for name, make in self._answerers():
            try:
                return make().partition(items, **self._options), name
            except samebits.SamebitsError as error:
                failures.append(f"{name}: {error.message}")
                if not isinstance(error, (samebits.UnavailableError, samebits.NativeLibraryError, samebits.DeadlineError)):
                    break
        why = "no answer from " + "; ".join(failures)
        warnings.warn(f"samebits: {why}", RuntimeWarning, stacklevel=5)
        return None, why

    def _answerers(self):
        if self._client is not None:
            yield type(self._client).__name__.lower(), lambda: self._client
        elif os.environ.get("SAMEBITS_SERVER"):
            yield f"server {os.environ['SAMEBITS_SERVER']}", samebits.connect
        if not isinstance(self._client, samebits.Local):
            yield "local", samebits.Local


class _Batch:
    """Configurations on their way to a verdict, by index."""

    def __init__(self, configs: List[Any], reference: Optional[int]):
        self.configs, self.reference = configs, reference
        self.bound: Dict[int, Bound] = {}
        self.signatures: Dict[int, Signature] = {}
        self.failures: Dict[int, Tuple[str, bool]] = {}

    def fail(self, index: int, reason: str, compiles: bool = True) -> None:
        self.failures[index] = (reason, compiles)

    def bind(self, kernel: Any, target: Any, named_args: Dict[str, Any], keywords: Dict[str, Any], symbolic: bool) -> None:
        for i, config in enumerate(self.configs):
            try:
                self.bound[i] = bind(kernel, target, named_args, {**keywords, **config.all_kwargs()}, symbolic=symbolic)
            except Unsupported as error:
                self.fail(i, f"unknown: {error}")

    def wanted(self, reference: Reference) -> Tuple[str, str]:
        """The digest that is kept, "" where it is not known, and the reference in words."""
        if self.reference is not None:
            signature = self.signatures.get(self.reference)
            return signature.digest if signature else "", str(self.configs[self.reference])
        if reference == "largest":
            digests = [s.digest for s in self.signatures.values() if s.status is Status.OK]
            return max(digests, key=digests.count, default=""), "the largest class"
        return reference, f"signature {reference}"

    def rows(self, wanted: str) -> List[Row]:
        return [self._row(i, wanted) for i in range(len(self.configs))]

    def _row(self, index: int, wanted: str) -> Row:
        config, is_reference = self.configs[index], index == self.reference
        if index in self.failures:
            reason, compiles = self.failures[index]
            return Row(config, is_reference and compiles, Verdict.UNKNOWN if compiles else None, reason, None)
        signature = self.signatures[index]
        if signature.status is not Status.OK:
            return Row(config, is_reference, Verdict(signature.status.value), f"{signature.status.value.lower()}: {signature.reason}", signature)
        if not wanted:
            return Row(config, False, Verdict.UNKNOWN, "unknown: the reference has no signature", signature)
        if signature.digest != wanted:
            return Row(config, False, Verdict.DISTINCT, f"other bits: signature {signature.digest}", signature)
        if self.reference is not None and config.pre_hook is not self.configs[self.reference].pre_hook:
            return Row(config, False, Verdict.UNKNOWN, "unknown: another pre_hook than the reference's", signature)
        return Row(config, True, Verdict.EQUIVALENT, "", signature)


def _named_reference(reference: Reference, configs: Sequence[Any]) -> Optional[int]:
    """Index of the configuration that the reference names; None where it names none but a class or signature."""
    if isinstance(reference, str):
        if reference == "first":
            return 0
        if reference == "largest" or (len(reference) == 32 and not set(reference) - set("0123456789abcdef")):
            return None
        raise ValueError(f"reference {reference!r}: write \"first\", \"largest\", 32 hexadecimal digits, a Config or a dict")
    values = reference if isinstance(reference, dict) else reference.all_kwargs()
    found = [i for i, config in enumerate(configs) if values.items() <= config.all_kwargs().items()]
    if len(found) != 1:
        raise ValueError(f"{len(found)} configurations match the reference {values}; exactly one must")
    return found[0]


def _calling_autotuner() -> Any:
    """The autotuner that calls this pruner: Triton does not hand it over."""
    from triton.runtime.autotuner import Autotuner

    frame = sys._getframe(2)
    while frame is not None:
        candidate = frame.f_locals.get("self")
        if isinstance(candidate, Autotuner):
            return candidate
        frame = frame.f_back
    raise TypeError("called by no triton.autotune: name the kernel with keep_equivalent(kernel=...)")


def _current_target() -> Any:
    from triton.runtime import driver

    return driver.active.get_current_target()


def _signature_version() -> Optional[int]:
    """Of the local checker; None where there is none, and then nothing is cached."""
    try:
        return samebits.local.signature_version()
    except samebits.NativeLibraryError:
        return None
