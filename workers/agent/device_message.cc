#include "workers/agent/device_message.h"

#include "proto/convert/convert.h"

namespace samebits::workers {

void SetDevice(const DeviceInfo& info, v1::Device* out) {
  out->set_backend(info.backend);
  out->set_index(info.index);
  proto::SetText(info.name, out->mutable_name());
  out->set_architecture(info.architecture);
  out->set_multiprocessors(info.multiprocessors);
  out->set_memory_bytes(info.memory_bytes);
  out->set_driver_version(info.driver_version);
  out->set_uuid(info.uuid);
  out->set_clock_megahertz(info.clock_megahertz);
  out->set_ecc(info.ecc);
  for (const LibraryVersion& library : info.libraries) {
    v1::Device::Library* message = out->add_libraries();
    proto::SetText(library.name, message->mutable_name());
    proto::SetText(library.version, message->mutable_version());
  }
  proto::SetText(info.assembler, out->mutable_assembler());
}

}  // namespace samebits::workers
