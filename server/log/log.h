#ifndef SAMEBITS_SERVER_LOG_LOG_H_
#define SAMEBITS_SERVER_LOG_LOG_H_

// Structured log: one JSON object a line, on one file descriptor.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace samebits::server {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

// Appends `text` as a JSON string with its quotes; bytes other than printable ASCII are escaped, each as the code
// point of its value.
void AppendJsonString(std::string_view text, std::string* out);

// Thread-safe: each line is one write. Lines below the level cost one comparison.
class Log {
 public:
  explicit Log(LogLevel level, int fd = 2) : level_(level), fd_(fd) {}

  bool enabled(LogLevel level) const { return level >= level_; }

  // A line under construction; written at the end of the statement:
  //   log.Line(LogLevel::kInfo, "server started").Add("address", address);
  class Entry {
   public:
    ~Entry();
    Entry(Entry&& other) noexcept : log_(other.log_), line_(std::move(other.line_)) { other.log_ = nullptr; }
    Entry& operator=(Entry&&) = delete;

    Entry&& Add(std::string_view key, std::string_view value) &&;
    Entry&& Add(std::string_view key, double value) &&;
    template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
    Entry&& Add(std::string_view key, T value) && {
      return std::move(*this).AddNumber(key, std::to_string(value));
    }

   private:
    friend class Log;
    Entry(const Log* log, LogLevel level, std::string_view message);
    Entry&& AddNumber(std::string_view key, const std::string& value) &&;

    const Log* log_;  // null: not written
    std::string line_;
  };
  Entry Line(LogLevel level, std::string_view message) const {
    return Entry(enabled(level) ? this : nullptr, level, message);
  }

 private:
  void Write(std::string_view line) const;

  const LogLevel level_;
  const int fd_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_LOG_LOG_H_
