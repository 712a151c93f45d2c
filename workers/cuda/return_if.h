#ifndef SAMEBITS_WORKERS_CUDA_RETURN_IF_H_
#define SAMEBITS_WORKERS_CUDA_RETURN_IF_H_

#include "workers/loading/return_if.h"  // IWYU pragma: export

#endif  // SAMEBITS_WORKERS_CUDA_RETURN_IF_H_
