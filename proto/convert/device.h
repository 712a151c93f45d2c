#ifndef SAMEBITS_PROTO_CONVERT_DEVICE_H_
#define SAMEBITS_PROTO_CONVERT_DEVICE_H_

#include <string>

#include "samebits/v1/fleet.pb.h"

namespace samebits::proto {

// "driver 580.159.04, cublaslt 13.1.0"; empty where the device's worker told of none.
std::string LibrariesText(const v1::Device& device);

}  // namespace samebits::proto

#endif  // SAMEBITS_PROTO_CONVERT_DEVICE_H_
