#ifndef SAMEBITS_TESTS_UNIT_CORE_HEAL_MODEL_MODEL_FILES_H_
#define SAMEBITS_TESTS_UNIT_CORE_HEAL_MODEL_MODEL_FILES_H_

// Small model files, written value by value from the formats' descriptions.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace samebits::heal {

template <typename T>
std::string Raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

struct FileTensor {
  std::string type;  // safetensors' dtype, or GGUF's number as text
  std::vector<int64_t> shape;
  std::string bytes;
};
using FileTensors = std::map<std::string, FileTensor>;

inline std::string SafetensorsText(const FileTensors& tensors) {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}", data;
  for (const auto& [name, tensor] : tensors) {
    header += ",\"" + name + "\":{\"dtype\":\"" + tensor.type + "\",\"shape\":[";
    for (size_t i = 0; i < tensor.shape.size(); ++i) header += (i ? "," : "") + std::to_string(tensor.shape[i]);
    header += "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
    data += tensor.bytes;
    header += std::to_string(data.size()) + "]}";
  }
  header += "}";
  return Raw<uint64_t>(header.size()) + header + data;
}

inline std::string GgufString(const std::string& text) { return Raw<uint64_t>(text.size()) + text; }

// `metadata`: key to type number and value, in bytes.
inline std::string GgufText(const std::map<std::string, std::string>& metadata, const FileTensors& tensors,
                            uint32_t version = 3) {
  std::string text = "GGUF" + Raw(version) + Raw<uint64_t>(tensors.size()) + Raw<uint64_t>(metadata.size()), data;
  for (const auto& [key, value] : metadata) text += GgufString(key) + value;
  for (const auto& [name, tensor] : tensors) {
    data.resize((data.size() + 31) / 32 * 32);
    text += GgufString(name) + Raw<uint32_t>(tensor.shape.size());
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) text += Raw<uint64_t>(*size);
    text += Raw<uint32_t>(std::stoi(tensor.type)) + Raw<uint64_t>(data.size());
    data += tensor.bytes;
  }
  text.resize((text.size() + 31) / 32 * 32);
  return text + data;
}

inline void WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.good()) << path;
}

// An empty folder of the running test, removed with it.
class TestFolder {
 public:
  TestFolder() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(::testing::TempDir()) /
            (std::string(info->test_suite_name()) + info->name() + std::to_string(static_cast<int>(::getpid())));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace samebits::heal

#endif  // SAMEBITS_TESTS_UNIT_CORE_HEAL_MODEL_MODEL_FILES_H_
