#include "server/metrics/metrics.h"

#include <utility>
#include <vector>

namespace samebits::server {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildHistogram;
using Buckets = prometheus::Histogram::BucketBoundaries;

// Canonical codes as gRPC spells them, by number.
constexpr const char* kCodeNames[] = {
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};
constexpr const char* kMethodNames[kMethods] = {
    "RegisterKernel", "GetKernel", "ListKernels", "DeleteKernel", "ComputeKernelSignature", "CompareKernels",
    "ExplainDifference", "PartitionKernels",
    "VerifyKernels",
    "GetOperation", "ListOperations", "WaitOperation", "WatchOperation", "CancelOperation", "DeleteOperation",
    "ListReproducers", "GetReproducer", "DeleteReproducer",
    "GetWorker", "ListWorkers", "DrainWorker", "ListDevices", "CreateWorkerSession", "UpdateWorkerSession",
    "CreateEnrolment", "RevokeWorker", "EnrolWorker",
    "ImportArchProfile", "ReconstructArchProfile", "GetArchProfile", "ListArchProfiles", "ExportArchProfile", "DeleteArchProfile", "DescribeGemm",
    "EmulateGemm", "RecoverGemms", "EmulateGemmOnWorker", "ReportBatchInvariance", "CompareArchProfiles",
    "EvaluateReproducibility", "AttributeErrors", "DecomposeErrors", "SweepSignificand", "MeasureQkv",
    "ChooseSkipPolicy", "MeasureServingCost", "CountInstructions", "MeasureInstructionMix",
};
constexpr const char* kSourceNames[kSignatureSources] = {"memory", "coalesced", "store", "computed"};
constexpr const char* kStageNames[] = {"queue", "parse", "execute", "map", "explain"};
constexpr const char* kVerdictNames[] = {"EQUIVALENT", "DIFFERENT", "DISTINCT", "NONDETERMINISTIC", "UNKNOWN"};

// Seconds: from a cached answer to a check that runs out of time.
Buckets RpcBuckets() {
  return {2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20};
}
Buckets StageBuckets() { return {1e-5, 1e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10}; }

class LevelsCollectable : public prometheus::Collectable {
 public:
  explicit LevelsCollectable(std::function<Levels()> read) : read_(std::move(read)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const Levels levels = read_();
    return {
        Family("samebits_queue_depth", "Tasks that wait for a thread.", "queue",
               {{"checks", levels.queued_checks}, {"store", levels.queued_store_calls}}),
        Family("samebits_queue_running", "Tasks on a thread.", "queue",
               {{"checks", levels.running_checks}, {"store", levels.running_store_calls}}),
        Family("samebits_pending_text_bytes", "Kernel texts held by calls that wait or run.",
               levels.pending_text_bytes),
        Family("samebits_partition_streams", "Partitions under way.", levels.partition_streams),
        Family("samebits_signature_cache_entries", "Signatures in memory.", levels.cached_signatures),
        Family("samebits_store_kernels", "Registered kernels.", levels.stored_kernels),
        Family("samebits_store_text_bytes", "Bytes of their texts.", levels.stored_text_bytes),
        Family("samebits_store_signatures", "Stored signatures.", levels.stored_signatures),
        Family("samebits_store_file_bytes", "Size of the database file; 0 in memory.", levels.store_file_bytes),
        Family("samebits_tasks", "Tasks of open jobs, by state.", "state",
               {{"queued", levels.queued_tasks}, {"leased", levels.leased_tasks}}),
        Family("samebits_jobs", "Jobs that are stored, by state.", "state",
               {{"open", levels.open_jobs}, {"finished", levels.finished_jobs}}),
        Oldest(levels.oldest_queued_seconds),
        Family("samebits_reproducers", "Contradictions that are kept.", levels.reproducers),
        Family("samebits_workers", "Workers, by state; draining ones are counted there too.", "state",
               {{"online", levels.workers_online}, {"offline", levels.workers_offline},
                {"draining", levels.workers_draining}}),
        ByPair("samebits_devices", "Devices of online workers.", "backend", "architecture", levels.devices),
        ByPair("samebits_device_libraries", "Devices of online workers that have a library, by its version.", "library",
               "version", levels.libraries),
        Expiry(levels.certificate_expiry),
    };
  }

 private:
  static prometheus::MetricFamily Oldest(double seconds) {
    prometheus::MetricFamily family{"samebits_oldest_queued_task_seconds", "Age of the longest waiting job; 0: none.",
                                    prometheus::MetricType::Gauge, {}};
    family.metric.emplace_back().gauge.value = seconds;
    return family;
  }
  static prometheus::MetricFamily ByPair(const char* name, const char* help, const char* first, const char* second,
                                         const std::map<std::pair<std::string, std::string>, uint64_t>& counts) {
    prometheus::MetricFamily family{name, help, prometheus::MetricType::Gauge, {}};
    for (const auto& [key, count] : counts) {
      prometheus::ClientMetric& metric = family.metric.emplace_back();
      metric.label = {{first, key.first}, {second, key.second}};
      metric.gauge.value = static_cast<double>(count);
    }
    return family;
  }
  static prometheus::MetricFamily Expiry(int64_t seconds) {
    prometheus::MetricFamily family{"samebits_tls_certificate_expiry_timestamp_seconds",
                                    "End of validity of the TLS certificate in force, since the epoch; absent: no TLS.",
                                    prometheus::MetricType::Gauge, {}};
    if (seconds != 0) family.metric.emplace_back().gauge.value = static_cast<double>(seconds);
    return family;
  }
  static prometheus::MetricFamily Family(const char* name, const char* help, uint64_t value) {
    return Family(name, help, "", {{"", value}});
  }
  static prometheus::MetricFamily Family(const char* name, const char* help, const char* label,
                                         const std::vector<std::pair<const char*, uint64_t>>& values) {
    prometheus::MetricFamily family{name, help, prometheus::MetricType::Gauge, {}};
    for (const auto& [key, value] : values) {
      prometheus::ClientMetric& metric = family.metric.emplace_back();
      if (*label != '\0') metric.label.push_back({label, key});
      metric.gauge.value = static_cast<double>(value);
    }
    return family;
  }

  const std::function<Levels()> read_;
};

}  // namespace

std::string_view MethodName(Method method) { return kMethodNames[static_cast<int>(method)]; }

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  requests_ = &BuildCounter().Name("samebits_rpc_requests_total").Help("Calls, by method and canonical code.")
                   .Register(*registry_);
  auto& latency = BuildHistogram().Name("samebits_rpc_duration_seconds").Help("Time from a call to its answer.")
                      .Register(*registry_);
  for (int i = 0; i < kMethods; ++i) latency_[i] = &latency.Add({{"method", kMethodNames[i]}}, RpcBuckets());
  auto& signatures = BuildCounter().Name("samebits_signature_requests_total")
                         .Help("Signatures asked for, by where they came from; all but computed are cache hits.")
                         .Register(*registry_);
  for (int i = 0; i < kSignatureSources; ++i) signature_requests_[i] = &signatures.Add({{"source", kSourceNames[i]}});
  auto& stages = BuildHistogram().Name("samebits_check_stage_duration_seconds")
                     .Help("Time of a check by stage; queue is the wait for a thread.").Register(*registry_);
  for (size_t i = 0; i < stages_.size(); ++i) stages_[i] = &stages.Add({{"stage", kStageNames[i]}}, StageBuckets());
  auto& verdicts = BuildCounter().Name("samebits_verdicts_total").Help("Comparisons answered, by verdict.")
                       .Register(*registry_);
  for (size_t i = 0; i < verdicts_.size(); ++i) verdicts_[i] = &verdicts.Add({{"verdict", kVerdictNames[i]}});
  checks_ = &BuildCounter().Name("samebits_checks_total").Help("Runs of the checker, by status of the signature.")
                 .Register(*registry_);
  unknown_ = &BuildCounter().Name("samebits_unknown_total").Help("Signatures of status UNKNOWN, by reason.")
                  .Register(*registry_);
  rejections_ = &BuildCounter().Name("samebits_limit_rejections_total").Help("Requests over a limit, by limit.")
                     .Register(*registry_);
  store_errors_ = &BuildCounter().Name("samebits_store_errors_total").Help("Calls that the database failed.")
                       .Register(*registry_).Add({});
  partition_items_ = &BuildCounter().Name("samebits_partition_items_total").Help("Launches received in partitions.")
                          .Register(*registry_).Add({});
  units_ = &BuildCounter().Name("samebits_task_units_total").Help("Finished parts of tasks, as workers report them.")
                .Register(*registry_).Add({});
  jobs_ = &BuildCounter().Name("samebits_jobs_total").Help("Jobs, by what happened to them.").Register(*registry_);
  leases_ = &BuildCounter().Name("samebits_leases_total").Help("Leases, by what happened to them.")
                 .Register(*registry_);
  verifications_ = &BuildCounter().Name("samebits_verifications_total")
                        .Help("Verifications that ended with a result, by their agreement with the static verdicts.")
                        .Register(*registry_);
  launches_ = &BuildCounter().Name("samebits_launches_total")
                   .Help("Kernels launched by verifications, by backend and the canonical code with which they ended.")
                   .Register(*registry_);
  job_duration_ = &BuildHistogram().Name("samebits_job_duration_seconds")
                       .Help("Time from the acceptance of a job to its end.").Register(*registry_)
                       .Add({}, Buckets{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600});
  contradictions_ = &BuildCounter().Name("samebits_verdict_contradictions_total")
                         .Help("Hardware results that contradict a certificate: an alarm.").Register(*registry_).Add({});
  prometheus::BuildGauge().Name("samebits_process_start_time_seconds").Help("Start of the server, since the epoch.")
      .Register(*registry_).Add({}).SetToCurrentTime();
}

void Metrics::Add(Counters& family, const char* label, std::string_view value) {
  family.Add({{label, std::string(value)}}).Increment();
}

void Metrics::CountRpc(Method method, int code, absl::Duration latency) {
  if (code < 0 || code >= kCodes) code = 2;
  const int m = static_cast<int>(method);
  std::atomic<prometheus::Counter*>& slot = requests_by_code_[m][code];
  prometheus::Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = &requests_->Add({{"method", kMethodNames[m]}, {"code", kCodeNames[code]}});
    slot.store(counter, std::memory_order_release);
  }
  counter->Increment();
  latency_[m]->Observe(absl::ToDoubleSeconds(latency));
}

void Metrics::CountLaunch(std::string_view backend, int code) {
  if (code < 0 || code >= kCodes) code = 2;
  launches_->Add({{"backend", std::string(backend)}, {"code", kCodeNames[code]}}).Increment();
}

void Metrics::CountCheck(std::string_view status, std::string_view reason_code) {
  Add(*checks_, "status", status);
  if (status == "UNKNOWN") Add(*unknown_, "reason", reason_code.empty() ? "OTHER" : reason_code);
}

void Metrics::ObserveStage(Stage stage, absl::Duration time) {
  stages_[static_cast<int>(stage)]->Observe(absl::ToDoubleSeconds(time));
}

void Metrics::ObserveJob(absl::Duration time) { job_duration_->Observe(absl::ToDoubleSeconds(time)); }

void Metrics::CountVerdict(std::string_view verdict) {
  for (size_t i = 0; i < verdicts_.size(); ++i)
    if (verdict == kVerdictNames[i]) verdicts_[i]->Increment();
}

std::shared_ptr<prometheus::Collectable> Metrics::MakeLevels(std::function<Levels()> read) const {
  return std::make_shared<LevelsCollectable>(std::move(read));
}

}  // namespace samebits::server
