// Formats on the device, by inline PTX so that no header of CUDA is needed. Compiled at run time (NVRTC).
//
// Set from outside: BOUNDARY (0 bf16, 1 f16, 2 f32, 3 f32 truncated), GEMM (what products read: 0 bf16, 1 f16, 2 f32),
// ATTENTION (0 bf16, 1 f16, 2 f32, 3 int16), HEAD_DIM, GROUP (query heads of a key head).

typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr float kMostF16 = 65504.f;

__device__ __forceinline__ u16 ToF16(float x) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
__device__ __forceinline__ float FromF16(u16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
  return r;
}
__device__ __forceinline__ u16 ToBf16(float x) {
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
__device__ __forceinline__ float FromBf16(u16 x) { return __uint_as_float(u32(x) << 16); }

__device__ __forceinline__ float Truncate(float x, int bits) {
  const u32 u = __float_as_uint(x);
  if ((u & 0x7f800000u) == 0x7f800000u) return x;
  return __uint_as_float(u & ~((1u << (23 - bits)) - 1));
}

// Finite values saturate; others stay, so that they show.
__device__ __forceinline__ float Saturate(float x) {
  return fabsf(x) < INFINITY ? fminf(fmaxf(x, -kMostF16), kMostF16) : x;
}

// hi + lo / 2^10; hi saturates.
__device__ __forceinline__ void SplitF16(float x, u16* hi, u16* lo) {
  const u16 h = ToF16(Saturate(x));
  *hi = h;
  *lo = ToF16(fminf(fmaxf((x - FromF16(h)) * 1024.f, -kMostF16), kMostF16));  // of what is not finite: -65504, harmless
}

// What kernels write at a boundary.
#if BOUNDARY == 0
typedef u16 Stored;
__device__ __forceinline__ float Load(Stored x) { return FromBf16(x); }
__device__ __forceinline__ Stored Store(float x, int) { return ToBf16(x); }
#elif BOUNDARY == 1
typedef u16 Stored;
__device__ __forceinline__ float Load(Stored x) { return FromF16(x); }
__device__ __forceinline__ Stored Store(float x, int) { return ToF16(x); }
#else
typedef float Stored;
__device__ __forceinline__ float Load(Stored x) { return x; }
#if BOUNDARY == 2
__device__ __forceinline__ Stored Store(float x, int) { return x; }
#else
__device__ __forceinline__ Stored Store(float x, int bits) { return Truncate(x, bits); }
#endif
#endif
__device__ __forceinline__ float Round(float x, int bits) { return Load(Store(x, bits)); }

// Four values at a time, at multiples of four.
struct Four {
  float x[4];
};
#if BOUNDARY < 2
__device__ __forceinline__ Four Load4(const Stored* p) {
  const ushort4 v = *reinterpret_cast<const ushort4*>(p);
  return {Load(v.x), Load(v.y), Load(v.z), Load(v.w)};
}
__device__ __forceinline__ void Store4(Stored* p, const Four& v, int bits) {
  *reinterpret_cast<ushort4*>(p) = make_ushort4(Store(v.x[0], bits), Store(v.x[1], bits), Store(v.x[2], bits), Store(v.x[3], bits));
}
#else
__device__ __forceinline__ Four Load4(const Stored* p) {
  const float4 v = *reinterpret_cast<const float4*>(p);
  return {v.x, v.y, v.z, v.w};
}
__device__ __forceinline__ void Store4(Stored* p, const Four& v, int bits) {
  *reinterpret_cast<float4*>(p) = make_float4(Store(v.x[0], bits), Store(v.x[1], bits), Store(v.x[2], bits), Store(v.x[3], bits));
}
#endif
__device__ __forceinline__ Four LoadBf16x4(const u16* p) {
  const ushort4 v = *reinterpret_cast<const ushort4*>(p);
  return {FromBf16(v.x), FromBf16(v.y), FromBf16(v.z), FromBf16(v.w)};
}

// What products read. Row `row` of `rows`; a compensated operand has its lo parts in the rows after.
#if GEMM == 2
typedef float Operand;
#else
typedef u16 Operand;
#endif
__device__ __forceinline__ void StoreOperand(Operand* out, u64 at, u64 lo_at, int parts, float x, int bits) {
#if GEMM == 0
  out[at] = ToBf16(Round(x, bits));
#elif GEMM == 2
  out[at] = Round(x, bits);
#else
  if (parts == 2) {
    SplitF16(Round(x, bits), &out[at], &out[lo_at]);
  } else {
    out[at] = ToF16(Saturate(Round(x, bits)));
  }
#endif
}
__device__ __forceinline__ float LoadOperand(const Operand* in, u64 at, u64 lo_at, int parts) {
#if GEMM == 0
  return FromBf16(in[at]);
#elif GEMM == 2
  return in[at];
#else
  return FromF16(in[at]) + (parts == 2 ? FromF16(in[lo_at]) * 0x1p-10f : 0.f);
#endif
}

#if GEMM == 2
__device__ __forceinline__ void StoreOperand4(Operand* out, u64 at, u64, int, const Four& v, int bits) {
  *reinterpret_cast<float4*>(out + at) = make_float4(Round(v.x[0], bits), Round(v.x[1], bits), Round(v.x[2], bits), Round(v.x[3], bits));
}
#else
__device__ __forceinline__ void StoreOperand4(Operand* out, u64 at, u64 lo_at, int parts, const Four& v, int bits) {
  u16 hi[4], lo[4] = {};
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float x = Round(v.x[j], bits);
#if GEMM == 0
    hi[j] = ToBf16(x);
#else
    SplitF16(x, &hi[j], &lo[j]);
#endif
  }
  *reinterpret_cast<ushort4*>(out + at) = make_ushort4(hi[0], hi[1], hi[2], hi[3]);
  if (GEMM == 1 && parts == 2) *reinterpret_cast<ushort4*>(out + lo_at) = make_ushort4(lo[0], lo[1], lo[2], lo[3]);
}
#endif

// What products write: the boundary's type; FP32 where the boundary is, in one part or two (hi rows, then lo rows).
__device__ __forceinline__ float LoadProduct(const Stored* y, u64 at, u64 lo_at, int parts, int bits) {
  float x = Load(y[at]);
  if (parts == 2) x += Load(y[lo_at]) * 0x1p-10f;
  return Round(x, bits);
}
__device__ __forceinline__ Four LoadProduct4(const Stored* y, u64 at, u64 lo_at, int parts, int bits) {
  Four v = Load4(y + at);
  if (parts == 2) {
    const Four low = Load4(y + lo_at);
#pragma unroll
    for (int j = 0; j < 4; ++j) v.x[j] += low.x[j] * 0x1p-10f;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) v.x[j] = Round(v.x[j], bits);
  return v;
}

// Sum over the block, the same in every thread; blocks of at most 1,024 threads, whole warps. `shared`: 33 floats.
__device__ __forceinline__ float BlockSum(float x, float* shared) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[warp] = x;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < warps; ++i) sum += shared[i];
  return sum;
}

__device__ __forceinline__ float WarpSum(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}
__device__ __forceinline__ float WarpMax(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, offset));
  return x;
}
