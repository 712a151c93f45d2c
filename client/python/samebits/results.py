"""Answers, as plain values that show themselves in notebooks."""

import dataclasses
import enum
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from samebits import _display
from samebits.v1 import signature_pb2


class Verdict(enum.Enum):
    """Answer about two launches; docs/verdicts.md says what each means."""

    EQUIVALENT = "EQUIVALENT"
    DIFFERENT = "DIFFERENT"
    DISTINCT = "DISTINCT"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    UNKNOWN = "UNKNOWN"

    def __bool__(self) -> bool:
        """True for EQUIVALENT alone."""
        return self is Verdict.EQUIVALENT


class Status(enum.Enum):
    """Whether a launch has a signature."""

    OK = "OK"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    UNKNOWN = "UNKNOWN"


@dataclasses.dataclass(frozen=True)
class Place:
    """A place in a text; line 0 where none is known."""

    line: int = 0
    column: int = 0
    instruction: str = ""
    source: str = ""

    def __str__(self) -> str:
        parts = [f"line {self.line}"] if self.line else []
        return ", ".join(parts + [part for part in (self.source, self.instruction) if part])


@dataclasses.dataclass(frozen=True)
class Signature:
    """What one launch computes. Launches with equal digests return the same bits, within the assumptions."""

    status: Status
    digest: str = ""
    reason: str = ""
    reason_code: str = ""
    place: Place = Place()
    assumptions: Tuple[str, ...] = ()
    version: int = 0
    micros: float = 0.0
    steps: int = 0
    nodes: int = 0
    families: int = 0
    output_bytes: int = 0

    def _repr_html_(self) -> str:
        return _display.signature_html(self)


@dataclasses.dataclass(frozen=True)
class Side:
    """One side of the first output element at which two launches part."""

    tree: str
    node: str
    place: Place


@dataclasses.dataclass(frozen=True)
class Difference:
    summary: str
    buffer: str
    byte_offset: int
    a: Side
    b: Side


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The answer about two launches. True in a condition where they are equivalent."""

    verdict: Verdict
    reason: str
    a: Signature
    b: Signature
    difference: Optional[Difference] = None
    message: Any = dataclasses.field(default=None, repr=False, compare=False)  # samebits.v1.Comparison

    def __bool__(self) -> bool:
        return bool(self.verdict)

    def svg(self) -> str:
        """Both expressions as a drawing; needs the native library (samebits.native_library())."""
        from samebits import local

        return local.draw(self.message)

    def _repr_html_(self) -> str:
        return _display.comparison_html(self)


@dataclasses.dataclass(frozen=True)
class EquivalenceClass:
    """Launches that return the same bits, in the order given."""

    digest: str
    ids: Tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, item: object) -> bool:
        return item in self.ids


@dataclasses.dataclass(frozen=True)
class Partition:
    """A batch sorted into classes of equal bits. What is in no class is proved equal to nothing."""

    classes: Tuple[EquivalenceClass, ...]
    nondeterministic_ids: Tuple[str, ...]
    unknown_ids: Tuple[str, ...]
    error_ids: Tuple[str, ...]
    signatures: Dict[str, Signature] = dataclasses.field(repr=False)
    errors: Dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    reference_id: str = ""

    def class_of(self, item_id: str) -> Optional[EquivalenceClass]:
        """The class that holds the item; None where it is in none."""
        return next((c for c in self.classes if item_id in c), None)

    def verdict(self, item_id: str, reference_id: str = "") -> Verdict:
        """The item against the reference."""
        a, b = self.signatures.get(reference_id or self.reference_id), self.signatures.get(item_id)
        if a is None or b is None or Status.UNKNOWN in (a.status, b.status):
            return Verdict.UNKNOWN
        if Status.NONDETERMINISTIC in (a.status, b.status):
            return Verdict.NONDETERMINISTIC
        return Verdict.EQUIVALENT if a.digest == b.digest else Verdict.DISTINCT

    def svg(self) -> str:
        """The classes as a drawing."""
        return _display.partition_svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a batch is: `done` of `total` known so far."""

    item_id: str
    signature: Optional[Signature]
    error: str
    done: int
    total: int


ProgressFn = Callable[[Progress], None]


def place_from(message) -> Place:
    return Place(message.line, message.column, message.instruction, message.source)


def signature_from(message) -> Signature:
    times = message.times
    return Signature(
        status=Status(signature_pb2.KernelSignature.Status.Name(message.status)),
        digest=message.digest,
        reason=message.reason,
        reason_code=message.reason_code,
        place=place_from(message.place),
        assumptions=tuple(message.assumptions),
        version=message.signature_version,
        micros=times.parse_micros + times.execute_micros + times.map_micros,
        steps=message.steps,
        nodes=message.nodes,
        families=message.families,
        output_bytes=message.output_bytes,
    )


def _side_from(message) -> Side:
    return Side(message.tree, message.node, place_from(message.place))


def comparison_from(message) -> Comparison:
    difference = None
    if message.HasField("difference"):
        d = message.difference
        difference = Difference(d.summary, d.buffer, d.byte_offset, _side_from(d.a), _side_from(d.b))
    return Comparison(
        verdict=Verdict(signature_pb2.Comparison.Verdict.Name(message.verdict)),
        reason=message.reason,
        a=signature_from(message.a),
        b=signature_from(message.b),
        difference=difference,
        message=message,
    )


def build_partition(
    order: Sequence[str], signatures: Dict[str, Signature], errors: Dict[str, str], reference_id: str = ""
) -> Partition:
    """Sorts signed items into classes in the order of first appearance."""
    classes: Dict[str, List[str]] = {}
    others: Dict[Status, List[str]] = {Status.NONDETERMINISTIC: [], Status.UNKNOWN: []}
    for item_id in order:
        signature = signatures.get(item_id)
        if signature is None:
            continue
        if signature.status is Status.OK:
            classes.setdefault(signature.digest, []).append(item_id)
        else:
            others[signature.status].append(item_id)
    return Partition(
        classes=tuple(EquivalenceClass(digest, tuple(ids)) for digest, ids in classes.items()),
        nondeterministic_ids=tuple(others[Status.NONDETERMINISTIC]),
        unknown_ids=tuple(others[Status.UNKNOWN]),
        error_ids=tuple(item_id for item_id in order if item_id in errors),
        signatures=signatures,
        errors=errors,
        reference_id=reference_id,
    )
