#include "server/tls/tls_files.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/tls/certificate.h"

namespace samebits::server {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);
constexpr unsigned kGrpcIntervalSeconds = 1;

absl::Status About(const std::string& path, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read as a PEM file"));
  return text.str();
}

}  // namespace

TlsFiles::MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status TlsFiles::MemoryFile::Write(const char* name, const std::string& text) {
  if (fd_ < 0) fd_ = memfd_create(name, MFD_CLOEXEC);
  const auto size = static_cast<ssize_t>(text.size());
  if (fd_ < 0 || pwrite(fd_, text.data(), text.size(), 0) != size || ftruncate(fd_, size) != 0)
    return absl::UnavailableError(absl::StrCat("no memory for a copy of ", name, ": ", std::strerror(errno)));
  return absl::OkStatus();
}

std::string TlsFiles::MemoryFile::path() const { return fd_ < 0 ? "" : absl::StrCat("/proc/self/fd/", fd_); }

absl::StatusOr<TlsFiles::Content> TlsFiles::Read() const {
  Content content;
  for (const auto& [path, text] : {std::pair{&paths_.cert, &content.cert}, std::pair{&paths_.key, &content.key},
                                   std::pair{&paths_.client_ca, &content.client_ca}}) {
    if (path->empty()) continue;
    absl::StatusOr<std::string> read = ReadPem(*path);
    if (!read.ok()) return read.status();
    *text = *std::move(read);
  }
  const absl::StatusOr<absl::Time> expires = CheckCertificate(content.cert, content.key);
  if (!expires.ok()) return About(paths_.cert, expires.status());
  content.expires = *expires;
  if (paths_.client_ca.empty()) return content;
  if (absl::Status status = CheckAuthorities(content.client_ca); !status.ok()) return About(paths_.client_ca, status);
  return content;
}

absl::Status TlsFiles::Use(Content content) {
  if (absl::Status status = cert_.Write("certificate", content.cert); !status.ok()) return status;
  if (absl::Status status = key_.Write("key", content.key); !status.ok()) return status;
  if (!paths_.client_ca.empty())
    if (absl::Status status = client_ca_.Write("authorities", content.client_ca); !status.ok()) return status;
  absl::MutexLock lock(&mutex_);
  content_ = std::move(content);
  return absl::OkStatus();
}

void TlsFiles::MakeCredentials() {
  namespace experimental = grpc::experimental;
  const auto provider = std::make_shared<experimental::FileWatcherCertificateProvider>(
      key_.path(), cert_.path(), client_ca_.path(), kGrpcIntervalSeconds);
  experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  if (!paths_.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  credentials_ = experimental::TlsServerCredentials(options);
}

// Reads the files again and again: their content, because a change may leave the times as they were.
void TlsFiles::Watch() {
  std::string complaint;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kInterval)) return;
    }
    absl::StatusOr<Content> content = Read();
    const bool is_new = content.ok() && [&] {
      absl::MutexLock lock(&mutex_);
      return *content != content_;
    }();
    absl::Status status = content.status();
    if (is_new) {
      const std::string end = absl::FormatTime(content->expires, absl::UTCTimeZone());
      status = Use(*std::move(content));
      if (status.ok()) log_.Line(LogLevel::kInfo, "new TLS certificate in force").Add("expires", end);
    }
    const std::string said(status.message());
    if (!said.empty() && said != complaint)
      log_.Line(LogLevel::kError, "TLS files are unfit; the former certificate stays in force").Add("error", said);
    complaint = said;
  }
}

absl::StatusOr<std::unique_ptr<TlsFiles>> TlsFiles::Open(const TlsPaths& paths, const Log& log) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(paths, log));
  absl::StatusOr<Content> content = files->Read();
  if (!content.ok()) return content.status();
  if (absl::Status status = files->Use(*std::move(content)); !status.ok()) return status;
  files->MakeCredentials();
  files->watcher_ = std::thread([raw = files.get()] { raw->Watch(); });
  return files;
}

TlsFiles::~TlsFiles() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (watcher_.joinable()) watcher_.join();
}

absl::Time TlsFiles::expires() const {
  absl::MutexLock lock(&mutex_);
  return content_.expires;
}

}  // namespace samebits::server
