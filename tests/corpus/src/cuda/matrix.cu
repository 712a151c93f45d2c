// Tensor-core tiles by inline assembly: c (M x N floats) = a (M x K halves) times b (N x K halves, transposed).
// One warp makes a 16 x 8 tile. K is a template-like macro, so that the k loop has a known trip count.
#include <cuda_fp16.h>
#include <mma.h>

#ifndef K_DEPTH
#define K_DEPTH 128
#endif
#ifndef UNROLL
#define UNROLL 1
#endif

constexpr int kUnroll = UNROLL;  // the pragma does not expand macros

#define ENTRY(name) extern "C" __global__ void name(const __half* __restrict__ a, const __half* __restrict__ b, \
    float* __restrict__ c, int n)

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ void mma_k16(float (&d)[4], const unsigned (&fa)[4], const unsigned (&fb)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
}

__device__ void store_tile(float* c, int n, const float (&d)[4]) {
  int lane = threadIdx.x % 32, r = blockIdx.y * 16 + lane / 4, col = blockIdx.x * 8 + lane % 4 * 2;
  *reinterpret_cast<float2*>(c + r * n + col) = make_float2(d[0], d[1]);
  *reinterpret_cast<float2*>(c + (r + 8) * n + col) = make_float2(d[2], d[3]);
}

#ifdef K_mma_ldmatrix
ENTRY(mma_ldmatrix) {
  __shared__ __align__(16) __half sa[16 * 24], sb[8 * 24];
  int lane = threadIdx.x;
  float d[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll kUnroll
  for (int k = 0; k < K_DEPTH; k += 16) {
    {
      int r = lane / 2, half = lane % 2;
      *reinterpret_cast<uint4*>(sa + r * 24 + half * 8) =
          *reinterpret_cast<const uint4*>(a + (blockIdx.y * 16 + r) * K_DEPTH + k + half * 8);
      if (lane < 16)
        *reinterpret_cast<uint4*>(sb + r * 24 + half * 8) =
            *reinterpret_cast<const uint4*>(b + (blockIdx.x * 8 + r) * K_DEPTH + k + half * 8);
    }
    __syncthreads();
    unsigned fa[4], fb[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                 : "r"(shared_address(sa + lane % 16 * 24 + lane / 16 * 8)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(fb[0]), "=r"(fb[1])
                 : "r"(shared_address(sb + lane % 8 * 24 + lane / 8 % 2 * 8)));
    mma_k16(d, fa, fb);
    __syncthreads();
  }
  store_tile(c, n, d);
}
#endif

#ifdef K_mma_direct
// Fragments straight from global memory; SPLIT accumulators are added at the end.
#ifndef SPLIT
#define SPLIT 1
#endif
ENTRY(mma_direct) {
  int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  const __half* ra = a + (blockIdx.y * 16 + g) * K_DEPTH + t * 2;
  const __half* rb = b + (blockIdx.x * 8 + g) * K_DEPTH + t * 2;
  float d[SPLIT][4] = {};
#pragma unroll
  for (int k = 0; k < K_DEPTH; k += 16) {
    auto word = [](const __half* p) { return *reinterpret_cast<const unsigned*>(p); };
    unsigned fa[4] = {word(ra + k), word(ra + 8 * K_DEPTH + k), word(ra + k + 8), word(ra + 8 * K_DEPTH + k + 8)};
    unsigned fb[2] = {word(rb + k), word(rb + k + 8)};
    mma_k16(d[k / 16 % SPLIT], fa, fb);
  }
#pragma unroll
  for (int s = 1; s < SPLIT; ++s)
    for (int i = 0; i < 4; ++i) d[0][i] += d[s][i];
  store_tile(c, n, d[0]);
}
#endif

#ifdef K_mma_async
// Two stages filled by cp.async.
ENTRY(mma_async) {
  __shared__ __align__(16) __half sa[2][16 * 24], sb[2][8 * 24];
  int lane = threadIdx.x, r = lane / 2, half = lane % 2;
  auto fetch = [&](int s, int k) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(sa[s] + r * 24 + half * 8)),
                 "l"(a + (blockIdx.y * 16 + r) * K_DEPTH + k + half * 8));
    if (lane < 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(sb[s] + r * 24 + half * 8)),
                   "l"(b + (blockIdx.x * 8 + r) * K_DEPTH + k + half * 8));
    asm volatile("cp.async.commit_group;");
  };
  float d[4] = {0.f, 0.f, 0.f, 0.f};
  fetch(0, 0);
  for (int k = 0; k < K_DEPTH; k += 16) {
    int s = k / 16 % 2;
    if (k + 16 < K_DEPTH) {
      fetch(1 - s, k + 16);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    unsigned fa[4], fb[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                 : "r"(shared_address(sa[s] + lane % 16 * 24 + lane / 16 * 8)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(fb[0]), "=r"(fb[1])
                 : "r"(shared_address(sb[s] + lane % 8 * 24 + lane / 8 % 2 * 8)));
    mma_k16(d, fa, fb);
    __syncthreads();
  }
  store_tile(c, n, d);
}
#endif

#ifdef K_mma_k8
// Two k8 steps where the others take one k16.
ENTRY(mma_k8) {
  int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  const __half* ra = a + (blockIdx.y * 16 + g) * K_DEPTH + t * 2;
  const __half* rb = b + (blockIdx.x * 8 + g) * K_DEPTH + t * 2;
  float d[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
  for (int k = 0; k < K_DEPTH; k += 8) {
    unsigned a0 = *reinterpret_cast<const unsigned*>(ra + k), b0 = *reinterpret_cast<const unsigned*>(rb + k);
    unsigned a1 = *reinterpret_cast<const unsigned*>(ra + 8 * K_DEPTH + k);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(b0));
  }
  store_tile(c, n, d);
}
#endif

#ifdef K_wmma_tile
// The 16 x 16 x 16 fragments of the C++ interface; two tiles of eight columns.
ENTRY(wmma_tile) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> acc;
  fill_fragment(acc, 0.f);
  for (int k = 0; k < K_DEPTH; k += 16) {
    load_matrix_sync(fa, a + blockIdx.y * 16 * K_DEPTH + k, K_DEPTH);
    load_matrix_sync(fb, b + blockIdx.x * 16 * K_DEPTH + k, K_DEPTH);
    mma_sync(acc, fa, fb, acc);
  }
  store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, acc, n, mem_row_major);
}
#endif
