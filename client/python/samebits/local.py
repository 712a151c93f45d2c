"""The checker in this process, without a server: the shared library libsamebits.so through its C interface."""

import concurrent.futures
import ctypes
import os
import pathlib
import queue
import threading
from typing import Any, Dict, Iterator, List, Mapping, NoReturn, Optional, Tuple, Union

from samebits.errors import Code, NativeLibraryError, SamebitsError, ServerNeededError, error_from_status, make_error
from samebits.gemm_questions import GemmQuestions
from samebits.launches import Launches, check_options
from samebits.results import (
    Comparison, Partition, Progress, ProgressFn, Signature, build_partition, comparison_from, signature_from)
from samebits.v1 import arch_profile_pb2, arch_profile_service_pb2, kernel_pb2, kernel_service_pb2, launch_pb2, signature_pb2

_ABI_VERSION = 1
_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None


def native_library() -> Optional[pathlib.Path]:
    """Path of the library: $SAMEBITS_LIBRARY, else the one in this package; None where there is none."""
    named = os.environ.get("SAMEBITS_LIBRARY")
    if named:
        return pathlib.Path(named)
    packaged = pathlib.Path(__file__).parent / "_native" / "libsamebits.so"
    return packaged if packaged.exists() else None


def _load() -> ctypes.CDLL:
    global _library
    with _lock:
        if _library is None:
            _library = _open()
    return _library


def _open() -> ctypes.CDLL:
    path = native_library()
    if path is None:
        raise NativeLibraryError(
            "this installation has no libsamebits.so; name one with SAMEBITS_LIBRARY (a build of samebits makes "
            "build/release/lib/libsamebits.so), or ask a server: samebits.Client(\"HOST:PORT\")")
    try:
        library = ctypes.CDLL(str(path))
        version = library.samebits_abi_version()
    except (OSError, AttributeError) as error:
        raise NativeLibraryError(f"{path}: {error}") from None
    if version != _ABI_VERSION:
        raise NativeLibraryError(f"{path}: interface version {version}, this package needs {_ABI_VERSION}")
    library.samebits_call.argtypes = [
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)]
    library.samebits_call.restype = ctypes.c_int
    library.samebits_free.argtypes = [ctypes.c_void_p]
    library.samebits_free.restype = None
    return library


def _call(method: str, request: bytes) -> bytes:
    """Answer of one method; the interpreter's lock is released meanwhile."""
    library = _load()
    answer, size = ctypes.c_void_p(), ctypes.c_size_t()
    code = library.samebits_call(method.encode(), request, len(request), ctypes.byref(answer), ctypes.byref(size))
    if not answer.value:
        raise MemoryError("samebits_call")
    try:
        data = ctypes.string_at(answer, size.value)
    finally:
        library.samebits_free(answer)
    if code != 0:
        from google.rpc import status_pb2

        raise error_from_status(status_pb2.Status.FromString(data))
    return data


def signature_version() -> int:
    """Version of the signatures that the library computes."""
    return _load().samebits_signature_version()


def draw(message: signature_pb2.Comparison) -> str:
    """A comparison as SVG."""
    response = kernel_service_pb2.ExplainDifferenceResponse(comparison=message)
    return _call("DrawComparison", response.SerializeToString()).decode()


class Local(GemmQuestions):
    """Has the questions of Client, and answers them in this process. Thread-safe.

    `jobs`: threads of a batch; default one a core. Profiles that are imported are kept as long as this object.
    """

    def __init__(self, *, jobs: Optional[int] = None):
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._profiles: Dict[str, Tuple[str, arch_profile_pb2.ArchProfile]] = {}  # text and message by name
        _load()

    def __enter__(self) -> "Local":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing to release."""

    def signature_version(self) -> int:
        return signature_version()

    def describe_kernel(self, text: Union[str, bytes]) -> kernel_pb2.Kernel:
        """Entries and parameters of a text."""
        data = text.encode() if isinstance(text, str) else text
        request = kernel_service_pb2.RegisterKernelRequest(text=data)
        return kernel_pb2.Kernel.FromString(_call("DescribeKernel", request.SerializeToString()))

    def compute_signature(self, kernel: launch_pb2.KernelLaunch, **options: bool) -> Signature:
        request = kernel_service_pb2.ComputeKernelSignatureRequest(kernel=kernel, options=check_options(**options))
        answer = _call("ComputeKernelSignature", request.SerializeToString())
        return signature_from(signature_pb2.KernelSignature.FromString(answer))

    def compare(self, a: launch_pb2.KernelLaunch, b: launch_pb2.KernelLaunch, **options: bool) -> Comparison:
        request = kernel_service_pb2.CompareKernelsRequest(a=a, b=b, options=check_options(**options))
        answer = _call("CompareKernels", request.SerializeToString())
        return comparison_from(kernel_service_pb2.CompareKernelsResponse.FromString(answer).comparison)

    def explain(self, a: launch_pb2.KernelLaunch, b: launch_pb2.KernelLaunch, **options: bool) -> Comparison:
        request = kernel_service_pb2.ExplainDifferenceRequest(a=a, b=b, options=check_options(**options))
        answer = _call("ExplainDifference", request.SerializeToString())
        return comparison_from(kernel_service_pb2.ExplainDifferenceResponse.FromString(answer).comparison)

    def partition(
        self,
        items: Launches,
        *,
        reference_id: str = "",
        on_result: Optional[ProgressFn] = None,
        **options: bool,
    ) -> Partition:
        """As Client.partition."""
        batch, signatures, errors = Batch(items, reference_id), {}, {}
        with concurrent.futures.ThreadPoolExecutor(self._jobs + 1) as pool:
            for item_id, answer in _answers(pool, batch, lambda kernel: self.compute_signature(kernel, **options)):
                signature, error = (None, answer) if isinstance(answer, str) else (answer, "")
                if signature is None:
                    errors[item_id] = error
                else:
                    signatures[item_id] = signature
                if on_result is not None:
                    on_result(Progress(item_id, signature, error, len(signatures) + len(errors), batch.total()))
        batch.check_reference()
        return build_partition(batch.order, signatures, errors, reference_id)

    def verify(self, *_: Any, **__: Any) -> NoReturn:
        """ServerNeededError: kernels run on workers, which a server hands out."""
        raise ServerNeededError("verify runs kernels on workers")

    def _ask(self, method: str, request: Any) -> Any:
        if method == "ImportArchProfile":
            profile = arch_profile_pb2.ArchProfile.FromString(_call("DescribeArchProfile", request.SerializeToString()))
            self._profiles[profile.name] = (request.text, profile)
            return profile
        if method == "ListArchProfiles":
            profiles = [self._profiles[name][1] for name in sorted(self._profiles)]
            return arch_profile_service_pb2.ListArchProfilesResponse(arch_profiles=profiles)
        if method == "EmulateGemm":
            return arch_profile_service_pb2.EmulateGemmResponse.FromString(_call(method, request.SerializeToString()))
        kept = self._profiles.get(request.name)
        if kept is None:
            raise make_error(Code.NOT_FOUND, f"there is no {request.name} here; import_profile reads one")
        if method == "DeleteArchProfile":
            return self._profiles.pop(request.name)
        if method == "GetArchProfile":
            return kept[1]
        if method == "ExportArchProfile":
            return arch_profile_service_pb2.ExportArchProfileResponse(text=kept[0])
        request.name = kept[0]  # the library takes texts
        answer = getattr(arch_profile_service_pb2, method + "Response")
        return answer.FromString(_call(method, request.SerializeToString()))


def _answers(pool: concurrent.futures.Executor, batch: "Batch", sign: Any) -> Iterator[Tuple[str, Any]]:
    """Id and signature of each item, or what is wrong with it, as they come. Items are taken while others are signed."""
    answers: "queue.SimpleQueue[Any]" = queue.SimpleQueue()

    def work(item_id, kernel):
        try:
            answers.put((item_id, sign(kernel)))
        except SamebitsError as failure:
            answers.put((item_id, failure.message))
        except BaseException as failure:
            answers.put(failure)

    def feed():
        try:
            for item_id, kernel in batch:
                pool.submit(work, item_id, kernel)
        except BaseException as failure:
            answers.put(failure)
        answers.put(None)

    pool.submit(feed)
    told, fed = 0, False
    while not fed or told < len(batch.order):
        answer = answers.get()
        if isinstance(answer, BaseException):
            raise answer
        if answer is None:
            fed = True
            continue
        told += 1
        yield answer


class Batch:
    """Items in the order in which they come. Ids must differ, and the reference be one of them: said before the first
    item is taken where `items` is a list, else on the way."""

    def __init__(self, items: Launches, reference_id: str):
        items = list(items.items()) if isinstance(items, Mapping) else items
        self._items, self._reference_id, self._all = items, reference_id, None
        self.order: List[str] = []
        if isinstance(items, (list, tuple)):
            self._all = [item_id for item_id, _ in items]
            check_ids(self._all, reference_id)

    def __iter__(self) -> Iterator[Tuple[str, launch_pb2.KernelLaunch]]:
        seen = set()
        for item_id, kernel in self._items:
            if item_id in seen:
                raise ValueError(f"id {item_id!r} is given twice")
            seen.add(item_id)
            self.order.append(item_id)
            yield item_id, kernel

    def total(self) -> int:
        """Items in all, as far as that is known."""
        return len(self.order if self._all is None else self._all)

    def check_reference(self) -> None:
        check_ids(self.order, self._reference_id)


def check_ids(order, reference_id):
    """Ids differ, and the reference is one of them."""
    if len(set(order)) != len(order):
        twice = next(item_id for item_id in order if order.count(item_id) > 1)
        raise ValueError(f"id {twice!r} is given twice")
    if reference_id and reference_id not in order:
        raise SamebitsError(
            Code.INVALID_ARGUMENT, f"no item has the reference's id {reference_id!r}", "INVALID_FIELD",
            {"field": "config.reference_id"})
