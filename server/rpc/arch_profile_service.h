#ifndef SAMEBITS_SERVER_RPC_ARCH_PROFILE_SERVICE_H_
#define SAMEBITS_SERVER_RPC_ARCH_PROFILE_SERVICE_H_

#include <memory>

#include "server/rpc/job_rpc.h"
#include "storage/profile_store.h"

namespace grpc {
class Service;
}

namespace samebits::server {

// samebits.v1.ArchProfileService on gRPC's callback API; the store outlives it. A few parsed profiles are kept.
std::unique_ptr<grpc::Service> MakeArchProfileService(storage::ProfileStore& store, const JobRpc& rpc);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_ARCH_PROFILE_SERVICE_H_
