#include "server/auth/tokens.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/secret.h"
#include "server/registry/digest.h"

namespace samebits::server {
namespace {

constexpr size_t kLongestPrincipal = 64;
constexpr absl::Duration kLookAgain = absl::Seconds(1);
constexpr char kTimeFormat[] = "%Y-%m-%dT%H:%M:%SZ";

bool IsPrincipal(std::string_view text) {
  return !text.empty() && text.size() <= kLongestPrincipal && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || std::strchr("-_.@", c) != nullptr;
  });
}

absl::Status Errno(const std::string& path, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what, ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<NewToken> MakeToken(Role role, std::string_view principal, absl::Time expires) {
  if (!IsPrincipal(principal))
    return absl::InvalidArgumentError("a principal has 1 to 64 letters, digits, '-', '_', '.' or '@'");
  absl::StatusOr<std::string> secret = MakeSecret();
  if (!secret.ok()) return secret.status();
  NewToken token;
  token.secret = *std::move(secret);
  token.line = absl::StrCat(DigestHex(ContentDigest(token.secret)), " ", std::string(RoleName(role)), " ", std::string(principal));
  if (expires != absl::InfiniteFuture())
    absl::StrAppend(&token.line, " ", absl::FormatTime(kTimeFormat, expires, absl::UTCTimeZone()));
  return token;
}

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(const std::string& path) {
  std::unique_ptr<TokenFile> file(new TokenFile(path));
  absl::MutexLock lock(&file->mutex_);
  if (absl::Status status = file->Read(); !status.ok()) return status;
  return file;
}

absl::StatusOr<TokenFile::Tokens> TokenFile::Parse(std::string_view text, const std::string& path) {
  Tokens tokens;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const auto bad = [&](const char* what) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", what));
    };
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    if (words.size() < 3 || words.size() > 4) return bad("write SHA256 ROLE PRINCIPAL [EXPIRES]");
    const std::optional<storage::Digest> digest = ParseDigestHex(words[0]);
    if (!digest) return bad("the first word is no SHA-256 in lower-case hex");
    const std::optional<Role> role = ParseRole(words[1]);
    if (!role) return bad("the role is none of viewer, submitter, worker, admin");
    if (!IsPrincipal(words[2])) return bad("a principal has 1 to 64 letters, digits, '-', '_', '.' or '@'");
    Token token{{words[2], *role, *digest}, absl::InfiniteFuture()};
    std::string error;
    if (words.size() == 4 && !absl::ParseTime(absl::RFC3339_full, words[3], &token.expires, &error))
      return bad("the time is not RFC 3339, 2030-12-31T23:59:59Z");
    if (!tokens.emplace(*digest, std::move(token)).second) return bad("this token is there twice");
  }
  return tokens;
}

absl::Status TokenFile::Read() {
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0) return Errno(path_, "no such token file");
  const Version version{info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size};
  if (version == version_) return absl::OkStatus();
  if ((info.st_mode & 022) != 0)  // others may read it: digests of 256 random bits tell nothing
    return absl::FailedPreconditionError(absl::StrCat(path_, ": others may write it; chmod 600"));
  std::ifstream in(path_, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Errno(path_, "cannot be read");
  absl::StatusOr<Tokens> tokens = Parse(text.str(), path_);
  if (!tokens.ok()) return tokens.status();
  tokens_ = *std::move(tokens);
  version_ = version;
  return absl::OkStatus();
}

void TokenFile::Refresh(absl::Time now) {
  if (now - looked_ < kLookAgain && now >= looked_) return;
  looked_ = now;
  Read().IgnoreError();  // the last content stays
}

absl::StatusOr<Identity> TokenFile::Find(const storage::Digest& token, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  Refresh(now);
  const auto at = tokens_.find(token);
  if (at == tokens_.end()) return absl::NotFoundError("the token is not in the file");
  if (at->second.expires <= now) return absl::UnauthenticatedError("the token has expired");
  return at->second.identity;
}

bool TokenFile::HasWorker(std::string_view worker) {
  absl::MutexLock lock(&mutex_);
  return std::any_of(tokens_.begin(), tokens_.end(), [&](const auto& entry) {
    return entry.second.identity.role == Role::kWorker && entry.second.identity.principal == worker;
  });
}

}  // namespace samebits::server
