#include "server/tls/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

namespace samebits::server {
namespace {

template <typename T, void (*kFree)(T*)>
struct Deleter {
  void operator()(T* object) const { kFree(object); }
};
using Certificate = std::unique_ptr<X509, Deleter<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY, EVP_PKEY_free>>;
using Source = std::unique_ptr<BIO, Deleter<BIO, BIO_free_all>>;

Source Open(const std::string& text) { return Source(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// Instead of asking for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

Certificate FirstOf(const std::string& text) {
  Certificate certificate(PEM_read_bio_X509(Open(text).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();  // the queue is the thread's, and others read it
  return certificate;
}

}  // namespace

absl::StatusOr<absl::Time> CheckCertificate(const std::string& chain, const std::string& key) {
  const Certificate certificate = FirstOf(chain);
  if (certificate == nullptr) return absl::InvalidArgumentError("holds no certificate in PEM");
  const Key own(PEM_read_bio_PrivateKey(Open(key).get(), nullptr, NoPassphrase, nullptr));
  const bool fits = own != nullptr && X509_check_private_key(certificate.get(), own.get()) == 1;
  ERR_clear_error();
  if (own == nullptr) return absl::InvalidArgumentError("its key's file holds no private key in PEM without a passphrase");
  if (!fits) return absl::InvalidArgumentError("is of another key");
  std::tm end = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1)
    return absl::InvalidArgumentError("has no end of validity");
  return absl::FromTimeT(timegm(&end));
}

absl::Status CheckAuthorities(const std::string& bundle) {
  return FirstOf(bundle) == nullptr ? absl::InvalidArgumentError("holds no certificate in PEM") : absl::OkStatus();
}

}  // namespace samebits::server
