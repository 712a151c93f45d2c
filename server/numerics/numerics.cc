#include "server/numerics/numerics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/heal/model/checkpoint.h"
#include "proto/convert/numerics/instruction_mix.h"
#include "proto/convert/numerics/numerics.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/jobs/job_request.h"
#include "server/registry/errors.h"
#include "server/verify/verify.h"

namespace samebits::server {
namespace {

using v1::NumericsRequest;

constexpr char kSynthetic[] = "synthetic";
constexpr char kMixPrefix[] = "instruction-mix:", kAnyDevice[] = "any";  // no model has such a name
constexpr absl::Duration kDefaultTimeout = absl::Hours(24), kLongestTimeout = absl::Hours(24 * 30);

// "FIELD: why" as the service says it.
absl::Status AsInvalidField(const absl::Status& status) {
  const std::string message(status.message());
  const size_t colon = message.find(": ");
  if (colon == std::string::npos || message.substr(0, colon).find(' ') != std::string::npos)
    return InvalidField("job", message);
  return InvalidField(message.substr(0, colon), message.substr(colon + 2));
}

// Synthetic models are known here, and so is all that could be wrong with a job of them.
absl::Status CheckModel(const NumericsRequest& request) {
  if (request.has_instruction_mix()) return absl::OkStatus();
  const std::string& model = proto::RunOf(request)->model();
  if (model.starts_with(absl::StrCat(kSynthetic, ":"))) {
    const auto checkpoint = heal::OpenCheckpoint(model);  // no file is read, and no weight made
    if (!checkpoint.ok()) return InvalidField("run.model", std::string(checkpoint.status().message()));
    const absl::StatusOr<heal::JobSpec> spec = proto::SpecFromProto(request, (*checkpoint)->shape());
    return spec.ok() ? absl::OkStatus() : AsInvalidField(spec.status());
  }
  if (IsModelName(model) && model != kSynthetic) return absl::OkStatus();
  return InvalidField("run.model", "must be synthetic:NAME[:SEED], or the name of a model of a worker: letters, digits, "
                      "'-', '_' and '.', at most 64; workers read no other files (samebits-worker --model NAME=PATH)");
}

absl::Status CheckScalars(const v1::NumericsRun& run) {
  for (const absl::Status& status : {CheckName(run.request_id(), "run.request_id"), CheckName(run.device(), "run.device")})
    if (!status.ok()) return status;
  return CheckPriority(run.priority(), "run.priority");
}

// All that any device of a worker can be asked for by.
std::vector<std::string> Offered(const std::vector<storage::WorkerRecord>& workers) {
  std::vector<std::string> offered;
  ForEachDevice(workers, [&](const worker::v1::CreateWorkerSessionRequest& worker, const v1::Device& device) {
    for (std::string& target : NumericsTargetsOf(worker, device)) offered.push_back(std::move(target));
  });
  return offered;
}

// Where an instruction mix goes. Any device of a worker that has the tools does.
absl::StatusOr<std::string> ChooseMixTarget(const v1::MeasureInstructionMixRequest& request, const std::vector<std::string>& offered) {
  const std::string source = proto::InstructionSourceOf(request), &device = request.run().device();
  std::string target = absl::StrCat(kMixPrefix, source, "@", device.empty() ? kAnyDevice : device);
  if (std::find(offered.begin(), offered.end(), target) != offered.end()) return target;
  const std::string remedy =
      source == "text" ? "start samebits-worker"
      : source == "engine"
          ? "start samebits-worker where NVRTC and nvdisasm are (both come with the CUDA toolkit; pip install nvidia-cuda-nvrtc triton)"
          : "start samebits-worker where cuobjdump and nvdisasm (CUDA toolkit, or pip install triton), for AMD code llvm-objdump, are on PATH, "
            "or disassemble it and send the text";
  return NoDevice(target, absl::StrCat("no worker that counts instructions of ", source == "engine" ? "our own engine" : source,
                                       device.empty() ? "" : absl::StrCat(" on ", device), " has registered; ", remedy, ", see samebits fleet"));
}

absl::StatusOr<std::string> ChooseTarget(const NumericsRequest& request, const std::vector<storage::WorkerRecord>& workers) {
  const std::vector<std::string> offered = Offered(workers);
  if (request.has_instruction_mix()) return ChooseMixTarget(request.instruction_mix(), offered);
  const v1::NumericsRun& run = *proto::RunOf(request);
  const bool synthetic = run.model().starts_with(absl::StrCat(kSynthetic, ":"));
  const std::string model = synthetic ? kSynthetic : run.model();
  if (offered.empty())
    return NoDevice(run.device(), "no worker that runs numerics has registered; start samebits-worker, see samebits fleet");
  if (std::optional<std::string> target = FirstOffered(model, run.device(), offered)) return *std::move(target);
  const std::string what = run.device().empty() ? "" : absl::StrCat(" on ", run.device());
  return NoDevice(absl::StrCat(model, "@", run.device()),
                  synthetic ? absl::StrCat("no worker that runs numerics has registered", what, ", see samebits fleet")
                            : absl::StrCat("no worker has a model called '", model, "'", what,
                                           "; start one with samebits-worker --model ", model,
                                           "=PATH, see samebits fleet"));
}

}  // namespace

std::vector<std::string> NumericsKinds() {
  std::vector<std::string> kinds;
  NumericsRequest request;
  const google::protobuf::OneofDescriptor* jobs = NumericsRequest::descriptor()->oneof_decl(0);
  for (int i = 0; i < jobs->field_count(); ++i) {
    request.GetReflection()->MutableMessage(&request, jobs->field(i));
    kinds.emplace_back(proto::MethodOf(request));
  }
  return kinds;
}

bool IsNumericsKind(std::string_view kind) {
  static const auto& kinds = *new std::vector<std::string>(NumericsKinds());
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool IsModelName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

std::vector<std::string> NumericsTargetsOf(const worker::v1::CreateWorkerSessionRequest& worker,
                                           const v1::Device& device) {
  std::vector<std::string> targets;
  if (!worker.runs_numerics()) return targets;
  std::vector<std::string> models;
  if (device.backend() != "rocm") {  // the forward pass is for the CPU and CUDA
    models = {kSynthetic};
    models.insert(models.end(), worker.models().begin(), worker.models().end());
  }
  for (const std::string& model : models)
    for (const std::string& base : TargetsOf(worker.worker(), device)) targets.push_back(absl::StrCat(model, "@", base));
  std::vector<std::string> bases = TargetsOf(worker.worker(), device);
  bases.push_back(kAnyDevice);
  for (const std::string& source : proto::InstructionSourcesMet({worker.instruction_sources().begin(), worker.instruction_sources().end()}))
    for (const std::string& base : bases) targets.push_back(absl::StrCat(kMixPrefix, source, "@", base));
  return targets;
}

absl::StatusOr<Submission> MakeNumericsSubmission(const NumericsRequest& request,
                                                  const std::vector<storage::WorkerRecord>& workers) {
  if (absl::Status status = proto::CheckRequest(request); !status.ok()) return AsInvalidField(status);
  const v1::NumericsRun& run = *proto::RunOf(request);
  for (const absl::Status& status : {CheckScalars(run), CheckModel(request)})
    if (!status.ok()) return status;
  const absl::StatusOr<absl::Duration> timeout = TimeoutOf(run, kDefaultTimeout, kLongestTimeout, "30 days", "run.timeout");
  if (!timeout.ok()) return timeout.status();
  absl::StatusOr<std::string> target = ChooseTarget(request, workers);
  if (!target.ok()) return target.status();
  NumericsRequest anonymous = request;
  proto::MutableRunOf(&anonymous)->clear_request_id();
  Submission submission = NewSubmission(std::string(proto::MethodOf(request)), run.request_id(), anonymous, run.priority(), *timeout);
  submission.spec = request.SerializeAsString();
  submission.targets = {*std::move(target)};
  return submission;
}

std::unique_ptr<JobFinisher> MakeNumericsFinisher() {
  return MakeForwardingFinisher([](const std::string& bytes) {
    v1::NumericsResult result;
    return result.ParseFromString(bytes) && result.result_case() != v1::NumericsResult::RESULT_NOT_SET;
  });
}

}  // namespace samebits::server
