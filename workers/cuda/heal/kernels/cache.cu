// Q, K and V on their way to attention: QK-norm, rotation, rounding or quantisation, the cache.
//
// The cache of a layer: K and V each [slot][key head][position][HEAD_DIM], INT16 with an FP32 scale for each
// [slot][key head][position]. Q: [row][head][HEAD_DIM], INT16 with a scale for each [row][head].

#if ATTENTION == 2
typedef float Kept;
__device__ __forceinline__ float LoadKept(Kept x) { return x; }
__device__ __forceinline__ Kept StoreKept(float x) { return x; }
#elif ATTENTION == 0
typedef u16 Kept;
__device__ __forceinline__ float LoadKept(Kept x) { return FromBf16(x); }
__device__ __forceinline__ Kept StoreKept(float x) { return ToBf16(x); }
#elif ATTENTION == 1
typedef u16 Kept;
__device__ __forceinline__ float LoadKept(Kept x) { return FromF16(x); }
__device__ __forceinline__ Kept StoreKept(float x) { return ToF16(Saturate(x)); }
#else
typedef u16 Kept;  // a signed number's bits
__device__ __forceinline__ float LoadKept(Kept x) { return float(s16(x)); }
#endif

constexpr int kLaneValues = HEAD_DIM / 32;
constexpr float kLeastMost = 0x1p-100f;  // heal::kLeastInt16Max

// Where head `head` of all heads goes (query heads, then key heads, then value heads).
struct Place {
  Kept* values;
  float* scale;
};
__device__ __forceinline__ Place PlaceOf(int head, int row, int slot, int position, int heads, int kv_heads, int context,
                                         Kept* query, float* query_scale, Kept* key, float* key_scale, Kept* value,
                                         float* value_scale) {
  if (head < heads) {
    const u64 at = u64(row) * heads + head;
    return {query + at * HEAD_DIM, query_scale + at};
  }
  const bool is_key = head < heads + kv_heads;
  const u64 at = (u64(slot) * kv_heads + (head - heads) % kv_heads) * context + position;
  return is_key ? Place{key + at * HEAD_DIM, key_scale + at} : Place{value + at * HEAD_DIM, value_scale + at};
}

// `y`: rows x (heads + 2 kv_heads) HEAD_DIM. `turn`: position x HEAD_DIM / 2 pairs (cosine, sine); null: no norm and no
// rotation. `plain`: where not null, rows x the same width gets the values before they are quantised. A warp for each
// head; grid: (blocks over heads, rows).
extern "C" __global__ void RopeCache(const Stored* y, int y_parts, const u16* query_norm, const u16* key_norm,
                                     const float2* turn, const int* slots, const int* positions,
                                     Kept* query, float* query_scale, Kept* key, float* key_scale, Kept* value,
                                     float* value_scale, float* plain, int heads, int kv_heads, int context,
                                     float epsilon, int bits) {
  const int head = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const int all = heads + 2 * kv_heads;
  if (head >= all) return;
  const int row = blockIdx.y, rows = gridDim.y, position = positions[row];
  const u64 width = u64(all) * HEAD_DIM;
  float x[kLaneValues];  // value j is number lane + 32 j
#pragma unroll
  for (int j = 0; j < kLaneValues; ++j) {
    const int i = head * HEAD_DIM + lane + 32 * j;
    x[j] = LoadProduct(y, row * width + i, (rows + row) * width + i, y_parts, bits);
  }
  const bool is_value = head >= heads + kv_heads;
  if (turn != nullptr && !is_value) {
    const u16* norm = head < heads ? query_norm : key_norm;
    if (norm != nullptr) {
      float squares = 0;
#pragma unroll
      for (int j = 0; j < kLaneValues; ++j) squares += x[j] * x[j];
      const float scale = rsqrtf(WarpSum(squares) / HEAD_DIM + epsilon);
#pragma unroll
      for (int j = 0; j < kLaneValues; ++j) x[j] = x[j] * scale * FromBf16(norm[lane + 32 * j]);
    }
#pragma unroll
    for (int j = 0; j < kLaneValues / 2; ++j) {
      const float2 t = turn[u64(position) * (HEAD_DIM / 2) + lane + 32 * j];
      const float a = x[j], b = x[j + kLaneValues / 2];
      x[j] = a * t.x - b * t.y;
      x[j + kLaneValues / 2] = b * t.x + a * t.y;
    }
  }
#pragma unroll
  for (int j = 0; j < kLaneValues; ++j) {
    x[j] = Round(x[j], bits);
    if (plain != nullptr) plain[row * width + head * HEAD_DIM + lane + 32 * j] = x[j];
  }
  const Place place = PlaceOf(head, row, slots[row], position, heads, kv_heads, context, query, query_scale, key,
                              key_scale, value, value_scale);
#if ATTENTION == 3
  // As core/heal/numerics/quantize.h: a step is taken where the rest is beyond half a step.
  float most = kLeastMost;
  bool is_finite = true;
#pragma unroll
  for (int j = 0; j < kLaneValues; ++j) most = fmaxf(most, fabsf(x[j])), is_finite &= fabsf(x[j]) < INFINITY;
  most = WarpMax(most);
  const float scale = most / 32767.f, inverse = 32767.f / most;
  is_finite = __all_sync(~0u, is_finite);
#pragma unroll
  for (int j = 0; j < kLaneValues; ++j) {
    float q = fminf(fmaxf(rintf(x[j] * inverse), -32767.f), 32767.f);
    const float rest = __fmaf_rn(-q, scale, x[j]);
    q += float(rest > scale / 2) - float(rest < -scale / 2);
    place.values[lane + 32 * j] = u16(s16(int(q)));
  }
  if (lane == 0) *place.scale = is_finite ? scale : __int_as_float(0x7fffffff);
#else
#pragma unroll
  for (int j = 0; j < kLaneValues; ++j) place.values[lane + 32 * j] = StoreKept(x[j]);
#endif
}

// What attention uses, as FP32. `keys` null: Q of rows x heads; else K or V of the rows' positions, rows x kv_heads.
extern "C" __global__ void KeptToPlain(const Kept* from, const float* scale, const int* slots, const int* positions,
                                       float* out, int rows, int heads, int context, int is_query) {
  const u64 count = u64(rows) * heads * HEAD_DIM;
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    const int d = i % HEAD_DIM, head = i / HEAD_DIM % heads, row = i / HEAD_DIM / heads;
    const u64 at = is_query ? u64(row) * heads + head : (u64(slots[row]) * heads + head) * context + positions[row];
    out[i] = LoadKept(from[at * HEAD_DIM + d]);
#if ATTENTION == 3
    out[i] *= scale[at];
#endif
  }
}

// Made-up content for timing: values of about one.
extern "C" __global__ void FillCache(Kept* values, u64 count, float* scale, u64 scales) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    u64 z = (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    const float x = float(int(z >> 40)) * 0x1p-23f - 1.f;
#if ATTENTION == 3
    values[i] = u16(s16(x * 32767.f));
    if (i < scales) scale[i] = 1.f / 32767.f;
#else
    values[i] = StoreKept(x);
#endif
  }
}
