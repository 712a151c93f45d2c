// Narrow formats, conversions, divisions, special functions.
#include "prelude.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifdef K_half2_fold
ENTRY(half2_fold) {
  __shared__ __half2 part[THREADS];
  const float2* row = reinterpret_cast<const float2*>(x + blockIdx.x * n);
  __half2 sum = __float2half2_rn(0.f);
#pragma unroll kUnroll
  for (int i = threadIdx.x; i < n / 2; i += THREADS) sum = __hadd2(sum, __float22half2_rn(row[i]));
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] = __hadd2(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) o[blockIdx.x] = __half2float(__hadd(__low2half(part[0]), __high2half(part[0])));
}
#endif

#ifdef K_half_polynomial
ENTRY(half_polynomial) {
  for (int i = threadIdx.x; i < n / 2; i += THREADS) {
    __half2 v = __float22half2_rn(reinterpret_cast<const float2*>(x + blockIdx.x * n)[i]);
    __half2 p = __hfma2(v, __float2half2_rn(0.25f), __float2half2_rn(-1.5f));
    p = __hfma2(p, v, __hmul2(v, v));
    p = __hmax2(p, __hneg2(v));
    reinterpret_cast<float2*>(o + blockIdx.x * n)[i] = __half22float2(p);
  }
}
#endif

#ifdef K_bfloat_dot
ENTRY(bfloat_dot) {
  const float2 *a = reinterpret_cast<const float2*>(x + blockIdx.x * n), *b = reinterpret_cast<const float2*>(y);
  __nv_bfloat162 sum = __float2bfloat162_rn(0.f);
  for (int i = threadIdx.x; i < n / 2; i += THREADS)
    sum = __hfma2(__float22bfloat162_rn(a[i]), __float22bfloat162_rn(b[i]), sum);
  float v = __low2float(sum) + __high2float(sum);
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(ALL_LANES, v, m);
  if (threadIdx.x % 32 == 0) o[blockIdx.x * (THREADS / 32) + threadIdx.x / 32] = v;
}
#endif

#ifdef K_fp8_round_trip
ENTRY(fp8_round_trip) {
  for (int i = threadIdx.x; i < n / 2; i += THREADS) {
    float2 v = reinterpret_cast<const float2*>(x + blockIdx.x * n)[i];
    __nv_fp8x2_storage_t a = __nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, __NV_E4M3);
    __half2_raw back = __nv_cvt_fp8x2_to_halfraw2(a, __NV_E4M3);
    reinterpret_cast<float2*>(o + blockIdx.x * n)[i] = __half22float2(*reinterpret_cast<__half2*>(&back));
  }
}
#endif

#ifdef K_divisions
// MODE 0: IEEE; 1: full-range approximate; 2: reciprocal then product; 3: division rounded toward zero.
#ifndef MODE
#define MODE 0
#endif
ENTRY(divisions) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float a = x[blockIdx.x * n + i], b = y[blockIdx.x * n + i] + 2.f, q;
#if MODE == 0
    q = __fdiv_rn(a, b);
#elif MODE == 1
    q = __fdividef(a, b);
#elif MODE == 2
    q = a * __frcp_rn(b);
#else
    q = __fdiv_rz(a, b);
#endif
    o[blockIdx.x * n + i] = q;
  }
}
#endif

#ifdef K_roots
#ifndef MODE
#define MODE 0
#endif
ENTRY(roots) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float a = fabsf(x[blockIdx.x * n + i]) + 0.5f;
#if MODE == 0
    float r = __fsqrt_rn(a);
#elif MODE == 1
    float r = rsqrtf(a) * a;
#elif MODE == 2
    float r = __fsqrt_ru(a);
#else
    float r = sqrtf(a);
#endif
    o[blockIdx.x * n + i] = r;
  }
}
#endif

#ifdef K_exponentials
ENTRY(exponentials) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float a = x[blockIdx.x * n + i], b = y[blockIdx.x * n + i];
    o[blockIdx.x * n + i] = expf(fminf(a, 20.f)) + logf(fabsf(b) + 1.f) + exp2f(b * 0.125f);
  }
}
#endif

#ifdef K_error_function
ENTRY(error_function) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float a = x[blockIdx.x * n + i];
    o[blockIdx.x * n + i] = 0.5f * a * (1.f + erff(a * 0.70710678f));
  }
}
#endif

#ifdef K_hyperbolic
ENTRY(hyperbolic) {
  for (int i = threadIdx.x; i < n; i += THREADS) o[blockIdx.x * n + i] = tanhf(x[blockIdx.x * n + i]);
}
#endif

#ifdef K_directed_rounding
#ifndef MODE
#define MODE 0
#endif
ENTRY(directed_rounding) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float a = x[blockIdx.x * n + i], b = y[blockIdx.x * n + i];
#if MODE == 0
    float r = __fmaf_rn(a, b, __fadd_rn(a, 1.f));
#elif MODE == 1
    float r = __fmaf_rz(a, b, __fadd_rn(a, 1.f));
#elif MODE == 2
    float r = __fmaf_rn(a, b, __fadd_rd(a, 1.f));
#else
    float r = __fadd_rn(__fmul_rn(a, b), __fadd_rn(a, 1.f));
#endif
    o[blockIdx.x * n + i] = r;
  }
}
#endif

#ifdef K_packed_halves
// Sixteen bytes of eight halves each, made from floats and unpacked again with byte permutes by the compiler.
ENTRY(packed_halves) {
  for (int i = threadIdx.x; i < n / 8; i += THREADS) {
    uint4 w = reinterpret_cast<const uint4*>(x + blockIdx.x * n)[i];
    const __half2* h = reinterpret_cast<const __half2*>(&w);
    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      __half low = __low2half(h[k]);
      if (!__hisnan(low)) sum += __half2float(low);
    }
    o[blockIdx.x * n + i] = sum;
  }
}
#endif
