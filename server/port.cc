#include "server/port.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace samebits::server {
namespace {

bool IsTaken(const addrinfo& address) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
  if (fd < 0) return false;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // connections that linger do not count
  const bool taken = bind(fd, address.ai_addr, address.ai_addrlen) != 0 && errno == EADDRINUSE;
  close(fd);
  return taken;
}

}  // namespace

absl::Status CheckPortIsFree(const std::string& listen, const std::string& option) {
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos || listen.starts_with("unix:")) return absl::OkStatus();
  std::string host = listen.substr(0, colon), port = listen.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (port.empty() || port == "0") return absl::OkStatus();
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0) return absl::OkStatus();
  bool taken = false;
  for (const addrinfo* at = found; at != nullptr && !taken; at = at->ai_next) taken = IsTaken(*at);
  freeaddrinfo(found);
  if (!taken) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot listen on ", listen, ": another program does; stop it, or choose another port with ",
                                             option, " (port 0: any free one)"));
}

}  // namespace samebits::server
