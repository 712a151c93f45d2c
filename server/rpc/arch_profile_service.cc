#include "server/rpc/arch_profile_service.h"

#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/gemm/profile_report.h"
#include "proto/convert/gemm.h"
#include "proto/convert/gemm_answers.h"
#include "samebits/v1/arch_profile_service.grpc.pb.h"
#include "server/reconstruction/gemm_jobs.h"
#include "server/reconstruction/reconstruction.h"
#include "server/registry/digest.h"
#include "server/registry/errors.h"
#include "server/rpc/operation_messages.h"
#include "server/rpc/reply_reactor.h"
#include "server/rpc/submit_job.h"

namespace samebits::server {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using Profile = std::shared_ptr<const gemm::ArchProfile>;

constexpr size_t kKeptProfiles = 4;
constexpr int64_t kMostDifferences = 10'000;
constexpr double kMostProducts = 1e9;  // multiplications of one emulated product, seconds of one core

absl::StatusOr<Digest> DigestOfName(const std::string& name) {
  const absl::StatusOr<std::string> id = IdOf(name, "archProfiles");
  if (!id.ok()) return id.status();
  const std::optional<Digest> digest = ParseDigestHex(*id);
  if (!digest) return InvalidField("name", "must be archProfiles/ and 64 hex digits");
  return *digest;
}

// Errors of core/gemm about a request's `field`.
absl::Status About(std::string_view field, const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? InvalidField(field, std::string(status.message())) : status;
}

absl::StatusOr<gemm::GemmProblem> ProblemOf(v1::GemmShape shape, bool with_m) {
  if (!with_m) shape.set_m(1);
  absl::StatusOr<gemm::GemmProblem> problem = proto::GemmShapeFromProto(shape);
  if (!problem.ok()) return About("shape", problem.status());
  return problem;
}

class ArchProfileService : public v1::ArchProfileService::CallbackService {
 public:
  ArchProfileService(storage::ProfileStore& store, const JobRpc& rpc) : store_(store), rpc_(rpc) {}

  ServerUnaryReactor* ImportArchProfile(CallbackServerContext* context, const v1::ImportArchProfileRequest* request,
                                        v1::ArchProfile* response) override {
    return RunOnPool(rpc_, Method::kImportArchProfile, context, [this, request, response](const Identity&) {
      if (request->text().size() > kMostProfileBytes)
        return LimitExceeded("max_arch_profile_bytes", kMostProfileBytes, request->text().size());
      absl::StatusOr<v1::ArchProfile> stored = StoreProfile(store_, request->text());
      if (!stored.ok()) return About("text", stored.status());
      *response = *std::move(stored);
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* ReconstructArchProfile(CallbackServerContext* context,
                                             const v1::ReconstructArchProfileRequest* request,
                                             v1::Operation* response) override {
    return SubmitJob(rpc_, Method::kReconstructArchProfile, context, [this, request](const std::vector<storage::WorkerRecord>& workers) {
      return MakeReconstructionSubmission(*request, workers, store_);
    }, response);
  }

  ServerUnaryReactor* GetArchProfile(CallbackServerContext* context, const v1::GetArchProfileRequest* request,
                                     v1::ArchProfile* response) override {
    return RunOnPool(rpc_, Method::kGetArchProfile, context, [this, request, response](const Identity&) {
      const absl::StatusOr<Digest> digest = DigestOfName(request->name());
      if (!digest.ok()) return digest.status();
      const absl::StatusOr<storage::ProfileRecord> stored = store_.GetProfile(*digest);
      return stored.ok() ? ToMessage(*stored, response) : stored.status();
    });
  }

  ServerUnaryReactor* ListArchProfiles(CallbackServerContext* context, const v1::ListArchProfilesRequest*,
                                       v1::ListArchProfilesResponse* response) override {
    return RunOnPool(rpc_, Method::kListArchProfiles, context, [this, response](const Identity&) {
      const absl::StatusOr<std::vector<storage::ProfileRecord>> profiles = store_.ListProfiles();
      if (!profiles.ok()) return profiles.status();
      for (const storage::ProfileRecord& record : *profiles) {
        if (absl::Status status = ToMessage(record, response->add_arch_profiles()); !status.ok()) return status;
      }
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* ExportArchProfile(CallbackServerContext* context, const v1::ExportArchProfileRequest* request,
                                        v1::ExportArchProfileResponse* response) override {
    return RunOnPool(rpc_, Method::kExportArchProfile, context, [this, request, response](const Identity&) {
      const absl::StatusOr<Digest> digest = DigestOfName(request->name());
      if (!digest.ok()) return digest.status();
      absl::StatusOr<std::string> text = store_.GetProfileText(*digest);
      if (text.ok()) response->set_text(*std::move(text));
      return text.status();
    });
  }

  ServerUnaryReactor* DeleteArchProfile(CallbackServerContext* context, const v1::DeleteArchProfileRequest* request,
                                        google::protobuf::Empty*) override {
    return RunOnPool(rpc_, Method::kDeleteArchProfile, context, [this, request](const Identity&) {
      const absl::StatusOr<Digest> digest = DigestOfName(request->name());
      return digest.ok() ? store_.DeleteProfile(*digest) : digest.status();
    });
  }

  ServerUnaryReactor* DescribeGemm(CallbackServerContext* context, const v1::DescribeGemmRequest* request,
                                   v1::DescribeGemmResponse* response) override {
    return RunOnPool(rpc_, Method::kDescribeGemm, context, [this, request, response](const Identity&) {
      const absl::StatusOr<gemm::GemmProblem> problem = ProblemOf(request->shape(), true);
      if (!problem.ok()) return problem.status();
      const absl::StatusOr<Profile> profile = Load(request->name());
      if (!profile.ok()) return profile.status();
      return proto::DescribeGemm(**profile, *problem, response);
    });
  }

  ServerUnaryReactor* EmulateGemm(CallbackServerContext* context, const v1::EmulateGemmRequest* request,
                                  v1::EmulateGemmResponse* response) override {
    return RunOnPool(rpc_, Method::kEmulateGemm, context,
                     [request, response](const Identity&) { return Emulate(*request, response); });
  }

  ServerUnaryReactor* RecoverGemms(CallbackServerContext* context, const v1::RecoverGemmsRequest* request,
                                   v1::Operation* response) override {
    return SubmitJob(rpc_, Method::kRecoverGemms, context, [request](const std::vector<storage::WorkerRecord>& workers) {
      return MakeRecoverGemmsSubmission(*request, workers);
    }, response);
  }

  ServerUnaryReactor* EmulateGemmOnWorker(CallbackServerContext* context, const v1::EmulateGemmOnWorkerRequest* request,
                                          v1::Operation* response) override {
    return SubmitJob(rpc_, Method::kEmulateGemmOnWorker, context, [request](const std::vector<storage::WorkerRecord>& workers) {
      return MakeEmulateGemmSubmission(*request, workers);
    }, response);
  }

  ServerUnaryReactor* ReportBatchInvariance(CallbackServerContext* context,
                                            const v1::ReportBatchInvarianceRequest* request,
                                            v1::ReportBatchInvarianceResponse* response) override {
    return RunOnPool(rpc_, Method::kReportBatchInvariance, context, [this, request, response](const Identity&) {
      const absl::StatusOr<gemm::GemmProblem> problem = ProblemOf(request->shape(), false);
      if (!problem.ok()) return problem.status();
      const absl::StatusOr<Profile> profile = Load(request->name());
      if (!profile.ok()) return profile.status();
      const auto report = gemm::BatchInvariance(**profile, *problem, request->first_m(), request->last_m());
      if (!report.ok()) return About("first_m", report.status());
      proto::InvarianceReportToProto(*report, response);
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* CompareArchProfiles(CallbackServerContext* context, const v1::CompareArchProfilesRequest* request,
                                          v1::CompareArchProfilesResponse* response) override {
    return RunOnPool(rpc_, Method::kCompareArchProfiles, context, [this, request, response](const Identity&) {
      const absl::StatusOr<Profile> before = Load(request->before()), after = Load(request->after());
      if (!before.ok()) return before.status();
      if (!after.ok()) return after.status();
      const gemm::ProfileComparison comparison = gemm::Compare(**before, **after);
      for (const std::string& change : comparison.identity) response->add_identity_changes(change);
      response->set_same(comparison.same);
      response->set_changed(comparison.changed);
      response->set_unknown(comparison.unknown);
      for (const gemm::ProfileDifference& difference : comparison.differences) {
        if (response->differences_size() == kMostDifferences) break;
        v1::CompareArchProfilesResponse::Difference* out = response->add_differences();
        proto::GemmShapeToProto(difference.problem, out->mutable_shape());
        out->set_last_m(difference.last_m);
        for (const std::string& change : difference.changes) out->add_changes(change);
      }
      return absl::OkStatus();
    });
  }

 private:
  static absl::Status Emulate(const v1::EmulateGemmRequest& request, v1::EmulateGemmResponse* response) {
    if (request.m() < 1 || request.n() < 1 || request.k() < 1) return InvalidField("m", "sides must be positive");
    const double products =
        static_cast<double>(request.m()) * static_cast<double>(request.n()) * static_cast<double>(request.k());
    if (products > kMostProducts)
      return LimitExceeded("max_emulated_products", static_cast<uint64_t>(kMostProducts),
                           products < 1e18 ? static_cast<uint64_t>(products) : ~uint64_t{0});
    return About("desc", proto::EmulateGemm(request, 1, response));
  }

  absl::StatusOr<Profile> Load(const std::string& name) {
    const absl::StatusOr<Digest> digest = DigestOfName(name);
    if (!digest.ok()) return digest.status();
    const absl::StatusOr<storage::ProfileRecord> stored = store_.GetProfile(*digest);  // it may have been deleted
    if (!stored.ok()) return stored.status();
    {
      absl::MutexLock lock(&mutex_);
      for (auto at = kept_.begin(); at != kept_.end(); ++at) {
        if (at->first != *digest) continue;
        kept_.splice(kept_.begin(), kept_, at);
        return kept_.front().second;
      }
    }
    const absl::StatusOr<std::string> text = store_.GetProfileText(*digest);
    if (!text.ok()) return text.status();
    absl::StatusOr<gemm::ArchProfile> parsed = gemm::ParseArchProfile(*text);
    if (!parsed.ok()) return absl::DataLossError(absl::StrCat("a stored arch profile is damaged: ", parsed.status().message()));
    auto profile = std::make_shared<const gemm::ArchProfile>(*std::move(parsed));
    absl::MutexLock lock(&mutex_);
    kept_.emplace_front(*digest, profile);
    if (kept_.size() > kKeptProfiles) kept_.pop_back();
    return profile;
  }

  storage::ProfileStore& store_;
  const JobRpc rpc_;
  absl::Mutex mutex_;
  std::list<std::pair<Digest, Profile>> kept_ ABSL_GUARDED_BY(mutex_);  // the latest used first
};

}  // namespace

std::unique_ptr<grpc::Service> MakeArchProfileService(storage::ProfileStore& store, const JobRpc& rpc) {
  return std::make_unique<ArchProfileService>(store, rpc);
}

}  // namespace samebits::server
