#include "workers/runner/verify_runner.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "core/inputs/inputs.h"
#include "proto/convert/convert.h"
#include "samebits/v1/verification.pb.h"

namespace samebits::workers {
namespace {

using v1::BufferSpec;

constexpr uint8_t kPoison = 0x5A;
constexpr uint64_t kScratchBytes = 1 << 20;
constexpr uint64_t kCachedBytes = 512ull << 20;

void SetStatus(const absl::Status& status, google::rpc::Status* out) {
  out->set_code(static_cast<int>(status.code()));
  proto::SetText({status.message().data(), status.message().size()}, out->mutable_message());
}

// The contents of all buffers on each distribution.
class Inputs {
 public:
  explicit Inputs(const v1::VerifyKernelsRequest& request)
      : request_(request), cached_(static_cast<size_t>(request.distributions_size())) {}

  absl::Status Init() {
    for (const BufferSpec& from : request_.buffers()) {
      inputs::BufferSpec& spec = specs_.emplace_back();
      spec.name = from.name();
      const auto type = inputs::ParseDataType(from.type());
      if (!type) return absl::InvalidArgumentError(absl::StrCat("no type '", from.type(), "'"));
      spec.type = *type;
      spec.elements = from.elements();
      spec.unit = from.unit();
      if (from.has_low()) spec.low = from.low();
      if (from.has_high()) spec.high = from.high();
      bytes_ += spec.elements * inputs::ElementBytes(spec.type);
    }
    for (const std::string& name : request_.distributions()) {
      const auto distribution = inputs::ParseDistribution(name);
      if (!distribution) return absl::InvalidArgumentError(absl::StrCat("no distribution '", name, "'"));
      distributions_.push_back(*distribution);
    }
    return absl::OkStatus();
  }

  size_t count() const { return distributions_.size(); }

  absl::StatusOr<Buffers> Make(size_t distribution) {
    std::optional<Buffers>& cached = cached_[distribution];
    if (cached) return *cached;
    Buffers buffers;
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (request_.buffers(static_cast<int>(i)).role() == BufferSpec::OUT) {
        buffers.emplace_back(specs_[i].elements * inputs::ElementBytes(specs_[i].type), kPoison);
        continue;
      }
      absl::StatusOr<std::vector<uint8_t>> bytes =
          inputs::MakeBuffer(request_.seed(), specs_[i], distributions_[distribution]);
      if (!bytes.ok()) return bytes.status();
      buffers.push_back(*std::move(bytes));
    }
    if (bytes_ * count() <= kCachedBytes) cached = buffers;
    return buffers;
  }

 private:
  const v1::VerifyKernelsRequest& request_;
  std::vector<inputs::BufferSpec> specs_;
  std::vector<inputs::Distribution> distributions_;
  uint64_t bytes_ = 0;
  std::vector<std::optional<Buffers>> cached_;
};

// A launch of the request: scratch buffers follow those of the specs.
struct Job {
  KernelLaunch launch;
  size_t scratch = 0;
  std::vector<size_t> compared;  // buffers
};

absl::StatusOr<KernelLaunch::Argument> ToArgument(const checker::Argument& from, size_t position,
                                                  const v1::VerifyKernelsRequest& request, Job* job) {
  KernelLaunch::Argument out;
  switch (from.kind) {
    case checker::Argument::Kind::kUnknown:
      return absl::InvalidArgumentError(absl::StrCat("argument ", position, " is not given"));
    case checker::Argument::Kind::kPointer: {
      const std::string name = from.buffer.empty() ? absl::StrCat(position) : from.buffer;
      for (int i = 0; i < request.buffers_size(); ++i)
        if (request.buffers(i).name() == name) out.buffer = static_cast<uint32_t>(i);
      if (!out.buffer) return absl::InvalidArgumentError(absl::StrCat("no buffer '", name, "'"));
      return out;
    }
    case checker::Argument::Kind::kScratch:
      out.buffer = static_cast<uint32_t>(static_cast<size_t>(request.buffers_size()) + job->scratch++);
      return out;
    case checker::Argument::Kind::kBytes:
      out.bytes = from.bytes;
      return out;
    case checker::Argument::Kind::kInteger:
    case checker::Argument::Kind::kFloat:
      break;
  }
  out.bytes.resize(sizeof(from.bits));
  std::memcpy(out.bytes.data(), &from.bits, sizeof(from.bits));
  return out;
}

absl::StatusOr<Job> MakeJob(const v1::VerifyKernelsRequest& request, const v1::VerifyLaunch& from) {
  const absl::StatusOr<checker::Launch> launch = proto::LaunchFromProto(from.kernel().launch());
  if (!launch.ok()) return launch.status();
  if (!launch->grid || !launch->args) return absl::InvalidArgumentError("grid and arguments must be given");
  Job job;
  job.launch.text = from.kernel().text();
  job.launch.entry = launch->entry;
  job.launch.grid = *launch->grid;
  job.launch.block = launch->block;
  job.launch.shared_bytes = launch->shared_bytes;
  for (size_t i = 0; i < launch->args->size(); ++i) {
    absl::StatusOr<KernelLaunch::Argument> argument = ToArgument((*launch->args)[i], i, request, &job);
    if (!argument.ok()) return argument.status();
    job.launch.arguments.push_back(*std::move(argument));
  }
  for (int i = 0; i < request.buffers_size(); ++i) {
    const BufferSpec& spec = request.buffers(i);
    const auto& outputs = launch->outputs;
    const bool compared = outputs.empty() ? spec.role() != BufferSpec::IN
                                          : std::find(outputs.begin(), outputs.end(), spec.name()) != outputs.end();
    if (compared) job.compared.push_back(static_cast<size_t>(i));
  }
  return job;
}

std::string Digest(const Buffers& buffers, const std::vector<size_t>& compared) {
  std::string all;
  for (const size_t i : compared) all.append(reinterpret_cast<const char*>(buffers[i].data()), buffers[i].size());
  const auto digest = Sha256(all);
  return std::string(digest.begin(), digest.end());
}

// Fills digests and stable.
absl::Status RunAll(const Job& job, int runs, Inputs& inputs, Executor& executor, const VerifyEvents& events,
                    v1::LaunchOutcome* outcome) {
  if (absl::Status status = executor.Prepare(job.launch); !status.ok()) return status;
  outcome->set_stable(true);
  for (size_t d = 0; d < inputs.count(); ++d) {
    for (int run = 0; run < runs; ++run) {
      absl::StatusOr<Buffers> buffers = inputs.Make(d);
      if (!buffers.ok()) return buffers.status();
      for (size_t i = 0; i < job.scratch; ++i) buffers->emplace_back(kScratchBytes, 0);
      if (absl::Status status = executor.Run(static_cast<uint32_t>(run), &*buffers); !status.ok()) return status;
      std::string digest = Digest(*buffers, job.compared);
      if (run == 0) {
        outcome->add_digests(std::move(digest));
      } else if (digest != outcome->digests(static_cast<int>(d))) {
        outcome->set_stable(false);
      }
      events.on_step();
    }
  }
  return absl::OkStatus();
}

bool SpoilsContext(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status RunVerification(const v1::VerifyKernelsRequest& request, int first, bool fragile, Executor& executor,
                             const VerifyEvents& events) {
  Inputs inputs(request);
  if (absl::Status status = inputs.Init(); !status.ok()) return status;
  for (int i = first; i < request.launches_size(); ++i) {
    const absl::StatusOr<Job> job = MakeJob(request, request.launches(i));
    v1::LaunchOutcome outcome;
    outcome.set_id(request.launches(i).id());
    const absl::Status status =
        job.ok() ? RunAll(*job, request.runs(), inputs, executor, events, &outcome) : job.status();
    if (!status.ok()) {
      outcome.clear_digests();
      outcome.set_stable(false);
      SetStatus(status, outcome.mutable_error());
    }
    events.on_outcome(outcome);
    if (fragile && SpoilsContext(status)) return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace samebits::workers
