"""What workers find out about single matrix products: descriptors recovered by probes, and emulated products."""

import dataclasses
import enum
from typing import Optional, Tuple

from samebits import _gemm_display
from samebits.v1 import gemm_jobs_pb2, gemm_pb2


class RecoveryState(enum.Enum):
    """EXPLAINED: the descriptor reproduced every fresh draw. DEFECT: it did where only the first summed_k elements are
    summed. UNEXPLAINED: none did; the closest is given. UNSUPPORTED: the library has nothing for the shape."""

    EXPLAINED = "EXPLAINED"
    DEFECT = "DEFECT"
    UNEXPLAINED = "UNEXPLAINED"
    UNSUPPORTED = "UNSUPPORTED"


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """The first output that the closest descriptor does not give, as patterns of the output's type."""

    row: int
    column: int
    expected: int
    library: int


@dataclasses.dataclass(frozen=True)
class RecoveredGemm:
    """What came of one shape. True in a condition where the descriptor is known (EXPLAINED or DEFECT).

    desc, text, description, algorithm, summed_k: as GemmDescription's; None and empty where UNSUPPORTED. launches: calls of
    the library. outputs: compared with the library's on fresh draws. evidence: what was asked and what came of it, in
    order. reason: why it is UNEXPLAINED or UNSUPPORTED. architecture: 90 for sm_90.
    """

    m: int
    n: int
    k: int
    types: str
    layout: str
    state: RecoveryState
    desc: Optional[gemm_pb2.GemmDesc] = dataclasses.field(repr=False)
    text: str
    description: str
    algorithm: str
    summed_k: int
    launches: int
    outputs: int
    evidence: Tuple[str, ...] = dataclasses.field(repr=False)
    reason: str
    mismatch: Optional[Mismatch]
    architecture: int

    def __bool__(self) -> bool:
        return self.state in (RecoveryState.EXPLAINED, RecoveryState.DEFECT)

    def svg(self) -> str:
        """As GemmDescription.svg; empty where there is no descriptor."""
        return "" if self.desc is None else _gemm_display.description_svg(self)

    def __str__(self) -> str:
        said = self.description or self.reason
        return f"{self.m} x {self.n} x {self.k} {self.types} {self.layout}: {self.state.value}: {said}"

    def _repr_html_(self) -> str:
        return _gemm_display.recovered_html(self)


@dataclasses.dataclass(frozen=True)
class RecoveredGemms:
    """The result of Client.recover_gemms, in the order of its shapes; the rest as ArchProfile has it."""

    gemms: Tuple[RecoveredGemm, ...]
    device: str
    architecture: int
    multiprocessors: int
    library: str
    library_version: int
    driver: str
    workspace_bytes: int

    def __str__(self) -> str:
        head = f"{self.device}, {self.library} {self.library_version}"
        return "\n".join([head, *(f"  {gemm}" for gemm in self.gemms)])

    def _repr_html_(self) -> str:
        return _gemm_display.recovered_all_html(self)


@dataclasses.dataclass(frozen=True)
class OutputBlock:
    """Consecutive outputs, from first_output on, and the SHA-256 (hex) of their bytes."""

    first_output: int
    outputs: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class EmulatedGemm:
    """The result of Client.emulate_gemm_on_worker.

    d: the outputs in order, little-endian elements of the output's type (numpy.frombuffer(d, "<f4").reshape(m, n));
    empty with digests_only. sha256 (hex): of all of these bytes. blocks: at most 4,096, they depend on the request alone:
    where two results differ, these say where.
    """

    d: bytes = dataclasses.field(repr=False)
    sha256: str
    outputs: int
    blocks: Tuple[OutputBlock, ...] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Generated:
    """An operand that the worker makes itself: the contents of a buffer of the matrix's type (docs/inputs.md), which
    samebits.inputs.buffer_bytes makes too. buffer: its name; empty: "a", "b", "c" or "bias". distribution: by name."""

    seed: str
    distribution: str = "uniform"
    buffer: str = ""


def _recovered_from(message: gemm_jobs_pb2.RecoveredGemm, architecture: int) -> RecoveredGemm:
    shape, m = message.shape, message.mismatch
    return RecoveredGemm(
        m=shape.m, n=shape.n, k=shape.k, types=shape.types, layout=shape.layout,
        state=RecoveryState(gemm_jobs_pb2.RecoveredGemm.State.Name(message.state)),
        desc=message.desc if message.HasField("desc") else None, text=message.text, description=message.description,
        algorithm=message.algorithm, summed_k=message.summed_k, launches=message.launches, outputs=message.outputs,
        evidence=tuple(message.evidence), reason=message.reason,
        mismatch=Mismatch(m.row, m.column, m.expected, m.library) if message.HasField("mismatch") else None,
        architecture=architecture)


def recovered_from(message: gemm_jobs_pb2.RecoverGemmsResponse) -> RecoveredGemms:
    return RecoveredGemms(
        gemms=tuple(_recovered_from(gemm, message.architecture) for gemm in message.gemms), device=message.device,
        architecture=message.architecture, multiprocessors=message.multiprocessors, library=message.library,
        library_version=message.library_version, driver=message.driver, workspace_bytes=message.workspace_bytes)


def emulated_from(message: gemm_jobs_pb2.EmulateGemmOnWorkerResponse) -> EmulatedGemm:
    blocks = tuple(OutputBlock(block.first_output, block.outputs, block.sha256.hex()) for block in message.blocks)
    return EmulatedGemm(message.d, message.sha256.hex(), message.outputs, blocks)
