#ifndef SAMEBITS_SERVER_RPC_PARTITION_REACTOR_H_
#define SAMEBITS_SERVER_RPC_PARTITION_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include "samebits/v1/kernel_service.pb.h"
#include "server/registry/registry.h"
#include "server/rpc/call_scope.h"

namespace samebits::server {

// Serves one PartitionKernels stream; owns itself.
grpc::ServerBidiReactor<v1::PartitionKernelsRequest, v1::PartitionKernelsResponse>* StartPartition(Registry& registry,
                                                                                                  CallScope scope);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_PARTITION_REACTOR_H_
