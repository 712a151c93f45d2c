#ifndef SAMEBITS_CLIENT_NATIVE_PARSE_H_
#define SAMEBITS_CLIENT_NATIVE_PARSE_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits {

// A request of type Message. INVALID_ARGUMENT where the bytes are none.
template <typename Message>
absl::StatusOr<Message> Parse(std::string_view bytes) {
  Message message;
  if (bytes.size() > 1u << 30 || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::InvalidArgumentError("the request is no such message");
  return message;
}

}  // namespace samebits

#endif  // SAMEBITS_CLIENT_NATIVE_PARSE_H_
