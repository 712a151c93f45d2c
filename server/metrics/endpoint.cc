#include <exception>
#include <sstream>
#include <vector>

#include <CivetServer.h>
#include <prometheus/text_serializer.h>

#include "absl/strings/str_cat.h"
#include "server/metrics/metrics.h"

namespace samebits::server {
namespace {

// Answers GET and HEAD of one path with what `make` returns, and 503 while it is not `available`.
class Page : public CivetHandler {
 public:
  Page(std::string path, const char* type, std::function<std::string()> make,
       std::function<bool()> available = [] { return true; })
      : path_(std::move(path)), type_(type), make_(std::move(make)), available_(std::move(available)) {}
  bool handleGet(CivetServer*, mg_connection* connection) override { return Answer(connection, /*with_body=*/true); }
  bool handleHead(CivetServer*, mg_connection* connection) override { return Answer(connection, /*with_body=*/false); }

 private:
  // False where the path is only below this one's: the server answers that there is no such page.
  bool Answer(mg_connection* connection, bool with_body) {
    if (mg_get_request_info(connection)->local_uri != path_) return false;
    const bool available = available_();
    const std::string body = available ? make_() : "not serving\n";
    const std::string head = absl::StrCat(
        "HTTP/1.1 ", available ? "200 OK" : "503 Service Unavailable", "\r\nContent-Type: ", type_, "; charset=utf-8\r\nContent-Length: ", body.size(),
        "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
        "Connection: close\r\n\r\n");
    mg_write(connection, head.data(), head.size());
    if (with_body) mg_write(connection, body.data(), body.size());
    return true;
  }

  const std::string path_;
  const char* const type_;
  const std::function<std::string()> make_;
  const std::function<bool()> available_;
};

std::string Exposition(const prometheus::Registry& registry, const prometheus::Collectable& levels) {
  std::ostringstream out;
  const prometheus::TextSerializer serializer;
  serializer.Serialize(out, registry.Collect());
  serializer.Serialize(out, levels.Collect());
  return out.str();
}

class Endpoint : public MetricsEndpoint {
 public:
  Endpoint(const std::string& listen, std::shared_ptr<prometheus::Registry> registry,
           std::shared_ptr<prometheus::Collectable> levels, std::function<std::string()> status_page,
           std::function<bool()> serving)
      : metrics_("/metrics", "text/plain; version=0.0.4",
                 [registry, levels] { return Exposition(*registry, *levels); }),
        health_("/healthz", "text/plain", [] { return std::string("serving\n"); }, std::move(serving)),
        status_("/", "text/html", std::move(status_page)),
        server_({"listening_ports", listen, "num_threads", "2", "request_timeout_ms", "10000"}) {
    server_.addHandler("/metrics", metrics_);
    server_.addHandler("/healthz", health_);
    server_.addHandler("/", status_);
    const std::vector<int> ports = server_.getListeningPorts();
    const size_t colon = listen.rfind(':');
    const std::string host = colon == std::string::npos ? "0.0.0.0" : listen.substr(0, colon);
    address_ = absl::StrCat(host, ":", ports.empty() ? 0 : ports[0]);
  }
  std::string address() const override { return address_; }

 private:
  Page metrics_, health_, status_;
  CivetServer server_;  // goes first
  std::string address_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    const std::string& listen, const Metrics& metrics, std::shared_ptr<prometheus::Collectable> levels,
    std::function<std::string()> status_page, std::function<bool()> serving) {
  try {
    return std::make_unique<Endpoint>(listen, metrics.registry(), std::move(levels), std::move(status_page),
                                      std::move(serving));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot serve metrics on ", listen, ": ", error.what(),
                                               "; is the port taken?"));
  }
}

}  // namespace samebits::server
