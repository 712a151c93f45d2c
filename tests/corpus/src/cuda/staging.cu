// Shared-memory stages: asynchronous copies, transposes, stencils, tiled products.
#include "prelude.cuh"

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

#ifdef K_async_ring
// A ring of STAGES chunks filled by cp.async, summed in row order by thread.
#ifndef STAGES
#define STAGES 3
#endif
__device__ void fetch(float* to, const float* row, int chunk, int n) {
  int i = chunk * THREADS * 4 + threadIdx.x * 4;
  int bytes = i < n ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to + threadIdx.x * 4)),
               "l"(row + (i < n ? i : 0)), "r"(bytes));
}
ENTRY(async_ring) {
  __shared__ __align__(16) float ring[STAGES][THREADS * 4];
  const float* row = x + blockIdx.x * n;
  int chunks = (n + THREADS * 4 - 1) / (THREADS * 4);
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < chunks) fetch(ring[s], row, s, n);
    asm volatile("cp.async.commit_group;");
  }
  float sum = 0.f;
  for (int c = 0; c < chunks; ++c) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    const float* slot = ring[c % STAGES];
    int other = (threadIdx.x + 1) % THREADS;
    sum += slot[other * 4] + slot[other * 4 + 1];
    sum += slot[threadIdx.x * 4 + 2] - slot[other * 4 + 3];
    int next = c + STAGES - 1;
    if (next < chunks) fetch(ring[next % STAGES], row, next, n);
    asm volatile("cp.async.commit_group;");
  }
  o[blockIdx.x * THREADS + threadIdx.x] = sum;
}
#endif

#ifdef K_tile_transpose
extern "C" __global__ void tile_transpose(const float* x, const float* y, float* o, int n) {
  __shared__ float tile[16][17];
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = x[r * n + c];
  __syncthreads();
  int rows = gridDim.y * 16;
  o[(blockIdx.x * 16 + threadIdx.y) * rows + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
#endif

#ifdef K_stencil_halo
ENTRY(stencil_halo) {
  __shared__ float window[THREADS + 4];
  const float* row = x + blockIdx.x * n;
  for (int base = 0; base < n; base += THREADS) {
    for (int i = threadIdx.x; i < THREADS + 4; i += THREADS) {
      int at = base + i - 2;
      window[i] = at >= 0 && at < n ? row[at] : 0.f;
    }
    __syncthreads();
    int i = threadIdx.x + 2;
    float v = 0.0625f * (window[i - 2] + window[i + 2]) + 0.25f * (window[i - 1] + window[i + 1]) + 0.375f * window[i];
    if (base + threadIdx.x < n) o[blockIdx.x * n + base + threadIdx.x] = v;
    __syncthreads();
  }
}
#endif

#ifdef K_tiled_product
// 48 x 48 block of x times the transpose of y's, 16 by 16 tiles, dynamic shared memory.
extern "C" __global__ void tiled_product(const float* x, const float* y, float* o, int n) {
  extern __shared__ float stage[];
  float *sa = stage, *sb = stage + 16 * 17;
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  float acc = 0.f;
  for (int k = 0; k < 96; k += 16) {
    sa[threadIdx.y * 17 + threadIdx.x] = x[r * n + k + threadIdx.x];
    sb[threadIdx.y * 17 + threadIdx.x] = y[(blockIdx.x * 16 + threadIdx.y) * n + k + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) acc = fmaf(sa[threadIdx.y * 17 + i], sb[threadIdx.x * 17 + i], acc);
    __syncthreads();
  }
  o[r * 48 + c] = acc;
}
#endif

#ifdef K_block_softmax
ENTRY(block_softmax) {
  __shared__ float part[THREADS];
  const float* row = x + blockIdx.x * n;
  float peak = -__int_as_float(0x7f800000), sum = 0.f;
  for (int i = threadIdx.x; i < n; i += THREADS) peak = fmaxf(peak, row[i]);
  part[threadIdx.x] = peak;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  peak = part[0];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += THREADS) sum += __expf(row[i] - peak);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += THREADS) o[blockIdx.x * n + i] = __fdividef(__expf(row[i] - peak), part[0]);
}
#endif
