#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/inputs/inputs.h"
#include "samebits/v1/verification.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/jobs/job_request.h"
#include "server/registry/errors.h"
#include "server/verify/blocking.h"
#include "server/verify/verify.h"

namespace samebits::server {
namespace {

using v1::BufferSpec;
using v1::VerifyKernelsRequest;

constexpr const char* kDefaultDistributions[] = {"uniform", "normal", "wide", "cancelling", "special"};
constexpr char kDefaultSeed[] = "samebits";
constexpr uint64_t kDefaultWords = 1 << 18;  // 1 MiB
constexpr int kDefaultRuns = 2;
constexpr absl::Duration kLongestTimeout = absl::Hours(24 * 7);

absl::Status CheckRange(std::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("must be from ", low, " to ", high));
}

// The request as it goes to workers, step by step.
class Completion {
 public:
  Completion(const VerifyKernelsRequest& request, const VerifyLimits& limits, Registry& registry)
      : out_(request), limits_(limits), registry_(registry) {}

  // Of the launches, once they are complete: "ptx", "amdgcn".
  const std::set<std::string>& languages() const { return languages_; }

  absl::StatusOr<VerifyKernelsRequest> Run() {
    for (const auto step : {&Completion::Scalars, &Completion::Launches, &Completion::Outputs, &Completion::Buffers,
                            &Completion::Distributions})
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
    if (out_.ByteSizeLong() > limits_.max_request_bytes)
      return LimitExceeded("max_verify_request_bytes", limits_.max_request_bytes, out_.ByteSizeLong());
    return std::move(out_);
  }

 private:
  absl::Status Scalars() {
    if (out_.seed().empty()) out_.set_seed(kDefaultSeed);
    if (absl::Status status = CheckName(out_.seed(), "seed"); !status.ok()) return status;
    if (out_.runs() == 0) out_.set_runs(kDefaultRuns);
    if (absl::Status status = CheckRange("runs", out_.runs(), 1, limits_.max_runs); !status.ok()) return status;
    if (out_.options().ignore_signed_zero())
      return InvalidField("options.ignore_signed_zero", "is not for verification, which compares bits");
    if (absl::Status status = CheckName(out_.request_id(), "request_id"); !status.ok()) return status;
    return CheckRange("priority", out_.priority(), -kMostPriority, kMostPriority);
  }
  absl::Status Launches();
  absl::Status LoadText(std::string_view field, v1::KernelLaunch* kernel);
  absl::Status AddMissingBuffers(const v1::Launch& launch);
  absl::Status Outputs();
  absl::Status Buffers();
  absl::Status Distributions();
  const BufferSpec* Find(const std::string& name) const {
    for (const BufferSpec& buffer : out_.buffers())
      if (buffer.name() == name) return &buffer;
    return nullptr;
  }

  VerifyKernelsRequest out_;
  std::set<std::string> languages_;
  const VerifyLimits& limits_;
  Registry& registry_;
};

absl::Status Completion::LoadText(std::string_view field, v1::KernelLaunch* kernel) {
  if (kernel->source_case() == v1::KernelLaunch::SOURCE_NOT_SET) return InvalidField(field, "set either kernel or text");
  if (kernel->has_kernel()) {
    const std::string name = kernel->kernel();
    absl::StatusOr<Kernel> stored = Await<Kernel>([&](Done<Kernel> done) {
      registry_.GetKernel(name, /*with_text=*/true, std::move(done));
      return nullptr;
    });
    if (!stored.ok()) return stored.status();
    kernel->set_text(std::move(stored->text));
  }
  if (kernel->text().size() > registry_.limits().max_text_bytes)
    return LimitExceeded("max_text_bytes", registry_.limits().max_text_bytes, kernel->text().size());
  const absl::StatusOr<checker::TextInfo> info = registry_.checker().DescribeText(kernel->text(), registry_.limits().check);
  if (info.ok()) languages_.insert(info->isa);
  return info.status();
}

absl::Status Completion::AddMissingBuffers(const v1::Launch& launch) {
  for (int i = 0; i < launch.args().arguments_size(); ++i) {
    const v1::Argument& argument = launch.args().arguments(i);
    if (argument.value_case() == v1::Argument::VALUE_NOT_SET)
      return InvalidField("launches.kernel.launch.args", absl::StrCat("argument ", i, " has no value"));
    if (!argument.has_pointer()) continue;
    const std::string name = argument.pointer().buffer().empty() ? absl::StrCat(i) : argument.pointer().buffer();
    if (Find(name) != nullptr) continue;
    BufferSpec* buffer = out_.add_buffers();
    buffer->set_name(name);
    buffer->set_elements(kDefaultWords);
  }
  return absl::OkStatus();
}

absl::Status Completion::Launches() {
  if (out_.launches().empty()) return InvalidField("launches", "is required");
  if (out_.launches_size() > limits_.max_launches)
    return LimitExceeded("max_verify_launches", static_cast<uint64_t>(limits_.max_launches),
                         static_cast<uint64_t>(out_.launches_size()));
  std::set<std::string> ids;
  for (v1::VerifyLaunch& launch : *out_.mutable_launches()) {
    if (launch.id().empty() || launch.id().size() > kLongestName || !ids.insert(launch.id()).second)
      return InvalidField("launches.id", "is required, unique and at most 256 bytes long");
    v1::KernelLaunch* kernel = launch.mutable_kernel();
    const v1::Launch& how = kernel->launch();
    if (!how.has_grid() || !how.has_args())
      return InvalidField("launches.kernel.launch", "grid and args must be given: the launch will run");
    if (absl::Status status = LoadText("launches.kernel", kernel); !status.ok())
      return WithMetadata(status, "id", launch.id());
    if (absl::Status status = AddMissingBuffers(how); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Digests of launches are compared, so all must be over the same buffers.
absl::Status Completion::Outputs() {
  const auto outputs_of = [](const v1::VerifyLaunch& launch) {
    const auto& outputs = launch.kernel().launch().outputs();
    return std::set<std::string>(outputs.begin(), outputs.end());
  };
  const std::set<std::string> first = outputs_of(out_.launches(0));
  for (const v1::VerifyLaunch& launch : out_.launches())
    if (outputs_of(launch) != first)
      return InvalidField("launches.kernel.launch.outputs", "must be the same for all launches");
  for (const std::string& name : first)
    if (Find(name) == nullptr)
      return InvalidField("launches.kernel.launch.outputs", absl::StrCat("no buffer is called '", name, "'"));
  return absl::OkStatus();
}

absl::Status Completion::Buffers() {
  uint64_t bytes = 0;
  bool compared = false;
  std::set<std::string> names;
  for (BufferSpec& buffer : *out_.mutable_buffers()) {
    if (buffer.type().empty()) buffer.set_type("raw");
    const auto type = inputs::ParseDataType(buffer.type());
    if (!type) return InvalidField("buffers.type", absl::StrCat("'", buffer.type(), "' is no type"));
    if (buffer.name().empty() || buffer.name().size() > kLongestName || !names.insert(buffer.name()).second)
      return InvalidField("buffers.name", "is required, unique and at most 256 bytes long");
    if (buffer.role() == BufferSpec::ROLE_UNSPECIFIED) buffer.set_role(BufferSpec::INOUT);
    if (!BufferSpec::Role_IsValid(buffer.role())) return InvalidField("buffers.role", "is none of the known ones");
    if (buffer.elements() == 0) return InvalidField("buffers.elements", "is required");
    inputs::BufferSpec empty{buffer.name(), *type, 0, buffer.unit()};
    if (buffer.has_low()) empty.low = buffer.low();
    if (buffer.has_high()) empty.high = buffer.high();
    const auto made = inputs::MakeBuffer(out_.seed(), empty, inputs::Distribution::kUniform);
    if (!made.ok()) return InvalidField("buffers.low", {made.status().message().data(), made.status().message().size()});
    const uint64_t width = inputs::ElementBytes(*type);
    if (buffer.elements() > limits_.max_buffer_bytes / width ||
        (bytes += buffer.elements() * width) > limits_.max_buffer_bytes)
      return LimitExceeded("max_verify_buffer_bytes", limits_.max_buffer_bytes, buffer.elements() * width);
    compared |= buffer.role() != BufferSpec::IN;
  }
  if (!compared && out_.launches(0).kernel().launch().outputs().empty())
    return InvalidField("buffers.role", "all buffers are IN: nothing would be compared");
  return absl::OkStatus();
}

absl::Status Completion::Distributions() {
  if (out_.distributions().empty())
    for (const char* name : kDefaultDistributions) out_.add_distributions(name);
  std::set<std::string> names;
  for (const std::string& name : out_.distributions()) {
    if (!inputs::ParseDistribution(name))
      return InvalidField("distributions", absl::StrCat("'", name, "' is no distribution"));
    if (!names.insert(name).second) return InvalidField("distributions", absl::StrCat("'", name, "' is there twice"));
  }
  return absl::OkStatus();
}

// The instruction set of a backend's devices, as TextInfo spells it; empty: any.
std::string_view LanguageOf(std::string_view backend) {
  if (backend == "cuda") return "ptx";
  if (backend == "rocm") return "amdgcn";
  return "";
}

// A device that may run submitted kernels.
struct Offer {
  std::string backend;
  std::vector<std::string> targets;  // its own name last
  bool Runs(const std::set<std::string>& languages) const {
    const std::string_view own = LanguageOf(backend);
    return own.empty() || languages.contains(std::string(own));
  }
  bool Is(const std::string& target) const { return std::find(targets.begin(), targets.end(), target) != targets.end(); }
};

std::vector<Offer> Offers(const std::vector<storage::WorkerRecord>& workers) {
  std::vector<Offer> offers;
  ForEachDevice(workers, [&](const worker::v1::CreateWorkerSessionRequest& worker, const v1::Device& device) {
    if (worker.runs_submitted_kernels()) offers.push_back({device.backend(), TargetsOf(worker.worker(), device)});
  });
  return offers;
}

absl::Status NoDevice(const std::string& target, const std::string& what) {
  return WithDetail(absl::FailedPreconditionError(absl::StrCat(
                        "no worker has registered ", what,
                        "; start samebits-worker with --allow-submitted-kernels, see samebits fleet")),
                    "NO_DEVICE", {{"target", target}});
}

// Without one that could run any of the launches there is nothing to see there.
absl::Status CheckTarget(const std::string& target, const std::vector<Offer>& offers, const std::set<std::string>& languages) {
  std::string_view other;
  for (const Offer& offer : offers) {
    if (!offer.Is(target)) continue;
    if (offer.Runs(languages)) return absl::OkStatus();
    other = offer.backend;
  }
  if (other.empty()) return NoDevice(target, target);
  const bool is_cuda = other == "cuda";
  return InvalidField("devices", absl::StrCat("'", target, "' runs ", is_cuda ? "PTX" : "AMDGCN", ", and every kernel is ",
                                              is_cuda ? "AMDGCN" : "PTX", "; ", is_cuda ? "rocm" : "cuda",
                                              " devices and the cpu run it"));
}

absl::StatusOr<std::vector<std::string>> ChooseTargets(const VerifyKernelsRequest& request,
                                                       const std::set<std::string>& languages,
                                                       const std::vector<storage::WorkerRecord>& workers,
                                                       const VerifyLimits& limits) {
  const std::vector<Offer> offers = Offers(workers);
  std::vector<std::string> chosen(request.devices().begin(), request.devices().end());
  if (chosen.empty())
    for (const Offer& offer : offers)
      if (offer.Runs(languages)) chosen.push_back(offer.targets.back());
  if (chosen.empty()) {
    const bool wrong = !offers.empty();  // else CPUs would do
    const std::string what = wrong ? absl::StrCat("a device that runs ", languages.contains("ptx") ? "PTX" : "AMDGCN")
                                   : "a device that runs submitted kernels";
    return NoDevice(what, what);
  }
  if (chosen.size() > static_cast<size_t>(limits.max_devices))
    return LimitExceeded("max_verify_devices", static_cast<uint64_t>(limits.max_devices), chosen.size());
  for (const std::string& target : chosen)
    if (absl::Status status = CheckTarget(target, offers, languages); !status.ok()) return status;
  return chosen;
}

}  // namespace

std::vector<std::string> TargetsOf(const std::string& worker, const v1::Device& device) {
  std::vector<std::string> targets = {device.backend()};
  if (!device.architecture().empty()) targets.push_back(absl::StrCat(device.backend(), "/", device.architecture()));
  targets.push_back(absl::StrCat("workers/", worker, "/devices/", device.index()));
  return targets;
}

absl::StatusOr<Submission> MakeVerifySubmission(const VerifyKernelsRequest& request,
                                                const std::vector<storage::WorkerRecord>& workers,
                                                const VerifyLimits& limits, Registry& registry) {
  Completion completion(request, limits, registry);
  absl::StatusOr<VerifyKernelsRequest> complete = completion.Run();
  if (!complete.ok()) return complete.status();
  absl::StatusOr<std::vector<std::string>> targets = ChooseTargets(*complete, completion.languages(), workers, limits);
  if (!targets.ok()) return targets.status();
  const absl::StatusOr<absl::Duration> timeout = TimeoutOf(request, Submission().timeout, kLongestTimeout, "a week", "timeout");
  if (!timeout.ok()) return timeout.status();
  return NewSubmission(kVerifyKind, request, *timeout, complete->SerializeAsString(), *std::move(targets));
}

}  // namespace samebits::server
