#ifndef SAMEBITS_SERVER_REGISTRY_LIMITS_H_
#define SAMEBITS_SERVER_REGISTRY_LIMITS_H_

#include <cstdint>

#include "core/checker/checker.h"

namespace samebits::server {

// Bounds that protect the server. A request over one gets RESOURCE_EXHAUSTED with the field's name as `limit`.
struct ServerLimits {
  int max_message_bytes = 36 << 20;              // one gRPC message: two texts and their launches
  uint64_t max_text_bytes = 16ull << 20;         // one kernel text
  uint32_t max_queued_checks = 1024;             // checks that wait for a thread, those of partitions apart
  uint32_t max_queued_store_calls = 1024;        // registrations and look-ups that wait for a thread
  uint64_t max_pending_text_bytes = 1ull << 30;  // texts held by calls that wait or run
  uint32_t max_partition_streams = 64;           // at a time
  uint32_t max_following_calls = 2000;           // that wait for an operation or watch it
  uint32_t max_partition_items = 1'000'000;      // of one stream
  checker::Limits check;                         // of one check; its max_text_bytes is replaced by the one above
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_LIMITS_H_
