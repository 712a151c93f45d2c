#include <exception>

#include <prometheus/exposer.h>

#include "absl/strings/str_cat.h"
#include "server/metrics/metrics.h"

namespace samebits::server {
namespace {

class Endpoint : public MetricsEndpoint {
 public:
  Endpoint(const std::string& listen, std::shared_ptr<prometheus::Registry> registry,
           std::shared_ptr<prometheus::Collectable> levels)
      : registry_(std::move(registry)), levels_(std::move(levels)), exposer_(listen, /*num_threads=*/2) {
    exposer_.RegisterCollectable(registry_);
    exposer_.RegisterCollectable(levels_);
    const std::vector<int> ports = exposer_.GetListeningPorts();
    const size_t colon = listen.rfind(':');
    const std::string host = colon == std::string::npos ? "0.0.0.0" : listen.substr(0, colon);
    address_ = absl::StrCat(host, ":", ports.empty() ? 0 : ports[0]);
  }
  std::string address() const override { return address_; }

 private:
  const std::shared_ptr<prometheus::Registry> registry_;
  const std::shared_ptr<prometheus::Collectable> levels_;
  prometheus::Exposer exposer_;  // goes first
  std::string address_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    const std::string& listen, const Metrics& metrics, std::shared_ptr<prometheus::Collectable> levels) {
  try {
    return std::make_unique<Endpoint>(listen, metrics.registry(), std::move(levels));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot serve metrics on ", listen, ": ", error.what(),
                                               "; is the port taken?"));
  }
}

}  // namespace samebits::server
