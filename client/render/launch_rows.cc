#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/report.h"

namespace samebits::render {
namespace {

constexpr size_t kMaxArguments = 64, kMaxBytes = 16;

std::string Dims(const checker::Dim3& d) { return absl::StrCat(d[0], " x ", d[1], " x ", d[2]); }

std::string ArgumentText(const checker::Argument& a) {
  using Kind = checker::Argument::Kind;
  switch (a.kind) {
    case Kind::kUnknown: return "unknown";
    case Kind::kPointer: return a.buffer.empty() ? "ptr" : absl::StrCat("ptr:", a.buffer);
    case Kind::kInteger: return absl::StrCat(static_cast<int64_t>(a.bits));
    case Kind::kFloat: return absl::StrFormat("0x%x", a.bits);
    case Kind::kScratch: return "scratch";
    case Kind::kBytes: break;
  }
  std::string out = "bytes:";
  for (size_t i = 0; i < a.bytes.size() && i < kMaxBytes; ++i) absl::StrAppendFormat(&out, "%02x", a.bytes[i]);
  return a.bytes.size() > kMaxBytes ? out + "..." : out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LaunchRows(const checker::Launch& launch) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (!launch.entry.empty()) rows.push_back({"entry", launch.entry});
  rows.push_back({"block", Dims(launch.block)});
  rows.push_back({"grid", launch.grid ? Dims(*launch.grid) : "any"});
  if (launch.shared_bytes > 0) rows.push_back({"dynamic shared", absl::StrCat(launch.shared_bytes, " bytes")});
  std::string arguments;
  for (size_t i = 0; launch.args && i < launch.args->size(); ++i) {
    absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", i < kMaxArguments ? ArgumentText((*launch.args)[i]) : "...");
    if (i == kMaxArguments) break;
  }
  rows.push_back({"arguments", launch.args ? arguments : "any"});
  std::string outputs;
  for (const std::string& name : launch.outputs) absl::StrAppend(&outputs, outputs.empty() ? "" : ", ", name);
  if (!outputs.empty()) rows.push_back({"compared", outputs});
  return rows;
}

}  // namespace samebits::render
