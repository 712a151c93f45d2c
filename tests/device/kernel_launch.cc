#include <cstring>
#include <sstream>

#include "tests/device/probes.h"

namespace samebits::device_test {

bool ParseKernelLaunch(const std::string& line, KernelLaunch* launch) {
  std::istringstream words(line);
  words >> launch->name >> launch->path >> launch->entry;
  for (uint32_t& extent : launch->block) words >> extent;
  for (uint32_t& extent : launch->grid) words >> extent;
  words >> launch->shared_bytes;
  if (!words) return false;
  for (std::string arg; words >> arg;) launch->args.push_back(arg);
  return true;
}

std::vector<uint8_t> ArgumentBytes(const std::string& hexadecimal) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<uint8_t> BufferContents(size_t index) {
  std::vector<uint8_t> contents(kBufferBytes);
  uint32_t state = static_cast<uint32_t>(index) * 7919 + 1;
  for (size_t i = 0; i < contents.size(); i += 2) {
    state = state * 1664525 + 1013904223;
    const uint32_t sign = state >> 31 << 15, field = 12 + (state >> 27) % 4, fraction = state >> 8 & 0x3ff;
    const auto half = static_cast<uint16_t>(sign | field << 10 | fraction);
    std::memcpy(&contents[i], &half, 2);
  }
  return contents;
}

void AppendPageHashes(const uint8_t* bytes, size_t count, std::vector<uint8_t>* hashes) {
  for (size_t page = 0; page < count; page += kPageBytes) {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (size_t i = page; i < page + kPageBytes && i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
    const auto* first = reinterpret_cast<const uint8_t*>(&hash);
    hashes->insert(hashes->end(), first, first + sizeof(hash));
  }
}

}  // namespace samebits::device_test
