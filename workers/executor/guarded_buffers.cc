#include "workers/executor/guarded_buffers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "workers/loading/return_if.h"

namespace samebits::workers {
namespace {

constexpr uint64_t kGuardBytes = 64 << 10, kAlign = 4096;
constexpr uint8_t kGuardByte = 0xC3;

}  // namespace

GuardedBuffers::~GuardedBuffers() {
  if (base_ != 0) memory_.Free(base_);
}

absl::Status GuardedBuffers::Fill(const Buffers& buffers) {
  offsets_.clear();
  uint64_t end = kGuardBytes;
  for (const auto& buffer : buffers) {
    offsets_.push_back(end);
    end += (buffer.size() + kAlign - 1) / kAlign * kAlign + kGuardBytes;
  }
  if (end > size_) {
    if (base_ != 0) memory_.Free(std::exchange(base_, 0));
    size_ = 0;
    SAMEBITS_RETURN_IF(memory_.Allocate(end, &base_));
    size_ = end;
  }
  end_ = end;
  SAMEBITS_RETURN_IF(memory_.Set(base_, kGuardByte, end));
  for (size_t i = 0; i < buffers.size(); ++i)
    if (!buffers[i].empty()) SAMEBITS_RETURN_IF(memory_.Upload(Address(i), buffers[i].data(), buffers[i].size()));
  return absl::OkStatus();
}

absl::Status GuardedBuffers::ReadBack(Buffers* buffers) const {
  std::vector<uint8_t> all(end_);
  SAMEBITS_RETURN_IF(memory_.Download(all.data(), base_, end_));
  uint64_t at = 0;
  for (size_t i = 0; i <= buffers->size(); ++i) {
    const uint64_t begin = i < buffers->size() ? offsets_[i] : end_;
    for (; at < begin; ++at)
      if (all[at] != kGuardByte)
        return absl::OutOfRangeError(
            absl::StrCat("the kernel wrote outside its buffers, ", begin - at, " bytes before buffer ", i));
    if (i == buffers->size()) break;
    std::vector<uint8_t>& buffer = (*buffers)[i];
    std::copy_n(all.begin() + static_cast<int64_t>(begin), buffer.size(), buffer.begin());
    at = begin + buffer.size();
  }
  return absl::OkStatus();
}

std::vector<std::vector<uint8_t>> GuardedBuffers::Arguments(const KernelLaunch& launch) const {
  std::vector<std::vector<uint8_t>> values;
  for (const KernelLaunch::Argument& argument : launch.arguments) {
    values.push_back(argument.bytes);
    if (!argument.buffer) continue;
    const uint64_t address = Address(*argument.buffer);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&address);
    values.back().assign(bytes, bytes + sizeof(address));
  }
  return values;
}

}  // namespace samebits::workers
