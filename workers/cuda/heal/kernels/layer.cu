// The kernels of a layer around its products and attention. Rows are tokens. `bits`: significand bits of a truncated
// boundary.

// residual[row] = table[token[row]]. Grid: rows.
extern "C" __global__ void Embed(const int* token, const u16* table, Stored* residual, int width, int bits) {
  const u16* from = table + u64(token[blockIdx.x]) * width;
  Stored* to = residual + u64(blockIdx.x) * width;
  for (int i = threadIdx.x; i < width; i += blockDim.x) to[i] = Store(FromBf16(from[i]), bits);
}

// residual += y (none where y is null), rounded; out = norm(residual) * weight as operand in `out_parts` parts, and as
// FP32 in `plain` where that is not null. `unrounded`: the norm reads the sum before it is rounded. Grid: rows; a thread
// has at most kNormPieces pieces of four values.
constexpr int kNormPieces = 4;
extern "C" __global__ void __launch_bounds__(1024) AddNorm(Stored* residual, const Stored* y, int y_parts, const u16* weight,
                                                           Operand* out, int out_parts, float* plain, int width,
                                                           float epsilon, int unrounded, int bits) {
  __shared__ float partial[33];
  const u64 row = blockIdx.x, rows = gridDim.x;
  const u64 base = row * width, low = (rows + row) * width;
  const int step = blockDim.x * 4;
  Four x[kNormPieces], w[kNormPieces];
  float squares = 0;
#pragma unroll
  for (int piece = 0; piece < kNormPieces; ++piece) {
    const int i = threadIdx.x * 4 + piece * step;
    if (i >= width) break;
    x[piece] = Load4(residual + base + i);
    w[piece] = LoadBf16x4(weight + i);
    if (y != nullptr) {
      const Four add = LoadProduct4(y, base + i, low + i, y_parts, bits);
#pragma unroll
      for (int j = 0; j < 4; ++j) x[piece].x[j] += add.x[j];
      Store4(residual + base + i, x[piece], bits);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (!unrounded) x[piece].x[j] = Round(x[piece].x[j], bits);
      squares += x[piece].x[j] * x[piece].x[j];
    }
  }
  const float scale = rsqrtf(BlockSum(squares, partial) / width + epsilon);
#pragma unroll
  for (int piece = 0; piece < kNormPieces; ++piece) {
    const int i = threadIdx.x * 4 + piece * step;
    if (i >= width) break;
    Four v;
#pragma unroll
    for (int j = 0; j < 4; ++j) v.x[j] = x[piece].x[j] * scale * w[piece].x[j];
    StoreOperand4(out, base + i, low + i, out_parts, v, bits);
    if (plain != nullptr) {
#pragma unroll
      for (int j = 0; j < 4; ++j) plain[base + i + j] = Round(v.x[j], bits);
    }
  }
}

// y = what the product wrote as FP32, in parts, + bias, rounded once. y may be the same memory. Grid: (blocks over width,
// rows).
extern "C" __global__ void AddBias(const float* sums, int parts, const u16* bias, Stored* y, int width, int bits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width) return;
  const u64 at = u64(blockIdx.y) * width + i, low = u64(gridDim.y + blockIdx.y) * width + i;
  const float sum = sums[at] + (parts == 2 ? sums[low] * 0x1p-10f : 0.f);
  y[at] = Store(sum + FromBf16(bias[i]), bits);
  if (parts == 2) y[low] = Store(0.f, bits);
}

// out = SiLU(gate) * up. `y`: rows x 2 width, gate first. Grid: (blocks over width / 4, rows).
extern "C" __global__ void SwiGlu(const Stored* y, int y_parts, Operand* out, int out_parts, int width, int bits) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i >= width) return;
  const u64 row = blockIdx.y, rows = gridDim.y;
  const u64 from = row * 2 * width + i, low = (rows + row) * 2 * width + i;
  const Four gate = LoadProduct4(y, from, low, y_parts, bits);
  const Four up = LoadProduct4(y, from + width, low + width, y_parts, bits);
  Four v;
#pragma unroll
  for (int j = 0; j < 4; ++j) v.x[j] = gate.x[j] / (1.f + expf(-gate.x[j])) * up.x[j];
  StoreOperand4(out, row * width + i, (rows + row) * width + i, out_parts, v, bits);
}

// The lower index of the larger value, over the warp.
__device__ __forceinline__ void Better(float* best, int* at) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const float x = __shfl_xor_sync(~0u, *best, offset);
    const int i = __shfl_xor_sync(~0u, *at, offset);
    if (x > *best || (x == *best && i < *at)) *best = x, *at = i;
  }
}
__device__ __forceinline__ void BetterOfBlock(float* best, int* at) {
  __shared__ float value[32];
  __shared__ int place[32];
  Better(best, at);
  if (threadIdx.x % 32 == 0) value[threadIdx.x / 32] = *best, place[threadIdx.x / 32] = *at;
  __syncthreads();
  const bool is_real = threadIdx.x % 32 < blockDim.x / 32;
  *best = is_real ? value[threadIdx.x % 32] : -INFINITY;
  *at = is_real ? place[threadIdx.x % 32] : 0x7fffffff;
  Better(best, at);
}

// The largest logit of each part of a row and its lowest index. Grid: (parts, rows).
extern "C" __global__ void PartMax(const Stored* logits, int y_parts, int width, float* value, int* place, int bits) {
  const u64 row = blockIdx.y, rows = gridDim.y;
  const int each = (width / 4 + gridDim.x - 1) / gridDim.x * 4;
  const int begin = blockIdx.x * each, end = min(width, begin + each);
  float best = -INFINITY;
  int at = 0x7fffffff;
  for (int i = begin + threadIdx.x * 4; i < end; i += blockDim.x * 4) {
    const Four v = LoadProduct4(logits, row * width + i, (rows + row) * width + i, y_parts, bits);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (v.x[j] > best) best = v.x[j], at = i + j;
    }
  }
  BetterOfBlock(&best, &at);
  if (threadIdx.x == 0) value[row * gridDim.x + blockIdx.x] = best, place[row * gridDim.x + blockIdx.x] = at;
}
// next[row] = the index of the largest of its parts; 0 where nothing is a number. Grid: rows; one warp.
extern "C" __global__ void ArgMax(const float* value, const int* place, int parts, int* next) {
  float best = -INFINITY;
  int at = 0x7fffffff;
  for (int i = threadIdx.x; i < parts; i += 32) {
    const float x = value[u64(blockIdx.x) * parts + i];
    if (x > best) best = x, at = place[u64(blockIdx.x) * parts + i];
  }
  Better(&best, &at);
  if (threadIdx.x == 0) next[blockIdx.x] = at == 0x7fffffff ? 0 : at;
}

// position[i] += 1.
extern "C" __global__ void Advance(int* position, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) ++position[i];
}

// FP32 to what products write, with nothing in a second part, and to the residual stream.
extern "C" __global__ void FromPlain(const float* x, Stored* y, u64 count, int parts, int bits) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    y[i] = Store(x[i], bits);
    if (parts == 2) y[count + i] = Store(0.f, bits);
  }
}
extern "C" __global__ void ToOperand(const float* x, Operand* out, u64 count, int parts, int bits) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    StoreOperand(out, i, count + i, parts, x[i], bits);
  }
}
// And back.
extern "C" __global__ void ProductToPlain(const Stored* y, float* out, u64 count, int parts, int bits) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    out[i] = LoadProduct(y, i, count + i, parts, bits);
  }
}
extern "C" __global__ void OperandToPlain(const Operand* x, float* out, u64 count, int parts) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    out[i] = LoadOperand(x, i, count + i, parts);
  }
}
extern "C" __global__ void ResidualToPlain(const Stored* x, float* out, u64 count) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) out[i] = Load(x[i]);
}
