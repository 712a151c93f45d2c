"""A connection to a server: encryption, tokens, retries, and errors as exceptions."""

import importlib
import ipaddress
import os
import pathlib
import random
import time
from typing import Any, Dict, Optional

from samebits.errors import Code, SamebitsError, error_from_status, make_error

_DETAILS = "grpc-status-details-bin"
_LONGEST_PAUSE = 5.0


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


class Connection:
    """Thread-safe. Arguments as Client's."""

    def __init__(self, target: str, *, timeout: float, max_attempts: int, channel: Any, tls_ca: Optional[str],
                 tls_cert: Optional[str], tls_key: Optional[str], token_file: Optional[str], token_over_plaintext: bool):
        import grpc

        options = [("grpc.max_receive_message_length", 256 << 20), ("grpc.max_send_message_length", -1)]
        self.rpc_error = grpc.RpcError
        credentials = _channel_credentials(grpc, tls_ca, tls_cert, tls_key)
        token = _read(token_file, "SAMEBITS_TOKEN_FILE").decode().strip()
        if token and not (credentials or channel or token_over_plaintext or _is_loopback(target)):
            raise make_error(Code.INVALID_ARGUMENT, f"the token would go to {target} without encryption: give tls_ca, or "
                             "set token_over_plaintext if everyone on that network may read it")
        self.metadata = (("authorization", f"Bearer {token}"),) if token else ()
        if channel is not None:
            self._channel = channel
        elif credentials is not None:
            self._channel = grpc.secure_channel(target, credentials, options=options)
        else:
            self._channel = grpc.insecure_channel(target, options=options)
        self._stubs: Dict[str, Any] = {}
        self.timeout = timeout
        self.max_attempts = max_attempts

    def close(self) -> None:
        self._channel.close()

    def stub(self, service: str, module: str) -> Any:
        """Of a service of samebits.v1 that the module `module` of generated calls holds."""
        if service not in self._stubs:
            calls = importlib.import_module(f"samebits.v1.{module}_pb2_grpc")
            self._stubs[service] = getattr(calls, service + "Stub")(self._channel)
        return self._stubs[service]

    def error(self, rpc_error: Any) -> SamebitsError:
        """From a grpc.RpcError."""
        from google.rpc import status_pb2

        for key, value in rpc_error.trailing_metadata() or ():
            if key == _DETAILS:
                return error_from_status(status_pb2.Status.FromString(value))
        return make_error(Code(rpc_error.code().value[0]), rpc_error.details() or "")

    def call(self, method: Any, request: Any) -> Any:
        """The answer, within `timeout` seconds; what may pass is tried again, up to `max_attempts` times."""
        deadline = time.monotonic() + self.timeout
        for attempt in range(1, self.max_attempts + 1):
            try:
                return method(request, timeout=max(0.0, deadline - time.monotonic()), metadata=self.metadata)
            except self.rpc_error as rpc_error:
                error = self.error(rpc_error)
            pause = self.pause(attempt)
            if attempt == self.max_attempts or not _is_retryable(error) or time.monotonic() + pause >= deadline:
                raise error
            time.sleep(pause)

    def is_retryable(self, error: SamebitsError) -> bool:
        return _is_retryable(error)

    def pause(self, attempt: int) -> float:
        """Seconds before the next attempt: they double, with jitter."""
        return min(_LONGEST_PAUSE, 0.1 * 2 ** (min(attempt, 16) - 1)) * random.uniform(0.5, 1.0)
