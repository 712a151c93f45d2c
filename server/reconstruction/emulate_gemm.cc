#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gemm/operand.h"
#include "core/gemm/recovery.h"
#include "core/inputs/inputs.h"
#include "proto/convert/gemm.h"
#include "samebits/v1/fleet.pb.h"
#include "samebits/v1/gemm_jobs.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/jobs/job_request.h"
#include "server/reconstruction/gemm_jobs.h"
#include "server/registry/errors.h"
#include "server/verify/verify.h"

namespace samebits::server {
namespace {

using v1::EmulateGemmOnWorkerRequest;

constexpr absl::Duration kDefaultTimeout = absl::Hours(24), kLongestTimeout = absl::Hours(24 * 30);
constexpr char kEmulation[] = "emulate:gemm";
constexpr int64_t kMostSide = int64_t{1} << 24, kMostOutputs = int64_t{1} << 30;
constexpr int kMostChosen = 100'000;
constexpr uint64_t kMostBytes = 16 << 20, kMostProducts = 100'000'000'000'000;

absl::Status CheckScalars(const EmulateGemmOnWorkerRequest& r) {
  for (const auto& [name, text] : {std::pair{"request_id", &r.request_id()}, {"device", &r.device()}})
    if (absl::Status status = CheckName(*text, name); !status.ok()) return status;
  if (absl::Status status = CheckPriority(r.priority(), "priority"); !status.ok()) return status;
  for (const auto& [name, side] : {std::pair{"m", r.m()}, {"n", r.n()}})
    if (side < 1 || side > kMostSide) return InvalidField(name, "must be from 1 to 2^24");
  if (r.k() < 1 || r.k() > gemm::kMaxK) return InvalidField("k", "must be from 1 to 2^24");
  if (r.summed_k() < 0 || r.summed_k() > r.k()) return InvalidField("summed_k", "must be from 0 to k");
  return absl::OkStatus();
}

absl::Status CheckOutputs(const EmulateGemmOnWorkerRequest& r, gemm::FormatId type) {
  if (r.outputs_size() > kMostChosen) return InvalidField("outputs", "must be at most 100000; all are computed where none is listed");
  for (int i = 0; i < r.outputs_size(); ++i) {
    const auto& o = r.outputs(i);
    if (o.row() < 0 || o.row() >= r.m() || o.column() < 0 || o.column() >= r.n())
      return InvalidField(absl::StrCat("outputs[", i, "]"), "must lie within m x n; rows and columns count from 0");
  }
  const int64_t outputs = r.outputs().empty() ? r.m() * r.n() : r.outputs_size();
  if (outputs > kMostOutputs) return LimitExceeded("max_emulated_outputs", kMostOutputs, static_cast<uint64_t>(outputs));
  const auto products = static_cast<uint64_t>(outputs) * static_cast<uint64_t>(r.k());
  if (products > kMostProducts) return LimitExceeded("max_emulated_products", kMostProducts, products);
  const auto bytes = static_cast<uint64_t>(outputs * gemm::BytesOf(type));
  if (bytes <= kMostBytes || r.digests_only()) return absl::OkStatus();
  return InvalidField("digests_only", absl::StrCat("must be set where the outputs have more than 16 MiB; these have ", bytes, " bytes"));
}

absl::Status CheckGenerated(const v1::GemmOperand::Generated& generated, const char* field, gemm::FormatId type) {
  if (!inputs::ParseDataType(gemm::FormatOf(type).name))
    return InvalidField(field, absl::StrCat("elements of type ", std::string(gemm::FormatOf(type).name), " cannot be generated: give the bytes"));
  for (const std::string* text : {&generated.seed(), &generated.buffer()})
    if (text->size() > kLongestName) return InvalidField(field, "seed and buffer must have at most 256 bytes");
  if (generated.distribution().empty() || inputs::ParseDistribution(generated.distribution())) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("there is no distribution '", generated.distribution(), "'; see docs/inputs.md"));
}

// `elements`: 0 where the descriptor does not use the operand.
absl::Status CheckOperand(const v1::GemmOperand& operand, const char* field, gemm::FormatId type, int64_t elements) {
  const bool given = operand.source_case() != v1::GemmOperand::SOURCE_NOT_SET;
  if (elements == 0 && given) return InvalidField(field, "the descriptor's epilogue does not use it");
  if (elements == 0) return absl::OkStatus();
  if (!given) return InvalidField(field, "must be packed bytes or generated");
  if (operand.has_generated()) return CheckGenerated(operand.generated(), field, type);
  const int64_t bytes = elements * gemm::BytesOf(type);
  if (static_cast<int64_t>(operand.packed().size()) == bytes) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("has ", operand.packed().size(), " bytes; ", elements, " elements of ", std::string(gemm::FormatOf(type).name),
                                          " have ", bytes));
}

absl::Status CheckRequest(const EmulateGemmOnWorkerRequest& r) {
  if (absl::Status status = CheckScalars(r); !status.ok()) return status;
  const absl::StatusOr<gemm::GemmDesc> desc = proto::GemmDescFromProto(r.desc());
  if (!desc.ok()) return InvalidField("desc", std::string(desc.status().message()));
  if (absl::Status status = CheckOutputs(r, desc->output_type); !status.ok()) return status;
  const bool uses_c = desc->epilogue.beta != gemm::BetaStep::kNone, uses_bias = desc->epilogue.bias != gemm::BiasStep::kNone;
  for (const absl::Status& status : {CheckOperand(r.a(), "a", desc->a_type, r.m() * r.k()), CheckOperand(r.b(), "b", desc->b_type, r.n() * r.k()),
                                     CheckOperand(r.c(), "c", desc->output_type, uses_c ? r.m() * r.n() : 0),
                                     CheckOperand(r.bias(), "bias", desc->output_type, uses_bias ? r.n() : 0)})
    if (!status.ok()) return status;
  const int64_t summed = r.summed_k() == 0 ? r.k() : r.summed_k();
  if (absl::Status status = gemm::Validate(*desc, summed); !status.ok()) return InvalidField("desc", std::string(status.message()));
  const absl::Status compiled = gemm::CompileDefective(*desc, r.k(), summed, r.architecture()).status();
  return absl::IsInvalidArgument(compiled) ? InvalidField("desc", std::string(compiled.message())) : compiled;
}

absl::StatusOr<std::string> ChooseTarget(const std::string& device, const std::vector<storage::WorkerRecord>& workers) {
  std::vector<std::string> offered;
  ForEachDevice(workers, [&](const worker::v1::CreateWorkerSessionRequest& worker, const v1::Device& own) {
    for (std::string& target : EmulationTargetsOf(worker, own)) offered.push_back(std::move(target));
  });
  if (std::optional<std::string> target = FirstOffered(kEmulation, device, offered)) return *std::move(target);
  return NoDevice(absl::StrCat(kEmulation, "@", device),
                  absl::StrCat("no worker that emulates matrix products", device.empty() ? "" : absl::StrCat(" on ", device),
                               " has registered; start samebits-worker, whose CPU does, see samebits fleet"));
}

}  // namespace

std::vector<std::string> EmulationTargetsOf(const worker::v1::CreateWorkerSessionRequest& worker, const v1::Device& device) {
  std::vector<std::string> targets;
  if (!worker.emulates_gemms() || device.backend() != "cpu") return targets;
  for (const std::string& base : TargetsOf(worker.worker(), device)) targets.push_back(absl::StrCat(kEmulation, "@", base));
  return targets;
}

absl::StatusOr<Submission> MakeEmulateGemmSubmission(const EmulateGemmOnWorkerRequest& request,
                                                     const std::vector<storage::WorkerRecord>& workers) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  const absl::StatusOr<absl::Duration> timeout = TimeoutOf(request, kDefaultTimeout, kLongestTimeout, "30 days", "timeout");
  if (!timeout.ok()) return timeout.status();
  absl::StatusOr<std::string> target = ChooseTarget(request.device(), workers);
  if (!target.ok()) return target.status();
  return NewSubmission(kEmulateGemmKind, request, *timeout, request.SerializeAsString(), {*std::move(target)});
}

bool IsEmulateGemmResult(const std::string& bytes) {
  v1::EmulateGemmOnWorkerResponse response;
  return response.ParseFromString(bytes) && response.sha256().size() == std::tuple_size_v<storage::Digest>;
}

std::unique_ptr<JobFinisher> MakeEmulateGemmFinisher() { return MakeForwardingFinisher(IsEmulateGemmResult); }

}  // namespace samebits::server
