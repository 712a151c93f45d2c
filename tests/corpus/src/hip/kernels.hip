// Kernels for AMD processors, compiled without ROCm's headers: clang -x hip -nogpulib -nogpuinc. table.py launches them.

typedef _Float16 f16;
typedef __bf16 bf16;
typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef float f32x32 __attribute__((ext_vector_type(32)));
typedef f16 f16x4 __attribute__((ext_vector_type(4)));
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef short i16x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef int i32x16 __attribute__((ext_vector_type(16)));
typedef int i32x32 __attribute__((ext_vector_type(32)));

#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device)) static inline __attribute__((always_inline))
#define LDS __attribute__((shared)) static
#define WORKGROUP(n) __attribute__((amdgpu_flat_work_group_size(n, n)))

DEVICE int Lane() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE int BlockX() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE int BlockY() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE void Sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE int Bits(float x) { return __builtin_bit_cast(int, x); }
DEVICE float Float(int x) { return __builtin_bit_cast(float, x); }
DEVICE float From(float x, int lane) { return Float(__builtin_amdgcn_ds_bpermute(lane * 4, Bits(x))); }
template <int kControl, int kRows = 15>
DEVICE float Dpp(float x) { return Float(__builtin_amdgcn_update_dpp(0, Bits(x), kControl, kRows, 15, true)); }
template <int kPattern>
DEVICE float Swizzle(float x) { return Float(__builtin_amdgcn_ds_swizzle(Bits(x), kPattern)); }
DEVICE float Last(float x) { return Float(__builtin_amdgcn_readlane(Bits(x), 63)); }

// Sums of 64 lanes. Down: distances 32, 16, ... 1, in every lane or in lane 0.
DEVICE float SumXorDown(float x) {
  for (int d = 32; d > 0; d /= 2) x += From(x, (Lane() & 63) ^ d);
  return x;
}
DEVICE float SumShiftDown(float x) {
  for (int d = 32; d > 0; d /= 2) x += From(x, ((Lane() & 63) + d) & 63);
  return x;
}
DEVICE float SumXorUp(float x) {
  for (int d = 1; d < 64; d *= 2) x += From(x, (Lane() & 63) ^ d);
  return x;
}
// Distances 1, 2, 8, 4 of a row, then rows: quad_perm, row_ror, row_mirror, row_bcast.
DEVICE float SumDppRows(float x) {
  x += Dpp<0xb1>(x);  // quad_perm:[1,0,3,2]
  x += Dpp<0x4e>(x);  // quad_perm:[2,3,0,1]
  x += Dpp<0x141>(x);  // row_half_mirror: the other quad of eight
  x += Dpp<0x140>(x);  // row_mirror: the other eight
  x += Swizzle<0x401f>(x);  // lane ^ 16
  return x + From(x, (Lane() & 63) ^ 32);
}
// Counting up: row_shr 1, 2, 4, 8, then broadcasts of rows; the sum in lane 63.
DEVICE float SumDppUp(float x) {
  x += Dpp<0x111>(x);
  x += Dpp<0x112>(x);
  x += Dpp<0x114>(x);
  x += Dpp<0x118>(x);
  x += Dpp<0x142, 0xa>(x);  // row_bcast:15
  x += Dpp<0x143, 0xc>(x);  // row_bcast:31
  return Last(x);
}
DEVICE float SumDppDown(float x) {
  x += Dpp<0x118>(x);
  x += Dpp<0x114>(x);
  x += Dpp<0x112>(x);
  x += Dpp<0x111>(x);
  x += Dpp<0x142, 0xa>(x);
  x += Dpp<0x143, 0xc>(x);
  return Last(x);
}
DEVICE float SumLds(float x) {
  LDS float s[64];
  s[Lane() & 63] = x;
  for (int d = 32; d > 0; d /= 2) {
    Sync();
    if ((Lane() & 63) < d) s[Lane() & 63] += s[(Lane() & 63) + d];
  }
  Sync();
  return s[0];
}

// o[row] = sum of 256 values of a row; a wave each.
#define ROW_SUM(name, sum) \
  KERNEL void WORKGROUP(64) name(const float* x, float* o) { \
    const float* row = x + BlockX() * 256; \
    float v = 0; \
    for (int i = 0; i < 4; ++i) v += row[i * 64 + Lane()]; \
    v = sum(v); \
    if (Lane() == 0) o[BlockX()] = v; \
  }
ROW_SUM(sum_xor_down, SumXorDown)
ROW_SUM(sum_shift_down, SumShiftDown)
ROW_SUM(sum_lds_down, SumLds)
ROW_SUM(sum_xor_up, SumXorUp)
ROW_SUM(sum_dpp_rows, SumDppRows)
ROW_SUM(sum_dpp_up, SumDppUp)
ROW_SUM(sum_dpp_down, SumDppDown)

// The same with float4 loads: a lane's four values are neighbours.
KERNEL void WORKGROUP(64) sum_vector_xor_down(const f32x4* x, float* o) {
  const f32x4 v = x[BlockX() * 64 + Lane()];
  const float s = SumXorDown(((v.x + v.y) + v.z) + v.w);
  if (Lane() == 0) o[BlockX()] = s;
}

// o[row] = sum of 1024 values; four waves, then over waves in order or as a tree.
#define BLOCK_SUM(name, sum, whole) \
  KERNEL void WORKGROUP(256) name(const float* x, float* o) { \
    LDS float part[4]; \
    const float* row = x + BlockX() * 1024; \
    float v = row[Lane()]; \
    for (int i = 1; i < 4; ++i) v += row[i * 256 + Lane()]; \
    v = sum(v); \
    if ((Lane() & 63) == 0) part[Lane() / 64] = v; \
    Sync(); \
    if (Lane() == 0) o[BlockX()] = whole; \
  }
BLOCK_SUM(block_sum_in_order, SumXorDown, ((part[0] + part[1]) + part[2]) + part[3])
BLOCK_SUM(block_sum_in_order_shift, SumShiftDown, part[3] + (part[2] + (part[1] + part[0])))
BLOCK_SUM(block_sum_tree, SumXorDown, (part[0] + part[1]) + (part[2] + part[3]))
BLOCK_SUM(block_sum_up, SumXorUp, ((part[0] + part[1]) + part[2]) + part[3])
KERNEL void WORKGROUP(256) block_sum_lds(const float* x, float* o) {
  LDS float s[256];
  const float* row = x + BlockX() * 1024;
  float v = row[Lane()];
  for (int i = 1; i < 4; ++i) v += row[i * 256 + Lane()];
  s[Lane()] = v;
  for (int d = 128; d > 0; d /= 2) {
    Sync();
    if (Lane() < d) s[Lane()] += s[Lane() + d];
  }
  if (Lane() == 0) o[BlockX()] = s[0];
}
// Waves first folded through LDS (distances 128 and 64), then lanes.
KERNEL void WORKGROUP(256) block_sum_lds_then_wave(const float* x, float* o) {
  LDS float s[256];
  const float* row = x + BlockX() * 1024;
  float v = row[Lane()];
  for (int i = 1; i < 4; ++i) v += row[i * 256 + Lane()];
  s[Lane()] = v;
  Sync();
  if (Lane() < 128) s[Lane()] = v = v + s[Lane() + 128];
  Sync();
  if (Lane() < 64) {
    v = v + s[Lane() + 64];
    v = SumXorDown(v);
    if (Lane() == 0) o[BlockX()] = v;
  }
}

// Greatest of a row; the order does not matter.
DEVICE float MaxXor(float x) {
  for (int d = 1; d < 64; d *= 2) x = __builtin_fmaxf(x, From(x, (Lane() & 63) ^ d));
  return x;
}
DEVICE float MaxDpp(float x) {
  x = __builtin_fmaxf(x, Dpp<0xb1>(x));
  x = __builtin_fmaxf(x, Dpp<0x4e>(x));
  x = __builtin_fmaxf(x, Dpp<0x141>(x));
  x = __builtin_fmaxf(x, Dpp<0x140>(x));
  x = __builtin_fmaxf(x, Swizzle<0x401f>(x));
  return __builtin_fmaxf(x, From(x, (Lane() & 63) ^ 32));
}
#define ROW_MAX(name, reduce) \
  KERNEL void WORKGROUP(64) name(const float* x, float* o) { \
    const float* row = x + BlockX() * 256; \
    float v = row[Lane()]; \
    for (int i = 1; i < 4; ++i) v = __builtin_fmaxf(v, row[i * 64 + Lane()]); \
    v = reduce(v); \
    if (Lane() == 0) o[BlockX()] = v; \
  }
ROW_MAX(max_xor, MaxXor)
ROW_MAX(max_dpp, MaxDpp)

KERNEL void WORKGROUP(64) sum_i32_up(const int* x, int* o) {
  int v = x[BlockX() * 64 + Lane()];
  for (int d = 1; d < 64; d *= 2) v += __builtin_amdgcn_ds_bpermute(((Lane() & 63) ^ d) * 4, v);
  if (Lane() == 0) o[BlockX()] = v;
}
KERNEL void WORKGROUP(64) sum_i32_lds(const int* x, int* o) {
  LDS int s[64];
  s[Lane()] = x[BlockX() * 64 + Lane()];
  Sync();
  int v = 0;
  for (int i = 0; i < 64; ++i) v += s[63 - i];
  if (Lane() == 0) o[BlockX()] = v;
}

// Softmax of rows of 256: exponentials by v_exp_f32.
#define SOFTMAX(name, max_of, sum_of) \
  KERNEL void WORKGROUP(64) name(const float* x, float* o) { \
    const float* row = x + BlockX() * 256; \
    float v[4], m = -__builtin_inff(), s = 0; \
    for (int i = 0; i < 4; ++i) m = __builtin_fmaxf(m, v[i] = row[i * 64 + Lane()]); \
    m = max_of(m); \
    for (int i = 0; i < 4; ++i) s += v[i] = __builtin_amdgcn_exp2f((v[i] - m) * 1.44269504f); \
    const float r = __builtin_amdgcn_rcpf(sum_of(s)); \
    for (int i = 0; i < 4; ++i) o[BlockX() * 256 + i * 64 + Lane()] = v[i] * r; \
  }
SOFTMAX(softmax_xor, MaxXor, SumXorDown)
SOFTMAX(softmax_dpp_max, MaxDpp, SumXorDown)
SOFTMAX(softmax_up, MaxDpp, SumXorUp)

// Layer norm of rows of 256, a division and no approximation beside the reciprocal root.
#define LAYER_NORM(name, sum_of) \
  KERNEL void WORKGROUP(64) name(const float* x, const float* w, float* o) { \
    const float* row = x + BlockX() * 256; \
    float v[4], s = 0, q = 0; \
    for (int i = 0; i < 4; ++i) s += v[i] = row[i * 64 + Lane()]; \
    const float mean = sum_of(s) * (1.0f / 256); \
    for (int i = 0; i < 4; ++i) { \
      v[i] -= mean; \
      q = __builtin_fmaf(v[i], v[i], q); \
    } \
    const float r = __builtin_amdgcn_rsqf(sum_of(q) * (1.0f / 256) + 1e-5f); \
    for (int i = 0; i < 4; ++i) o[BlockX() * 256 + i * 64 + Lane()] = v[i] * r * w[i * 64 + Lane()]; \
  }
LAYER_NORM(layer_norm_xor, SumXorDown)
LAYER_NORM(layer_norm_up, SumXorUp)

// Inclusive scans of 64: each lane adds the one 1, 2, 4, ... before it.
KERNEL void WORKGROUP(64) scan_bpermute(const float* x, float* o) {
  float v = x[BlockX() * 64 + Lane()];
  for (int d = 1; d < 64; d *= 2) {
    const float u = From(v, (Lane() - d) & 63);
    if (Lane() >= d) v += u;
  }
  o[BlockX() * 64 + Lane()] = v;
}
KERNEL void WORKGROUP(64) scan_lds(const float* x, float* o) {
  LDS float s[2][64];
  float v = x[BlockX() * 64 + Lane()];
  for (int d = 1, side = 0; d < 64; d *= 2, side ^= 1) {
    s[side][Lane()] = v;
    Sync();
    if (Lane() >= d) v += s[side][Lane() - d];
  }
  o[BlockX() * 64 + Lane()] = v;
}
KERNEL void WORKGROUP(64) scan_dpp(const float* x, float* o) {
  float v = x[BlockX() * 64 + Lane()];
  v += Dpp<0x111>(v);
  v += Dpp<0x112>(v);
  v += Dpp<0x114>(v);
  v += Dpp<0x118>(v);
  v += Dpp<0x142, 0xa>(v);
  v += Dpp<0x143, 0xc>(v);
  o[BlockX() * 64 + Lane()] = v;
}

// o = fma(a, x, y), one, two and four elements a lane, and without fusing.
KERNEL void axpy_1(const float* x, const float* y, float* o) {
  const int i = BlockX() * 64 + Lane();
  o[i] = __builtin_fmaf(1.5f, x[i], y[i]);
}
KERNEL void axpy_2(const f32x2* x, const f32x2* y, f32x2* o) {
  const int i = BlockX() * 64 + Lane();
  o[i] = __builtin_elementwise_fma((f32x2)1.5f, x[i], y[i]);
}
KERNEL void axpy_4(const f32x4* x, const f32x4* y, f32x4* o) {
  const int i = BlockX() * 64 + Lane();
  o[i] = __builtin_elementwise_fma((f32x4)1.5f, x[i], y[i]);
}
KERNEL void axpy_unfused(const float* x, const float* y, float* o) {
#pragma clang fp contract(off)
  const int i = BlockX() * 64 + Lane();
  const float product = 1.5f * x[i];
  o[i] = product + y[i];
}
// A loop of known and of given length.
KERNEL void axpy_strided(const float* x, const float* y, float* o, int n) {
  for (int i = BlockX() * 64 + Lane(); i < n; i += 256) o[i] = __builtin_fmaf(1.5f, x[i], y[i]);
}

KERNEL void half_scale(const f16x2* x, f16x2* o) {
  const int i = BlockX() * 64 + Lane();
  o[i] = x[i] * (f16x2)1.5f16 + (f16x2)0.25f16;
}
KERNEL void half_scale_4(const f16x4* x, f16x4* o) {
  const int i = BlockX() * 64 + Lane();
  o[i] = x[i] * (f16x4)1.5f16 + (f16x4)0.25f16;
}
KERNEL void bf16_add(const unsigned short* x, const unsigned short* y, float* o) {
  const int i = BlockX() * 64 + Lane();
  o[i] = Float(x[i] << 16) + Float(y[i] << 16);
}
KERNEL void divide(const float* x, const float* y, float* o) {
  const int i = BlockX() * 64 + Lane();
  o[i] = x[i] / y[i];
}
KERNEL void divide_twice(const float* x, const float* y, float* o) {
  const int i = (BlockX() * 64 + Lane()) * 2;
  o[i] = x[i] / y[i];
  o[i + 1] = x[i + 1] / y[i + 1];
}
KERNEL void f64_sum_of_squares(const double* x, double* o) {
  double v = 0;
  for (int i = 0; i < 8; ++i) {
    const double e = x[(BlockX() * 64 + Lane()) * 8 + i];
    v = __builtin_fma(e, e, v);
  }
  o[BlockX() * 64 + Lane()] = v;
}
KERNEL void clamp_branch(const float* x, float* o) {
  const int i = BlockX() * 64 + Lane();
  float v = x[i];
  if (v > 1.0f) v = 1.0f;
  else if (v < -1.0f) v = -1.0f;
  o[i] = v;
}
KERNEL void clamp_select(const float* x, float* o) {
  const int i = BlockX() * 64 + Lane();
  const float v = x[i];
  o[i] = v > 1.0f ? 1.0f : v < -1.0f ? -1.0f : v;
}
KERNEL void WORKGROUP(64) reverse_lds(const float* x, float* o) {
  LDS float s[64];
  s[Lane()] = x[BlockX() * 64 + Lane()];
  Sync();
  o[BlockX() * 64 + Lane()] = s[63 - Lane()];
}
KERNEL void WORKGROUP(64) reverse_global(const float* x, float* o) { o[BlockX() * 64 + Lane()] = x[BlockX() * 64 + 63 - Lane()]; }
KERNEL void WORKGROUP(256) transpose_lds(const float* x, float* o) {
  LDS float s[16][17];
  const int i = Lane() / 16, j = Lane() % 16;
  s[i][j] = x[(BlockY() * 16 + i) * 64 + BlockX() * 16 + j];
  Sync();
  o[(BlockX() * 16 + i) * 64 + BlockY() * 16 + j] = s[j][i];
}
KERNEL void WORKGROUP(256) transpose_global(const float* x, float* o) {
  const int i = Lane() / 16, j = Lane() % 16;
  o[(BlockX() * 16 + i) * 64 + BlockY() * 16 + j] = x[(BlockY() * 16 + j) * 64 + BlockX() * 16 + i];
}

// Atomics: integers in any order are one sum; the order of floats decides.
KERNEL void atomic_add_i32(const int* x, int* o) {
  __hip_atomic_fetch_add(o + Lane() % 16, x[BlockX() * 64 + Lane()], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL void atomic_add_f32(const float* x, float* o) {
  __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float*)o, x[BlockX() * 64 + Lane()]);
}

// C = A B with B transposed: rows of A and of B hold 64 elements. One wave a tile of m x m; k a step.
#define ROW(p, i) ((p) + (i) * 64)
#define ROW32(r) (8 * ((r) / 4) + 4 * (Lane() / 32) + (r) % 4)
#define ROW16(r) (4 * (Lane() / 16) + (r))
#define STORE(m, row) \
  for (int r = 0; r < m * m / 64; ++r) o[(BlockY() * m + row(r)) * 64 + BlockX() * m + Lane() % m] = c[r];

KERNEL void WORKGROUP(64) gemm_f32_32x32x2(const float* a, const float* b, float* o) {
  f32x16 c = {};
  for (int k = 0; k < 64; k += 2) {
    const int at = k + Lane() / 32;
    c = __builtin_amdgcn_mfma_f32_32x32x2f32(ROW(a, BlockY() * 32 + Lane() % 32)[at], ROW(b, BlockX() * 32 + Lane() % 32)[at], c, 0, 0, 0);
  }
  STORE(32, ROW32)
}
KERNEL void WORKGROUP(64) gemm_f32_16x16x4(const float* a, const float* b, float* o) {
  f32x4 c = {};
  for (int k = 0; k < 64; k += 4) {
    const int at = k + Lane() / 16;
    c = __builtin_amdgcn_mfma_f32_16x16x4f32(ROW(a, BlockY() * 16 + Lane() % 16)[at], ROW(b, BlockX() * 16 + Lane() % 16)[at], c, 0, 0, 0);
  }
  STORE(16, ROW16)
}
KERNEL void WORKGROUP(64) gemm_f32_fma(const float* a, const float* b, float* o) {
  for (int r = 0; r < 4; ++r) {
    const int i = BlockY() * 16 + ROW16(r), j = BlockX() * 16 + Lane() % 16;
    float c = 0;
    for (int k = 0; k < 64; ++k) c = __builtin_fmaf(ROW(a, i)[k], ROW(b, j)[k], c);
    o[i * 64 + j] = c;
  }
}
// Two chains of even and odd steps, added at the end.
KERNEL void WORKGROUP(64) gemm_f32_split(const float* a, const float* b, float* o) {
  f32x4 c = {}, d = {};
  for (int k = 0; k < 64; k += 8) {
    const int at = k + Lane() / 16;
    c = __builtin_amdgcn_mfma_f32_16x16x4f32(ROW(a, BlockY() * 16 + Lane() % 16)[at], ROW(b, BlockX() * 16 + Lane() % 16)[at], c, 0, 0, 0);
    d = __builtin_amdgcn_mfma_f32_16x16x4f32(ROW(a, BlockY() * 16 + Lane() % 16)[at + 4], ROW(b, BlockX() * 16 + Lane() % 16)[at + 4], d, 0, 0, 0);
  }
  c += d;
  STORE(16, ROW16)
}

#define GEMM_16(name, type, vector, result, m, kk, row, builtin) \
  KERNEL void WORKGROUP(64) name(const type* a, const type* b, float* o) { \
    result c = {}; \
    for (int k = 0; k < 64; k += kk) { \
      const int at = k + Lane() / m * 4; \
      c = builtin(*(const vector*)(ROW(a, BlockY() * m + Lane() % m) + at), *(const vector*)(ROW(b, BlockX() * m + Lane() % m) + at), c, 0, 0, 0); \
    } \
    STORE(m, row) \
  }
GEMM_16(gemm_f16_32x32x8, f16, f16x4, f32x16, 32, 8, ROW32, __builtin_amdgcn_mfma_f32_32x32x8f16)
GEMM_16(gemm_f16_16x16x16, f16, f16x4, f32x4, 16, 16, ROW16, __builtin_amdgcn_mfma_f32_16x16x16f16)
GEMM_16(gemm_bf16_32x32x8, short, i16x4, f32x16, 32, 8, ROW32, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
GEMM_16(gemm_bf16_16x16x16, short, i16x4, f32x4, 16, 16, ROW16, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)

#define GEMM_8(name, type, result, out, m, kk, row, builtin) \
  KERNEL void WORKGROUP(64) name(const signed char* a, const signed char* b, out* o) { \
    result c = {}; \
    for (int k = 0; k < 64; k += kk) { \
      const int at = k + Lane() / m * 8; \
      c = builtin(*(const long*)(ROW(a, BlockY() * m + Lane() % m) + at), *(const long*)(ROW(b, BlockX() * m + Lane() % m) + at), c, 0, 0, 0); \
    } \
    STORE(m, row) \
  }
GEMM_8(gemm_i8_32x32x16, int, i32x16, int, 32, 16, ROW32, __builtin_amdgcn_mfma_i32_32x32x16_i8)
GEMM_8(gemm_i8_16x16x32, int, i32x4, int, 16, 32, ROW16, __builtin_amdgcn_mfma_i32_16x16x32_i8)
GEMM_8(gemm_fp8_32x32x16, int, f32x16, float, 32, 16, ROW32, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
GEMM_8(gemm_fp8_16x16x32, int, f32x4, float, 16, 32, ROW16, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)
KERNEL void WORKGROUP(64) gemm_xf32_16x16x8(const float* a, const float* b, float* o) {
  f32x4 c = {};
  for (int k = 0; k < 64; k += 8) {
    const int at = k + Lane() / 16 * 2;
    c = __builtin_amdgcn_mfma_f32_16x16x8_xf32(*(const f32x2*)(ROW(a, BlockY() * 16 + Lane() % 16) + at), *(const f32x2*)(ROW(b, BlockX() * 16 + Lane() % 16) + at), c, 0, 0, 0);
  }
  STORE(16, ROW16)
}

// Blocked forms: several small products at once, each of its own rows. x holds A and B of every block, element k of row i
// of block n at (n * m + i) * kk + k; o the results, row-major.
#define BLOCKED(name, type, vector, result, out, m, blocks, per, builtin) \
  KERNEL void WORKGROUP(64) name(const type* a, const type* b, out* o) { \
    result c = {}; \
    for (int k = 0; k < 16; k += per) \
      c = builtin(*(const vector*)(a + Lane() * 16 + k), *(const vector*)(b + Lane() * 16 + k), c, 0, 0, 0); \
    for (int r = 0; r < (int)(sizeof(result) / 4); ++r) o[r * 64 + Lane()] = c[r]; \
  }
BLOCKED(blocked_f32_32x32x1, float, float, f32x32, float, 32, 2, 1, __builtin_amdgcn_mfma_f32_32x32x1f32)
BLOCKED(blocked_f32_16x16x1, float, float, f32x16, float, 16, 4, 1, __builtin_amdgcn_mfma_f32_16x16x1f32)
BLOCKED(blocked_f32_4x4x1, float, float, f32x4, float, 4, 16, 1, __builtin_amdgcn_mfma_f32_4x4x1f32)
BLOCKED(blocked_f16_32x32x4, f16, f16x4, f32x32, float, 32, 2, 4, __builtin_amdgcn_mfma_f32_32x32x4f16)
BLOCKED(blocked_f16_16x16x4, f16, f16x4, f32x16, float, 16, 4, 4, __builtin_amdgcn_mfma_f32_16x16x4f16)
BLOCKED(blocked_f16_4x4x4, f16, f16x4, f32x4, float, 4, 16, 4, __builtin_amdgcn_mfma_f32_4x4x4f16)
BLOCKED(blocked_bf16_4x4x4, short, i16x4, f32x4, float, 4, 16, 4, __builtin_amdgcn_mfma_f32_4x4x4bf16_1k)
BLOCKED(blocked_i8_32x32x4, signed char, int, i32x32, int, 32, 2, 4, __builtin_amdgcn_mfma_i32_32x32x4i8)
BLOCKED(blocked_i8_16x16x4, signed char, int, i32x16, int, 16, 4, 4, __builtin_amdgcn_mfma_i32_16x16x4i8)
BLOCKED(blocked_i8_4x4x4, signed char, int, i32x4, int, 4, 16, 4, __builtin_amdgcn_mfma_i32_4x4x4i8)
