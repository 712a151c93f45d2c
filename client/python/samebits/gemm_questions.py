"""Questions about products of matrix libraries that a server and the library in this process answer alike."""

import os
import pathlib
from typing import Any, List, Optional, Union

from samebits.errors import Code, make_error
from samebits.gemm import (
    ArchProfile, BatchInvariance, Described, GemmDescription, Types, described, description_from, invariance_from, packed,
    profile_from, scalar_pattern, shape_message, sides, unpacked)
from samebits.v1 import arch_profile_service_pb2

Profile = Union[str, ArchProfile]


def full_name(collection: str, name: str) -> str:
    return name if name.startswith(collection + "/") else f"{collection}/{name}"


def name_of(profile: Profile) -> str:
    return profile.name if isinstance(profile, ArchProfile) else full_name("archProfiles", profile)


def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise make_error(Code.INVALID_ARGUMENT, f"{path}: {error.strerror}") from None


class GemmQuestions:
    """Part of Client and Local. `profile` is an ArchProfile or its name, `archProfiles/...`."""

    def _ask(self, method: str, request: Any) -> Any:
        """The answer of a method of samebits.v1.ArchProfileService."""
        raise NotImplementedError

    def import_profile(self, profile: Union[str, "os.PathLike[str]"]) -> ArchProfile:
        """Stores a profile, given as its text or as the path of a file; the same text has the same name."""
        text = profile if isinstance(profile, str) and "\n" in profile else _read(pathlib.Path(profile))
        return profile_from(self._ask("ImportArchProfile", arch_profile_service_pb2.ImportArchProfileRequest(text=text)))

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
        return self._ask("ExportArchProfile", arch_profile_service_pb2.ExportArchProfileRequest(name=name_of(profile))).text

    def delete_profile(self, profile: Profile) -> None:
        self._ask("DeleteArchProfile", arch_profile_service_pb2.DeleteArchProfileRequest(name=name_of(profile)))

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
        self, desc: Described, a: Any, b: Any, *, c: Any = None, bias: Any = None,
        alpha: float = 1.0, beta: float = 0.0, architecture: Optional[int] = None, m: Optional[int] = None,
        n: Optional[int] = None, k: Optional[int] = None,
    ) -> Any:
        """The bits that a descriptor gives for D (m x n) = A (m x k) B^T (B is n x k), computed by the server.

        Operands are NumPy arrays in C order (values, or patterns as unsigned integers; bf16 and fp8 also as arrays of
        ml_dtypes), or packed little-endian bytes with m, n and k. c (m x n) and bias (n) are of the output's type and
        read where the descriptor's epilogue uses them, as alpha and beta are. architecture: of the matrix units, 90 for
        sm_90; default that of the description. Returns an array m x n where an operand is one (bf16 and fp8 as
        patterns unless ml_dtypes came in), else bytes. TypeError and ValueError where operands do not fit; LimitError
        above 10^9 products; SamebitsError (UNIMPLEMENTED) where the arithmetic of the architecture is not established.
        """
        record, architecture = described(desc, architecture)
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
            name=name_of(profile), shape=shape, first_m=first_m, last_m=last_m)
        return invariance_from(shape, self._ask("ReportBatchInvariance", request))
