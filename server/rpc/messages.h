#ifndef SAMEBITS_SERVER_RPC_MESSAGES_H_
#define SAMEBITS_SERVER_RPC_MESSAGES_H_

// Between messages and the registry's types.

#include <string_view>

#include "absl/status/statusor.h"
#include "samebits/v1/kernel_service.pb.h"
#include "server/registry/partition.h"
#include "server/registry/registry.h"

namespace samebits::server {

// Views point into the message. INVALID_FIELD errors name fields below `field`.
absl::StatusOr<KernelLaunch> FromMessage(const v1::KernelLaunch& message, std::string_view field);
CheckOptions FromMessage(const v1::CheckOptions& message);

void ToMessage(const Kernel& kernel, v1::Kernel* out);
void ToMessage(const KernelList& list, v1::ListKernelsResponse* out);
void ToMessage(const SignatureAnswer& answer, int version, v1::KernelSignature* out);
void ToMessage(const ComparisonAnswer& answer, int version, v1::Comparison* out);
// Leaves decided and received to the caller.
void ToMessage(const PartitionItemAnswer& answer, int version, const std::string& request_id,
               v1::PartitionItemResult* out);
void ToMessage(const PartitionAnswer& answer, v1::Partition* out);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_MESSAGES_H_
