#ifndef SAMEBITS_CLIENT_NATIVE_SAMEBITS_H_
#define SAMEBITS_CLIENT_NATIVE_SAMEBITS_H_

/* The checker in this process, for languages that can call C. Requests and answers are serialized messages of
 * samebits.v1, so that a client needs one set of types for this library and for a server. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SAMEBITS_ABI_VERSION 1

/* Version of this interface, and of the signatures: those of different versions do not compare. */
int samebits_abi_version(void);
int samebits_signature_version(void);

/* Answers `method`:
 *   ComputeKernelSignature  ComputeKernelSignatureRequest -> KernelSignature
 *   CompareKernels          CompareKernelsRequest         -> CompareKernelsResponse
 *   ExplainDifference       ExplainDifferenceRequest      -> ExplainDifferenceResponse
 *   DescribeKernel          RegisterKernelRequest         -> Kernel, nothing is stored
 *   DrawComparison          ExplainDifferenceResponse     -> an SVG drawing, as text
 *   DescribeArchProfile     ImportArchProfileRequest      -> ArchProfile, nothing is stored
 *   DescribeGemm            DescribeGemmRequest           -> DescribeGemmResponse
 *   EmulateGemm             EmulateGemmRequest            -> EmulateGemmResponse, on all cores
 *   ReportBatchInvariance   ReportBatchInvarianceRequest  -> ReportBatchInvarianceResponse
 * Kernels are given by their text, profiles by theirs in `name`. Returns 0 and the answer, or a canonical status code and a google.rpc.Status whose
 * ErrorInfo is that of the service (samebits/v1/errors.proto). `*answer` is the caller's to free with samebits_free;
 * it is null only where memory ran out. Thread-safe; one call runs on the calling thread, for at most the checker's
 * time limit a launch. */
int samebits_call(const char* method, const void* request, size_t request_size, void** answer, size_t* answer_size);

void samebits_free(void* answer);

#ifdef __cplusplus
}
#endif

#endif /* SAMEBITS_CLIENT_NATIVE_SAMEBITS_H_ */
