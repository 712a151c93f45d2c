#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/convert/convert.h"
#include "proto/convert/gemm.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "workers/gemm_jobs/gemm_work.h"

namespace samebits::workers {
namespace {

using v1::RecoveredGemm;

void FillIdentity(const gemm::ArchProfile& identity, v1::RecoverGemmsResponse* out) {
  proto::SetText(identity.device, out->mutable_device());
  out->set_architecture(static_cast<int32_t>(identity.sm));
  out->set_multiprocessors(static_cast<int32_t>(identity.multiprocessors));
  out->set_library(identity.library);
  out->set_library_version(identity.library_version);
  out->set_workspace_bytes(identity.workspace_bytes);
}

RecoveredGemm::State StateOf(const gemm::SurveyedShape& s) {
  if (!s.supported) return RecoveredGemm::UNSUPPORTED;
  if (!s.explained) return RecoveredGemm::UNEXPLAINED;
  return s.defect() ? RecoveredGemm::DEFECT : RecoveredGemm::EXPLAINED;
}

RecoveredGemm MessageOf(const gemm::SurveyedShape& s) {
  RecoveredGemm out;
  proto::GemmShapeToProto(s.problem, out.mutable_shape());
  out.set_state(StateOf(s));
  proto::SetText(s.reason, out.mutable_reason());
  if (!s.supported) return out;
  proto::GemmDescToProto(s.desc, out.mutable_desc());
  out.set_text(gemm::ToText(s.desc));
  out.set_description(gemm::Describe(s.desc));
  if (!(s.algorithm == gemm::Algorithm())) out.set_algorithm(gemm::ToText(s.algorithm));
  out.set_summed_k(s.summed_k);
  out.set_launches(s.launches);
  out.set_outputs(s.outputs);
  for (const std::string& line : s.evidence) proto::SetText(line, out.add_evidence());
  if (!s.mismatch) return out;
  RecoveredGemm::Mismatch* mismatch = out.mutable_mismatch();
  mismatch->set_row(s.mismatch->output.row);
  mismatch->set_column(s.mismatch->output.column);
  mismatch->set_expected(s.mismatch->expected);
  mismatch->set_library(s.mismatch->library);
  return out;
}

class Recovering {
 public:
  Recovering(const v1::RecoverGemmsRequest& request, const GemmLibrary& library, int threads, const WorkParts& parts)
      : request_(request), library_(library), threads_(threads), parts_(parts), found_(request.shapes_size()) {
    FillIdentity(library.identity, &where_);
  }

  absl::StatusOr<v1::RecoverGemmsResponse> Run() {
    if (absl::Status status = TakeDone(); !status.ok()) return status;
    Report();
    for (int64_t begin = 0; begin < Total();) {
      if (found_[begin]) {
        ++begin;
        continue;
      }
      int64_t end = begin;
      while (end < Total() && !found_[end]) ++end;
      if (absl::Status status = Study(begin, end); !status.ok()) return status;
      begin = end;
    }
    v1::RecoverGemmsResponse response = where_;
    for (std::optional<RecoveredGemm>& gemm : found_) *response.add_gemms() = *std::move(gemm);
    return response;
  }

 private:
  int64_t Total() const { return static_cast<int64_t>(found_.size()); }
  void Report() const { parts_.progress(done_, Total()); }

  absl::Status TakeDone() {
    for (const auto& [number, body] : parts_.done) {
      worker::v1::RecoverGemmsUnit unit;
      if (number < 0 || number >= Total() || !unit.ParseFromString(body)) return absl::DataLossError("a finished shape cannot be read");
      if (unit.where().SerializeAsString() != where_.SerializeAsString())
        return absl::FailedPreconditionError("shapes that are done are of another library, version or device; start the job anew");
      found_[number] = std::move(*unit.mutable_gemm());
      ++done_;
    }
    return absl::OkStatus();
  }

  // Shapes [begin, end), which are all left. Their seeds depend on their indices only.
  absl::Status Study(int64_t begin, int64_t end) {
    std::vector<gemm::GemmProblem> problems;
    for (int64_t i = begin; i < end; ++i) {
      const absl::StatusOr<gemm::GemmProblem> problem = proto::GemmShapeFromProto(request_.shapes(static_cast<int>(i)));
      if (!problem.ok()) return absl::InvalidArgumentError(absl::StrCat("shapes[", i, "]: ", problem.status().message()));
      problems.push_back(*problem);
    }
    gemm::SurveyOptions options;
    options.seed = request_.seed();
    if (request_.draws() > 0) options.draws = request_.draws();
    options.threads = threads_;
    options.learns = false;
    options.first_index = begin;
    gemm::RuleBook none;
    const auto next = [&](int64_t i) { return i < end - begin ? std::optional(problems[i]) : std::nullopt; };
    return gemm::Survey(library_.open, next, &none, options,
                        [&](int64_t i, const gemm::SurveyedShape& shape) { Take(begin + i, MessageOf(shape)); });
  }

  void Take(int64_t number, RecoveredGemm gemm) {
    worker::v1::RecoverGemmsUnit unit;
    *unit.mutable_where() = where_;
    *unit.mutable_gemm() = gemm;
    found_[number] = std::move(gemm);
    ++done_;
    parts_.keep(number, unit.SerializeAsString());
    Report();
  }

  const v1::RecoverGemmsRequest& request_;
  const GemmLibrary& library_;
  const int threads_;
  const WorkParts& parts_;
  v1::RecoverGemmsResponse where_;
  std::vector<std::optional<RecoveredGemm>> found_;
  int64_t done_ = 0;
};

}  // namespace

absl::StatusOr<v1::RecoverGemmsResponse> RecoverGemms(const v1::RecoverGemmsRequest& request, const GemmLibrary& library, int threads,
                                                      const WorkParts& parts) {
  return Recovering(request, library, threads, parts).Run();
}

}  // namespace samebits::workers
