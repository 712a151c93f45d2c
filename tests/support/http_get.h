#ifndef SAMEBITS_TESTS_SUPPORT_HTTP_GET_H_
#define SAMEBITS_TESTS_SUPPORT_HTTP_GET_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace samebits {

// Answer to GET `path` of HOST:PORT, headers included; empty if nothing answers.
inline std::string HttpGet(const std::string& address, const std::string& path) {
  const size_t colon = address.rfind(':');
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &target.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&target), sizeof(target)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\nHost: " + address + "\r\n\r\n";
    if (write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
      char buffer[65536];
      for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;) answer.append(buffer, n);
    }
  }
  close(fd);
  return answer;
}

}  // namespace samebits

#endif  // SAMEBITS_TESTS_SUPPORT_HTTP_GET_H_
