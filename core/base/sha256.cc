#include "core/base/sha256.h"

#include <algorithm>
#include <cstring>

namespace samebits {
namespace {

constexpr size_t kBlock = 64, kSavedHeader = 40;

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t RotateRight(uint32_t x, int k) { return (x >> k) | (x << (32 - k)); }

void Compress(uint32_t state[8], const uint8_t* block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 | uint32_t{block[4 * i + 2]} << 8 |
           block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = RotateRight(w[i - 15], 7) ^ RotateRight(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = RotateRight(w[i - 2], 17) ^ RotateRight(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; ++i) {
    const uint32_t s1 = RotateRight(e, 6) ^ RotateRight(e, 11) ^ RotateRight(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = RotateRight(a, 2) ^ RotateRight(a, 13) ^ RotateRight(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

}  // namespace

void Sha256Stream::Update(std::string_view data) {
  const size_t waiting = bytes_ % kBlock;
  bytes_ += data.size();
  if (waiting != 0) {
    const size_t taken = std::min(kBlock - waiting, data.size());
    std::copy_n(data.begin(), taken, tail_.begin() + waiting);
    data.remove_prefix(taken);
    if (waiting + taken < kBlock) return;
    Compress(state_.data(), reinterpret_cast<const uint8_t*>(tail_.data()));
  }
  for (; data.size() >= kBlock; data.remove_prefix(kBlock)) Compress(state_.data(), reinterpret_cast<const uint8_t*>(data.data()));
  std::copy(data.begin(), data.end(), tail_.begin());
}

std::array<uint8_t, 32> Sha256Stream::Digest() const {
  std::array<uint32_t, 8> state = state_;
  uint8_t tail[2 * kBlock] = {};
  const size_t left = bytes_ % kBlock;
  std::memcpy(tail, tail_.data(), left);
  tail[left] = 0x80;
  const size_t tail_size = left < 56 ? kBlock : 2 * kBlock;
  const uint64_t bits = bytes_ * 8;
  for (int i = 0; i < 8; ++i) tail[tail_size - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  for (size_t i = 0; i < tail_size; i += kBlock) Compress(state.data(), tail + i);
  std::array<uint8_t, 32> out;
  for (int i = 0; i < 32; ++i) out[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

std::string Sha256Stream::Save() const {
  std::string out(kSavedHeader, '\0');
  for (size_t i = 0; i < 32; ++i) out[i] = static_cast<char>(state_[i / 4] >> (8 * (i % 4)));
  for (size_t i = 0; i < 8; ++i) out[32 + i] = static_cast<char>(bytes_ >> (8 * i));
  return out.append(tail_.data(), bytes_ % kBlock);
}

std::optional<Sha256Stream> Sha256Stream::Load(std::string_view saved) {
  if (saved.size() < kSavedHeader) return std::nullopt;
  const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(saved[i])); };
  Sha256Stream stream;
  stream.state_ = {};
  for (size_t i = 0; i < 32; ++i) stream.state_[i / 4] |= static_cast<uint32_t>(byte(i) << (8 * (i % 4)));
  for (size_t i = 0; i < 8; ++i) stream.bytes_ |= byte(32 + i) << (8 * i);
  saved.remove_prefix(kSavedHeader);
  if (saved.size() != stream.bytes_ % kBlock) return std::nullopt;
  std::copy(saved.begin(), saved.end(), stream.tail_.begin());
  return stream;
}

std::array<uint8_t, 32> Sha256(std::string_view data) {
  Sha256Stream stream;
  stream.Update(data);
  return stream.Digest();
}

std::string Sha256Hex(std::string_view data) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : Sha256(data)) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace samebits
