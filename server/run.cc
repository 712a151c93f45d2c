#include <pthread.h>
#include <signal.h>

#include "server/server.h"

namespace samebits::server {

absl::Status RunUntilSignal(const ServerConfig& config, void (*on_ready)(const Server& server, void* context),
                            void* context) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // threads started from here inherit it
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(config);
  if (!server.ok()) {
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    return server.status();
  }
  if (on_ready != nullptr) on_ready(**server, context);
  int received = 0;
  sigwait(&signals, &received);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // the next one ends the process
  (*server)->Shutdown();
  return absl::OkStatus();
}

}  // namespace samebits::server
