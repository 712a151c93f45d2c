#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gemm/black_box.h"
#include "proto/convert/gemm.h"
#include "samebits/v1/gemm_jobs.pb.h"
#include "server/jobs/job_request.h"
#include "server/reconstruction/gemm_jobs.h"
#include "server/reconstruction/reconstruction.h"
#include "server/registry/errors.h"

namespace samebits::server {
namespace {

using v1::RecoverGemmsRequest;

constexpr absl::Duration kDefaultTimeout = absl::Hours(1), kLongestTimeout = absl::Hours(24 * 30);
constexpr int kMostShapes = 1000, kMostDraws = 1000;
constexpr int64_t kMostSide = INT32_MAX, kMostWorkspace = int64_t{1} << 40;

absl::Status CheckShape(const v1::GemmShape& shape, int number) {
  const std::string field = absl::StrCat("shapes[", number, "]");
  const absl::StatusOr<gemm::GemmProblem> problem = proto::GemmShapeFromProto(shape);
  if (!problem.ok()) return InvalidField(field, std::string(problem.status().message()));
  if (problem->m <= kMostSide && problem->n <= kMostSide) return absl::OkStatus();
  return InvalidField(field, "m and n must be below 2^31");
}

absl::Status CheckRequest(const RecoverGemmsRequest& request) {
  for (const auto& [name, text] : {std::pair{"request_id", &request.request_id()}, {"device", &request.device()}, {"library", &request.library()}})
    if (absl::Status status = CheckName(*text, name); !status.ok()) return status;
  if (request.library().empty()) return InvalidField("library", "must name a library: cublaslt, cublas, hipblaslt, simulated or simulated-2");
  if (absl::Status status = CheckPriority(request.priority(), "priority"); !status.ok()) return status;
  if (request.workspace_bytes() < 0 || request.workspace_bytes() > kMostWorkspace)
    return InvalidField("workspace_bytes", "must be from 0 to 2^40");
  if (request.draws() < 0 || request.draws() > kMostDraws) return InvalidField("draws", "must be from 0 to 1000");
  if (request.shapes_size() < 1 || request.shapes_size() > kMostShapes) return InvalidField("shapes", "must be 1 to 1000 shapes");
  for (int i = 0; i < request.shapes_size(); ++i)
    if (absl::Status status = CheckShape(request.shapes(i), i); !status.ok()) return status;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Submission> MakeRecoverGemmsSubmission(const RecoverGemmsRequest& request,
                                                      const std::vector<storage::WorkerRecord>& workers) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  const absl::StatusOr<absl::Duration> timeout = TimeoutOf(request, kDefaultTimeout, kLongestTimeout, "30 days", "timeout");
  if (!timeout.ok()) return timeout.status();
  absl::StatusOr<std::string> target = ChooseLibraryTarget(request.library(), request.device(), workers);
  if (!target.ok()) return target.status();
  return NewSubmission(kRecoverGemmsKind, request, *timeout, request.SerializeAsString(), {*std::move(target)});
}

bool IsRecoverGemmsResult(const std::string& bytes) {
  v1::RecoverGemmsResponse response;
  return response.ParseFromString(bytes) && response.gemms_size() != 0;
}

std::unique_ptr<JobFinisher> MakeRecoverGemmsFinisher() { return MakeForwardingFinisher(IsRecoverGemmsResult); }

}  // namespace samebits::server
