// Shared by the row kernels: one entry a translation unit, chosen by -DK_<name>; THREADS and UNROLL from the command
// line. Every entry has the same signature, so that all of them run on the same buffers:
//   x, y: ROWS rows of n floats;  o: at least ROWS * n floats.
#ifndef CORPUS_PRELUDE_CUH_
#define CORPUS_PRELUDE_CUH_

#ifndef THREADS
#define THREADS 128
#endif
#ifndef UNROLL
#define UNROLL 1
#endif

constexpr int kUnroll = UNROLL;  // the pragma does not expand macros

#define ENTRY(name) extern "C" __global__ void __launch_bounds__(THREADS) name(const float* __restrict__ x, \
    const float* __restrict__ y, float* __restrict__ o, int n)

#define ALL_LANES 0xffffffffu

#endif  // CORPUS_PRELUDE_CUH_
