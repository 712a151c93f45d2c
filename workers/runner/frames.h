#ifndef SAMEBITS_WORKERS_RUNNER_FRAMES_H_
#define SAMEBITS_WORKERS_RUNNER_FRAMES_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace samebits::workers {

// What a child tells its parent, as frames: a byte for the kind, four for the length (little endian), the bytes.
enum class Frame : char {
  kStep = 's',     // a launch on one input ended; empty
  kOutcome = 'o',  // v1.LaunchOutcome
  kError = 'e',    // google.rpc.Status: the device could not be opened, or a request was bad
  kUnit = 'u',     // worker.v1.TaskUnit: a part of a task is finished
  kProgress = 'p',  // worker.v1.TaskProgress without key and units
  kResult = 'r',   // the task's result
  kEnd = 'z',      // nothing more comes; empty
};

inline constexpr size_t kFrameHeader = 5, kLargestFrame = 64 << 20;

inline std::string EncodeFrame(Frame kind, const std::string& body) {
  std::string out(kFrameHeader, static_cast<char>(kind));
  const auto size = static_cast<uint32_t>(body.size());
  std::memcpy(out.data() + 1, &size, sizeof(size));
  return out + body;
}

// Takes the first whole frame off `buffer`; nullopt where there is none yet. Sets *bad where no frame can begin so.
inline std::optional<std::pair<Frame, std::string>> TakeFrame(std::string* buffer, bool* bad) {
  *bad = false;
  if (buffer->size() < kFrameHeader) return std::nullopt;
  uint32_t size = 0;
  std::memcpy(&size, buffer->data() + 1, sizeof(size));
  const char kind = (*buffer)[0];
  *bad = size > kLargestFrame || std::strchr("soeuprz", kind) == nullptr || kind == '\0';
  if (*bad || buffer->size() < kFrameHeader + size) return std::nullopt;
  std::pair<Frame, std::string> frame(static_cast<Frame>(kind), buffer->substr(kFrameHeader, size));
  buffer->erase(0, kFrameHeader + size);
  return frame;
}

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_RUNNER_FRAMES_H_
