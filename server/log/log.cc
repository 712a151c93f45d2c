#include "server/log/log.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace samebits::server {
namespace {

constexpr const char* kLevelNames[] = {"debug", "info", "warning", "error"};

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
      case '\\':
        out->push_back('\\');
        out->push_back(c);
        break;
      case '\n':
        out->append("\\n");
        break;
      case '\t':
        out->append("\\t");
        break;
      default:
        if (byte < 0x20 || byte >= 0x7f) {
          absl::StrAppendFormat(out, "\\u%04x", byte);
        } else {
          out->push_back(c);
        }
    }
  }
  out->push_back('"');
}

Log::Entry::Entry(const Log* log, LogLevel level, std::string_view message) : log_(log) {
  if (log_ == nullptr) return;
  line_ = absl::StrFormat("{\"time\":\"%s\",\"level\":\"%s\",\"message\":",
                          absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone()),
                          kLevelNames[static_cast<int>(level)]);
  AppendJsonString(message, &line_);
}

Log::Entry::~Entry() {
  if (log_ == nullptr) return;
  line_.append("}\n");
  log_->Write(line_);
}

Log::Entry&& Log::Entry::Add(std::string_view key, std::string_view value) && {
  if (log_ == nullptr) return std::move(*this);
  line_.push_back(',');
  AppendJsonString(key, &line_);
  line_.push_back(':');
  AppendJsonString(value, &line_);
  return std::move(*this);
}

Log::Entry&& Log::Entry::Add(std::string_view key, double value) && {
  return std::move(*this).AddNumber(key, std::isfinite(value) ? absl::StrFormat("%.9g", value) : "null");
}

Log::Entry&& Log::Entry::AddNumber(std::string_view key, const std::string& value) && {
  if (log_ == nullptr) return std::move(*this);
  line_.push_back(',');
  AppendJsonString(key, &line_);
  line_.push_back(':');
  line_.append(value);
  return std::move(*this);
}

void Log::Write(std::string_view line) const {
  while (!line.empty()) {
    const ssize_t written = write(fd_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // a log that cannot be written must not stop the server
    line.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace samebits::server
