"""What verifications say: launches that workers ran, their bytes, and whether these agree with the certificates."""

import dataclasses
import enum
from typing import Any, Dict, Iterator, List, Optional, Tuple

from samebits import _job_display
from samebits.errors import JobError, job_error_from_status
from samebits.results import Signature, signature_from
from samebits.v1 import fleet_pb2, verification_pb2


class Agreement(enum.Enum):
    """Hardware against certificates. CONSISTENT: every pair with one signature wrote the same bytes wherever both ran.
    NOT_TESTED: no launch with a signature ran."""

    CONSISTENT = "CONSISTENT"
    CONTRADICTED = "CONTRADICTED"
    NOT_TESTED = "NOT_TESTED"


class ContradictionKind(enum.Enum):
    """PAIR_DIFFERS: two launches with one signature wrote different bytes on one device. UNSTABLE: a launch whose
    signature says that its bits are fixed wrote different bytes in two runs."""

    PAIR_DIFFERS = "PAIR_DIFFERS"
    UNSTABLE = "UNSTABLE"


@dataclasses.dataclass(frozen=True)
class Device:
    """A device as its worker reports it; what a backend cannot tell is empty."""

    backend: str
    index: int
    name: str
    architecture: str
    driver_version: str
    uuid: str

    def __str__(self) -> str:
        words = [self.name or self.backend, self.architecture, self.driver_version and f"driver {self.driver_version}"]
        return ", ".join(word for word in words if word)


@dataclasses.dataclass(frozen=True)
class LaunchOutcome:
    """What one launch did on one device.

    error: why it has no bytes (refused, a fault, out of time or memory); None where it ran on every input. stable: all
    runs wrote the same bytes; None without bytes. digests: by distribution, SHA-256 (hex) of the compared buffers.
    """

    launch_id: str
    error: Optional[JobError]
    stable: Optional[bool]
    digests: Dict[str, str]


@dataclasses.dataclass(frozen=True)
class DeviceResult:
    """What one device did. error: why it has no outcomes. outcomes: by id of the launch, in their order."""

    target: str
    worker: str
    device: Device
    error: Optional[JobError]
    outcomes: Dict[str, LaunchOutcome]

    @property
    def label(self) -> str:
        """"cpu 0 of workers/a"; as asked for where no device took it."""
        return f"{self.device.backend} {self.device.index} of {self.worker}" if self.worker else self.target


@dataclasses.dataclass(frozen=True)
class ByteClass:
    """Launches that wrote the same bytes on every input, over all devices: pairs of an index into
    Verification.devices and the id of a launch."""

    members: Tuple[Tuple[int, str], ...]

    def launch_ids(self, device: int) -> Tuple[str, ...]:
        """Those on one device."""
        return tuple(launch_id for at, launch_id in self.members if at == device)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, member: object) -> bool:
        return member in self.members


@dataclasses.dataclass(frozen=True)
class Contradiction:
    """The hardware says otherwise than a certificate.

    b: "" of UNSTABLE. device: index into Verification.devices. distribution: the first on which it shows. reproducer:
    `reproducers/...`, for Client.reproducer; "" after the first 64 of a job. assumptions: of the certificates; where the
    checker is right the hardware refutes one of them.
    """

    kind: ContradictionKind
    a: str
    b: str
    device: int
    distribution: str
    reproducer: str
    assumptions: Tuple[str, ...]

    def __str__(self) -> str:
        what = f"{self.a} and {self.b} differ" if self.b else f"{self.a} does not repeat its bytes"
        kept = f", kept as {self.reproducer}" if self.reproducer else ""
        assuming = f"; certified assuming {'; '.join(self.assumptions)}" if self.assumptions else ""
        return f"{what} on {self.distribution}{kept}{assuming}"


@dataclasses.dataclass(frozen=True)
class Verification:
    """The answer to verify.

    signatures: the static verdict on each launch, by id. classes: launches that wrote the same bytes, over all devices;
    stable ones only. pairs: of launches on one device that were compared; certified_pairs: those with one signature.
    Equal bytes on some inputs prove nothing, different bytes prove a difference.
    """

    launch_ids: Tuple[str, ...]
    signatures: Dict[str, Signature] = dataclasses.field(repr=False)
    distributions: Tuple[str, ...]
    devices: Tuple[DeviceResult, ...] = dataclasses.field(repr=False)
    classes: Tuple[ByteClass, ...]
    agreement: Agreement
    contradictions: Tuple[Contradiction, ...]
    pairs: int
    certified_pairs: int
    message: Any = dataclasses.field(repr=False, compare=False)  # samebits.v1.VerifyKernelsResponse

    def class_of(self, launch_id: str, device: int = 0) -> Optional[ByteClass]:
        """The class of the launch's bytes; None where it has none: it did not run, or not stably."""
        return next((c for c in self.classes if (device, launch_id) in c), None)

    def outcomes(self) -> Iterator[Tuple[DeviceResult, LaunchOutcome]]:
        """Every launch on every device that took it."""
        return ((device, outcome) for device in self.devices for outcome in device.outcomes.values())

    @property
    def unstable(self) -> Tuple[Tuple[int, str], ...]:
        """Index of the device and id of each launch that did not repeat its bytes."""
        return tuple((at, outcome.launch_id) for at, device in enumerate(self.devices)
                     for outcome in device.outcomes.values() if outcome.stable is False)

    @property
    def errors(self) -> Tuple[str, ...]:
        """What did not run, and why."""
        failed: List[str] = [f"{device.target}: {device.error.message}" for device in self.devices if device.error]
        return tuple(failed + [f"{outcome.launch_id} on {device.label}: {outcome.error.message}"
                               for device, outcome in self.outcomes() if outcome.error])

    @property
    def same_bytes(self) -> Optional[bool]:
        """True where everything ran, repeated its bytes, and wrote one device's same bytes. False where something
        differs, did not repeat, or contradicts a certificate. None where nothing differs but something did not run."""
        several = any(sum(bool(c.launch_ids(at)) for c in self.classes) > 1 for at in range(len(self.devices)))
        if several or self.unstable or self.agreement is Agreement.CONTRADICTED:
            return False
        return None if self.errors or not self.devices else True

    def svg(self) -> str:
        """A square for each launch on each device, one colour for equal bytes."""
        return _job_display.verification_svg(self)

    def __str__(self) -> str:
        """A few lines for people."""
        return _job_display.verification_text(self)

    def _repr_html_(self) -> str:
        return _job_display.verification_html(self)


def device_from(message: fleet_pb2.Device) -> Device:
    return Device(message.backend, message.index, message.name, message.architecture, message.driver_version, message.uuid)


def _error_from(owner: Any, name: str) -> Optional[JobError]:
    return job_error_from_status(owner.error, name, ()) if owner.HasField("error") else None


def _outcome_from(message: verification_pb2.LaunchOutcome, distributions: Tuple[str, ...]) -> LaunchOutcome:
    error = _error_from(message, message.id)
    digests = {} if error else {name: digest.hex() for name, digest in zip(distributions, message.digests)}
    return LaunchOutcome(message.id, error, None if error else message.stable, digests)


def _device_result_from(message: verification_pb2.DeviceVerification, distributions: Tuple[str, ...]) -> DeviceResult:
    return DeviceResult(
        target=message.target, worker=message.worker, device=device_from(message.device),
        error=_error_from(message, message.target),
        outcomes={outcome.id: _outcome_from(outcome, distributions) for outcome in message.outcomes})


def _contradiction_from(message: verification_pb2.Contradiction) -> Contradiction:
    kind = ContradictionKind(verification_pb2.Contradiction.Kind.Name(message.kind))
    return Contradiction(kind, message.a, message.b, message.device, message.distribution, message.reproducer,
                         tuple(message.assumptions))


def verification_from(message: verification_pb2.VerifyKernelsResponse) -> Verification:
    ids, distributions = tuple(message.launch_ids), tuple(message.distributions)
    classes = tuple(ByteClass(tuple((d, ids[i]) for d, i in zip(c.devices, c.launches))) for c in message.classes)
    return Verification(
        launch_ids=ids,
        signatures={launch_id: signature_from(s) for launch_id, s in zip(ids, message.signatures)},
        distributions=distributions,
        devices=tuple(_device_result_from(device, distributions) for device in message.devices),
        classes=classes,
        agreement=Agreement(verification_pb2.VerifyKernelsResponse.Agreement.Name(message.agreement)),
        contradictions=tuple(_contradiction_from(c) for c in message.contradictions),
        pairs=message.pairs,
        certified_pairs=message.certified_pairs,
        message=message,
    )
