// Attention over the cache in FP32, IEEE products: ATTENTION 2. A block of four warps takes one row, one key head and one
// part of the positions; warps take positions in turn, lanes share the head's values.

constexpr int kWarps = 4;

struct Problem {
  const float* query;
  const float* query_scale;
  const float *key, *value;
  const float *key_scale, *value_scale;
  const int *slots, *positions;
  float* partial;
  float2* weight;
  int heads, kv_heads, context, parts;
  float scale;
};

extern "C" __global__ void __launch_bounds__(32 * kWarps) Attend(const Problem p) {
  const int kv = blockIdx.x, row = blockIdx.y, part = blockIdx.z;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int length = p.positions[row] + 1;
  const int tiles = (length + 15) / 16, each = (tiles + p.parts - 1) / p.parts;
  const int begin = part * each * 16, last = min(length, begin + each * 16) - 1;
  const u64 first_query = u64(row) * p.heads + kv * GROUP;
  const u64 cached = (u64(p.slots[row]) * p.kv_heads + kv) * p.context;

  float q[GROUP][kLaneValues], output[GROUP][kLaneValues], reference[GROUP], sum[GROUP];
#pragma unroll
  for (int h = 0; h < GROUP; ++h) {
    reference[h] = -INFINITY;
    sum[h] = 0;
#pragma unroll
    for (int j = 0; j < kLaneValues; ++j) {
      q[h][j] = p.query[(first_query + h) * HEAD_DIM + lane + 32 * j];
      output[h][j] = 0;
    }
  }
  for (int position = begin + warp; position <= last; position += kWarps) {
    const u64 at = (cached + position) * HEAD_DIM + lane;
    float k[kLaneValues], v[kLaneValues];
#pragma unroll
    for (int j = 0; j < kLaneValues; ++j) k[j] = p.key[at + 32 * j], v[j] = p.value[at + 32 * j];
#pragma unroll
    for (int h = 0; h < GROUP; ++h) {
      float score = 0;
#pragma unroll
      for (int j = 0; j < kLaneValues; ++j) score += q[h][j] * k[j];
      score = WarpSum(score) * p.scale;
      if (score > reference[h]) {
        const float factor = reference[h] == -INFINITY ? 0.f : exp2f(reference[h] - score);
        sum[h] *= factor;
#pragma unroll
        for (int j = 0; j < kLaneValues; ++j) output[h][j] *= factor;
        reference[h] = score;
      }
      const float weight = exp2f(score - reference[h]);
      sum[h] += weight;
#pragma unroll
      for (int j = 0; j < kLaneValues; ++j) output[h][j] += weight * v[j];
    }
  }

  __shared__ float references[kWarps][GROUP], sums[kWarps][GROUP];
  __shared__ float outputs[kWarps][GROUP][HEAD_DIM];
#pragma unroll
  for (int h = 0; h < GROUP; ++h) {
    if (lane == 0) references[warp][h] = reference[h], sums[warp][h] = sum[h];
#pragma unroll
    for (int j = 0; j < kLaneValues; ++j) outputs[warp][h][lane + 32 * j] = output[h][j];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < GROUP * HEAD_DIM; i += blockDim.x) {
    const int head = i / HEAD_DIM, d = i % HEAD_DIM;
    float most = -INFINITY, all = 0, total = 0;
    for (int w = 0; w < kWarps; ++w) most = fmaxf(most, references[w][head]);
    if (most != -INFINITY) {
      for (int w = 0; w < kWarps; ++w) {
        const float factor = exp2f(references[w][head] - most);
        all += sums[w][head] * factor;
        total += outputs[w][head][d] * factor;
      }
    }
    const u64 at = (first_query + head) * p.parts + part;
    p.partial[at * HEAD_DIM + d] = total;
    if (d == 0) p.weight[at] = make_float2(most, all);
  }
}
