#ifndef SAMEBITS_CORE_BASE_LOOPBACK_H_
#define SAMEBITS_CORE_BASE_LOOPBACK_H_

#include <string_view>

namespace samebits {

// Whether an address to listen on or to connect to, HOST[:PORT] or a target of gRPC, surely stays on this machine:
// localhost, numbers of 127.0.0.0/8, [::1], Unix sockets. False in doubt.
bool IsLoopback(std::string_view address);

}  // namespace samebits

#endif  // SAMEBITS_CORE_BASE_LOOPBACK_H_
