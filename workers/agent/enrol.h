#ifndef SAMEBITS_WORKERS_AGENT_ENROL_H_
#define SAMEBITS_WORKERS_AGENT_ENROL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace grpc {
class Channel;
}

namespace samebits::workers {

// Makes the worker's token with an enrolment's secret, and keeps it in the file `token_path`, which only its owner may
// read. Nothing happens where that file is there. The token is on the disk, as `token_path`.new, before the server
// hears of it, so that a repeated call ends what an interrupted one began. Errors of the server as they are;
// INVALID_ARGUMENT where the file cannot be written.
absl::Status Enrol(const std::shared_ptr<grpc::Channel>& channel, const std::string& worker,
                   const std::string& enrolment, const std::string& token_path);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_AGENT_ENROL_H_
