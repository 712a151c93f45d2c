#include "server/registry/launch_digest.h"

#include <string_view>

namespace samebits::server {
namespace {

constexpr char kEncoding = 1;

void PutInt(uint64_t value, int bytes, std::string* out) {
  char little_endian[8];
  for (int i = 0; i < 8; ++i) little_endian[i] = static_cast<char>(value >> (8 * i));
  out->append(little_endian, bytes);
}

void PutBytes(std::string_view bytes, std::string* out) {
  PutInt(bytes.size(), 8, out);
  out->append(bytes);
}

void PutDim(const checker::Dim3& dim, std::string* out) {
  for (const uint32_t extent : dim) PutInt(extent, 4, out);
}

void PutArgument(const checker::Argument& argument, uint8_t float_width, std::string* out) {
  using Kind = checker::Argument::Kind;
  PutInt(static_cast<uint8_t>(argument.kind), 1, out);
  switch (argument.kind) {
    case Kind::kUnknown:
    case Kind::kScratch:
      return;
    case Kind::kPointer:
      return PutBytes(argument.buffer, out);
    case Kind::kInteger:
      return PutInt(argument.bits, 8, out);
    case Kind::kFloat:
      PutInt(float_width, 1, out);
      return PutInt(argument.bits, 8, out);
    case Kind::kBytes:
      return PutBytes({reinterpret_cast<const char*>(argument.bytes.data()), argument.bytes.size()}, out);
  }
}

}  // namespace

void EncodeLaunch(const checker::Launch& launch, const std::vector<uint8_t>& float_widths, const CheckOptions& options,
                  std::string* out) {
  out->push_back(kEncoding);
  PutInt((options.ignore_signed_zero ? 1 : 0) | (options.strict_contraction ? 2 : 0) | (launch.grid ? 4 : 0) |
             (launch.args ? 8 : 0),
         1, out);
  PutDim(launch.block, out);
  if (launch.grid) PutDim(*launch.grid, out);
  PutInt(launch.shared_bytes, 4, out);
  PutBytes(launch.entry, out);
  if (launch.args) {
    PutInt(launch.args->size(), 4, out);
    for (size_t i = 0; i < launch.args->size(); ++i)
      PutArgument((*launch.args)[i], i < float_widths.size() ? float_widths[i] : 0, out);
  }
  PutInt(launch.outputs.size(), 4, out);
  for (const std::string& name : launch.outputs) PutBytes(name, out);
}

Digest LaunchDigest(const checker::Launch& launch, const std::vector<uint8_t>& float_widths,
                    const CheckOptions& options) {
  thread_local std::string buffer;
  buffer.clear();
  EncodeLaunch(launch, float_widths, options, &buffer);
  return ContentDigest(buffer);
}

}  // namespace samebits::server
