"""The calls of samebits.v1.KernelService."""

import random
import time

import grpc
from google.rpc import error_details_pb2, status_pb2

from samebits.v1 import kernel_pb2, kernel_service_pb2, kernel_service_pb2_grpc, launch_pb2, signature_pb2

_DETAILS = "grpc-status-details-bin"


def verdict_name(verdict):
    """"EQUIVALENT", "DIFFERENT", "DISTINCT", "NONDETERMINISTIC" or "UNKNOWN"."""
    return signature_pb2.Comparison.Verdict.Name(verdict)


class SamebitsError(Exception):
    """A call that failed.

    code: grpc.StatusCode. reason: name of a samebits.v1.ErrorReason, "" where the server did not answer. metadata: dict
    such as {"line": "3", "column": "5"}.
    """

    def __init__(self, code, message, reason="", metadata=None):
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = metadata or {}


def _error(error):
    reason, metadata = "", {}
    for key, value in error.trailing_metadata() or ():
        if key != _DETAILS:
            continue
        for detail in status_pb2.Status.FromString(value).details:
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info):
                reason, metadata = info.reason, dict(info.metadata)
    return SamebitsError(error.code(), error.details(), reason, metadata)


def _is_retryable(error):
    return error.code == grpc.StatusCode.UNAVAILABLE or error.reason == "QUEUE_FULL"


class Client:
    """Thread-safe. Calls block for up to `timeout` seconds, retries included.

    UNAVAILABLE and a full queue are retried with exponential backoff, up to `max_attempts` calls. Failures raise
    SamebitsError. `channel` replaces the plaintext channel to `target`.
    """

    def __init__(self, target="127.0.0.1:7433", *, timeout=60.0, max_attempts=5, channel=None):
        options = [("grpc.max_receive_message_length", 256 << 20), ("grpc.max_send_message_length", -1)]
        self._channel = channel or grpc.insecure_channel(target, options=options)
        self._stub = kernel_service_pb2_grpc.KernelServiceStub(self._channel)
        self._timeout = timeout
        self._max_attempts = max_attempts

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._channel.close()

    def register_kernel(self, text):
        """Stores a text (str or bytes) and returns its Kernel; a text that is there already is returned as it is."""
        data = text.encode() if isinstance(text, str) else text
        return self._call(self._stub.RegisterKernel, kernel_service_pb2.RegisterKernelRequest(text=data))

    def get_kernel(self, name, *, with_text=False):
        view = kernel_pb2.KERNEL_VIEW_FULL if with_text else kernel_pb2.KERNEL_VIEW_BASIC
        return self._call(self._stub.GetKernel, kernel_service_pb2.GetKernelRequest(name=name, view=view))

    def list_kernels(self, page_size=1000):
        """Yields all kernels in the order of their names."""
        token = ""
        while True:
            request = kernel_service_pb2.ListKernelsRequest(page_size=page_size, page_token=token)
            page = self._call(self._stub.ListKernels, request)
            yield from page.kernels
            token = page.next_page_token
            if not token:
                return

    def delete_kernel(self, name):
        self._call(self._stub.DeleteKernel, kernel_service_pb2.DeleteKernelRequest(name=name))

    def compute_signature(self, kernel, **options):
        """KernelSignature of a launch. Options: ignore_signed_zero, strict_contraction."""
        request = kernel_service_pb2.ComputeKernelSignatureRequest(
            kernel=kernel, options=launch_pb2.CheckOptions(**options))
        return self._call(self._stub.ComputeKernelSignature, request)

    def compare(self, a, b, **options):
        """Comparison of two launches."""
        request = kernel_service_pb2.CompareKernelsRequest(a=a, b=b, options=launch_pb2.CheckOptions(**options))
        return self._call(self._stub.CompareKernels, request).comparison

    def explain(self, a, b, **options):
        """Comparison of two launches, with the difference where there is one."""
        request = kernel_service_pb2.ExplainDifferenceRequest(a=a, b=b, options=launch_pb2.CheckOptions(**options))
        return self._call(self._stub.ExplainDifference, request).comparison

    def partition(self, items, *, reference_id="", on_result=None, **options):
        """Partition of launches into classes of equal bits.

        `items` yields pairs (id, launch). `on_result` is called with each PartitionItemResult as it comes. Not retried.
        """
        config = kernel_service_pb2.PartitionConfig(
            reference_id=reference_id, options=launch_pb2.CheckOptions(**options))

        def requests():
            yield kernel_service_pb2.PartitionKernelsRequest(config=config)
            for item_id, kernel in items:
                item = kernel_service_pb2.PartitionItem(id=item_id, kernel=kernel)
                yield kernel_service_pb2.PartitionKernelsRequest(item=item)

        partition = None
        try:
            for response in self._stub.PartitionKernels(requests()):
                if response.HasField("partition"):
                    partition = response.partition
                elif on_result is not None:
                    on_result(response.item)
        except grpc.RpcError as error:
            raise _error(error) from None
        if partition is None:
            raise SamebitsError(grpc.StatusCode.INTERNAL, "the server ended the stream without a partition")
        return partition

    def _call(self, method, request):
        deadline = time.monotonic() + self._timeout
        for attempt in range(1, self._max_attempts + 1):
            try:
                return method(request, timeout=max(0.0, deadline - time.monotonic()))
            except grpc.RpcError as rpc_error:
                error = _error(rpc_error)
            pause = min(5.0, 0.1 * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
            if attempt == self._max_attempts or not _is_retryable(error) or time.monotonic() + pause >= deadline:
                raise error
            time.sleep(pause)
