"""A client of a server: the calls of samebits.v1.KernelService here, jobs and matrix products beside."""

from typing import Any, Iterator, Optional, Union

from samebits.connection import Connection
from samebits.errors import Code, SamebitsError
from samebits.gemm_calls import GemmCalls
from samebits.job_calls import JobCalls
from samebits.launches import Launches, check_options
from samebits.local import Batch
from samebits.results import (
    Comparison, Partition, Progress, ProgressFn, Signature, build_partition, comparison_from, signature_from)
from samebits.v1 import kernel_pb2, kernel_service_pb2, launch_pb2


class Client(JobCalls, GemmCalls):
    """Asks a server. Thread-safe. Calls block for up to `timeout` seconds, retries included.

    UNAVAILABLE and a full queue are retried with exponential backoff, up to `max_attempts` calls. Failures raise
    SamebitsError.

    `tls_ca` is a file with the certificates that sign the server's, and makes the channel encrypted; `tls_cert` and
    `tls_key` are files that show who the client is; `token_file` holds the token that the server asks for. None stands
    for $SAMEBITS_TLS_CA, $SAMEBITS_TLS_CERT, $SAMEBITS_TLS_KEY and $SAMEBITS_TOKEN_FILE, "" for none. A token goes
    without encryption to another machine only with `token_over_plaintext`. `channel` replaces the channel to `target`.
    """

    def __init__(self, target: str = "127.0.0.1:7433", *, timeout: float = 60.0, max_attempts: int = 5, channel: Any = None,
                 tls_ca: Optional[str] = None, tls_cert: Optional[str] = None, tls_key: Optional[str] = None,
                 token_file: Optional[str] = None, token_over_plaintext: bool = False):
        self._connection = Connection(
            target, timeout=timeout, max_attempts=max_attempts, channel=channel, tls_ca=tls_ca, tls_cert=tls_cert,
            tls_key=tls_key, token_file=token_file, token_over_plaintext=token_over_plaintext)
        self._stub = self._connection.stub("KernelService", "kernel_service")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def register_kernel(self, text: Union[str, bytes]) -> kernel_pb2.Kernel:
        """Stores a text (str or bytes) and returns its Kernel; a text that is there already is returned as it is."""
        data = text.encode() if isinstance(text, str) else text
        return self._connection.call(self._stub.RegisterKernel, kernel_service_pb2.RegisterKernelRequest(text=data))

    def get_kernel(self, name: str, *, with_text: bool = False) -> kernel_pb2.Kernel:
        """NotFoundError where there is none."""
        view = kernel_pb2.KERNEL_VIEW_FULL if with_text else kernel_pb2.KERNEL_VIEW_BASIC
        return self._connection.call(self._stub.GetKernel, kernel_service_pb2.GetKernelRequest(name=name, view=view))

    def list_kernels(self, page_size: int = 1000) -> Iterator[kernel_pb2.Kernel]:
        """Yields all kernels in the order of their names."""
        token = ""
        while True:
            request = kernel_service_pb2.ListKernelsRequest(page_size=page_size, page_token=token)
            page = self._connection.call(self._stub.ListKernels, request)
            yield from page.kernels
            token = page.next_page_token
            if not token:
                return

    def delete_kernel(self, name: str) -> None:
        """Deletes a kernel and its stored signatures."""
        self._connection.call(self._stub.DeleteKernel, kernel_service_pb2.DeleteKernelRequest(name=name))

    def compute_signature(self, kernel: launch_pb2.KernelLaunch, **options: bool) -> Signature:
        """Signature of a launch. Options: ignore_signed_zero, strict_contraction."""
        request = kernel_service_pb2.ComputeKernelSignatureRequest(
            kernel=kernel, options=check_options(**options))
        return signature_from(self._connection.call(self._stub.ComputeKernelSignature, request))

    def compare(self, a: launch_pb2.KernelLaunch, b: launch_pb2.KernelLaunch, **options: bool) -> Comparison:
        """Do the two launches return the same bits?"""
        request = kernel_service_pb2.CompareKernelsRequest(a=a, b=b, options=check_options(**options))
        return comparison_from(self._connection.call(self._stub.CompareKernels, request).comparison)

    def explain(self, a: launch_pb2.KernelLaunch, b: launch_pb2.KernelLaunch, **options: bool) -> Comparison:
        """As compare, with the difference where there is one."""
        request = kernel_service_pb2.ExplainDifferenceRequest(a=a, b=b, options=check_options(**options))
        return comparison_from(self._connection.call(self._stub.ExplainDifference, request).comparison)

    def partition(
        self,
        items: Launches,
        *,
        reference_id: str = "",
        on_result: Optional[ProgressFn] = None,
        **options: bool,
    ) -> Partition:
        """Sorts launches into classes of equal bits, in one call.

        `items` is a dict {id: launch} or yields pairs (id, launch), and is read while others are checked. `on_result` is called with the progress of
        each as it comes. Not retried.
        """
        config = kernel_service_pb2.PartitionConfig(
            reference_id=reference_id, options=check_options(**options))
        batch, failures = Batch(items, reference_id), []

        def requests():
            yield kernel_service_pb2.PartitionKernelsRequest(config=config)
            try:
                for item_id, kernel in batch:
                    item = kernel_service_pb2.PartitionItem(id=item_id, kernel=kernel)
                    yield kernel_service_pb2.PartitionKernelsRequest(item=item)
            except Exception as failure:
                failures.append(failure)  # what gRPC makes of it says less
                raise

        signatures, errors, ended = {}, {}, False
        try:
            for response in self._stub.PartitionKernels(requests(), metadata=self._connection.metadata):
                if response.HasField("partition"):
                    ended = True
                    continue
                result, signature, error = response.item, None, ""
                if result.HasField("signature"):
                    signature = signatures[result.id] = signature_from(result.signature)
                else:
                    error = errors[result.id] = result.error.message
                if on_result is not None:
                    on_result(Progress(result.id, signature, error, len(signatures) + len(errors), batch.total()))
        except self._connection.rpc_error as error:
            raise failures[0] if failures else self._connection.error(error) from None
        if not ended:
            raise SamebitsError(Code.INTERNAL, "the server ended the stream without a partition")
        return build_partition(batch.order, signatures, errors, reference_id)
