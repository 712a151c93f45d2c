#include "server/rpc/call_scope.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "server/auth/roles.h"
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

constexpr char kAnyone[] = "anonymous";
constexpr std::string_view kBearer = "Bearer ";

std::string_view SecretOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find("authorization");
  if (it == metadata.end()) return "";
  const std::string_view value(it->second.data(), it->second.size());
  return value.starts_with(kBearer) ? value.substr(kBearer.size()) : "";
}

absl::Status Authorize(Method method, const grpc::CallbackServerContext& context, Authenticator& tokens,
                       Identity* caller) {
  absl::StatusOr<Identity> identity = tokens.Find(SecretOf(context), absl::Now());
  if (!identity.ok()) return identity.status();
  *caller = *std::move(identity);
  if (MayCall(caller->role, method)) return absl::OkStatus();
  const std::string role(RoleName(caller->role)), name(MethodName(method));
  return WithDetail(absl::PermissionDeniedError(absl::StrFormat("the role %s may not call %s", role, name)),
                    "NOT_PERMITTED", {{"role", role}});
}

}  // namespace

CallScope::CallScope(Method method, grpc::CallbackServerContext* context, const JobRpc& rpc)
    : method_(method), context_(context), gate_(rpc.gate), metrics_(rpc.metrics), log_(rpc.log), audit_(rpc.audit),
      admitted_(rpc.gate->Enter()), start_nanos_(MonotonicNanos()), identity_{kAnyone, Role::kAdmin} {
  if (!admitted_) {
    refusal_ = ShuttingDown();
  } else if (rpc.tokens != nullptr) {
    identity_.role = Role::kViewer;
    refusal_ = Authorize(method, *context, *rpc.tokens, &identity_);
  }
}

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

void CallScope::Audit(const absl::Status& status) {
  if (!audit_->enabled(LogLevel::kInfo)) return;
  audit_->Line(LogLevel::kInfo, "audit")
      .Add("principal", identity_.principal)
      .Add("method", MethodName(method_))
      .Add("resource", resource_)
      .Add("peer", context_->peer())
      .Add("request_id", request_id())
      .Add("code", View(absl::StatusCodeToString(status.code())));
}

grpc::Status CallScope::End(const absl::Status& status, bool from_memory) {
  const absl::Duration latency = absl::Nanoseconds(MonotonicNanos() - start_nanos_);
  metrics_->CountRpc(method_, static_cast<int>(status.code()), latency);
  LogEnd(status, latency, from_memory);
  if (IsMutation(method_)) Audit(status);
  if (admitted_) gate_->Leave();
  if (status.ok()) return grpc::Status::OK;
  if (const std::optional<ErrorDetail> detail = GetErrorDetail(status)) {
    const auto limit = detail->metadata.find("limit");
    if (limit != detail->metadata.end()) metrics_->CountRejection(limit->second);
  }
  return ToGrpcStatus(status, request_id());
}

}  // namespace samebits::server
