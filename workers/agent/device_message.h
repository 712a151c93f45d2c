#ifndef SAMEBITS_WORKERS_AGENT_DEVICE_MESSAGE_H_
#define SAMEBITS_WORKERS_AGENT_DEVICE_MESSAGE_H_

#include "samebits/v1/fleet.pb.h"
#include "workers/executor/executor.h"

namespace samebits::workers {

void SetDevice(const DeviceInfo& info, v1::Device* out);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_AGENT_DEVICE_MESSAGE_H_
