"""Do two GPU kernel launches return the same bits?

    import samebits

    a = samebits.launch(text=ptx_a, block=(128, 1, 1), grid=(96, 1, 1))
    b = samebits.launch(text=ptx_b, block=(256, 1, 1), grid=(96, 1, 1))
    print(samebits.compare(a, b).verdict)

The functions here ask the server that SAMEBITS_SERVER names, else check in this process; Client and Local do one of the
two. Kernels of Triton: samebits.triton.
"""

import os
import threading
from typing import Iterable, Optional, Tuple, Union

from samebits.client import Client
from samebits.errors import (
    AmdgcnSyntaxError, BusyError, Code, DeadlineError, KernelSyntaxError, LaunchError, LimitError, NativeLibraryError,
    NotFoundError, PtxSyntaxError, SamebitsError, UnavailableError)
from samebits.launches import aggregate, f32, f64, integer, launch, pointer, scratch, unknown
from samebits.local import Local, native_library
from samebits.results import (
    Comparison, Difference, EquivalenceClass, Partition, Place, Progress, ProgressFn, Side, Signature, Status, Verdict)
from samebits.v1 import launch_pb2

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
    items: Iterable[Tuple[str, launch_pb2.KernelLaunch]],
    *,
    reference_id: str = "",
    on_result: Optional[ProgressFn] = None,
    **options: bool,
) -> Partition:
    """Sorts launches, given as pairs (id, launch), into classes of equal bits."""
    return _asked().partition(items, reference_id=reference_id, on_result=on_result, **options)


__all__ = [
    "AmdgcnSyntaxError", "Asked", "BusyError", "Client", "Code", "Comparison", "DeadlineError", "Difference", "EquivalenceClass",
    "KernelSyntaxError", "LaunchError", "LimitError", "Local", "NativeLibraryError", "NotFoundError", "Partition", "Place", "Progress",
    "ProgressFn", "PtxSyntaxError", "SamebitsError", "Side", "Signature", "Status", "UnavailableError", "Verdict",
    "aggregate", "compare", "compute_signature", "connect", "explain", "f32", "f64", "integer", "launch",
    "native_library", "partition", "pointer", "scratch", "unknown",
]
