#ifndef SAMEBITS_PROTO_CONVERT_CONVERT_H_
#define SAMEBITS_PROTO_CONVERT_CONVERT_H_

// Between the API's messages and the checker's types, both ways, for server and clients. Pure; thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"
#include "samebits/v1/kernel.pb.h"
#include "samebits/v1/launch.pb.h"
#include "samebits/v1/signature.pb.h"

namespace samebits::proto {

// Copies text that may come from a kernel into a field of type string, which must be UTF-8: each byte that is not
// part of a well-formed sequence becomes U+FFFD.
void SetText(std::string_view text, std::string* out);

// INVALID_ARGUMENT naming the field where `launch` lacks a block or a dimension is 0. A float argument's width is not
// kept: see FloatWidth.
absl::StatusOr<checker::Launch> LaunchFromProto(const v1::Launch& launch);

// Bytes that a float argument was given in (4 or 8); 0 for any other argument.
int FloatWidth(const v1::Argument& argument);

// `float_bytes` holds for each argument the width of its parameter where the argument is a float; it may be shorter
// than the list, and a float without a width is sent as 32 bits where the pattern's upper half is zero, else as 64.
void LaunchToProto(const checker::Launch& launch, const std::vector<uint32_t>& float_bytes, v1::Launch* out);

// Sets ignore_signed_zero and strict_contraction only.
void OptionsFromProto(const v1::CheckOptions& options, checker::Options* out);
void OptionsToProto(const checker::Options& options, v1::CheckOptions* out);

// `cached`: the times are left out, as they are not this call's.
void SignatureToProto(const checker::Signature& signature, int version, bool cached,
                      v1::KernelSignature* out);
checker::Signature SignatureFromProto(const v1::KernelSignature& signature);

// Fills verdict, reason and difference; a and b are the caller's to fill.
void VerdictToProto(const checker::Comparison& comparison, v1::Comparison* out);
checker::Comparison ComparisonFromProto(const v1::Comparison& comparison);

v1::Comparison::Verdict VerdictToProto(checker::Verdict verdict);
checker::Verdict VerdictFromProto(v1::Comparison::Verdict verdict);

// Fills isa, isa_version, target and entries.
void TextInfoToProto(const checker::TextInfo& info, v1::Kernel* out);
checker::TextInfo TextInfoFromProto(const v1::Kernel& kernel);

}  // namespace samebits::proto

#endif  // SAMEBITS_PROTO_CONVERT_CONVERT_H_
