// Row sums: the same values added in different trees.
#include "prelude.cuh"

__device__ float strided(const float* row, int n) {
  float sum = 0.f;
#pragma unroll kUnroll
  for (int i = threadIdx.x; i < n; i += THREADS) sum += row[i];
  return sum;
}

#ifdef K_shared_halving
ENTRY(shared_halving) {
  __shared__ float part[THREADS];
  part[threadIdx.x] = strided(x + blockIdx.x * n, n);
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) o[blockIdx.x] = part[0];
}
#endif

#ifdef K_shared_doubling
ENTRY(shared_doubling) {
  __shared__ float part[THREADS];
  part[threadIdx.x] = strided(x + blockIdx.x * n, n);
  __syncthreads();
  for (int s = 1; s < THREADS; s <<= 1) {
    int at = 2 * s * threadIdx.x;
    if (at + s < THREADS) part[at] += part[at + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) o[blockIdx.x] = part[0];
}
#endif

#ifdef K_shared_serial
ENTRY(shared_serial) {
  __shared__ float part[THREADS];
  part[threadIdx.x] = strided(x + blockIdx.x * n, n);
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = part[0];
    for (int i = 1; i < THREADS; ++i) sum += part[i];
    o[blockIdx.x] = sum;
  }
}
#endif

#ifdef K_shuffle_xor
ENTRY(shuffle_xor) {
  __shared__ float part[THREADS / 32];
  float v = strided(x + blockIdx.x * n, n);
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(ALL_LANES, v, m);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < THREADS / 32 ? part[threadIdx.x] : 0.f;
    for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(ALL_LANES, v, m);
    if (threadIdx.x == 0) o[blockIdx.x] = v;
  }
}
#endif

#ifdef K_shuffle_xor_ascending
ENTRY(shuffle_xor_ascending) {
  __shared__ float part[THREADS / 32];
  float v = strided(x + blockIdx.x * n, n);
  for (int m = 1; m < 32; m <<= 1) v += __shfl_xor_sync(ALL_LANES, v, m);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < THREADS / 32; ++w) v += part[w];
    o[blockIdx.x] = v;
  }
}
#endif

#ifdef K_shuffle_down
ENTRY(shuffle_down) {
  __shared__ float part[32];
  if (threadIdx.x < 32) part[threadIdx.x] = 0.f;
  __syncthreads();
  float v = strided(x + blockIdx.x * n, n);
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(ALL_LANES, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = part[threadIdx.x];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(ALL_LANES, v, d);
    if (threadIdx.x == 0) o[blockIdx.x] = v;
  }
}
#endif

#ifdef K_shuffle_index
// Every lane adds the 32 lanes' values in lane order; warps in order.
ENTRY(shuffle_index) {
  __shared__ float part[THREADS / 32];
  float v = strided(x + blockIdx.x * n, n), sum = 0.f;
#pragma unroll
  for (int lane = 0; lane < 32; ++lane) sum += __shfl_sync(ALL_LANES, v, lane);
  if (threadIdx.x % 32 == 5) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0.f;
    for (int w = 0; w < THREADS / 32; ++w) sum += part[w];
    o[blockIdx.x] = sum;
  }
}
#endif

#ifdef K_shuffle_up_scan
// Inclusive prefix sums of the row, chunk by chunk.
ENTRY(shuffle_up_scan) {
  __shared__ float tail[THREADS / 32];
  const float* row = x + blockIdx.x * n;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float carry = 0.f;
  for (int base = 0; base < n; base += THREADS) {
    int i = base + threadIdx.x;
    float v = i < n ? row[i] : 0.f;
    for (int d = 1; d < 32; d <<= 1) {
      float u = __shfl_up_sync(ALL_LANES, v, d);
      if (lane >= d) v += u;
    }
    if (lane == 31) tail[warp] = v;
    __syncthreads();
    float before = carry, all = 0.f;
    for (int w = 0; w < THREADS / 32; ++w) {
      if (w < warp) before += tail[w];
      all += tail[w];
    }
    if (i < n) o[blockIdx.x * n + i] = before + v;
    carry += all;
    __syncthreads();
  }
}
#endif

#ifdef K_vector_loads
ENTRY(vector_loads) {
  __shared__ float part[THREADS];
  const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * n);
  float4 sum = {0.f, 0.f, 0.f, 0.f};
#pragma unroll kUnroll
  for (int i = threadIdx.x; i < n / 4; i += THREADS) {
    float4 v = row[i];
    sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
  }
  part[threadIdx.x] = (sum.x + sum.y) + (sum.z + sum.w);
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) o[blockIdx.x] = part[0];
}
#endif

#ifdef K_compensated
ENTRY(compensated) {
  __shared__ float2 part[THREADS];
  const float* row = x + blockIdx.x * n;
  float sum = 0.f, lost = 0.f;
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float v = __fsub_rn(row[i], lost), t = __fadd_rn(sum, v);
    lost = __fsub_rn(__fsub_rn(t, sum), v);
    sum = t;
  }
  part[threadIdx.x] = make_float2(sum, lost);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < THREADS; ++i) {
      float v = __fsub_rn(part[i].x, __fadd_rn(lost, part[i].y)), t = __fadd_rn(sum, v);
      lost = __fsub_rn(__fsub_rn(t, sum), v);
      sum = t;
    }
    o[blockIdx.x] = sum;
  }
}
#endif

#ifdef K_double_sum
ENTRY(double_sum) {
  __shared__ double part[THREADS];
  const float* row = x + blockIdx.x * n;
  double sum = 0.0;
  for (int i = threadIdx.x; i < n; i += THREADS) sum += static_cast<double>(row[i]) * row[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) o[blockIdx.x] = static_cast<float>(part[0]);
}
#endif

#ifdef K_dot_product
ENTRY(dot_product) {
  __shared__ float part[THREADS / 32];
  const float *a = x + blockIdx.x * n, *b = y + blockIdx.x * n;
  float v = 0.f;
#pragma unroll kUnroll
  for (int i = threadIdx.x; i < n; i += THREADS) v += a[i] * b[i];
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(ALL_LANES, v, m);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < THREADS / 32; ++w) v += part[w];
    o[blockIdx.x] = v;
  }
}
#endif

#ifdef K_warp_rows
// A warp a row, several rows a block, two-dimensional block.
extern "C" __global__ void warp_rows(const float* x, const float* y, float* o, int n) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  float v = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) v = fmaf(x[row * n + i], y[i], v);
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(ALL_LANES, v, m);
  if (threadIdx.x == 0) o[row] = v;
}
#endif
