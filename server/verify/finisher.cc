#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/convert/convert.h"
#include "samebits/v1/verification.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/verify/blocking.h"
#include "server/verify/verify.h"

namespace samebits::server {
namespace {

using v1::Contradiction;
using v1::VerifyKernelsRequest;
using v1::VerifyKernelsResponse;

storage::JobEnd Failure(int code, std::string message) {
  storage::JobEnd end;
  end.state = storage::JobState::kFailed;
  end.error_code = code;
  end.error = std::move(message);
  return end;
}

// All digests of an outcome; outcomes with equal keys wrote the same bytes on every input.
std::string BytesOf(const v1::LaunchOutcome& outcome) {
  std::string bytes;
  for (const std::string& digest : outcome.digests()) bytes += digest;
  return bytes;
}

constexpr size_t kMostReproducers = 64;  // of one job

bool Ran(const v1::LaunchOutcome& outcome) { return !outcome.has_error(); }

class VerifyFinisher : public JobFinisher {
 public:
  explicit VerifyFinisher(Registry& registry) : registry_(registry) {}
  storage::JobEnd Finish(const storage::JobRecord& job, const std::vector<storage::TaskRecord>& tasks) override;

 private:
  void AddSignatures(const VerifyKernelsRequest& request, VerifyKernelsResponse* out);

  Registry& registry_;
};

// One result under construction.
class Comparison {
 public:
  Comparison(const storage::JobRecord& job, const VerifyKernelsRequest& request, VerifyKernelsResponse* out)
      : job_(job), request_(request), out_(*out) {}

  void AddDevice(const storage::TaskRecord& task) {
    v1::DeviceVerification* device = out_.add_devices();
    device->set_target(task.target);
    device->set_worker(task.worker);
    worker::v1::VerifyTaskResult result;
    const bool done = task.state == storage::TaskState::kDone && result.ParseFromString(task.result) &&
                      result.outcomes_size() == request_.launches_size();
    if (done) {
      *device->mutable_device() = std::move(*result.mutable_device());
      device->mutable_outcomes()->Swap(result.mutable_outcomes());
      ++ran_;
      return;
    }
    const int code = task.error_code != 0 ? task.error_code : static_cast<int>(absl::StatusCode::kInternal);
    device->mutable_error()->set_code(code);
    proto::SetText(task.error.empty() ? "the worker sent no usable result" : task.error,
                   device->mutable_error()->mutable_message());
  }
  int ran() const { return ran_; }

  void Classify() {
    std::map<std::string, int> classes;
    for (int d = 0; d < out_.devices_size(); ++d) {
      for (int l = 0; l < out_.devices(d).outcomes_size(); ++l) {
        const v1::LaunchOutcome& outcome = out_.devices(d).outcomes(l);
        if (!Ran(outcome) || !outcome.stable()) continue;
        const auto [at, is_new] = classes.emplace(BytesOf(outcome), out_.classes_size());
        v1::ByteClass* c = is_new ? out_.add_classes() : out_.mutable_classes(at->second);
        c->add_devices(static_cast<uint32_t>(d));
        c->add_launches(static_cast<uint32_t>(l));
      }
    }
  }

  void CompareWithVerdicts(storage::JobEnd* end) {
    bool tested = false;
    for (int d = 0; d < out_.devices_size(); ++d) {
      const v1::DeviceVerification& device = out_.devices(d);
      for (int a = 0; a < device.outcomes_size(); ++a) {
        if (!Ran(device.outcomes(a))) continue;
        if (Certified(a)) {
          tested = true;
          if (!device.outcomes(a).stable()) Add(Contradiction::UNSTABLE, d, a, a, end);
        }
        for (int b = a + 1; b < device.outcomes_size(); ++b) {
          if (!Ran(device.outcomes(b))) continue;
          out_.set_pairs(out_.pairs() + 1);
          if (!Certified(a) || !Certified(b) || out_.signatures(a).digest() != out_.signatures(b).digest()) continue;
          out_.set_certified_pairs(out_.certified_pairs() + 1);
          if (BytesOf(device.outcomes(a)) != BytesOf(device.outcomes(b)))
            Add(Contradiction::PAIR_DIFFERS, d, a, b, end);
        }
      }
    }
    out_.set_agreement(out_.contradictions_size() != 0 ? VerifyKernelsResponse::CONTRADICTED
                       : tested                        ? VerifyKernelsResponse::CONSISTENT
                                                       : VerifyKernelsResponse::NOT_TESTED);
  }

 private:
  bool Certified(int launch) const { return out_.signatures(launch).status() == v1::KernelSignature::OK; }

  void Add(Contradiction::Kind kind, int device, int a, int b, storage::JobEnd* end) {
    Contradiction* contradiction = out_.add_contradictions();
    contradiction->set_kind(kind);
    contradiction->set_a(request_.launches(a).id());
    if (a != b) contradiction->set_b(request_.launches(b).id());
    contradiction->set_device(static_cast<uint32_t>(device));
    std::set<std::string> assumptions;
    for (const int launch : {a, b}) {
      const auto& of_launch = out_.signatures(launch).assumptions();
      assumptions.insert(of_launch.begin(), of_launch.end());
    }
    for (const std::string& assumption : assumptions) contradiction->add_assumptions(assumption);
    const auto& outcomes = out_.devices(device).outcomes();
    for (int i = request_.distributions_size(); i-- > 0 && a != b;)
      if (outcomes[a].digests(i) != outcomes[b].digests(i)) contradiction->set_distribution(request_.distributions(i));
    if (end->reproducers.size() >= kMostReproducers) return;
    // The same job always makes the same names, so that a repeated finish stores nothing twice.
    const std::string id = absl::StrCat(job_.id, "-", out_.contradictions_size() - 1);
    contradiction->set_reproducer(absl::StrCat("reproducers/", id));
    v1::Reproducer reproducer;
    *reproducer.mutable_request() = request_;
    reproducer.mutable_request()->clear_launches();
    *reproducer.mutable_device() = out_.devices(device);
    reproducer.mutable_device()->clear_outcomes();
    for (const int launch : {a, b}) {
      if (launch == b && a == b && reproducer.signatures_size() != 0) break;
      *reproducer.mutable_request()->add_launches() = request_.launches(launch);
      *reproducer.mutable_device()->add_outcomes() = outcomes[launch];
      *reproducer.add_signatures() = out_.signatures(launch);
    }
    *reproducer.mutable_contradiction() = *contradiction;
    end->reproducers.push_back({id, job_.id, {}, reproducer.SerializeAsString()});
  }

  const storage::JobRecord& job_;
  const VerifyKernelsRequest& request_;
  VerifyKernelsResponse& out_;
  int ran_ = 0;
};

void VerifyFinisher::AddSignatures(const VerifyKernelsRequest& request, VerifyKernelsResponse* out) {
  const CheckOptions options{request.options().ignore_signed_zero(), request.options().strict_contraction()};
  for (const v1::VerifyLaunch& launch : request.launches()) {
    v1::KernelSignature* to = out->add_signatures();
    KernelLaunch kernel;
    kernel.text = launch.kernel().text();
    absl::StatusOr<checker::Launch> how = proto::LaunchFromProto(launch.kernel().launch());
    absl::StatusOr<SignatureAnswer> answer = absl::InvalidArgumentError("the launch cannot be read");
    if (how.ok()) {
      kernel.launch = *std::move(how);
      const auto& arguments = launch.kernel().launch().args().arguments();
      for (const v1::Argument& argument : arguments)
        kernel.float_widths.push_back(static_cast<uint8_t>(proto::FloatWidth(argument)));
      if (std::count(kernel.float_widths.begin(), kernel.float_widths.end(), 0) == arguments.size())
        kernel.float_widths.clear();
      answer = Await<SignatureAnswer>([&](Done<SignatureAnswer> done) {
        return registry_.ComputeSignature(kernel, options, TaskPool::Admission::kReserved, std::move(done));
      });
    }
    if (answer.ok()) {
      proto::SignatureToProto(*answer->signature, registry_.checker().SignatureVersion(), answer->cached, to);
    } else {  // no verdict: nothing is certified
      to->set_status(v1::KernelSignature::UNKNOWN);
      to->set_reason_code("ERROR");
      const absl::string_view message = answer.status().message();
      proto::SetText({message.data(), message.size()}, to->mutable_reason());
    }
  }
}

storage::JobEnd VerifyFinisher::Finish(const storage::JobRecord& job, const std::vector<storage::TaskRecord>& tasks) {
  VerifyKernelsRequest request;
  if (!request.ParseFromString(job.spec))
    return Failure(static_cast<int>(absl::StatusCode::kDataLoss), "the stored request cannot be read");
  VerifyKernelsResponse response;
  for (const v1::VerifyLaunch& launch : request.launches()) response.add_launch_ids(launch.id());
  *response.mutable_distributions() = request.distributions();
  Comparison comparison(job, request, &response);
  for (const storage::TaskRecord& task : tasks) comparison.AddDevice(task);
  if (comparison.ran() == 0) {
    const v1::DeviceVerification& first = response.devices(0);
    return Failure(first.error().code(), absl::StrCat("no device gave a result; ", first.target(), ": ",
                                                      first.error().message()));
  }
  AddSignatures(request, &response);
  comparison.Classify();
  storage::JobEnd end;
  comparison.CompareWithVerdicts(&end);
  for (const v1::DeviceVerification& device : response.devices())
    for (const v1::LaunchOutcome& outcome : device.outcomes())
      registry_.metrics().CountLaunch(device.device().backend(), outcome.error().code());
  registry_.metrics().CountVerification(VerifyKernelsResponse::Agreement_Name(response.agreement()));
  end.result = response.SerializeAsString();
  return end;
}

}  // namespace

std::unique_ptr<JobFinisher> MakeVerifyFinisher(Registry& registry) {
  return std::make_unique<VerifyFinisher>(registry);
}

}  // namespace samebits::server
