"""Configurations on their way from a launch to a verdict."""

import threading
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from samebits.results import Signature, Status, Verdict
from samebits.triton.binding import Bound, Unsupported, bind
from samebits.triton.compiled import Compiled, kernel_launch
from samebits.triton.report import Row

Reference = Union[str, Dict[str, Any], Any]


class Batch:
    """Configurations on their way to a verdict, by index."""

    def __init__(self, configs: List[Any], reference: Optional[int]):
        self.configs, self.reference = configs, reference
        self.bound: Dict[int, Bound] = {}
        self.signatures: Dict[int, Signature] = {}
        self.drafts: Set[int] = set()  # whose signatures are those of drafts
        self.failures: Dict[int, Tuple[str, bool]] = {}
        self.texts: Dict[str, Compiled] = {}  # by what they are lowered from

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
            digests = [s.digest for _, s in sorted(self.signatures.items()) if s.status is Status.OK]
            return max(digests, key=digests.count, default=""), "the largest class"
        return reference, f"signature {reference}"

    def undecided_drafts(self, wanted: str) -> List[int]:
        """Drafts that do not show that the kernel's bits are others than those `wanted`."""
        return sorted(i for i in self.drafts if wanted and self.signatures[i].digest in (wanted, ""))

    def rows(self, wanted: str) -> List[Row]:
        return [self._row(i, wanted) for i in range(len(self.configs))]

    def _row(self, index: int, wanted: str) -> Row:
        config, is_reference = self.configs[index], index == self.reference
        if index in self.failures:
            reason, compiles = self.failures[index]
            return Row(config, is_reference and compiles, Verdict.UNKNOWN if compiles else None, reason, None)
        signature, draft = self.signatures[index], index in self.drafts
        if draft and signature.digest == wanted:
            return Row(config, False, Verdict.UNKNOWN, "unknown: only a draft of it was compared", signature)
        if signature.status is not Status.OK:
            return Row(config, is_reference, Verdict(signature.status.value), f"{signature.status.value.lower()}: {signature.reason}", signature)
        if not wanted:
            return Row(config, False, Verdict.UNKNOWN, "unknown: the reference has no signature", signature)
        if signature.digest != wanted:
            return Row(config, False, Verdict.DISTINCT, f"other bits: signature {signature.digest}{' of a draft' * draft}", signature)
        if self.reference is not None and config.pre_hook is not self.configs[self.reference].pre_hook:
            return Row(config, False, Verdict.UNKNOWN, "unknown: another pre_hook than the reference's", signature)
        return Row(config, True, Verdict.EQUIVALENT, "", signature)


class Texts:
    """The launches of a batch as items of a partition, each text once, as the compilers make them. Can be read again, also
    by another thread while the first still waits: what has come before comes first."""

    def __init__(self, batch: Batch, source: Iterator[Tuple[int, Compiled]], order: Sequence[int]):
        """`source` numbers by `order` what it compiles."""
        self._batch, self._order, self._source = batch, order, source
        self._lock = threading.Lock()
        self._items: List[Tuple[str, Any]] = []
        self._first: Dict[bytes, str] = {}
        self._later: List[Tuple[int, str]] = []
        self.item_of: Dict[int, str] = {}
        self.compiled_at = 0.0

    def __iter__(self):
        position = 0
        while True:
            with self._lock:
                while position == len(self._items):
                    if not self._take():
                        return
            yield self._items[position]
            position += 1

    def _take(self) -> bool:
        """Takes what the compilers have next; False after the last."""
        for position, compiled in self._source:
            index = self._order[position]
            (self._batch.drafts.add if compiled.draft else self._batch.drafts.discard)(index)
            if compiled.same_as:
                self._later.append((index, compiled.same_as))
            else:
                self._batch.texts[compiled.lowered] = compiled
                self._add(index, compiled)
            return True
        for index, name in self._later:
            if index not in self.item_of and index not in self._batch.failures:
                self._add(index, self._batch.texts[name])
        more, self._later = bool(self._later), []
        self.compiled_at = self.compiled_at or time.perf_counter()
        return more

    def _add(self, index: int, compiled: Compiled) -> None:
        if compiled.error:
            self._batch.fail(index, f"does not compile: {compiled.error}", compiles=False)
            return
        launch = kernel_launch(self._batch.bound[index], compiled)
        said = launch.SerializeToString(deterministic=True)
        if said not in self._first:
            self._first[said] = str(index)
            self._items.append((str(index), launch))
        self.item_of[index] = self._first[said]


def named_reference(reference: Reference, configs: Sequence[Any]) -> Optional[int]:
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
