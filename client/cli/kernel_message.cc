#include "client/cli/kernel_message.h"

#include "proto/convert/convert.h"
#include "samebits/v1/verification.pb.h"

namespace samebits::cli {

void KernelToMessage(const Kernel& kernel, v1::KernelLaunch* out) {
  if (kernel.kernel_name.empty()) {
    out->set_text(kernel.text);
  } else {
    out->set_kernel(kernel.kernel_name);
  }
  proto::LaunchToProto(kernel.launch.launch, kernel.launch.float_bytes, out->mutable_launch());
}

void BufferToMessage(const launch::BufferDescription& buffer, v1::BufferSpec* out) {
  using Role = launch::BufferDescription::Role;
  out->set_name(buffer.name);
  out->set_type(buffer.type);
  out->set_elements(buffer.elements);
  out->set_role(buffer.role == Role::kIn    ? v1::BufferSpec::IN
                : buffer.role == Role::kOut ? v1::BufferSpec::OUT
                                            : v1::BufferSpec::INOUT);
  out->set_unit(buffer.unit);
  if (buffer.low) out->set_low(*buffer.low);
  if (buffer.high) out->set_high(*buffer.high);
}

}  // namespace samebits::cli
