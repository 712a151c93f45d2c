#ifndef SAMEBITS_WORKERS_CUDA_HEAL_KERNEL_TEXTS_H_
#define SAMEBITS_WORKERS_CUDA_HEAL_KERNEL_TEXTS_H_

namespace samebits::workers {

// The files of kernels/.
extern const char kText_numbers[], kText_layer[], kText_cache[], kText_attention[], kText_attention_f32[], kText_merge[],
    kText_setup[];

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_HEAL_KERNEL_TEXTS_H_
