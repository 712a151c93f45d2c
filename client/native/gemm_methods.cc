#include "client/native/gemm_methods.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/native/parse.h"
#include "core/base/sha256.h"
#include "proto/convert/gemm.h"
#include "proto/convert/gemm_answers.h"

namespace samebits {
namespace {

constexpr int kAllCores = 0;

using Profile = std::shared_ptr<const gemm::ArchProfile>;

// Questions come in rows about one profile, whose text takes longer to read than they take to answer.
class LastProfile {
 public:
  absl::StatusOr<Profile> Read(const std::string& text) {
    absl::MutexLock lock(&mutex_);
    if (profile_ != nullptr && text == text_) return profile_;
    absl::StatusOr<gemm::ArchProfile> parsed = gemm::ParseArchProfile(text);
    if (!parsed.ok()) return parsed.status();
    profile_ = std::make_shared<const gemm::ArchProfile>(*std::move(parsed));
    text_ = text;
    return profile_;
  }

 private:
  absl::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  Profile profile_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<Profile> ReadProfile(const std::string& text) {
  static auto* const last = new LastProfile();
  return last->Read(text);
}

}  // namespace

absl::StatusOr<std::string> DescribeArchProfile(std::string_view bytes) {
  const auto request = Parse<v1::ImportArchProfileRequest>(bytes);
  if (!request.ok()) return request.status();
  const absl::StatusOr<Profile> profile = ReadProfile(request->text());
  if (!profile.ok()) return profile.status();
  v1::ArchProfile answer;
  proto::ArchProfileToProto(**profile, request->text().size(), &answer);
  answer.set_name("archProfiles/" + Sha256Hex(request->text()));
  return answer.SerializeAsString();
}

absl::StatusOr<std::string> DescribeGemm(std::string_view bytes) {
  const auto request = Parse<v1::DescribeGemmRequest>(bytes);
  if (!request.ok()) return request.status();
  const absl::StatusOr<gemm::GemmProblem> problem = proto::GemmShapeFromProto(request->shape());
  if (!problem.ok()) return problem.status();
  const absl::StatusOr<Profile> profile = ReadProfile(request->name());
  if (!profile.ok()) return profile.status();
  v1::DescribeGemmResponse answer;
  if (absl::Status status = proto::DescribeGemm(**profile, *problem, &answer); !status.ok()) return status;
  return answer.SerializeAsString();
}

absl::StatusOr<std::string> EmulateGemm(std::string_view bytes) {
  const auto request = Parse<v1::EmulateGemmRequest>(bytes);
  if (!request.ok()) return request.status();
  v1::EmulateGemmResponse answer;
  if (absl::Status status = proto::EmulateGemm(*request, kAllCores, &answer); !status.ok()) return status;
  return answer.SerializeAsString();
}

absl::StatusOr<std::string> ReportBatchInvariance(std::string_view bytes) {
  auto request = Parse<v1::ReportBatchInvarianceRequest>(bytes);
  if (!request.ok()) return request.status();
  request->mutable_shape()->set_m(1);  // not read
  const absl::StatusOr<gemm::GemmProblem> problem = proto::GemmShapeFromProto(request->shape());
  if (!problem.ok()) return problem.status();
  const absl::StatusOr<Profile> profile = ReadProfile(request->name());
  if (!profile.ok()) return profile.status();
  const auto report = gemm::BatchInvariance(**profile, *problem, request->first_m(), request->last_m());
  if (!report.ok()) return report.status();
  v1::ReportBatchInvarianceResponse answer;
  proto::InvarianceReportToProto(*report, &answer);
  return answer.SerializeAsString();
}

}  // namespace samebits
