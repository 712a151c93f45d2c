"""What can go wrong, as exceptions."""

import enum
from typing import Dict, Optional


class Code(enum.IntEnum):
    """Canonical status codes, as gRPC numbers them."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class SamebitsError(Exception):
    """A question that got no answer. An answer "not known" is no error: see Verdict.UNKNOWN.

    code: canonical status code. reason: name of a samebits.v1.ErrorReason, "" where there is none. metadata: what the
    reason comes with, such as {"line": "3", "column": "5"}.
    """

    def __init__(self, code: Code, message: str, reason: str = "", metadata: Optional[Dict[str, str]] = None):
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = metadata or {}


class KernelSyntaxError(SamebitsError):
    """The text does not parse."""

    @property
    def line(self) -> int:
        return int(self.metadata.get("line", 0))

    @property
    def column(self) -> int:
        return int(self.metadata.get("column", 0))


class PtxSyntaxError(KernelSyntaxError):
    """The text is PTX and does not parse."""


class AmdgcnSyntaxError(KernelSyntaxError):
    """The text is AMDGCN assembler and does not parse."""


class LaunchError(SamebitsError):
    """Entry, block or arguments do not fit the text, or a field of the request is missing or malformed."""


class NotFoundError(SamebitsError):
    """No such registered kernel."""


class LimitError(SamebitsError):
    """Over a limit; the same request fails again."""


class BusyError(SamebitsError):
    """The server has too much to do; try again later."""


class UnavailableError(SamebitsError):
    """No server answers, or it is stopping."""


class DeadlineError(SamebitsError):
    """No answer in time."""


class NativeLibraryError(SamebitsError):
    """The library that checks in this process is not there or cannot be used."""

    def __init__(self, message: str):
        super().__init__(Code.UNAVAILABLE, message)


_BY_REASON = {
    "PTX_SYNTAX": PtxSyntaxError,
    "AMDGCN_SYNTAX": AmdgcnSyntaxError,
    "INVALID_LAUNCH": LaunchError,
    "INVALID_FIELD": LaunchError,
    "KERNEL_NOT_FOUND": NotFoundError,
    "LIMIT_EXCEEDED": LimitError,
    "QUEUE_FULL": BusyError,
    "SHUTTING_DOWN": UnavailableError,
}
_BY_CODE = {Code.UNAVAILABLE: UnavailableError, Code.DEADLINE_EXCEEDED: DeadlineError}


def make_error(code: Code, message: str, reason: str = "", metadata: Optional[Dict[str, str]] = None) -> SamebitsError:
    """The exception of the most specific class."""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, SamebitsError)
    return kind(code, message, reason, metadata)


def error_from_status(status) -> SamebitsError:
    """From a google.rpc.Status."""
    from google.rpc import error_details_pb2

    reason, metadata = "", {}
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
    return make_error(Code(status.code), status.message, reason, metadata)
