// Attention over the cache for rows of tokens, on tensor cores (mma.m16n8k16). ATTENTION 0, 1 and 3; cache.cu says how
// Q, K and V lie.
//
// A block of four warps takes one row, one key head and one part of the positions; a warp takes tiles of 16 positions in
// turn. Both products have the cache as their first operand, straight from memory into registers:
//   scores (16 positions x 8 columns) = K (16 x HEAD_DIM) * Q^T, the head's values permuted alike on both sides so that a
//     lane's 16 bytes are two steps' fragments;
//   output (HEAD_DIM x 8 columns) += V^T (HEAD_DIM x 16) * P, lane group g owning values 8 g .. 8 g + 7 of every 64.
// Columns are query heads of the group. Under INT16 a number q is 64 h + l, taken as 64 h 2^-24 and l 2^-24, both exact in
// FP16 (l as a subnormal: its bits are the number's); Q's and P's upper parts are columns 0 .. GROUP - 1 and their lower ones the columns from kLow on. The softmax's
// reference is a running maximum that moves when exceeded by more than kSlack (in bits).

constexpr int kWarps = 4, kSteps = HEAD_DIM / 32, kTiles = HEAD_DIM / 16;
constexpr int kValueQuads = HEAD_DIM / 64;  // 16-byte pieces that a lane has of a position's values
constexpr bool kIsInt16 = ATTENTION == 3;
constexpr int kBlocks = kIsInt16 && GROUP > 4 ? 2 : 1;  // of 8 columns
constexpr int kLow = kBlocks == 2 ? 8 : 4;  // first column of lower parts
constexpr float kSlack = kIsInt16 ? 2.f : 4.f;

struct Quad {
  u32 r[4];
};

__device__ __forceinline__ Quad Stream(const u16* p) {
  Quad q;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.r[0]), "=r"(q.r[1]), "=r"(q.r[2]), "=r"(q.r[3])
               : "l"(p));
  return q;
}

__device__ __forceinline__ void Multiply(float* d, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
#if ATTENTION == 0
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
#else
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
#endif
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ u32 Subtract(u32 x, u32 y) {
  u32 r;
  asm("sub.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}
// Of two INT16: 64 h 2^-24 (2^-8 + (h + 512) 2^-18, less 2^-8 + 2^-9), and l 2^-24.
__device__ __forceinline__ u32 Upper(u32 w) {
  const u32 bias = 0x1e001e00u;
  u32 biased;  // (w >> 6 & 0x03ff03ff) ^ bias, as one instruction
  asm("lop3.b32 %0, %1, 0x03ff03ff, %2, 0x6a;" : "=r"(biased) : "r"(w >> 6), "r"(bias));
  return Subtract(biased, bias);
}
__device__ __forceinline__ u32 Lower(u32 w) { return w & 0x003f003fu; }

__device__ __forceinline__ u32 Pack(u16 low, u16 high) { return u32(low) | u32(high) << 16; }

__device__ __forceinline__ u32 Transpose(u32 x) {
  u32 r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(x));
  return r;
}

__device__ __forceinline__ float Power(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

struct Problem {
  const u16* query;
  const float* query_scale;
  const u16 *key, *value;
  const float *key_scale, *value_scale;
  const int *slots, *positions;
  float* partial;       // [row][head][part][HEAD_DIM], not divided
  float2* weight;       // [row][head][part]: reference (log2), sum
  int heads, kv_heads, context, parts;
  float scale;          // of scores, times log2(e)
};

// One warp's tile of positions, loaded ahead.
struct KeyTile {
  Quad upper_row[kSteps], lower_row[kSteps];  // positions g and g + 8
  float scale[2];
};
struct ValueTile {
  Quad row[4][kValueQuads];  // positions 2c, 2c + 1, 2c + 8, 2c + 9
  float scale[2];            // of positions g, g + 8
};

__device__ __forceinline__ void LoadKeys(KeyTile* tile, const u16* key, const float* scale, int first, int last, int g, int c) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int position = min(first + g + 8 * half, last);
    const u16* from = key + u64(position) * HEAD_DIM + 8 * c;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) (half ? tile->lower_row : tile->upper_row)[i] = Stream(from + 32 * i);
    if (kIsInt16) tile->scale[half] = scale[position];
  }
}

__device__ __forceinline__ void LoadValues(ValueTile* tile, const u16* value, const float* scale, int first, int last, int g,
                                           int c) {
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const int position = min(first + 2 * c + (t & 1) + 8 * (t >> 1), last);
    const u16* from = value + u64(position) * HEAD_DIM + 8 * g;
#pragma unroll
    for (int i = 0; i < kValueQuads; ++i) tile->row[t][i] = Stream(from + 64 * i);
  }
  if (kIsInt16) {
#pragma unroll
    for (int half = 0; half < 2; ++half) tile->scale[half] = scale[min(first + g + 8 * half, last)];
  }
}

// Fragments of Q^T: column `column`'s values as the scores' second operand.
struct QueryFragments {
  u32 b[kBlocks][kSteps][4];
};
__device__ __forceinline__ void LoadQuery(QueryFragments* q, const u16* query, int g, int c) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const int column = 8 * block + g, head = column >= kLow && kIsInt16 ? column - kLow : column;
    const bool is_low = kIsInt16 && column >= kLow, is_real = head < GROUP;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      Quad x = {0, 0, 0, 0};
      if (is_real) x = Stream(query + u64(head) * HEAD_DIM + 32 * i + 8 * c);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        q->b[block][i][j] = !kIsInt16 ? x.r[j] : !is_real ? 0 : is_low ? Lower(x.r[j]) : Upper(x.r[j]);
      }
    }
  }
}

// scores[block][0..1]: position g, columns 2c and 2c + 1; [2..3]: position g + 8. Not scaled.
__device__ __forceinline__ void Scores(float scores[kBlocks][4], const KeyTile& tile, const QueryFragments& q) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[block][j] = 0;
  }
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 a0 = tile.upper_row[i].r[2 * half], a1 = tile.lower_row[i].r[2 * half];
      const u32 a2 = tile.upper_row[i].r[2 * half + 1], a3 = tile.lower_row[i].r[2 * half + 1];
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const u32 b0 = q.b[block][i][2 * half], b1 = q.b[block][i][2 * half + 1];
        if (kIsInt16) {
          Multiply(scores[block], Upper(a0), Upper(a1), Upper(a2), Upper(a3), b0, b1);
          Multiply(scores[block], Lower(a0), Lower(a1), Lower(a2), Lower(a3), b0, b1);
        } else {
          Multiply(scores[block], a0, a1, a2, a3, b0, b1);
        }
      }
    }
  }
}

// output[tile][j] += V^T P.
__device__ __forceinline__ void Accumulate(float output[kBlocks][kTiles][4], const ValueTile& v, const u32 p[kBlocks][2]) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    const int quad = tile / 4, word = tile % 4;
    const u32 x0 = v.row[0][quad].r[word], x1 = v.row[1][quad].r[word];
    const u32 x2 = v.row[2][quad].r[word], x3 = v.row[3][quad].r[word];
    const u32 a0 = __byte_perm(x0, x1, 0x5410), a1 = __byte_perm(x0, x1, 0x7632);
    const u32 a2 = __byte_perm(x2, x3, 0x5410), a3 = __byte_perm(x2, x3, 0x7632);
    if (kIsInt16) {
      const u32 h0 = Upper(a0), h1 = Upper(a1), h2 = Upper(a2), h3 = Upper(a3);
      const u32 l0 = Lower(a0), l1 = Lower(a1), l2 = Lower(a2), l3 = Lower(a3);
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        Multiply(output[block][tile], h0, h1, h2, h3, p[block][0], p[block][1]);
        Multiply(output[block][tile], l0, l1, l2, l3, p[block][0], p[block][1]);
      }
    } else {
      Multiply(output[0][tile], a0, a1, a2, a3, p[0][0], p[0][1]);
    }
  }
}

// Probabilities of two columns as 16-bit pairs, upper or lower parts.
__device__ __forceinline__ u32 Parts(float x, float y, bool is_low) {
#if ATTENTION == 0
  return Pack(ToBf16(x), ToBf16(y));
#elif ATTENTION == 1
  return Pack(ToF16(x), ToF16(y));
#else
  const u16 hx = ToF16(fminf(x, kMostF16)), hy = ToF16(fminf(y, kMostF16));
  if (!is_low) return Pack(hx, hy);
  return Pack(ToF16((x - FromF16(hx)) * 1024.f), ToF16((y - FromF16(hy)) * 1024.f));
#endif
}

struct Running {
  float output[kBlocks][kTiles][4];
  float reference[2], sum[2];  // of the two query heads of columns 2c, 2c + 1 (lower ones: the same heads)
};

// Scores become weights: exp2(score - reference), the reference moved first where a score exceeds it by kSlack.
__device__ __forceinline__ void Weigh(Running* run, float score[4]) {
  bool over = false;
#pragma unroll
  for (int j = 0; j < 4; ++j) over |= score[j] > run->reference[j & 1] + kSlack;
  if (__any_sync(~0u, over)) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      float most = fmaxf(run->reference[k], fmaxf(score[k], score[k + 2]));
      for (int offset = 16; offset >= 4; offset /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
      const float factor = run->reference[k] == -INFINITY ? 0.f : Power(run->reference[k] - most);
      run->sum[k] *= factor;
      run->reference[k] = most;
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          run->output[block][tile][k] *= factor;
          run->output[block][tile][k + 2] *= factor;
        }
      }
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    score[j] = Power(score[j] - run->reference[j & 1]);
    run->sum[j & 1] += score[j];
  }
}

__device__ __forceinline__ void Tile(Running* run, const Problem& p, const QueryFragments& q, KeyTile* keys,
                                     ValueTile* values, const float query_scale[2], const u16* key, const u16* value,
                                     const float* key_scale, const float* value_scale, int first, int next, int last,
                                     int g, int c) {
  float raw[kBlocks][4];
  Scores(raw, *keys, q);
  const float k0 = kIsInt16 ? keys->scale[0] : 1.f, k1 = kIsInt16 ? keys->scale[1] : 1.f;
  if (next <= last) LoadKeys(keys, key, key_scale, next, last, g, c);
  float score[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    float x = raw[0][j];
    if (kIsInt16) x += kBlocks == 2 ? raw[kBlocks - 1][j] : __shfl_xor_sync(~0u, x, 2);
    const bool is_seen = first + g + (j >= 2 ? 8 : 0) <= last;
    score[j] = is_seen ? x * ((j >= 2 ? k1 : k0) * query_scale[j & 1]) : -INFINITY;
  }
  Weigh(run, score);
  u32 weights[kBlocks][2];
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const bool is_low = kBlocks == 2 ? block == 1 : c >= 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float v = kIsInt16 ? values->scale[half] * 32767.f : 1.f;
      weights[block][half] = Transpose(Parts(score[2 * half] * v, score[2 * half + 1] * v, is_low));
    }
  }
  Accumulate(run->output, *values, weights);
  if (next <= last) LoadValues(values, value, value_scale, next, last, g, c);
}

// Grid: (kv_heads, rows, parts). Part j of a row has the j-th run of whole tiles of its positions.
extern "C" __global__ void __launch_bounds__(32 * kWarps) Attend(const Problem p) {
  const int kv = blockIdx.x, row = blockIdx.y, part = blockIdx.z;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
  const int length = p.positions[row] + 1;
  const int tiles = (length + 15) / 16, each = (tiles + p.parts - 1) / p.parts;
  const int begin = part * each * 16, last = min(length, begin + each * 16) - 1;
  const u64 first_query = u64(row) * p.heads + kv * GROUP;
  const u64 cached = (u64(p.slots[row]) * p.kv_heads + kv) * p.context;
  const u16 *key = p.key + cached * HEAD_DIM, *value = p.value + cached * HEAD_DIM;
  const float *key_scale = p.key_scale + cached, *value_scale = p.value_scale + cached;

  QueryFragments q;
  LoadQuery(&q, p.query + first_query * HEAD_DIM, g, c);
  float query_scale[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int column = 2 * c + k, head = kIsInt16 && kBlocks == 1 ? column % 4 : column;
    query_scale[k] = p.scale * (!kIsInt16 ? 1.f : 0x1p48f * p.query_scale[first_query + min(head, GROUP - 1)]);
  }

  Running run;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int j = 0; j < 4; ++j) run.output[block][tile][j] = 0;
    }
  }
  run.reference[0] = run.reference[1] = -INFINITY;
  run.sum[0] = run.sum[1] = 0;

  int first = begin + 16 * warp;
  if (first <= last) {
    KeyTile keys;
    ValueTile values;
    LoadKeys(&keys, key, key_scale, first, last, g, c);
    LoadValues(&values, value, value_scale, first, last, g, c);
    for (; first <= last; first += 16 * kWarps) {
      Tile(&run, p, q, &keys, &values, query_scale, key, value, key_scale, value_scale, first, first + 16 * kWarps, last,
           g, c);
    }
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    for (int offset = 16; offset >= 4; offset /= 2) run.sum[k] += __shfl_xor_sync(~0u, run.sum[k], offset);
  }

  // The warps' shares, brought to one reference.
  __shared__ float references[kWarps][8], sums[kWarps][8];
  __shared__ float outputs[kWarps][GROUP][HEAD_DIM];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int head = 2 * c + k;  // lanes of lower columns say the same of head - kLow
    if (g == 0 && head < GROUP) references[warp][head] = run.reference[k], sums[warp][head] = run.sum[k];
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float x = run.output[0][tile][j];
      if (kIsInt16) {
        x += (kBlocks == 2 ? run.output[kBlocks - 1][tile][j] : __shfl_xor_sync(~0u, x, 2)) * 0x1p-10f;
        x *= 0x1p24f / 32767.f;
      }
      const int head = 2 * c + (j & 1), d = 64 * (tile / 4) + 8 * g + 2 * (tile % 4) + (j >> 1);
      if (head < GROUP) outputs[warp][head][d] = x;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < GROUP * HEAD_DIM; i += blockDim.x) {
    const int head = i / HEAD_DIM, d = i % HEAD_DIM;
    float most = -INFINITY, sum = 0, total = 0;
    for (int w = 0; w < kWarps; ++w) most = fmaxf(most, references[w][head]);
    if (most != -INFINITY) {
      for (int w = 0; w < kWarps; ++w) {
        const float factor = Power(references[w][head] - most);
        sum += sums[w][head] * factor;
        total += outputs[w][head][d] * factor;
      }
    }
    const u64 at = (first_query + head) * p.parts + part;
    p.partial[at * HEAD_DIM + d] = total;
    if (d == 0) p.weight[at] = make_float2(most, sum);
  }
}
