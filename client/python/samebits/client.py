"""The calls of samebits.v1.KernelService."""

import ipaddress
import os
import pathlib
import random
import time
from typing import Any, Iterable, Iterator, Optional, Tuple

from samebits.errors import Code, SamebitsError, error_from_status, make_error
from samebits.local import Batch
from samebits.results import (
    Comparison, Partition, Progress, ProgressFn, Signature, build_partition, comparison_from, signature_from)
from samebits.v1 import kernel_pb2, kernel_service_pb2, launch_pb2

_DETAILS = "grpc-status-details-bin"


def _error(error: Any) -> SamebitsError:
    """From a grpc.RpcError."""
    from google.rpc import status_pb2

    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            return error_from_status(status_pb2.Status.FromString(value))
    return make_error(Code(error.code().value[0]), error.details() or "")


def _is_retryable(error: SamebitsError) -> bool:
    return error.code == Code.UNAVAILABLE or error.reason == "QUEUE_FULL"


def _read(path: Optional[str], variable: str) -> bytes:
    """The file's content; empty where neither the path nor the variable names one."""
    path = os.environ.get(variable, "") if path is None else path
    if not path:
        return b""
    try:
        content = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise make_error(Code.INVALID_ARGUMENT, f"{path}: cannot be read: {error.strerror}") from None
    if not content.strip():
        raise make_error(Code.INVALID_ARGUMENT, f"{path}: is empty")
    return content


def _channel_credentials(grpc: Any, tls_ca: Optional[str], tls_cert: Optional[str], tls_key: Optional[str]) -> Any:
    """None for a channel without encryption."""
    ca = _read(tls_ca, "SAMEBITS_TLS_CA")
    cert, key = _read(tls_cert, "SAMEBITS_TLS_CERT"), _read(tls_key, "SAMEBITS_TLS_KEY")
    if bool(cert) != bool(key) or (cert and not ca):
        raise make_error(Code.INVALID_ARGUMENT, "a client certificate needs its key, and the server's CA")
    if not ca:
        return None
    return grpc.ssl_channel_credentials(ca, key or None, cert or None)


def _is_loopback(target: str) -> bool:
    """Whether a target surely stays on this machine."""
    if target.startswith("unix:"):
        return True
    host = target.rpartition(":")[0] or target
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Client:
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
        import grpc

        from samebits.v1 import kernel_service_pb2_grpc

        options = [("grpc.max_receive_message_length", 256 << 20), ("grpc.max_send_message_length", -1)]
        self._rpc_error = grpc.RpcError
        credentials = _channel_credentials(grpc, tls_ca, tls_cert, tls_key)
        token = _read(token_file, "SAMEBITS_TOKEN_FILE").decode().strip()
        if token and not (credentials or channel or token_over_plaintext or _is_loopback(target)):
            raise make_error(Code.INVALID_ARGUMENT, f"the token would go to {target} without encryption: give tls_ca, or "
                             "set token_over_plaintext if everyone on that network may read it")
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        if channel is not None:
            self._channel = channel
        elif credentials is not None:
            self._channel = grpc.secure_channel(target, credentials, options=options)
        else:
            self._channel = grpc.insecure_channel(target, options=options)
        self._stub = kernel_service_pb2_grpc.KernelServiceStub(self._channel)
        self._timeout = timeout
        self._max_attempts = max_attempts

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def register_kernel(self, text) -> kernel_pb2.Kernel:
        """Stores a text (str or bytes) and returns its Kernel; a text that is there already is returned as it is."""
        data = text.encode() if isinstance(text, str) else text
        return self._call(self._stub.RegisterKernel, kernel_service_pb2.RegisterKernelRequest(text=data))

    def get_kernel(self, name: str, *, with_text: bool = False) -> kernel_pb2.Kernel:
        view = kernel_pb2.KERNEL_VIEW_FULL if with_text else kernel_pb2.KERNEL_VIEW_BASIC
        return self._call(self._stub.GetKernel, kernel_service_pb2.GetKernelRequest(name=name, view=view))

    def list_kernels(self, page_size: int = 1000) -> Iterator[kernel_pb2.Kernel]:
        """Yields all kernels in the order of their names."""
        token = ""
        while True:
            request = kernel_service_pb2.ListKernelsRequest(page_size=page_size, page_token=token)
            page = self._call(self._stub.ListKernels, request)
            yield from page.kernels
            token = page.next_page_token
            if not token:
                return

    def delete_kernel(self, name: str) -> None:
        self._call(self._stub.DeleteKernel, kernel_service_pb2.DeleteKernelRequest(name=name))

    def compute_signature(self, kernel: launch_pb2.KernelLaunch, **options: bool) -> Signature:
        """Signature of a launch. Options: ignore_signed_zero, strict_contraction."""
        request = kernel_service_pb2.ComputeKernelSignatureRequest(
            kernel=kernel, options=launch_pb2.CheckOptions(**options))
        return signature_from(self._call(self._stub.ComputeKernelSignature, request))

    def compare(self, a: launch_pb2.KernelLaunch, b: launch_pb2.KernelLaunch, **options: bool) -> Comparison:
        """Do the two launches return the same bits?"""
        request = kernel_service_pb2.CompareKernelsRequest(a=a, b=b, options=launch_pb2.CheckOptions(**options))
        return comparison_from(self._call(self._stub.CompareKernels, request).comparison)

    def explain(self, a: launch_pb2.KernelLaunch, b: launch_pb2.KernelLaunch, **options: bool) -> Comparison:
        """As compare, with the difference where there is one."""
        request = kernel_service_pb2.ExplainDifferenceRequest(a=a, b=b, options=launch_pb2.CheckOptions(**options))
        return comparison_from(self._call(self._stub.ExplainDifference, request).comparison)

    def partition(
        self,
        items: Iterable[Tuple[str, launch_pb2.KernelLaunch]],
        *,
        reference_id: str = "",
        on_result: Optional[ProgressFn] = None,
        **options: bool,
    ) -> Partition:
        """Sorts launches into classes of equal bits, in one call.

        `items` yields pairs (id, launch), and is read while others are checked. `on_result` is called with the progress of
        each as it comes. Not retried.
        """
        config = kernel_service_pb2.PartitionConfig(
            reference_id=reference_id, options=launch_pb2.CheckOptions(**options))
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
            for response in self._stub.PartitionKernels(requests(), metadata=self._metadata):
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
        except self._rpc_error as error:
            raise failures[0] if failures else _error(error) from None
        if not ended:
            raise SamebitsError(Code.INTERNAL, "the server ended the stream without a partition")
        return build_partition(batch.order, signatures, errors, reference_id)

    def _call(self, method, request):
        deadline = time.monotonic() + self._timeout
        for attempt in range(1, self._max_attempts + 1):
            try:
                return method(request, timeout=max(0.0, deadline - time.monotonic()), metadata=self._metadata)
            except self._rpc_error as rpc_error:
                error = _error(rpc_error)
            pause = min(5.0, 0.1 * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
            if attempt == self._max_attempts or not _is_retryable(error) or time.monotonic() + pause >= deadline:
                raise error
            time.sleep(pause)
