"""The calls of a Client about jobs, workers and reproducers."""

import os
import secrets
from typing import Iterable, Iterator, List, Optional, Union

from samebits.connection import Connection
from samebits.gemm_questions import full_name
from samebits.jobs import Job
from samebits.launches import BufferSpecs, Launches, buffer_specs, check_options, launch_pairs
from samebits.manifest import read_manifest
from samebits.v1 import fleet_service_pb2, operations_pb2, verification_pb2
from samebits.verification import Verification

Path = Union[str, "os.PathLike[str]"]
Names = Union[str, Iterable[str]]  # one or several


def _names(names: Names) -> List[str]:
    return [names] if isinstance(names, str) else list(names)


def new_request_id() -> str:
    return "py-" + secrets.token_hex(12)


def verify_request(
    launches: Optional[Launches] = None, *, manifest: Optional[Path] = None, buffers: BufferSpecs = (),
    devices: Names = (), distributions: Names = (), runs: int = 2, seed: str = "", priority: int = 0,
    deadline: Optional[float] = None, request_id: Optional[str] = None, **options: bool,
) -> verification_pb2.VerifyKernelsRequest:
    """The message of Client.verify."""
    if (launches is None) == (manifest is None):
        raise ValueError("give either launches or a manifest")
    specs = buffer_specs(buffers)
    if launches is None:
        read = read_manifest(manifest or "")
        launches = read.launches
        named = {spec.name for spec in specs}
        specs += [spec for spec in read.buffers if spec.name not in named]
    request = verification_pb2.VerifyKernelsRequest(
        launches=[verification_pb2.VerifyLaunch(id=launch_id, kernel=kernel) for launch_id, kernel in launch_pairs(launches)],
        buffers=specs, seed=seed, distributions=_names(distributions), runs=runs, devices=_names(devices),
        options=check_options(**options), priority=priority, request_id=request_id or new_request_id())
    if deadline is not None:
        request.timeout.FromNanoseconds(int(deadline * 1e9))
    return request


class JobCalls:
    """Part of Client."""

    _connection: Connection

    def verify(
        self, launches: Optional[Launches] = None, *, manifest: Optional[Path] = None, buffers: BufferSpecs = (),
        devices: Names = (), distributions: Names = (), runs: int = 2, seed: str = "",
        priority: int = 0, deadline: Optional[float] = None, request_id: Optional[str] = None, **options: bool,
    ) -> "Job[Verification]":
        """Has workers run launches on the same inputs, and compares the bytes that they write with one another and with
        the static verdict. Returns a Job at once; `job.result()` waits for the Verification.

        launches: pairs (id, launch) or a dict; at most 256, each with grid and arguments. Instead of them `manifest`
        names a file of JSON lines (docs/cli.md), whose rows describe their buffers too.
        buffers: made with samebits.buffer, or a dict as in a manifest's row; those that nothing describes are raw, INOUT
        and 1 MiB long.
        devices: where to run, each on its own: "cpu", "cuda", "cuda/sm_90", "rocm", "workers/a/devices/0"; none: every
        device of a worker that runs submitted kernels.
        distributions: of the inputs (docs/inputs.md); none: uniform, normal, wide, cancelling, special. seed: of them.
        runs: launches of each on each input, to see whether the bits stay.
        priority: -100 to 100, higher goes first. deadline: seconds from now after which the job fails; None: an hour.
        request_id: a repeated call with the same id and content returns the first one's job.
        Options: ignore_signed_zero, strict_contraction.
        """
        request = verify_request(
            launches, manifest=manifest, buffers=buffers, devices=devices,
            distributions=distributions, runs=runs, seed=seed, priority=priority, deadline=deadline,
            request_id=request_id, **options)
        stub = self._connection.stub("KernelService", "kernel_service")
        return Job(self._connection, self._connection.call(stub.VerifyKernels, request))

    def jobs(self, *, open_only: bool = False) -> Iterator[Job]:
        """Yields jobs, the latest first; with `open_only` those that have not ended."""
        stub, token = self._connection.stub("Operations", "operations"), ""
        while True:
            request = operations_pb2.ListOperationsRequest(page_size=100, page_token=token, open_only=open_only)
            page = self._connection.call(stub.ListOperations, request)
            yield from (Job(self._connection, operation) for operation in page.operations)
            token = page.next_page_token
            if not token:
                return

    def job(self, name: str) -> Job:
        """The job `operations/...` (or what follows the slash). NotFoundError where there is none."""
        stub = self._connection.stub("Operations", "operations")
        request = operations_pb2.GetOperationRequest(name=full_name("operations", name))
        return Job(self._connection, self._connection.call(stub.GetOperation, request))

    def workers(self) -> List[fleet_service_pb2.Worker]:
        """The workers that registered, with their devices, by name."""
        stub = self._connection.stub("FleetService", "fleet_service")
        return list(self._connection.call(stub.ListWorkers, fleet_service_pb2.ListWorkersRequest()).workers)

    def reproducers(self) -> Iterator[verification_pb2.Reproducer]:
        """Yields contradictions between hardware and certificates, the latest first, without texts and outcomes."""
        stub, token = self._connection.stub("Operations", "operations"), ""
        while True:
            request = operations_pb2.ListReproducersRequest(page_size=100, page_token=token)
            page = self._connection.call(stub.ListReproducers, request)
            yield from page.reproducers
            token = page.next_page_token
            if not token:
                return

    def reproducer(self, name: str) -> verification_pb2.Reproducer:
        """All that is needed to see a contradiction again: its `request` holds texts, launches, buffers and inputs."""
        stub = self._connection.stub("Operations", "operations")
        request = operations_pb2.GetReproducerRequest(name=full_name("reproducers", name))
        return self._connection.call(stub.GetReproducer, request)

    def delete_reproducer(self, name: str) -> None:
        stub = self._connection.stub("Operations", "operations")
        request = operations_pb2.DeleteReproducerRequest(name=full_name("reproducers", name))
        self._connection.call(stub.DeleteReproducer, request)
