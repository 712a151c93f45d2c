"""The calls of a Client about products of matrix libraries and their profiles."""

import os
import pathlib
from typing import Any, Iterable, List, Optional, Tuple, Union

from samebits.connection import Connection
from samebits.gemm import (
    ArchProfile, BatchInvariance, GemmDescription, ProfileComparison, Types, description_from, invariance_from, packed,
    profile_comparison_from, profile_from, scalar_pattern, shape_message, sides, types_text, unpacked)
from samebits.jobs import Job
from samebits.job_calls import full_name, new_request_id
from samebits.v1 import arch_profile_pb2, arch_profile_service_pb2, gemm_pb2

Profile = Union[str, ArchProfile]


def _name_of(profile: Profile) -> str:
    return profile.name if isinstance(profile, ArchProfile) else full_name("archProfiles", profile)


class GemmCalls:
    """Part of Client. `profile` is an ArchProfile or its name, `archProfiles/...`."""

    _connection: Connection

    def _ask(self, method: str, request: Any) -> Any:
        stub = self._connection.stub("ArchProfileService", "arch_profile_service")
        return self._connection.call(getattr(stub, method), request)

    def import_profile(self, profile: Union[str, "os.PathLike[str]"]) -> ArchProfile:
        """Stores a profile, given as its text or as a path (pathlib.Path) of a file; the same text has the same name."""
        text = profile if isinstance(profile, str) else pathlib.Path(profile).read_text()
        return profile_from(self._ask("ImportArchProfile", arch_profile_service_pb2.ImportArchProfileRequest(text=text)))

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
            seed=seed, rules_of=_name_of(rules_of) if rules_of else "", workspace_bytes=workspace_bytes, priority=priority,
            request_id=request_id or new_request_id())
        for kind in kinds:
            types, layout = kind if isinstance(kind, tuple) and len(kind) == 2 else (kind, "")
            request.kinds.add(types=types_text(types), layout=layout)
        if deadline is not None:
            request.timeout.FromNanoseconds(int(deadline * 1e9))
        return Job(self._connection, self._ask("ReconstructArchProfile", request))

    def profiles(self) -> List[ArchProfile]:
        """All that are stored, by name."""
        answer = self._ask("ListArchProfiles", arch_profile_service_pb2.ListArchProfilesRequest())
        return [profile_from(message) for message in answer.arch_profiles]

    def profile(self, name: str) -> ArchProfile:
        """NotFoundError where there is none."""
        request = arch_profile_service_pb2.GetArchProfileRequest(name=full_name("archProfiles", name))
        return profile_from(self._ask("GetArchProfile", request))

    def export_profile(self, profile: Profile) -> str:
        """The text, in the format of docs/gemm.md."""
        return self._ask("ExportArchProfile", arch_profile_service_pb2.ExportArchProfileRequest(name=_name_of(profile))).text

    def delete_profile(self, profile: Profile) -> None:
        self._ask("DeleteArchProfile", arch_profile_service_pb2.DeleteArchProfileRequest(name=_name_of(profile)))

    def describe_gemm(self, profile: Profile, types: Types, m: int, n: int, k: int, *, layout: str = "TN") -> GemmDescription:
        """The descriptor that the profile's library follows for D (m x n) = A (m x k) B^T, B being n x k.

        types: of A, B, the accumulator and the output, "bf16,bf16,f32,bf16" or a sequence of four. layout: "TN", "NN",
        "NT" or "TT", by cuBLAS's names for the column-major call; "TN" is x @ W.T of row-major tensors. NotFoundError
        where the profile does not say; SamebitsError (FAILED_PRECONDITION) where the shape was studied and is
        unexplained, or the rules that are left do not agree.
        """
        shape = shape_message(types, m, n, k, layout)
        known = profile if isinstance(profile, ArchProfile) else self.profile(profile)
        answer = self._ask("DescribeGemm", arch_profile_service_pb2.DescribeGemmRequest(name=known.name, shape=shape))
        return description_from(shape, known.architecture, answer)

    def emulate_gemm(
        self, desc: Union[GemmDescription, gemm_pb2.GemmDesc], a: Any, b: Any, *, c: Any = None, bias: Any = None,
        alpha: float = 1.0, beta: float = 0.0, architecture: Optional[int] = None, m: Optional[int] = None,
        n: Optional[int] = None, k: Optional[int] = None,
    ) -> Any:
        """The bits that a descriptor gives for D (m x n) = A (m x k) B^T (B is n x k), computed by the server.

        Operands are NumPy arrays in C order (values, or patterns as unsigned integers; bf16 and fp8 also as arrays of
        ml_dtypes), or packed little-endian bytes with m, n and k. c (m x n) and bias (n) are of the output's type and
        read where the descriptor's epilogue uses them, as alpha and beta are. architecture: of the matrix units, 90 for
        sm_90; default that of the description's profile. Returns an array m x n where an operand is one (bf16 and fp8 as
        patterns unless ml_dtypes came in), else bytes. TypeError and ValueError where operands do not fit; LimitError
        above 10^9 products; SamebitsError (UNIMPLEMENTED) where the arithmetic of the architecture is not established.
        """
        record = desc.desc if isinstance(desc, GemmDescription) else desc
        if architecture is None:
            if not isinstance(desc, GemmDescription):
                raise ValueError("give the architecture, 90 for sm_90: a bare descriptor names none")
            architecture = desc.architecture
        m, n, k = sides(a, b, m, n, k)
        request = arch_profile_service_pb2.EmulateGemmRequest(
            desc=record, architecture=architecture, m=m, n=n, k=k, a=packed("a", a, record.a_type, (m, k)),
            b=packed("b", b, record.b_type, (n, k)), alpha=scalar_pattern(alpha, record.accumulate_type),
            beta=scalar_pattern(beta, record.accumulate_type))
        if c is not None:
            request.c = packed("c", c, record.output_type, (m, n))
        if bias is not None:
            request.bias = packed("bias", bias, record.output_type, (n,))
        return unpacked(self._ask("EmulateGemm", request).d, record.output_type, m, n, (a, b, c, bias))

    def batch_invariance(self, profile: Profile, types: Types, n: int, k: int, *, first_m: int = 1, last_m: int = 8192,
                         layout: str = "TN") -> BatchInvariance:
        """At which batch sizes first_m <= m <= last_m (at most 2^20) the bits of a row of D change. Types and layout as
        describe_gemm's."""
        shape = shape_message(types, 1, n, k, layout)
        request = arch_profile_service_pb2.ReportBatchInvarianceRequest(
            name=_name_of(profile), shape=shape, first_m=first_m, last_m=last_m)
        return invariance_from(shape, self._ask("ReportBatchInvariance", request))

    def compare_profiles(self, before: Profile, after: Profile) -> ProfileComparison:
        """For which shapes that both profiles list the bits change."""
        request = arch_profile_service_pb2.CompareArchProfilesRequest(before=_name_of(before), after=_name_of(after))
        return profile_comparison_from(self._ask("CompareArchProfiles", request))
