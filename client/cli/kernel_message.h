#ifndef SAMEBITS_CLIENT_CLI_KERNEL_MESSAGE_H_
#define SAMEBITS_CLIENT_CLI_KERNEL_MESSAGE_H_

#include "client/cli/kernel_source.h"
#include "client/launch/buffer_spec.h"

namespace samebits::v1 {
class BufferSpec;
class KernelLaunch;
}  // namespace samebits::v1

namespace samebits::cli {

// As the API takes them.
void KernelToMessage(const Kernel& kernel, v1::KernelLaunch* out);
void BufferToMessage(const launch::BufferDescription& buffer, v1::BufferSpec* out);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_KERNEL_MESSAGE_H_
