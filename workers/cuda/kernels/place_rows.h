#ifndef SAMEBITS_WORKERS_CUDA_KERNELS_PLACE_ROWS_H_
#define SAMEBITS_WORKERS_CUDA_KERNELS_PLACE_ROWS_H_

// Kernels that put rows into matrices of any layout and take elements out of them, as PTX.

#include <string>

namespace samebits::workers {

// A module for sm_70 and later with, for elements of 1, 2, 4 and 8 bytes (WIDTH), the entries
//   scatter_WIDTH(to, from, index, count, k, row_stride, k_stride)
//     for 0 <= t < count, r = t / k, i = t % k:
//     to[index[r] * row_stride + i * k_stride] = from == 0 ? 0 : from[t]
//   gather_WIDTH(to, from, index, count)
//     to[t] = from[index[t]]
// to, from: addresses of elements; index: address of 64-bit numbers; all parameters are 64-bit. Any one-dimensional
// grid does; strides and indices count elements.
std::string PlaceRowsPtx();

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_KERNELS_PLACE_ROWS_H_
