#ifndef SAMEBITS_SERVER_TLS_CERTIFICATE_H_
#define SAMEBITS_SERVER_TLS_CERTIFICATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace samebits::server {

// The end of validity of the first certificate of `chain`, PEM. INVALID_ARGUMENT where there is none, or where `key`,
// PEM, is not its private key.
absl::StatusOr<absl::Time> CheckCertificate(const std::string& chain, const std::string& key);

// INVALID_ARGUMENT where `bundle`, PEM, holds no certificate.
absl::Status CheckAuthorities(const std::string& bundle);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_TLS_CERTIFICATE_H_
