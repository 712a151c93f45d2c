constexpr int kMostParts = 64;

// The parts of attention brought together: out[row][head] as operand of the output product, in `out_parts` parts. Grid:
// (heads, rows); a thread for each value; at most kMostParts parts, and no more than threads.
extern "C" __global__ void Merge(const float* partial, const float2* weight, Operand* out, int out_parts, int heads,
                                 int parts, int bits) {
  const int head = blockIdx.x, row = blockIdx.y, rows = gridDim.y, d = threadIdx.x;
  const u64 at = (u64(row) * heads + head) * parts;
  __shared__ float factors[kMostParts], sums[kMostParts];
  if (d < parts) {
    const float2 w = weight[at + d];
    factors[d] = w.x, sums[d] = w.y;
  }
  __syncthreads();
  float most = -INFINITY;
  for (int i = 0; i < parts; ++i) most = fmaxf(most, factors[i]);
  __syncthreads();
  if (d < parts) factors[d] = factors[d] == -INFINITY ? 0.f : exp2f(factors[d] - most);
  __syncthreads();
  float sum = 0, total = 0;
#pragma unroll 8
  for (int i = 0; i < parts; ++i) {
    sum += sums[i] * factors[i];
    total += partial[(at + i) * HEAD_DIM + d] * factors[i];
  }
  const u64 to = u64(head) * HEAD_DIM + d, width = u64(heads) * HEAD_DIM;
  StoreOperand(out, row * width + to, (rows + row) * width + to, out_parts, total / sum, bits);
}
