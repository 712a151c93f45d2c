#ifndef SAMEBITS_SERVER_RPC_KERNEL_SERVICE_H_
#define SAMEBITS_SERVER_RPC_KERNEL_SERVICE_H_

#include <memory>

#include "samebits/v1/kernel_service.grpc.pb.h"
#include "server/log/log.h"
#include "server/registry/registry.h"

namespace samebits::server {

// samebits.v1.KernelService on gRPC's callback API: converts and delegates to the registry. Registry and log must
// outlive it.
std::unique_ptr<grpc::Service> MakeKernelService(Registry& registry, const Log& log);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_KERNEL_SERVICE_H_
