#ifndef SAMEBITS_SERVER_RPC_OPERATION_MESSAGES_H_
#define SAMEBITS_SERVER_RPC_OPERATION_MESSAGES_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/dispatch/dispatcher.h"

namespace google::protobuf {
class Duration;
class Timestamp;
}  // namespace google::protobuf
namespace samebits::v1 {
class Operation;
class Reproducer;
class Worker;
}  // namespace samebits::v1

namespace samebits::server {

// The job as an operation, with its result where it has ended.
void ToMessage(const JobView& view, v1::Operation* out);
// Without tasks and result.
void ToMessage(const storage::JobRecord& job, v1::Operation* out);
// DATA_LOSS where the body of the record is no reproducer; in lists, whose records have no body, it is left out.
absl::Status ToMessage(const storage::ReproducerRecord& record, v1::Reproducer* out);
void ToMessage(const storage::WorkerRecord& worker, bool online, v1::Worker* out);

// The part of `name` after the collection and a slash; INVALID_FIELD where it is none.
absl::StatusOr<std::string> IdOf(std::string_view name, std::string_view collection);

absl::Duration FromMessage(const google::protobuf::Duration& duration);
void ToMessage(absl::Duration duration, google::protobuf::Duration* out);
void ToMessage(absl::Time time, google::protobuf::Timestamp* out);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_OPERATION_MESSAGES_H_
