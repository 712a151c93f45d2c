"""The calls of a Client about products of matrix libraries and their profiles."""

from typing import Any, Iterable, Optional, Tuple, Union

from samebits.connection import Connection
from samebits.gemm import (
    ArchProfile, Described, ProfileComparison, Types, described, operand, profile_comparison_from, scalar_pattern, shape_message,
    sides, types_text)
from samebits.gemm_jobs import EmulatedGemm, RecoveredGemms
from samebits.gemm_questions import GemmQuestions, Profile, name_of
from samebits.job_calls import new_request_id
from samebits.jobs import Job
from samebits.v1 import arch_profile_pb2, arch_profile_service_pb2, gemm_jobs_pb2


class GemmCalls(GemmQuestions):
    """Part of Client. `profile` is an ArchProfile or its name, `archProfiles/...`."""

    _connection: Connection

    def _ask(self, method: str, request: Any) -> Any:
        stub = self._connection.stub("ArchProfileService", "arch_profile_service")
        return self._connection.call(getattr(stub, method), request)

    def _submit(self, method: str, request: Any, deadline: Optional[float]) -> Job:
        if deadline is not None:
            request.timeout.FromNanoseconds(int(deadline * 1e9))
        return Job(self._connection, self._ask(method, request))

    def reconstruct_profile(
        self, library: str, kinds: Iterable[Union[Types, Tuple[Types, str]]], *, device: str = "", random_shapes: int = 0,
        models: bool = True, most_m: int = 0, most_k: int = 0, seed: int = 0, rules_of: Optional[Profile] = None,
        workspace_bytes: int = 0, priority: int = 0, deadline: Optional[float] = None, request_id: Optional[str] = None,
    ) -> "Job[ArchProfile]":
        """Has a worker study a library and store the profile. Returns a Job at once.

        library: "cublaslt" or "cublas" on CUDA devices, "simulated" or "simulated-2" (versions of a made-up library) on
        CPUs. kinds: types such as "bf16,bf16,f32,bf16", or pairs (types, layout). device: "cuda", "cuda/sm_90",
        "workers/a/devices/0"; empty: any that has the library. random_shapes: of each kind. models: the products of
        language models too, with m up to most_m (0: 8192). most_k: of random shapes (0: 200,000). rules_of: a profile
        whose rules are tried first. deadline: seconds; None: a day. priority, request_id: as verify.
        """
        request = arch_profile_pb2.ReconstructArchProfileRequest(
            library=library, device=device, random_shapes=random_shapes, skip_models=not models, most_m=most_m, most_k=most_k,
            seed=seed, rules_of=name_of(rules_of) if rules_of else "", workspace_bytes=workspace_bytes, priority=priority,
            request_id=request_id or new_request_id())
        for kind in kinds:
            types, layout = kind if isinstance(kind, tuple) and len(kind) == 2 else (kind, "")
            request.kinds.add(types=types_text(types), layout=layout)
        return self._submit("ReconstructArchProfile", request, deadline)

    def recover_gemms(
        self, library: str, types: Types, shapes: Iterable[Tuple[int, int, int]], *, layout: str = "TN", device: str = "",
        draws: int = 0, seed: int = 0, workspace_bytes: int = 0, priority: int = 0, deadline: Optional[float] = None,
        request_id: Optional[str] = None,
    ) -> "Job[RecoveredGemms]":
        """Has a worker find the descriptors of products of a library by probes. Returns a Job at once.

        library, device: as reconstruct_profile's. shapes: (m, n, k), at most 1,000. types, layout: as describe_gemm's.
        draws: of fresh operands that a descriptor must reproduce (0: 10). deadline: seconds; None: an hour. Unlike
        describe_gemm this needs no profile, and runs the library.
        """
        request = gemm_jobs_pb2.RecoverGemmsRequest(
            library=library, device=device, draws=draws, seed=seed, workspace_bytes=workspace_bytes, priority=priority,
            shapes=[shape_message(types, m, n, k, layout) for m, n, k in shapes], request_id=request_id or new_request_id())
        return self._submit("RecoverGemms", request, deadline)

    def emulate_gemm_on_worker(
        self, desc: Described, a: Any, b: Any, *, c: Any = None, bias: Any = None, alpha: float = 1.0, beta: float = 0.0,
        architecture: Optional[int] = None, m: Optional[int] = None, n: Optional[int] = None, k: Optional[int] = None,
        summed_k: int = 0, outputs: Iterable[Tuple[int, int]] = (), digests_only: bool = False, device: str = "",
        priority: int = 0, deadline: Optional[float] = None, request_id: Optional[str] = None,
    ) -> "Job[EmulatedGemm]":
        """As emulate_gemm, by a worker, for products of up to 2^30 outputs and 10^14 multiplications. Returns a Job at
        once.

        Operands may also be samebits.Generated, which the worker makes itself. summed_k: only the first so many elements
        are summed (0: k). outputs: (row, column) of those to compute; none: all. digests_only: needed where the outputs
        have more than 16 MiB. device: "cpu", "workers/a/devices/0"; empty: any that emulates. deadline: seconds; None: a
        day.
        """
        record, architecture = described(desc, architecture)
        m, n, k = sides(a, b, m, n, k)
        request = gemm_jobs_pb2.EmulateGemmOnWorkerRequest(
            desc=record, architecture=architecture, m=m, n=n, k=k, summed_k=summed_k, digests_only=digests_only,
            a=operand("a", a, record.a_type, (m, k)), b=operand("b", b, record.b_type, (n, k)), device=device,
            alpha=scalar_pattern(alpha, record.accumulate_type), beta=scalar_pattern(beta, record.accumulate_type),
            outputs=[{"row": row, "column": column} for row, column in outputs], priority=priority,
            request_id=request_id or new_request_id())
        if c is not None:
            request.c.CopyFrom(operand("c", c, record.output_type, (m, n)))
        if bias is not None:
            request.bias.CopyFrom(operand("bias", bias, record.output_type, (n,)))
        return self._submit("EmulateGemmOnWorker", request, deadline)

    def compare_profiles(self, before: Profile, after: Profile) -> ProfileComparison:
        """For which shapes that both profiles list the bits change."""
        request = arch_profile_service_pb2.CompareArchProfilesRequest(before=name_of(before), after=name_of(after))
        return profile_comparison_from(self._ask("CompareArchProfiles", request))
