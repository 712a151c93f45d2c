"""What can go wrong, as exceptions."""

import enum
from typing import Dict, Optional, Sequence


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

    code: canonical status code. message: one for people. reason: name of a samebits.v1.ErrorReason, "" where there is
    none. metadata: what the reason comes with, such as {"line": "3", "column": "5"}. remedy: what to do, "" where the
    message says it or nothing helps.
    """

    def __init__(self, code: Code, message: str, reason: str = "", metadata: Optional[Dict[str, str]] = None):
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = metadata or {}

    @property
    def remedy(self) -> str:
        return _REMEDY_OF_REASON.get(self.reason) or _REMEDY_OF_CODE.get(self.code, "")


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
    """No such kernel, job, worker, reproducer or profile."""


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


class ServerNeededError(SamebitsError):
    """The question needs workers, which only a server has."""

    def __init__(self, what: str):
        super().__init__(Code.FAILED_PRECONDITION, f"{what}, which needs a server: start a server (samebits "
                         "serve) and a worker (samebits-worker --allow-submitted-kernels), and name the server with "
                         "SAMEBITS_SERVER=HOST:PORT or samebits.Client(\"HOST:PORT\")")


class JobError(SamebitsError):
    """A job that failed or was cancelled.

    name: `operations/...`. attempts: for each attempt of a part that ended without a result what was wrong with it.
    """

    def __init__(self, code: Code, message: str, reason: str = "", metadata: Optional[Dict[str, str]] = None, *,
                 name: str = "", attempts: Sequence[str] = ()):
        super().__init__(code, message, reason, metadata)
        self.name = name
        self.attempts = tuple(attempts)

    @property
    def remedy(self) -> str:
        return _REMEDY_OF_JOB.get(self.code, "") or super().remedy

    def __str__(self) -> str:
        tried = "".join(f"\n  attempt {i + 1}: {what}" for i, what in enumerate(self.attempts))
        return f"{self.name}: {self.code.name}: {self.message}" + (f"; {self.remedy}" if self.remedy else "") + tried


_REMEDY_OF_REASON = {
    "NO_DEVICE": "Client.workers() shows the devices there are; samebits-worker --allow-submitted-kernels adds this machine's",
    "QUEUE_FULL": "try again later, or cancel jobs that nobody waits for: Client.jobs(open_only=True)",
    "REQUEST_ID_REUSED": "leave request_id out, or give another one",
    "NOT_ENDED": "wait for the job or cancel it first",
    "NOT_AUTHENTICATED": "give token_file, or set SAMEBITS_TOKEN_FILE",
    "NOT_PERMITTED": "ask for a token of a role that may do this: samebits token ROLE NAME",
    "SHUTTING_DOWN": "try again when the server is back",
    "KERNEL_NOT_FOUND": "register it: Client.register_kernel(text)",
}
_REMEDY_OF_CODE = {
    Code.UNAVAILABLE: "see that the server runs and that the address is right: samebits serve",
    Code.DEADLINE_EXCEEDED: "give the client a longer timeout",
}
_REMEDY_OF_JOB = {
    Code.DEADLINE_EXCEEDED: "give the job a longer deadline",
    Code.UNAVAILABLE: "see Client.workers() and the workers' logs, and ask again",
    Code.CANCELLED: "ask again, with another request_id if you gave one",
}
_BY_REASON = {
    "PTX_SYNTAX": PtxSyntaxError,
    "AMDGCN_SYNTAX": AmdgcnSyntaxError,
    "INVALID_LAUNCH": LaunchError,
    "INVALID_FIELD": LaunchError,
    "KERNEL_NOT_FOUND": NotFoundError,
    "RESOURCE_NOT_FOUND": NotFoundError,
    "LIMIT_EXCEEDED": LimitError,
    "QUEUE_FULL": BusyError,
    "SHUTTING_DOWN": UnavailableError,
}
_BY_CODE = {Code.UNAVAILABLE: UnavailableError, Code.DEADLINE_EXCEEDED: DeadlineError, Code.NOT_FOUND: NotFoundError}


def make_error(code: Code, message: str, reason: str = "", metadata: Optional[Dict[str, str]] = None) -> SamebitsError:
    """The exception of the most specific class."""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, SamebitsError)
    return kind(code, message, reason, metadata)


def error_from_status(status) -> SamebitsError:
    """From a google.rpc.Status."""
    return make_error(Code(status.code), status.message, *_info_of(status))


def job_error_from_status(status, name: str, attempts: Sequence[str]) -> JobError:
    """From the google.rpc.Status of the job `name`."""
    return JobError(Code(status.code), status.message, *_info_of(status), name=name, attempts=attempts)


def _info_of(status):
    """Reason and metadata."""
    from google.rpc import error_details_pb2

    reason, metadata = "", {}
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
    return reason, metadata
