#include "server/auth/roles.h"

namespace samebits::server {
namespace {

constexpr std::string_view kNames[] = {"viewer", "submitter", "worker", "admin", "enrolment"};

// The least role of people that may call a method; kWorker and kEnrolment where only those may.
Role LeastRole(Method method) {
  switch (method) {
    case Method::kGetKernel:
    case Method::kListKernels:
    case Method::kComputeKernelSignature:
    case Method::kCompareKernels:
    case Method::kExplainDifference:
    case Method::kPartitionKernels:
    case Method::kGetOperation:
    case Method::kListOperations:
    case Method::kWaitOperation:
    case Method::kWatchOperation:
    case Method::kGetWorker:
    case Method::kListWorkers:
    case Method::kListDevices:
    case Method::kListReproducers:
    case Method::kGetReproducer:
    case Method::kGetArchProfile:
    case Method::kListArchProfiles:
    case Method::kExportArchProfile:
    case Method::kDescribeGemm:
    case Method::kEmulateGemm:
    case Method::kReportBatchInvariance:
    case Method::kCompareArchProfiles:
    case Method::kCountInstructions:
      return Role::kViewer;
    case Method::kRegisterKernel:
    case Method::kVerifyKernels:
    case Method::kCancelOperation:
    case Method::kImportArchProfile:
    case Method::kReconstructArchProfile:
    case Method::kRecoverGemms:
    case Method::kEmulateGemmOnWorker:
    case Method::kEvaluateReproducibility:
    case Method::kAttributeErrors:
    case Method::kDecomposeErrors:
    case Method::kSweepSignificand:
    case Method::kMeasureQkv:
    case Method::kChooseSkipPolicy:
    case Method::kMeasureServingCost:
    case Method::kMeasureInstructionMix:
      return Role::kSubmitter;
    case Method::kCreateWorkerSession:
    case Method::kUpdateWorkerSession:
      return Role::kWorker;
    case Method::kEnrolWorker:
      return Role::kEnrolment;
    case Method::kDeleteKernel:
    case Method::kDeleteOperation:
    case Method::kDeleteReproducer:
    case Method::kDeleteArchProfile:
    case Method::kDrainWorker:
    case Method::kCreateEnrolment:
    case Method::kRevokeWorker:
      return Role::kAdmin;
  }
  return Role::kAdmin;
}

bool IsPerson(Role role) { return role != Role::kWorker && role != Role::kEnrolment; }

}  // namespace

std::string_view RoleName(Role role) { return kNames[static_cast<int>(role)]; }

std::optional<Role> ParseRole(std::string_view name) {
  for (const Role role : {Role::kViewer, Role::kSubmitter, Role::kWorker, Role::kAdmin})
    if (name == RoleName(role)) return role;
  return std::nullopt;
}

bool MayCall(Role role, Method method) {
  const Role least = LeastRole(method);
  return IsPerson(least) && IsPerson(role) ? role >= least : role == least;
}

// What a viewer may call changes nothing, and all else does but a heartbeat: what came of the tasks is in the database.
bool IsMutation(Method method) {
  return LeastRole(method) != Role::kViewer && method != Method::kUpdateWorkerSession;
}

}  // namespace samebits::server
