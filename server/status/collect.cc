#include "server/status/collect.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/convert/device.h"
#include "samebits/v1/arch_profile_service.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/registry/digest.h"

namespace samebits::server {
namespace {

constexpr size_t kWorkersShown = 100, kDevicesShown = 64, kReasonsShown = 12, kProfilesShown = 20;
constexpr int kJobsShown = 25, kReproducersShown = 10;

const char* StateName(const storage::JobRecord& job) {
  switch (job.state) {
    case storage::JobState::kOpen:
      return job.start_time == storage::kNever ? "QUEUED" : "RUNNING";
    case storage::JobState::kSucceeded:
      return "SUCCEEDED";
    case storage::JobState::kFailed:
      return "FAILED";
    case storage::JobState::kCancelled:
      return "CANCELLED";
  }
  return "";
}

StatusData::Worker DescribeWorker(const storage::WorkerRecord& record, bool online, absl::Time now) {
  StatusData::Worker worker{record.id, online, record.draining, false, now - record.last_seen, {}};
  worker::v1::CreateWorkerSessionRequest about;
  if (!about.ParseFromString(record.description)) return worker;
  worker.runs_submitted_kernels = about.runs_submitted_kernels();
  for (const v1::Device& device : about.devices())
    if (worker.devices.size() < kDevicesShown)
      worker.devices.push_back({device.index(), device.name(), device.backend(), device.architecture(),
                                proto::LibrariesText(device), device.assembler()});
  return worker;
}

void CollectFleet(Dispatcher& dispatcher, absl::Time now, StatusData* out) {
  const auto workers = dispatcher.ListWorkers();
  if (!workers.ok()) return;
  for (const bool online : {true, false})
    for (const storage::WorkerRecord& worker : *workers)
      if (dispatcher.IsOnline(worker) == online && out->workers.size() < kWorkersShown)
        out->workers.push_back(DescribeWorker(worker, online, now));
}

void CollectJobs(Dispatcher& dispatcher, absl::Time now, StatusData* out) {
  if (const auto page = dispatcher.List({}, 0, kJobsShown); page.ok())
    for (const storage::JobRecord& job : page->jobs)
      out->jobs.push_back({job.id, job.kind, StateName(job), job.principal, job.error, job.priority,
                           now - job.create_time});
  if (const auto page = dispatcher.ListReproducers(0, kReproducersShown); page.ok())
    for (const storage::ReproducerRecord& reproducer : page->reproducers)
      out->latest_reproducers.push_back({reproducer.id, reproducer.job, reproducer.create_time});
}

// The counters of a family with one label, the greatest first.
StatusData::Counts CountsOf(const prometheus::MetricFamily& family) {
  StatusData::Counts counts;
  for (const prometheus::ClientMetric& metric : family.metric)
    counts.emplace_back(metric.label.empty() ? "" : metric.label[0].value, static_cast<uint64_t>(metric.counter.value));
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  counts.resize(std::min(counts.size(), kReasonsShown));
  return counts;
}

void CollectProfiles(storage::ProfileStore& profiles, StatusData* out) {
  auto stored = profiles.ListProfiles();
  if (!stored.ok()) return;
  out->profiles_stored = stored->size();
  std::stable_sort(stored->begin(), stored->end(), [](const auto& a, const auto& b) { return a.create_time > b.create_time; });
  stored->resize(std::min(stored->size(), kProfilesShown));
  for (const storage::ProfileRecord& record : *stored) {
    v1::ArchProfile about;
    if (!about.ParseFromString(record.description)) continue;
    const int64_t version = about.library_version();
    out->profiles.push_back({DigestHex(record.digest), about.device(),
                             absl::StrCat(about.library(), " ", version / 10'000, ".", version % 10'000 / 100, ".",
                                          version % 100),
                             about.shapes(), about.explained_shapes(), record.create_time});
  }
}

uint64_t TotalOf(const prometheus::MetricFamily& family) {
  double total = 0;
  for (const prometheus::ClientMetric& metric : family.metric) total += metric.counter.value;
  return static_cast<uint64_t>(total);
}

void CollectCounters(const Metrics& metrics, StatusData* out) {
  for (const prometheus::MetricFamily& family : metrics.registry()->Collect()) {
    if (family.name == "samebits_verdicts_total") out->verdicts = CountsOf(family);
    if (family.name == "samebits_checks_total") out->checks = CountsOf(family);
    if (family.name == "samebits_unknown_total") out->unknown_reasons = CountsOf(family);
    if (family.name == "samebits_verifications_total") out->verifications = CountsOf(family);
    if (family.name == "samebits_store_errors_total") out->store_errors = TotalOf(family);
    if (family.name == "samebits_verdict_contradictions_total") out->contradictions = TotalOf(family);
  }
}

}  // namespace

StatusData CollectStatus(Dispatcher& dispatcher, storage::ProfileStore& profiles, const Levels& levels,
                         const Metrics& metrics) {
  StatusData out;
  out.now = dispatcher.config().clock();
  CollectFleet(dispatcher, out.now, &out);
  CollectJobs(dispatcher, out.now, &out);
  CollectProfiles(profiles, &out);
  CollectCounters(metrics, &out);
  out.workers_online = levels.workers_online;
  out.workers_offline = levels.workers_offline;
  out.workers_draining = levels.workers_draining;
  out.open_jobs = levels.open_jobs;
  out.finished_jobs = levels.finished_jobs;
  out.queued_tasks = levels.queued_tasks;
  out.leased_tasks = levels.leased_tasks;
  out.oldest_queued = absl::Seconds(levels.oldest_queued_seconds);
  out.kernels = levels.stored_kernels;
  out.signatures = levels.stored_signatures;
  out.file_bytes = levels.store_file_bytes;
  out.reproducers = levels.reproducers;
  return out;
}

}  // namespace samebits::server
