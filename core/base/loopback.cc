#include "core/base/loopback.h"

#include <arpa/inet.h>

#include <string>

namespace samebits {

bool IsLoopback(std::string_view address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) return true;
  if (address.find(',') != std::string_view::npos) return false;  // a list
  for (const std::string_view scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (!address.starts_with(scheme)) continue;
    address.remove_prefix(scheme.size());
    break;
  }
  if (address == "[::1]" || address.starts_with("[::1]:")) return true;
  const std::string host(address.substr(0, address.rfind(':')));
  if (host == "localhost") return true;
  in_addr number{};
  return inet_pton(AF_INET, host.c_str(), &number) == 1 && ntohl(number.s_addr) >> 24 == 127;
}

}  // namespace samebits
