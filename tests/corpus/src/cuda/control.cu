// Calls, local arrays, divergent branches, switches, loops whose trip count depends on data.
#include "prelude.cuh"

#ifdef K_called_function
__device__ __noinline__ float blend(float a, float b, int k) {
  float t = a * 0.75f + b;
  return k & 1 ? t - b * b : t + a * b;
}
ENTRY(called_function) {
  for (int i = threadIdx.x; i < n; i += THREADS)
    o[blockIdx.x * n + i] = blend(x[blockIdx.x * n + i], y[blockIdx.x * n + i], i);
}
#endif

#ifdef K_called_with_struct
struct Pair { float sum, product; };
__device__ __noinline__ Pair combine(Pair a, Pair b) { return {a.sum + b.sum, a.product * b.product}; }
ENTRY(called_with_struct) {
  Pair p = {0.f, 1.f};
  for (int i = threadIdx.x; i < n; i += THREADS)
    p = combine(p, {x[blockIdx.x * n + i], 1.f + 0.001f * y[blockIdx.x * n + i]});
  o[(blockIdx.x * THREADS + threadIdx.x) * 2] = p.sum;
  o[(blockIdx.x * THREADS + threadIdx.x) * 2 + 1] = p.product;
}
#endif

#ifdef K_local_window
// A ring of eight values in local memory, indexed at run time.
ENTRY(local_window) {
  float ring[8];
  for (int k = 0; k < 8; ++k) ring[k] = 0.f;
  float sum = 0.f;
  int turn = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += THREADS, ++turn) {
    int slot = (turn * 3 + blockIdx.x) & 7;
    sum += ring[slot] * 0.5f;
    ring[slot] = x[blockIdx.x * n + i];
  }
  for (int k = 0; k < 8; ++k) sum += ring[k];
  o[blockIdx.x * THREADS + threadIdx.x] = sum;
}
#endif

#ifdef K_sorted_five
// Median of five by compare and exchange on registers.
__device__ void order(float& a, float& b) {
  float low = fminf(a, b), high = fmaxf(a, b);
  a = low, b = high;
}
ENTRY(sorted_five) {
  const float* row = x + blockIdx.x * n;
  for (int i = threadIdx.x; i < n - 4; i += THREADS) {
    float v[5];
    for (int k = 0; k < 5; ++k) v[k] = row[i + k];
    order(v[0], v[1]), order(v[3], v[4]), order(v[0], v[3]), order(v[1], v[4]), order(v[1], v[2]), order(v[2], v[3]),
        order(v[1], v[2]);
    o[blockIdx.x * n + i] = v[2];
  }
}
#endif

#ifdef K_lane_branches
// Lanes take different numbers of steps and different sides.
ENTRY(lane_branches) {
  const float* row = x + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float v = row[i];
#pragma unroll 1
    for (int k = 0; k < (i & 3); ++k) v = v * 0.5f + row[(i + k + 1) % n];
    if (i % 3 == 0) v = -v;
    else if (i % 5 == 0) v += 1.f;
    o[blockIdx.x * n + i] = v;
  }
}
#endif

#ifdef K_row_switch
ENTRY(row_switch) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float a = x[blockIdx.x * n + i], b = y[blockIdx.x * n + i], r;
    switch (blockIdx.x % 6) {
      case 0: r = a + b; break;
      case 1: r = a - b; break;
      case 2: r = a * b; break;
      case 3: r = fmaxf(a, b); break;
      case 4: r = fmaf(a, a, b); break;
      default: r = a; break;
    }
    o[blockIdx.x * n + i] = r;
  }
}
#endif

#ifdef K_data_branches
ENTRY(data_branches) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float a = x[blockIdx.x * n + i], r;
    if (a > 0.5f) r = a * a - 0.25f;
    else if (a < -0.5f) r = __expf(a);
    else r = a * 0.125f;
    o[blockIdx.x * n + i] = r;
  }
}
#endif

#ifdef K_newton_steps
// Trip count decided by the data.
ENTRY(newton_steps) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float a = fabsf(x[blockIdx.x * n + i]) + 0.5f, r = 1.f;
    for (int k = 0; k < 20 && fabsf(r * r - a) > 1e-4f * a; ++k) r = 0.5f * (r + a / r);
    o[blockIdx.x * n + i] = r;
  }
}
#endif

#ifdef K_grid_stride
ENTRY(grid_stride) {
  int total = 48 * n;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < total; i += gridDim.x * THREADS) o[i] = x[i] * y[i] + 0.5f * x[i];
}
#endif

#ifdef K_float_atomics
ENTRY(float_atomics) {
  float v = 0.f;
  for (int i = threadIdx.x; i < n; i += THREADS) v += x[blockIdx.x * n + i];
  atomicAdd(o + threadIdx.x % 4, v);
}
#endif

#ifdef K_integer_atomics
ENTRY(integer_atomics) {
  int peak = 0;
  for (int i = threadIdx.x; i < n; i += THREADS) peak = max(peak, __float2int_rn(x[blockIdx.x * n + i] * 256.f));
  atomicMax(reinterpret_cast<int*>(o) + threadIdx.x % 8, peak);
}
#endif
