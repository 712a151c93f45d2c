#ifndef SAMEBITS_SERVER_RPC_JOB_SERVICES_H_
#define SAMEBITS_SERVER_RPC_JOB_SERVICES_H_

#include <memory>

#include "server/rpc/job_rpc.h"

namespace grpc {
class Service;
}

namespace samebits::server {

// Services on gRPC's callback API that convert and delegate to the dispatcher.
std::unique_ptr<grpc::Service> MakeOperationsService(const JobRpc& rpc);
std::unique_ptr<grpc::Service> MakeFleetService(const JobRpc& rpc);
std::unique_ptr<grpc::Service> MakeNumericsService(const JobRpc& rpc);
std::unique_ptr<grpc::Service> MakeWorkerSessionsService(const JobRpc& rpc);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_JOB_SERVICES_H_
