#include "server/rpc/call_scope.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>

#include "absl/strings/str_format.h"
#include "server/registry/errors.h"
#include "server/rpc/status.h"

namespace samebits::server {
namespace {

constexpr char kRequestIdHeader[] = "x-request-id";
constexpr size_t kMaxRequestIdBytes = 64;

int64_t MonotonicNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Unique in the process, and across processes as far as 64 random bits go.
std::string NewRequestId() {
  static const uint64_t process = [] {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
  }();
  static std::atomic<uint64_t> next{0};
  return absl::StrFormat("%016x-%x", process, next.fetch_add(1));
}

bool IsUsable(const std::string& id) {
  return !id.empty() && id.size() <= kMaxRequestIdBytes &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

LogLevel LevelOf(const absl::Status& status, bool from_memory) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return from_memory ? LogLevel::kDebug : LogLevel::kInfo;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnknown:
      return LogLevel::kError;
    case absl::StatusCode::kResourceExhausted:
      return LogLevel::kWarning;
    default:
      return LogLevel::kInfo;
  }
}

std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace

CallScope::CallScope(Method method, grpc::CallbackServerContext* context, CallGate* gate, Metrics* metrics,
                     const Log* log)
    : method_(method), context_(context), gate_(gate), metrics_(metrics), log_(log), admitted_(gate->Enter()),
      start_nanos_(MonotonicNanos()) {}

const std::string& CallScope::request_id() {
  if (!request_id_.empty()) return request_id_;
  const auto& metadata = context_->client_metadata();
  if (const auto it = metadata.find(kRequestIdHeader); it != metadata.end())
    request_id_.assign(it->second.data(), it->second.size());
  if (!IsUsable(request_id_)) request_id_ = NewRequestId();
  return request_id_;
}

void CallScope::LogEnd(const absl::Status& status, absl::Duration latency, bool from_memory) {
  const LogLevel level = LevelOf(status, from_memory);
  if (!log_->enabled(level)) return;
  Log::Entry entry = log_->Line(level, "call")
                         .Add("request_id", request_id())
                         .Add("method", MethodName(method_))
                         .Add("peer", context_->peer())
                         .Add("code", View(absl::StatusCodeToString(status.code())))
                         .Add("seconds", absl::ToDoubleSeconds(latency));
  if (status.ok()) return;
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  std::move(entry).Add("reason", detail ? detail->reason : "INTERNAL").Add("error", View(status.message()));
}

grpc::Status CallScope::End(const absl::Status& status, bool from_memory) {
  const absl::Duration latency = absl::Nanoseconds(MonotonicNanos() - start_nanos_);
  metrics_->CountRpc(method_, static_cast<int>(status.code()), latency);
  LogEnd(status, latency, from_memory);
  if (admitted_) gate_->Leave();
  if (status.ok()) return grpc::Status::OK;
  if (const std::optional<ErrorDetail> detail = GetErrorDetail(status)) {
    const auto limit = detail->metadata.find("limit");
    if (limit != detail->metadata.end()) metrics_->CountRejection(limit->second);
  }
  return ToGrpcStatus(status, request_id());
}

}  // namespace samebits::server
