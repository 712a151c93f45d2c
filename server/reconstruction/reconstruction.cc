#include "server/reconstruction/reconstruction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "proto/convert/gemm_answers.h"
#include "samebits/v1/arch_profile.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/jobs/job_request.h"
#include "server/registry/digest.h"
#include "server/registry/errors.h"
#include "server/verify/verify.h"

namespace samebits::server {
namespace {

using v1::ReconstructArchProfileRequest;

constexpr absl::Duration kDefaultTimeout = absl::Hours(24), kLongestTimeout = absl::Hours(24 * 30);
constexpr int kMostKinds = 64;
constexpr int64_t kMostShapes = 100'000, kMostM = 65'536, kMostWorkspace = int64_t{1} << 40;
constexpr char kCollection[] = "archProfiles/";

absl::Status CheckNumber(const char* field, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("must be from 0 to ", most));
}

absl::Status CheckKinds(const ReconstructArchProfileRequest& request) {
  if (request.kinds_size() < 1 || request.kinds_size() > kMostKinds)
    return InvalidField("kinds", absl::StrCat("must be 1 to ", kMostKinds, " types and layouts"));
  for (const auto& kind : request.kinds()) {
    gemm::GemmProblem problem;
    if (absl::Status status = gemm::ParseTypes(kind.types(), &problem); !status.ok())
      return InvalidField("kinds.types", std::string(status.message()));
    const absl::StatusOr<gemm::Layout> layout = gemm::ParseLayout(kind.layout().empty() ? "TN" : kind.layout());
    if (!layout.ok()) return InvalidField("kinds.layout", std::string(layout.status().message()));
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const ReconstructArchProfileRequest& request) {
  for (const auto& [name, text] : {std::pair{"request_id", &request.request_id()}, {"device", &request.device()},
                                   {"library", &request.library()}, {"device_name", &request.device_name()},
                                   {"driver", &request.driver()}}) {
    if (absl::Status status = CheckName(*text, name); !status.ok()) return status;
    if (text->find('\n') != std::string::npos) return InvalidField(name, "must be one line");
  }
  if (request.library().empty()) return InvalidField("library", "must name a library: cublaslt, cublas, simulated or simulated-2");
  if (absl::Status status = CheckPriority(request.priority(), "priority"); !status.ok()) return status;
  for (const absl::Status& status : {CheckNumber("random_shapes", request.random_shapes(), kMostShapes),
                                     CheckNumber("most_m", request.most_m(), kMostM),
                                     CheckNumber("most_k", request.most_k(), gemm::kMaxK),
                                     CheckNumber("workspace_bytes", request.workspace_bytes(), kMostWorkspace)})
    if (!status.ok()) return status;
  if (request.skip_models() && request.random_shapes() == 0)
    return InvalidField("random_shapes", "must be positive where the products of models are left out");
  return CheckKinds(request);
}

// A profile with nothing but the rules of the named one; empty where none is named.
absl::StatusOr<std::string> RulesOf(const std::string& name, storage::ProfileStore& profiles) {
  if (name.empty()) return std::string();
  const std::optional<Digest> digest = name.starts_with(kCollection) ? ParseDigestHex(name.substr(sizeof(kCollection) - 1)) : std::nullopt;
  if (!digest) return InvalidField("rules_of", "must be archProfiles/ and 64 hex digits");
  const absl::StatusOr<std::string> text = profiles.GetProfileText(*digest);
  if (!text.ok()) return text.status();
  absl::StatusOr<gemm::ArchProfile> profile = gemm::ParseArchProfile(*text);
  if (!profile.ok()) return absl::DataLossError(absl::StrCat("a stored arch profile is damaged: ", profile.status().message()));
  profile->algorithms.clear();
  profile->sections.clear();
  return gemm::ToText(*profile);
}

class ReconstructionFinisher : public JobFinisher {
 public:
  explicit ReconstructionFinisher(storage::ProfileStore& profiles) : profiles_(profiles) {}

  storage::JobEnd Finish(const storage::JobRecord&, const std::vector<storage::TaskRecord>& tasks) override {
    storage::JobEnd end;
    const storage::TaskRecord& task = tasks[0];
    absl::Status error = absl::InternalError("the worker sent no usable profile");
    if (task.state == storage::TaskState::kDone) {
      absl::StatusOr<v1::ArchProfile> stored = StoreProfile(profiles_, task.result);
      if (stored.ok()) {
        end.result = stored->SerializeAsString();
        return end;
      }
      error = absl::Status(absl::StatusCode::kInternal, absl::StrCat("the profile is not stored: ", stored.status().message()));
    } else if (task.error_code != 0) {
      error = absl::Status(static_cast<absl::StatusCode>(task.error_code), task.error);
    }
    end.state = storage::JobState::kFailed;
    end.error_code = static_cast<int>(error.code());
    end.error = std::string(error.message());
    return end;
  }

 private:
  storage::ProfileStore& profiles_;
};

}  // namespace

std::vector<std::string> ReconstructionTargetsOf(const worker::v1::CreateWorkerSessionRequest& worker,
                                                 const v1::Device& device) {
  std::vector<std::string> targets;
  for (const auto& library : worker.gemm_libraries()) {
    if (library.backend() != device.backend()) continue;
    for (const std::string& base : TargetsOf(worker.worker(), device))
      targets.push_back(absl::StrCat(library.library(), "@", base));
  }
  return targets;
}

absl::StatusOr<std::string> ChooseLibraryTarget(const std::string& library, const std::string& device,
                                                const std::vector<storage::WorkerRecord>& workers) {
  std::vector<std::string> offered;
  ForEachDevice(workers, [&](const worker::v1::CreateWorkerSessionRequest& worker, const v1::Device& own) {
    for (std::string& target : ReconstructionTargetsOf(worker, own)) offered.push_back(std::move(target));
  });
  if (std::optional<std::string> target = FirstOffered(library, device, offered)) return *std::move(target);
  return NoDevice(absl::StrCat(library, "@", device),
                  absl::StrCat("no worker that has '", library, "'", device.empty() ? "" : absl::StrCat(" on ", device),
                               " has registered; start samebits-worker there, see samebits fleet"));
}

absl::StatusOr<v1::ArchProfile> StoreProfile(storage::ProfileStore& store, const std::string& text) {
  const absl::StatusOr<gemm::ArchProfile> profile = gemm::ParseArchProfile(text);
  if (!profile.ok()) return profile.status();
  v1::ArchProfile about;
  proto::ArchProfileToProto(*profile, text.size(), &about);
  const absl::StatusOr<storage::ProfileRecord> stored =
      store.PutProfile({ContentDigest(text), absl::Now(), about.SerializeAsString()}, text);
  if (!stored.ok()) return stored.status();
  v1::ArchProfile message;
  if (absl::Status status = ToMessage(*stored, &message); !status.ok()) return status;
  return message;
}

absl::Status ToMessage(const storage::ProfileRecord& record, v1::ArchProfile* out) {
  if (!out->ParseFromString(record.description)) return absl::DataLossError("a stored arch profile is damaged");
  out->set_name(absl::StrCat(kCollection, DigestHex(record.digest)));
  const int64_t micros = absl::ToUnixMicros(record.create_time);
  out->mutable_create_time()->set_seconds(micros / 1'000'000);
  out->mutable_create_time()->set_nanos(static_cast<int32_t>(micros % 1'000'000 * 1000));
  return absl::OkStatus();
}

absl::StatusOr<Submission> MakeReconstructionSubmission(const ReconstructArchProfileRequest& request,
                                                        const std::vector<storage::WorkerRecord>& workers,
                                                        storage::ProfileStore& profiles) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  const absl::StatusOr<absl::Duration> timeout = TimeoutOf(request, kDefaultTimeout, kLongestTimeout, "30 days", "timeout");
  if (!timeout.ok()) return timeout.status();
  absl::StatusOr<std::string> target = ChooseLibraryTarget(request.library(), request.device(), workers);
  if (!target.ok()) return target.status();
  absl::StatusOr<std::string> rules = RulesOf(request.rules_of(), profiles);
  if (!rules.ok()) return rules.status();
  worker::v1::ProfileTask task;
  *task.mutable_request() = request;
  task.set_rules(*std::move(rules));
  return NewSubmission(kReconstructKind, request, *timeout, task.SerializeAsString(), {*std::move(target)});
}

std::unique_ptr<JobFinisher> MakeReconstructionFinisher(storage::ProfileStore& profiles) {
  return std::make_unique<ReconstructionFinisher>(profiles);
}

}  // namespace samebits::server
