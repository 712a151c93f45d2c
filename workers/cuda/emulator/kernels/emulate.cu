// Outputs of matrix products by a plan, one thread an output. Compiled at run time (NVRTC) after core/softfloat/group_sum.h
// and core/gemm/output_walk.h.
//
// Set from outside: ELEMENT_BYTES of an operand's element; ARITHMETIC (0 matrix, 1 f32, 2 f64), and for 0 the RULE, a list of
// GroupRule's fields, for others FUSED.

using namespace samebits::gemm;

#if ARITHMETIC == 0
typedef MatrixWalk Walk;
#define THE_WALK {{RULE}}
#elif ARITHMETIC == 1
typedef F32Walk Walk;
#define THE_WALK {FUSED}
#else
typedef F64Walk Walk;
#define THE_WALK {FUSED}
#endif
typedef Walk::Word Word;

#if ELEMENT_BYTES == 1
typedef unsigned char Element;
#elif ELEMENT_BYTES == 2
typedef unsigned short Element;
#elif ELEMENT_BYTES == 4
typedef unsigned Element;
#else
typedef unsigned long long Element;
#endif

__device__ __forceinline__ long long Thread() { return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ long long Threads() { return static_cast<long long>(gridDim.x) * blockDim.x; }

// to[i * rows + r] = the word of element (r, i): table[pattern >> shift], or the pattern where there is no table.
extern "C" __global__ void decode(Word* to, const Element* from, const Word* table, int shift, long long rows, long long k,
                                  long long row_stride, long long k_stride) {
  for (long long t = Thread(); t < rows * k; t += Threads()) {
    const long long i = t / rows, r = t - i * rows;
    const Element pattern = from[r * row_stride + i * k_stride];
    to[t] = table != nullptr ? table[pattern >> shift] : static_cast<Word>(pattern);
  }
}

__device__ __forceinline__ unsigned long long Mix(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Element (r, i) is one of 1,024 patterns by a hash of row and pairs[i] / 2 (i where there are no pairs), its sign bit
// changed where pairs[i] is odd and `flip` has it.
extern "C" __global__ void fill(Element* to, const Element* patterns, const int* pairs, unsigned long long seed,
                                unsigned long long flip, long long rows, long long k, long long row_stride, long long k_stride) {
  for (long long t = Thread(); t < rows * k; t += Threads()) {
    const long long r = t / k, i = t - r * k;
    const unsigned long long pair = pairs != nullptr ? pairs[i] : 2 * i;
    const unsigned long long hash = Mix(seed + static_cast<unsigned long long>(r) * 0x9e3779b97f4a7c15ull + Mix(pair >> 1));
    to[r * row_stride + i * k_stride] = static_cast<Element>(patterns[hash >> 54] ^ ((pair & 1) != 0 ? flip : 0));
  }
}

__device__ __forceinline__ Walk::Value At(const Word* a, const Word* b, const WalkPlan& plan, long long place, long long m,
                                          long long n) {
  const Walk walk = THE_WALK;
  const long long row = place / n, column = place - row * n;
  return WalkOutput(walk, plan, WalkRow<Word>{a + row, m}, WalkRow<Word>{b + column, n});
}

// to[t]: the value after the last addition of the output at places[t], or at t.
extern "C" __global__ void emulate(const Word* a, const Word* b, const int* order, const int* group_begin,
                                   const WalkStep* steps, int step_count, const long long* places, long long count, long long m,
                                   long long n, unsigned long long* to) {
  const WalkPlan plan{order, group_begin, steps, step_count};
  for (long long t = Thread(); t < count; t += Threads()) to[t] = At(a, b, plan, places != nullptr ? places[t] : t, m, n);
}

// Counts outputs of d (m x n, of `bytes` each) that are not those of the plan without an epilogue: found[0], and in
// found[1] the first of them. NaNs are equal.
extern "C" __global__ void check(const Word* a, const Word* b, const int* order, const int* group_begin, const WalkStep* steps,
                                 int step_count, int output_type, const void* d, int bytes, unsigned long long nan_above,
                                 unsigned long long sign, long long m, long long n, unsigned long long* found) {
  const WalkPlan plan{order, group_begin, steps, step_count};
  const Walk walk = THE_WALK;
  for (long long t = Thread(); t < m * n; t += Threads()) {
    const unsigned long long own = walk.Output(output_type, At(a, b, plan, t, m, n));
    const unsigned long long library = bytes == 2   ? static_cast<const unsigned short*>(d)[t]
                                       : bytes == 4 ? static_cast<const unsigned*>(d)[t]
                                                    : static_cast<const unsigned long long*>(d)[t];
    if (own == library || ((own & ~sign) > nan_above && (library & ~sign) > nan_above)) continue;
    atomicAdd(found, 1ull);
    atomicMin(found + 1, static_cast<unsigned long long>(t));
  }
}
