// Weights on the device.

// out = in * 2^exponent in FP16. What FP16 cannot hold saturates or loses bits in its subnormals.
extern "C" __global__ void ToHalf(const u16* in, u16* out, u64 count, int exponent) {
  const float factor = exp2f(float(exponent));
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    out[i] = ToF16(FromBf16(in[i]) * factor);
  }
}
extern "C" __global__ void Widen(const u16* in, float* out, u64 count) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    out[i] = FromBf16(in[i]);
  }
}
// *most = the bits of the largest magnitude, which must be 0 before.
extern "C" __global__ void LargestMagnitude(const u16* in, u64 count, u32* most) {
  u32 x = 0;
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    x = max(x, u32(in[i] & 0x7fff));
  }
  for (int offset = 16; offset > 0; offset /= 2) x = max(x, __shfl_xor_sync(~0u, x, offset));
  if (threadIdx.x % 32 == 0) atomicMax(most, x);
}
// Synthetic values as core/heal/model/checkpoint.h says.
__device__ __forceinline__ u64 Mix(u64 z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
extern "C" __global__ void Synthesize(u16* out, u64 count, u64 key, float scale, int is_norm) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    const u64 bits = Mix(key + 0x9e3779b97f4a7c15ull * (i + 1));
    const int sum = int((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    const float value = __fmul_rn(float(sum - 131070), scale);
    out[i] = ToBf16(is_norm ? __fadd_rn(1.f, value) : value);
  }
}
