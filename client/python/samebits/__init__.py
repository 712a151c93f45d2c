"""Do two GPU kernel launches return the same bits?

    import samebits

    a = samebits.launch(text=ptx_a, block=(128, 1, 1), grid=(96, 1, 1))
    b = samebits.launch(text=ptx_b, block=(256, 1, 1), grid=(96, 1, 1))
    print(samebits.compare(a, b).verdict)

The functions here ask the server that SAMEBITS_SERVER names, else check in this process; Client and Local do one of the
two. Kernels of Triton: samebits.triton.
"""

import os
import sys
import threading
from typing import Any, Optional, Union

if "grpc" not in sys.modules:
    # Read when gRPC is imported. Its handlers of fork wait for its threads while the caller holds Python's lock, which
    # those may be waiting for; samebits.triton forks compilers, which never call gRPC.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from samebits.client import Client
from samebits.errors import (
    AmdgcnSyntaxError, BusyError, Code, DeadlineError, JobError, KernelSyntaxError, LaunchError, LimitError,
    NativeLibraryError, NotFoundError, PtxSyntaxError, SamebitsError, ServerNeededError, UnavailableError)
from samebits.gemm import (
    ArchProfile, BatchInvariance, BatchRun, Described, GemmDescription, ProfileComparison, ProfileDifference, Types)
from samebits.gemm_jobs import (
    EmulatedGemm, Generated, Mismatch, OutputBlock, RecoveredGemm, RecoveredGemms, RecoveryState)
from samebits.jobs import Job, JobState, JobStatus, JobTask
from samebits.launches import Launches, aggregate, buffer, f32, f64, integer, launch, pointer, scratch, unknown
from samebits.local import Local, native_library
from samebits.manifest import Manifest, read_manifest
from samebits.results import (
    Comparison, Difference, EquivalenceClass, Partition, Place, Progress, ProgressFn, Side, Signature, Status, Verdict)
from samebits.v1 import launch_pb2
from samebits.verification import (
    Agreement, ByteClass, Contradiction, ContradictionKind, Device, DeviceResult, LaunchOutcome, Verification)

__version__ = "0.1.0"

Asked = Union[Client, Local]

_lock = threading.Lock()
_default: Optional[Asked] = None


def connect(target: Optional[str] = None) -> Asked:
    """A client of the server `target`, default $SAMEBITS_SERVER; without either the checker in this process."""
    target = target or os.environ.get("SAMEBITS_SERVER")
    return Client(target) if target else Local()


def _asked() -> Asked:
    global _default
    with _lock:
        if _default is None:
            _default = connect()
        return _default


def compute_signature(kernel: launch_pb2.KernelLaunch, **options: bool) -> Signature:
    """What the launch computes, as a digest. Options: ignore_signed_zero, strict_contraction."""
    return _asked().compute_signature(kernel, **options)


def compare(a: launch_pb2.KernelLaunch, b: launch_pb2.KernelLaunch, **options: bool) -> Comparison:
    """Do the two launches return the same bits?"""
    return _asked().compare(a, b, **options)


def explain(a: launch_pb2.KernelLaunch, b: launch_pb2.KernelLaunch, **options: bool) -> Comparison:
    """As compare, and where they part."""
    return _asked().explain(a, b, **options)


def partition(
    items: Launches,
    *,
    reference_id: str = "",
    on_result: Optional[ProgressFn] = None,
    **options: bool,
) -> Partition:
    """Sorts launches, given as a dict {id: launch} or as pairs, into classes of equal bits."""
    return _asked().partition(items, reference_id=reference_id, on_result=on_result, **options)


def verify(launches: Optional[Launches] = None, **more: Any) -> "Job[Verification]":
    """Has workers run launches on the same inputs, and compares bytes; see Client.verify. Needs a server."""
    return _asked().verify(launches, **more)


def emulate_gemm(desc: Described, a: Any, b: Any, **more: Any) -> Any:
    """The bits that a descriptor gives for a @ b.T, b being n x k; see Client.emulate_gemm."""
    return _asked().emulate_gemm(desc, a, b, **more)


def batch_invariance(profile: Union[str, ArchProfile], types: Types, n: int, k: int, **more: Any) -> BatchInvariance:
    """At which batch sizes the bits of a row change; see Client.batch_invariance."""
    return _asked().batch_invariance(profile, types, n, k, **more)


def import_profile(profile: Union[str, "os.PathLike[str]"]) -> ArchProfile:
    """A profile of a library of matrix products, from its text or the path of a file."""
    return _asked().import_profile(profile)


def describe_gemm(profile: Union[str, ArchProfile], types: Types, m: int, n: int, k: int, *, layout: str = "TN") -> GemmDescription:
    """What a library does for a product, by a stored profile; see Client.describe_gemm."""
    return _asked().describe_gemm(profile, types, m, n, k, layout=layout)


__all__ = [
    "Agreement", "AmdgcnSyntaxError", "ArchProfile", "Asked", "BatchInvariance", "BatchRun", "BusyError", "ByteClass", "Client",
    "Code", "Comparison", "Contradiction", "ContradictionKind", "DeadlineError", "Device", "DeviceResult", "Difference",
    "EmulatedGemm", "EquivalenceClass", "GemmDescription", "Generated", "Job", "JobError", "JobState", "JobStatus", "JobTask", "KernelSyntaxError",
    "LaunchError", "LaunchOutcome", "LimitError", "Local", "Manifest", "Mismatch",
    "NativeLibraryError", "NotFoundError", "OutputBlock", "Partition", "Place",
    "ProfileComparison", "ProfileDifference", "Progress", "ProgressFn", "PtxSyntaxError", "RecoveredGemm",
    "RecoveredGemms", "RecoveryState", "SamebitsError", "ServerNeededError",
    "Side", "Signature", "Status", "UnavailableError", "Verdict", "Verification",
    "aggregate", "batch_invariance", "buffer", "compare", "compute_signature", "connect", "describe_gemm", "emulate_gemm", "explain", "f32", "f64",
    "import_profile", "integer",
    "launch", "native_library", "partition", "pointer", "read_manifest", "scratch", "unknown", "verify",
]
