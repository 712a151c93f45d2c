// A server with a fake checker, as a process of its own: integration_server DATABASE [DRAIN_SECONDS]. Prints its
// address and the address of its metrics, one a line, once it answers; runs until SIGTERM.

#include <cstdio>
#include <cstdlib>

#include "server/server.h"
#include "tests/support/fake_checker.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  samebits::server::ServerConfig config;
  config.listen = "127.0.0.1:0";
  config.metrics_listen = "127.0.0.1:0";
  config.database = argv[1];
  config.checker = std::make_shared<samebits::server::FakeChecker>();
  if (argc > 2) config.drain_timeout = absl::Seconds(std::atof(argv[2]));
  const absl::Status status = samebits::server::RunUntilSignal(
      config,
      [](const samebits::server::Server& server, void*) {
        std::printf("%s\n%s\n", server.address().c_str(), server.metrics_address().c_str());
        std::fflush(stdout);
      },
      nullptr);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
