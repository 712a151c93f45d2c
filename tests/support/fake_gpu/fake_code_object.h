#ifndef SAMEBITS_TESTS_SUPPORT_FAKE_GPU_FAKE_CODE_OBJECT_H_
#define SAMEBITS_TESTS_SUPPORT_FAKE_GPU_FAKE_CODE_OBJECT_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace samebits::fake_gpu {

// What the stand-in of comgr makes and that of HIP loads: the text itself, marked as relocatable or executable.
inline constexpr char kRelocatable[] = "\x7f" "ELF relocatable of a stand-in";
inline constexpr char kExecutable[] = "\x7f" "ELF executable of a stand-in";

inline std::string MakeCodeObject(const char* mark, const std::string& text) {
  std::string out(mark, std::strlen(mark) + 1);
  const uint64_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return out + text;
}

// nullopt where it has another mark. `image` is as long as it says.
inline std::optional<std::string> TextOf(const char* mark, const char* image) {
  if (std::strncmp(image, mark, std::strlen(mark) + 1) != 0) return std::nullopt;
  uint64_t size = 0;
  std::memcpy(&size, image + std::strlen(mark) + 1, sizeof(size));
  return std::string(image + std::strlen(mark) + 1 + sizeof(size), size);
}

}  // namespace samebits::fake_gpu

#endif  // SAMEBITS_TESTS_SUPPORT_FAKE_GPU_FAKE_CODE_OBJECT_H_
