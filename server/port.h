#ifndef SAMEBITS_SERVER_PORT_H_
#define SAMEBITS_SERVER_PORT_H_

#include <string>

#include "absl/status/status.h"

namespace samebits::server {

// UNAVAILABLE where something listens on "HOST:PORT" already; `option` is what names the address, for the message.
// Asked before libraries are, whose messages do not say it. Anything else that may be wrong is left to them.
absl::Status CheckPortIsFree(const std::string& listen, const std::string& option);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_PORT_H_
