#ifndef SAMEBITS_SERVER_METRICS_METRICS_H_
#define SAMEBITS_SERVER_METRICS_METRICS_H_

// What the server counts, in Prometheus form. All names start with samebits_ and use base units.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace samebits::server {

// Methods of all services.
enum class Method : uint8_t {
  kRegisterKernel, kGetKernel, kListKernels, kDeleteKernel, kComputeKernelSignature, kCompareKernels,
  kExplainDifference, kPartitionKernels, kVerifyKernels,
  kGetOperation, kListOperations, kWaitOperation, kWatchOperation, kCancelOperation, kDeleteOperation,
  kListReproducers, kGetReproducer, kDeleteReproducer,
  kGetWorker, kListWorkers, kDrainWorker, kListDevices, kCreateWorkerSession, kUpdateWorkerSession,
  kCreateEnrolment, kRevokeWorker, kEnrolWorker,
  kImportArchProfile, kReconstructArchProfile, kGetArchProfile, kListArchProfiles, kExportArchProfile, kDeleteArchProfile, kDescribeGemm,
  kEmulateGemm, kRecoverGemms, kEmulateGemmOnWorker, kReportBatchInvariance, kCompareArchProfiles,
  kEvaluateReproducibility, kAttributeErrors, kDecomposeErrors, kSweepSignificand, kMeasureQkv, kChooseSkipPolicy,
  kMeasureServingCost, kCountInstructions, kMeasureInstructionMix,
};
inline constexpr int kMethods = 48;
std::string_view MethodName(Method method);  // "CompareKernels"

// Where a signature came from.
enum class SignatureSource : uint8_t { kMemory, kCoalesced, kStore, kComputed };
inline constexpr int kSignatureSources = 4;

// Values that are read when the endpoint is scraped.
struct Levels {
  uint64_t queued_checks = 0, running_checks = 0, queued_store_calls = 0, running_store_calls = 0;
  uint64_t pending_text_bytes = 0, partition_streams = 0, cached_signatures = 0;
  uint64_t stored_kernels = 0, stored_text_bytes = 0, stored_signatures = 0, store_file_bytes = 0;
  uint64_t queued_tasks = 0, leased_tasks = 0, open_jobs = 0, finished_jobs = 0, reproducers = 0;
  double oldest_queued_seconds = 0;
  int64_t certificate_expiry = 0;  // seconds since the epoch; 0: no TLS
  uint64_t workers_online = 0, workers_offline = 0, workers_draining = 0;
  std::map<std::pair<std::string, std::string>, uint64_t> devices;  // of online workers, by backend and architecture
  // Devices of online workers by library and version, as far as they are not too many.
  std::map<std::pair<std::string, std::string>, uint64_t> libraries;
};

// Thread-safe.
class Metrics {
 public:
  Metrics();

  // `code`: canonical code of the answer, 0 to 16.
  void CountRpc(Method method, int code, absl::Duration latency);
  void CountSignature(SignatureSource source) { signature_requests_[static_cast<int>(source)]->Increment(); }
  // One run of the checker. `status` is "OK", "NONDETERMINISTIC" or "UNKNOWN"; `reason_code` may be empty.
  void CountCheck(std::string_view status, std::string_view reason_code);
  enum class Stage : uint8_t { kQueue, kParse, kExecute, kMap, kExplain };
  void ObserveStage(Stage stage, absl::Duration time);
  void CountVerdict(std::string_view verdict);  // "EQUIVALENT", ...
  void CountRejection(std::string_view limit) { Add(*rejections_, "limit", limit); }
  void CountStoreError() { store_errors_->Increment(); }
  void CountPartitionItem() { partition_items_->Increment(); }
  void CountJob(std::string_view event) { Add(*jobs_, "event", event); }      // "accepted", "succeeded", "failed", ...
  void CountLease(std::string_view event) { Add(*leases_, "event", event); }  // "granted", "completed", "expired", ...
  void CountUnits(size_t number) { units_->Increment(static_cast<double>(number)); }  // finished parts of tasks
  void ObserveJob(absl::Duration time);                                       // from acceptance to the end
  // Pairs certified as equal that wrote different bytes, and launches certified as fixed that did not repeat.
  void CountContradictions(size_t number) { contradictions_->Increment(static_cast<double>(number)); }
  // How a kernel's launches on all inputs ended on a device of `backend`; `code` as CountRpc's.
  void CountLaunch(std::string_view backend, int code);
  void CountVerification(std::string_view agreement) { Add(*verifications_, "agreement", agreement); }

  // `read` is called on each scrape, on the endpoint's thread, until the returned object goes.
  std::shared_ptr<prometheus::Collectable> MakeLevels(std::function<Levels()> read) const;

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

 private:
  static constexpr int kCodes = 17;
  using Counters = prometheus::Family<prometheus::Counter>;
  static void Add(Counters& family, const char* label, std::string_view value);

  const std::shared_ptr<prometheus::Registry> registry_;
  Counters* requests_;
  std::array<std::array<std::atomic<prometheus::Counter*>, kCodes>, kMethods> requests_by_code_{};
  std::array<prometheus::Histogram*, kMethods> latency_{};
  std::array<prometheus::Counter*, kSignatureSources> signature_requests_{};
  std::array<prometheus::Histogram*, 5> stages_{};
  std::array<prometheus::Counter*, 5> verdicts_{};
  Counters* checks_;
  Counters* unknown_;
  Counters* rejections_;
  prometheus::Counter* store_errors_;
  prometheus::Counter* partition_items_;
  prometheus::Counter* units_;
  Counters* jobs_;
  Counters* leases_;
  Counters* verifications_;
  Counters* launches_;
  prometheus::Histogram* job_duration_;
  prometheus::Counter* contradictions_;
};

// Serves /metrics for Prometheus, /healthz for probes and / for people until it goes.
class MetricsEndpoint {
 public:
  // `listen`: host:port, port 0 for any free one. UNAVAILABLE where the port is taken. `status_page` returns HTML; it is
  // called on a thread of the endpoint. `serving`: whether /healthz answers 200; 503 else.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const std::string& listen, const Metrics& metrics,
                                                                std::shared_ptr<prometheus::Collectable> levels,
                                                                std::function<std::string()> status_page,
                                                                std::function<bool()> serving);
  virtual ~MetricsEndpoint() = default;
  virtual std::string address() const = 0;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_METRICS_METRICS_H_
