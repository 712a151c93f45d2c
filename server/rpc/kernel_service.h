#ifndef SAMEBITS_SERVER_RPC_KERNEL_SERVICE_H_
#define SAMEBITS_SERVER_RPC_KERNEL_SERVICE_H_

#include <memory>

#include "samebits/v1/kernel_service.grpc.pb.h"
#include "server/registry/registry.h"
#include "server/rpc/job_rpc.h"

namespace samebits::server {

// samebits.v1.KernelService on gRPC's callback API: converts and delegates to the registry, and VerifyKernels to the
// dispatcher. Calls pass the gate; once it is closed they are answered with UNAVAILABLE. All must outlive the service.
std::unique_ptr<grpc::Service> MakeKernelService(Registry& registry, const JobRpc& jobs);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_KERNEL_SERVICE_H_
