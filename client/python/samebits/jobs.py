"""Jobs: work of a server's workers that outlives the call that asked for it (docs/jobs.md)."""

import dataclasses
import datetime
import enum
import time
from typing import Any, Generic, Iterator, Optional, Tuple, TypeVar

from samebits import _job_display
from samebits.connection import Connection
from samebits.errors import Code, DeadlineError, JobError, SamebitsError, UnavailableError, job_error_from_status
from samebits.progress import ProgressChoice, progress_display
from samebits.v1 import operations_pb2

Result = TypeVar("Result")

# A stream is opened anew after this long, so that a server that went away without a word is noticed.
_STREAM_SECONDS = 300.0


class JobState(enum.Enum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def ended(self) -> bool:
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


@dataclasses.dataclass(frozen=True)
class JobTask:
    """A part of a job, which one worker does at a time.

    target: where it runs, "cpu", "cuda/sm_90", "workers/a/devices/0". steps_done, steps_total: as the worker counts them.
    attempt_errors: of the attempts that ended without a result.
    """

    target: str
    state: JobState
    worker: str
    attempt: int
    steps_done: int
    steps_total: int
    attempt_errors: Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class JobStatus:
    """A job at one moment. Lists of jobs leave the tasks out. error: of one that failed or was cancelled."""

    name: str
    method: str
    state: JobState
    principal: str
    priority: int
    created: Optional[datetime.datetime]
    started: Optional[datetime.datetime]
    ended: Optional[datetime.datetime]
    deadline: Optional[datetime.datetime]
    tasks: Tuple[JobTask, ...]
    error: Optional[JobError]

    @property
    def steps_done(self) -> int:
        return sum(task.steps_done for task in self.tasks)

    @property
    def steps_total(self) -> int:
        """0 where no worker has counted them yet."""
        return sum(task.steps_total for task in self.tasks)

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        if self.state is JobState.SUCCEEDED:
            return 1.0
        return min(1.0, self.steps_done / self.steps_total) if self.steps_total else 0.0

    def __str__(self) -> str:
        steps = f", {self.steps_done} of {self.steps_total} steps" if self.steps_total and not self.state.ended else ""
        return f"{self.state.value} {self.name} {self.method}{steps}"

    def _repr_html_(self) -> str:
        return _job_display.job_html(self)


def _time(message: Any, field: str) -> Optional[datetime.datetime]:
    if not message.HasField(field):
        return None
    return getattr(message, field).ToDatetime().replace(tzinfo=datetime.timezone.utc)


def _state(number: int) -> JobState:
    return JobState(operations_pb2.Operation.State.Name(number))


def _task_from(message: operations_pb2.Operation.Task) -> JobTask:
    return JobTask(message.target, _state(message.state), message.worker, message.attempt, message.done, message.total,
                   tuple(error.message for error in message.attempt_errors))


def status_from(operation: operations_pb2.Operation) -> JobStatus:
    tasks = tuple(_task_from(task) for task in operation.tasks)
    error = None
    if operation.HasField("error"):
        attempts = [what for task in tasks for what in task.attempt_errors]
        error = job_error_from_status(operation.error, operation.name, attempts)
    return JobStatus(
        name=operation.name, method=operation.method, state=_state(operation.state), principal=operation.principal,
        priority=operation.priority, created=_time(operation, "create_time"), started=_time(operation, "start_time"),
        ended=_time(operation, "end_time"), deadline=_time(operation, "deadline"), tasks=tasks, error=error)


def _result_of(operation: operations_pb2.Operation) -> Any:
    """Of the class that its method promises; the message itself for jobs of numerics."""
    from samebits import gemm, gemm_jobs, verification

    kind = operation.WhichOneof("result")
    if kind is None:
        raise SamebitsError(Code.INTERNAL, f"{operation.name} has succeeded without a result")
    read = {"verify_kernels": verification.verification_from, "arch_profile": gemm.profile_from,
            "recover_gemms": gemm_jobs.recovered_from, "emulate_gemm": gemm_jobs.emulated_from}.get(kind)
    message = getattr(operation, kind)
    return message if read is None else read(message)


class Job(Generic[Result]):
    """A handle on a job of a server; the job goes on without it. Thread-safe.

    Properties tell what the server last said: `refresh`, `wait` and `watch` ask it. In a notebook a job shows itself.
    """

    def __init__(self, connection: Connection, operation: operations_pb2.Operation):
        self._connection = connection
        self._operation = operation
        self._stub = connection.stub("Operations", "operations")

    @property
    def name(self) -> str:
        """`operations/...`, with which Client.job finds it again."""
        return self._operation.name

    @property
    def status(self) -> JobStatus:
        return status_from(self._operation)

    @property
    def state(self) -> JobState:
        return _state(self._operation.state)

    @property
    def ended(self) -> bool:
        return self.state.ended

    @property
    def progress(self) -> float:
        """Steps done of all, from 0 to 1."""
        return self.status.progress

    def refresh(self) -> "Job[Result]":
        """Asks the server for the state now."""
        request = operations_pb2.GetOperationRequest(name=self.name)
        self._operation = self._connection.call(self._stub.GetOperation, request)
        return self

    def watch(self, timeout: Optional[float] = None) -> Iterator[JobStatus]:
        """Yields the state now and after each change, until the job has ended.

        Where the connection is lost it is made anew, until the server has not answered for as long as the client's
        `timeout`: UnavailableError. DeadlineError when `timeout` seconds are over; None: no limit. The job goes on then.
        """
        end = None if timeout is None else time.monotonic() + timeout
        lost, attempt, last = None, 0, None
        while True:
            now = time.monotonic()
            heard, error = False, None
            left = _STREAM_SECONDS if end is None else min(_STREAM_SECONDS, max(0.0, end - now))
            request = operations_pb2.WatchOperationRequest(name=self.name)
            stream = self._stub.WatchOperation(request, timeout=left, metadata=self._connection.metadata)
            try:
                for operation in stream:
                    heard, lost, attempt = True, None, 0
                    self._operation = operation
                    if operation != last:
                        last = operation
                        yield self.status
                    if self.ended:
                        return
            except self._connection.rpc_error as rpc_error:
                error = self._connection.error(rpc_error)
            finally:
                stream.cancel()
            now = time.monotonic()
            if end is not None and now >= end:
                raise self._not_ended(timeout)
            if error is None:
                error = UnavailableError(Code.UNAVAILABLE, "the server ended the stream before the job")
            timed_out = error.code == Code.DEADLINE_EXCEEDED
            if heard and timed_out:
                continue
            if not timed_out and not self._connection.is_retryable(error):
                raise error
            lost = now if lost is None else lost
            if now - lost >= self._connection.timeout:
                raise UnavailableError(Code.UNAVAILABLE, f"{self.name}: the server has not answered for "
                                       f"{now - lost:.0f} s ({error.message}); the job goes on: Client.job({self.name!r})")
            attempt += 1
            pause = self._connection.pause(attempt)
            time.sleep(pause if end is None else min(pause, max(0.0, end - now)))

    def wait(self, timeout: Optional[float] = None, *, progress: ProgressChoice = None) -> "Job[Result]":
        """Returns when the job has ended, however it ended. Errors as watch.

        `progress`: None shows a bar in a notebook and where standard error is a terminal, True also elsewhere, False
        never; a function is called with each JobStatus instead.
        """
        if not self.ended:
            with progress_display(progress) as show:
                for status in self.watch(timeout):
                    show(status)
        return self

    def result(self, timeout: Optional[float] = None, *, progress: ProgressChoice = None) -> Result:
        """What the job found, after waiting for it. JobError where it failed or was cancelled; else errors as watch."""
        self.wait(timeout, progress=progress)
        if self.state is JobState.SUCCEEDED and self._operation.WhichOneof("result") is None:
            self.refresh()  # lists leave results out
        error = self.status.error
        if error is not None:
            raise error
        return _result_of(self._operation)

    def cancel(self) -> "Job[Result]":
        """Ends the job as CANCELLED; one that has ended stays as it is."""
        request = operations_pb2.CancelOperationRequest(name=self.name)
        self._operation = self._connection.call(self._stub.CancelOperation, request)
        return self

    def delete(self) -> None:
        """Deletes the job, which must have ended, and its result."""
        request = operations_pb2.DeleteOperationRequest(name=self.name)
        self._connection.call(self._stub.DeleteOperation, request)

    def _not_ended(self, timeout: Optional[float]) -> DeadlineError:
        return DeadlineError(Code.DEADLINE_EXCEEDED, f"{self.name} has not ended after {timeout:g} s; it goes on: wait again "
                             "or cancel() it")

    def __repr__(self) -> str:
        return f"<Job {self.status}>"

    def _repr_html_(self) -> str:
        return self.status._repr_html_()
