"""Decides which configurations of a batch return the reference's bits."""

import os
import time
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import samebits
from samebits.triton.batch import Batch, Reference, Texts
from samebits.triton.binding import Bound
from samebits.triton.cache import SignatureCache, default_folder
from samebits.triton.compiling import Compilers, KeyAhead
from samebits.triton.report import Report, Row

_DRAFT = "\ndraft"  # ends the keys of drafts


class Decider:
    """Asks for signatures and keeps what has the reference's. Not thread-safe.

    reference: as keep_equivalent's. client: who is asked, a samebits.Client or Local; default: $SAMEBITS_SERVER, and this
    process where that does not answer or is not set. workers: compilers at once, default one a core. cache: a folder,
    None for none; default $SAMEBITS_CACHE, else ~/.cache/samebits. ignore_signed_zero, strict_contraction: as the
    checker's.
    """

    def __init__(self, reference: Reference, *, client: Optional[samebits.Asked] = None, workers: Optional[int] = None,
                 cache: Any = "default", ignore_signed_zero: bool = False, strict_contraction: bool = False):
        self._reference, self._client = reference, client
        self._workers = workers or len(os.sched_getaffinity(0))
        self._cache_folder = default_folder() if cache == "default" else cache
        self._options = {"ignore_signed_zero": ignore_signed_zero, "strict_contraction": strict_contraction}
        self.reports: List[Report] = []

    def report(self) -> Report:
        """Of the last decision."""
        if not self.reports:
            raise LookupError("nothing has been pruned yet")
        return self.reports[-1]

    def decide(self, batch: Batch, kernel: str, begin: float,
               make_compilers: Optional[Callable[[Sequence[Bound], List[int]], Compilers]] = None,
               key: Optional[KeyAhead] = None) -> List[Row]:
        """A row for each configuration of the batch, which is bound since `begin`, and a report. `make_compilers` gives the
        compilers of the launches whose signatures are not known, with their indices."""
        bound_at = time.perf_counter()
        cache, version = self._cache()
        cached = self._recall(batch, cache)
        order = [i for i in batch.bound if i not in batch.signatures or i in batch.drafts]
        checked_by, compiled_at, signed_at, lacking = "all known", bound_at, bound_at, self._lacking(batch)
        if lacking:
            exact = [position for position, i in enumerate(order) if i == batch.reference]
            bounds = [batch.bound[i] for i in order]
            with make_compilers(bounds, order) if make_compilers else Compilers(
                    bounds, self._workers, exact=exact, key=key) as compilers:
                while lacking:
                    checked_by, compiled_at = self._sign(batch, compilers, order, lacking)
                    self._remember(batch, cache, version, lacking)
                    lacking = self._lacking(batch)
                signed_at = time.perf_counter()
                rows = batch.rows(batch.wanted(self._reference)[0])
                compilers.finish([position for position, i in enumerate(order) if rows[i].kept])
                compilers.finished()
        wanted, shown = batch.wanted(self._reference)
        rows, end = batch.rows(wanted), time.perf_counter()
        seconds = {"bind": bound_at - begin, "compile": compiled_at - bound_at, "check": signed_at - compiled_at,
                   "assemble": end - signed_at, "total": end - begin}
        self.reports.append(Report(kernel, shown, tuple(rows), checked_by, cached, seconds))
        return rows

    def _cache(self) -> Tuple[SignatureCache, Optional[int]]:
        """Of signatures, and their version."""
        version = _signature_version()
        return SignatureCache(self._cache_folder if version else None, {"version": version, **self._options}), version

    def _recall(self, batch: Batch, cache: SignatureCache) -> int:
        """How many signatures, of kernels or else of their drafts, were known."""
        for i, bound in batch.bound.items():
            known = cache.get(bound.key)
            draft = None if known else cache.get(bound.key + _DRAFT)
            if known or draft:
                batch.signatures[i] = known or draft
            if draft:
                batch.drafts.add(i)
        return len(batch.signatures)

    def _remember(self, batch: Batch, cache: SignatureCache, version: Optional[int], indices: Sequence[int]) -> None:
        for i in indices:
            if i in batch.signatures and batch.signatures[i].version == version:
                cache.put(batch.bound[i].key + _DRAFT * (i in batch.drafts), batch.signatures[i])

    def _lacking(self, batch: Batch) -> List[int]:
        """What is to be compiled and signed next: all without a signature, then drafts that decide nothing."""
        without = [i for i in batch.bound if i not in batch.signatures and i not in batch.failures]
        return without or batch.undecided_drafts(batch.wanted(self._reference)[0])

    def _sign(self, batch: Batch, compilers: Compilers, order: List[int], lacking: List[int]) -> Tuple[str, float]:
        """Signatures of these of what `compilers` compile, which is numbered by `order`: who gave them, and when all was
        compiled. What was a draft is none any more."""
        position = {index: i for i, index in enumerate(order)}
        drafts = batch.drafts.intersection(lacking)
        for index in drafts:
            del batch.signatures[index]
        batch.drafts -= drafts
        texts = Texts(batch, compilers.texts([position[i] for i in lacking], exact=bool(drafts)), order)
        partition, checked_by = self._ask(texts, self._finish_early(batch, texts, compilers, position))
        for index, item_id in texts.item_of.items():
            signature = partition.signatures.get(item_id) if partition else None
            if signature is None:
                batch.fail(index, partition.errors.get(item_id, "no answer") if partition else checked_by)
                batch.drafts.discard(index)
            else:
                batch.signatures[index] = signature
        return checked_by, texts.compiled_at

    def _finish_early(self, batch: Batch, texts: Texts, compilers: Compilers, position: Dict[int, int]) -> samebits.ProgressFn:
        """Has the machine code made of what is equal to the reference as soon as both are known."""
        digests: Dict[str, str] = {}

        def wanted() -> str:
            if batch.reference is None:
                return "" if self._reference == "largest" else self._reference
            known = batch.signatures.get(batch.reference)
            return known.digest if known else digests.get(texts.item_of.get(batch.reference, ""), "")

        def told(progress: samebits.Progress) -> None:
            digests[progress.item_id] = progress.signature.digest if progress.signature else ""
            digest = wanted()
            if digest:
                compilers.finish([position[i] for i, item_id in list(texts.item_of.items()) if digests.get(item_id) == digest])

        return told

    def _ask(self, items: Texts, on_result: samebits.ProgressFn) -> Tuple[Optional[samebits.Partition], str]:
        """One call; in this process where the server is away. (None, why) where nobody answers."""
        failures = []
        for name, make in self._answerers():
            try:
                return make().partition(iter(items), on_result=on_result, **self._options), name
            except samebits.SamebitsError as error:
                failures.append(f"{name}: {error.message}")
                if not isinstance(error, (samebits.UnavailableError, samebits.NativeLibraryError, samebits.DeadlineError)):
                    break
        for _ in items:  # so that what does not compile is known
            pass
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


def _signature_version() -> Optional[int]:
    """Of the local checker; None where there is none, and then nothing is cached."""
    try:
        return samebits.local.signature_version()
    except samebits.NativeLibraryError:
        return None
