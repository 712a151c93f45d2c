// Votes, warp reductions on integers, arg-max by shuffles, barrier reductions, named barriers.
#include "prelude.cuh"

#ifdef K_ballot_count
ENTRY(ballot_count) {
  const float* row = x + blockIdx.x * n;
  __shared__ int count[THREADS / 32];
  int total = 0;
  for (int base = 0; base < n; base += THREADS) {
    int i = base + threadIdx.x;
    unsigned mask = __ballot_sync(ALL_LANES, i < n && row[i] > 0.25f);
    total += __popc(mask);
  }
  if (threadIdx.x % 32 == 0) count[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < THREADS / 32; ++w) total += count[w];
    o[blockIdx.x] = static_cast<float>(total);
  }
}
#endif

#ifdef K_any_all
ENTRY(any_all) {
  const float* row = x + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += THREADS) {
    bool big = row[i] > 0.75f;
    float v = row[i];
    if (__any_sync(ALL_LANES, big)) v += 1.f;
    if (__all_sync(ALL_LANES, !big)) v *= 2.f;
    o[blockIdx.x * n + i] = v;
  }
}
#endif

#ifdef K_integer_redux
ENTRY(integer_redux) {
  const float* row = x + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += THREADS) {
    int q = __float2int_rn(row[i] * 64.f);
    int sum = __reduce_add_sync(ALL_LANES, q), low = __reduce_min_sync(ALL_LANES, q);
    unsigned bits = __reduce_xor_sync(ALL_LANES, static_cast<unsigned>(q));
    o[blockIdx.x * n + i] = static_cast<float>(sum - low) + static_cast<float>(bits & 255u);
  }
}
#endif

#ifdef K_argmax_shuffle
ENTRY(argmax_shuffle) {
  const float* row = x + blockIdx.x * n;
  __shared__ float value[THREADS / 32];
  __shared__ int index[THREADS / 32];
  float best = row[threadIdx.x];
  int at = threadIdx.x;
  for (int i = threadIdx.x + THREADS; i < n; i += THREADS) {
    float v = row[i];
    if (v > best) best = v, at = i;
  }
  for (int m = 16; m > 0; m >>= 1) {
    float v = __shfl_xor_sync(ALL_LANES, best, m);
    int i = __shfl_xor_sync(ALL_LANES, at, m);
    if (v > best || (v == best && i < at)) best = v, at = i;
  }
  if (threadIdx.x % 32 == 0) value[threadIdx.x / 32] = best, index[threadIdx.x / 32] = at;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < THREADS / 32; ++w)
      if (value[w] > best || (value[w] == best && index[w] < at)) best = value[w], at = index[w];
    o[2 * blockIdx.x] = best;
    o[2 * blockIdx.x + 1] = static_cast<float>(at);
  }
}
#endif

#ifdef K_barrier_count
ENTRY(barrier_count) {
  const float* row = x + blockIdx.x * n;
  int total = 0;
  for (int base = 0; base < n; base += THREADS) {
    int i = base + threadIdx.x;
    total += __syncthreads_count(i < n && row[i] < 0.f);
  }
  int any = __syncthreads_or(row[threadIdx.x] > 0.9f);
  if (threadIdx.x == 0) o[blockIdx.x] = static_cast<float>(total) + (any ? 0.5f : 0.f);
}
#endif

#ifdef K_named_barrier
// Half of the block fills a stage, the other half consumes it; two named barriers hand the stage over.
ENTRY(named_barrier) {
  __shared__ float stage[THREADS / 2];
  const float* row = x + blockIdx.x * n;
  int lane = threadIdx.x % (THREADS / 2);
  bool producer = threadIdx.x < THREADS / 2;
  float sum = 0.f;
  for (int base = 0; base < n; base += THREADS / 2) {
    if (producer) {
      if (base > 0) asm volatile("bar.sync 2, %0;" ::"n"(THREADS) : "memory");
      stage[lane] = base + lane < n ? row[base + lane] : 0.f;
      asm volatile("bar.arrive 1, %0;" ::"n"(THREADS) : "memory");
    } else {
      asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
      sum = fmaf(stage[lane], 0.5f, sum);
      sum += stage[(lane + 1) % (THREADS / 2)];
      if (base + THREADS / 2 < n) asm volatile("bar.arrive 2, %0;" ::"n"(THREADS) : "memory");
    }
  }
  if (!producer) o[blockIdx.x * n + lane] = sum;
}
#endif

#ifdef K_segmented_shuffle
// Shuffles with a width below 32 and clamped sources.
ENTRY(segmented_shuffle) {
  for (int i = threadIdx.x; i < n; i += THREADS) {
    float v = x[blockIdx.x * n + i];
    v += __shfl_down_sync(ALL_LANES, v, 3, 8);
    v -= __shfl_up_sync(ALL_LANES, v, 2, 16);
    v += __shfl_sync(ALL_LANES, v, 5, 4);
    v *= __shfl_xor_sync(ALL_LANES, v, 1, 2);
    o[blockIdx.x * n + i] = v;
  }
}
#endif
