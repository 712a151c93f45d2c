#include "server/maintenance/maintenance.h"

#include "absl/strings/str_cat.h"
#include "samebits/v1/arch_profile.pb.h"
#include "samebits/v1/gemm_jobs.pb.h"
#include "samebits/v1/kernel.pb.h"
#include "samebits/v1/numerics.pb.h"
#include "samebits/v1/signature.pb.h"
#include "samebits/v1/verification.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/numerics/numerics.h"
#include "server/reconstruction/gemm_jobs.h"
#include "server/reconstruction/reconstruction.h"
#include "server/registry/digest.h"
#include "server/verify/verify.h"
#include "storage/sqlite/backup.h"

namespace samebits::server {
namespace {

using storage::sqlite::CheckReport;
using storage::sqlite::ContentChecks;

template <typename Message>
bool Parse(std::string_view bytes, Message* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

std::string CheckText(const Digest& digest, std::string_view text) {
  const Digest actual = ContentDigest(text);
  return actual == digest ? "" : absl::StrCat("the text's digest is ", DigestHex(actual));
}

std::string CheckKernel(std::string_view description) {
  v1::Kernel kernel;
  return Parse(description, &kernel) ? "" : "not a description";
}

std::string CheckSignature(std::string_view digest, std::string_view body) {
  v1::KernelSignature signature;
  if (!Parse(body, &signature) || signature.status() == v1::KernelSignature::STATUS_UNSPECIFIED)
    return "not a signature";
  if (signature.digest() != digest) return absl::StrCat("its own digest is ", signature.digest());
  const bool decides = signature.status() == v1::KernelSignature::OK;
  return decides == !digest.empty() ? "" : "a digest goes with status OK and no other";
}

std::string CheckJob(std::string_view kind, std::string_view spec) {
  if (IsNumericsKind(kind)) {
    v1::NumericsRequest request;
    return Parse(spec, &request) && request.job_case() != v1::NumericsRequest::JOB_NOT_SET ? "" : "not a request";
  }
  if (kind == kReconstructKind) {
    worker::v1::ProfileTask task;
    return Parse(spec, &task) && task.request().kinds_size() != 0 ? "" : "not a request";
  }
  if (kind == kRecoverGemmsKind) {
    v1::RecoverGemmsRequest request;
    return Parse(spec, &request) && request.shapes_size() != 0 ? "" : "not a request";
  }
  if (kind == kEmulateGemmKind) {
    v1::EmulateGemmOnWorkerRequest request;
    return Parse(spec, &request) && request.has_desc() ? "" : "not a request";
  }
  if (kind != kVerifyKind) return "of a kind that this program does not know";
  v1::VerifyKernelsRequest request;
  return Parse(spec, &request) && request.launches_size() != 0 ? "" : "not a request";
}

std::string CheckResult(std::string_view kind, std::string_view result) {
  if (kind == kReconstructKind) {
    v1::ArchProfile profile;
    return Parse(result, &profile) && !profile.name().empty() ? "" : "not a result";
  }
  if (IsNumericsKind(kind)) {
    v1::NumericsResult numerics;
    return Parse(result, &numerics) && numerics.result_case() != v1::NumericsResult::RESULT_NOT_SET ? "" : "not a result";
  }
  if (kind == kRecoverGemmsKind) return IsRecoverGemmsResult(std::string(result)) ? "" : "not a result";
  if (kind == kEmulateGemmKind) return IsEmulateGemmResult(std::string(result)) ? "" : "not a result";
  v1::VerifyKernelsResponse response;
  if (kind != kVerifyKind) return "";
  return Parse(result, &response) && response.launch_ids_size() != 0 ? "" : "not a result";
}

std::string CheckReproducer(std::string_view body) {
  v1::Reproducer reproducer;
  const bool fits = Parse(body, &reproducer) && reproducer.request().launches_size() != 0 &&
                    reproducer.signatures_size() == reproducer.request().launches_size() &&
                    reproducer.device().outcomes_size() == reproducer.request().launches_size();
  return fits ? "" : "not a reproducer";
}

std::string CheckWorker(std::string_view description) {
  worker::v1::CreateWorkerSessionRequest about;
  return Parse(description, &about) ? "" : "not a description";
}

std::string CheckProfile(std::string_view description) {
  v1::ArchProfile profile;
  return Parse(description, &profile) ? "" : "not a description";
}

}  // namespace

absl::StatusOr<CheckReport> CheckDatabase(const std::string& path) {
  return storage::sqlite::CheckDatabase(path, {CheckText, CheckKernel, CheckSignature, CheckJob, CheckResult,
                                               CheckReproducer, CheckWorker, CheckText, CheckProfile});
}

absl::StatusOr<CheckReport> BackUp(const std::string& path, const std::string& copy) {
  if (absl::Status status = storage::sqlite::CopyDatabase(path, copy); !status.ok()) return status;
  return CheckDatabase(copy);
}

absl::StatusOr<Restored> Restore(const std::string& backup, const std::string& path, bool replace) {
  absl::StatusOr<CheckReport> report = CheckDatabase(backup);
  if (!report.ok()) return report.status();
  if (!report->findings.empty()) {
    const storage::sqlite::Finding& first = report->findings.front();
    return absl::DataLossError(absl::StrCat(backup, " is not whole: ", first.what, ": ", first.example,
                                            "; nothing was restored"));
  }
  absl::StatusOr<std::string> aside = storage::sqlite::RestoreDatabase(backup, path, replace);
  if (!aside.ok()) return aside.status();
  return Restored{*std::move(report), *std::move(aside)};
}

}  // namespace samebits::server
