#ifndef SAMEBITS_WORKERS_CUDA_EMULATOR_KERNEL_TEXTS_H_
#define SAMEBITS_WORKERS_CUDA_EMULATOR_KERNEL_TEXTS_H_

namespace samebits::workers {

// core/softfloat/group_sum.h, core/gemm/output_walk.h and kernels/emulate.cu.
extern const char kText_group_sum[], kText_output_walk[], kText_emulate[];

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_EMULATOR_KERNEL_TEXTS_H_
