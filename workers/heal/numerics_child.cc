#include <malloc.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/heal/jobs/job.h"
#include "core/heal/model/checkpoint.h"
#include "core/heal/model/mark_of_weights.h"
#include "proto/convert/numerics/numerics.h"
#include "workers/heal/backend/backend.h"
#include "workers/heal/mix_task.h"
#include "workers/heal/numerics_task.h"
#include "workers/runner/child_streams.h"
#include "workers/runner/process.h"

namespace samebits::workers {
namespace {

using Leased = worker::v1::UpdateWorkerSessionResponse::Leased;

constexpr uint32_t kMarkUnit = 0xffffffff;  // is no unit of a job: these have lower numbers

// Tells the parent. The parent ends this process to cancel.
class FrameEvents : public heal::JobEvents {
 public:
  absl::Status OnUnit(int64_t index, const std::string& record) override {
    reporter_.Unit(index, record);
    return absl::OkStatus();
  }
  void OnProgress(int64_t done, int64_t total, const std::string&) override { reporter_.Progress(done, total); }

 private:
  UnitReporter reporter_;
};

// Units are only of use with the weights that they were computed from: the first lease leaves the mark of its model's as a
// unit of its own, and a later one whose model has another mark ends.
absl::Status CheckWeights(const Leased& lease, const std::string& model, const heal::Checkpoint& checkpoint) {
  const std::string mark = heal::MarkOfWeights(checkpoint);
  if (mark.empty()) return absl::OkStatus();
  for (const worker::v1::TaskUnit& unit : lease.units()) {
    if (unit.index() != kMarkUnit) continue;
    if (unit.body() == mark) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "the model '", model, "' has other weights on this worker than on the one that began the job; have the name stand for the same "
        "files on all workers (samebits-worker --model), and submit the job again"));
  }
  worker::v1::TaskUnit unit;
  unit.set_index(kMarkUnit);
  unit.set_body(mark);
  Send(Frame::kUnit, unit.SerializeAsString());
  return absl::OkStatus();
}

absl::StatusOr<v1::NumericsResult> CountInstructions(const Leased& lease) {
  FrameEvents events;
  return RunMixTask(lease, {[&](uint64_t done, uint64_t total) {
                              events.OnProgress(static_cast<int64_t>(done), static_cast<int64_t>(total), "");
                            },
                            [](const worker::v1::TaskUnit& unit) { Send(Frame::kUnit, unit.SerializeAsString()); }});
}

absl::StatusOr<v1::NumericsResult> Compute(const std::string& device, const std::string& path, const Leased& lease) {
  const v1::NumericsRequest& request = lease.numerics().request();
  const v1::NumericsRun* run = proto::RunOf(request);
  if (run == nullptr) return absl::InvalidArgumentError("the request holds no job");
  // The worker chose the path; a name that it did not map is synthetic.
  const auto checkpoint = path.empty() ? heal::OpenCheckpoint(run->model()) : heal::LoadCheckpoint(path);
  if (!checkpoint.ok()) return checkpoint.status();
  const absl::StatusOr<heal::JobSpec> spec = proto::SpecFromProto(request, (*checkpoint)->shape());
  if (!spec.ok()) return spec.status();
  if (absl::Status status = CheckWeights(lease, run->model(), **checkpoint); !status.ok()) return status;
  const auto backend = OpenBackend(*checkpoint, device);
  if (!backend.ok()) return backend.status();
  heal::Records done;
  for (const worker::v1::TaskUnit& unit : lease.units())
    if (unit.index() != kMarkUnit) done[unit.index()] = unit.body();
  FrameEvents events;
  const absl::StatusOr<heal::JobResult> result = heal::RunJob(*spec, **backend, done, events);
  if (!result.ok()) return result.status();
  v1::NumericsResult message;
  message.set_model(run->model());
  message.set_engine((*backend)->Describe());
  proto::ResultToProto(*result, &message);
  return message;
}

int Run(const std::string& device, const std::string& path) {
  std::string bytes;
  Leased lease;
  if (!ReadRequest(&bytes) || !lease.ParseFromString(bytes)) return 2;
  bytes.clear();
  const absl::StatusOr<v1::NumericsResult> result =
      lease.numerics().request().has_instruction_mix() ? CountInstructions(lease) : Compute(device, path, lease);
  if (result.ok()) SendResult(result->SerializeAsString());
  else SendError(result.status());
  if (!device.starts_with("cpu")) _exit(0);  // the driver's teardown may hang after a fault
  return 0;
}

}  // namespace

int NumericsChildMain(int argc, char** argv) {
  uint64_t memory_bytes = 0;
  if (argc != 5 || !absl::SimpleAtoi(argv[3], &memory_bytes)) return 2;
  mallopt(M_ARENA_MAX, 2);  // arenas of many threads would use up the address space
  const std::string device = argv[2];
  if (device == kToolsDevice) {
    ConfineWithTools(memory_bytes);
  } else {
    Confine(device.starts_with("cpu"), memory_bytes);
  }
  try {
    return Run(device, argv[4]);
  } catch (const std::bad_alloc&) {
    return kOutOfMemoryExit;
  }
}

}  // namespace samebits::workers
