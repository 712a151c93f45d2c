#include <cstdio>

#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "server/auth/tokens.h"

namespace samebits::cli {

ExitCode RunToken(const CommandLine& line) {
  const auto role = server::ParseRole(line.job.role);
  const absl::Time expires = line.job.hours > 0 ? absl::Now() + absl::Hours(line.job.hours) : absl::InfiniteFuture();
  const absl::StatusOr<server::NewToken> token =
      server::MakeToken(role.value_or(server::Role::kViewer), line.job.principal, expires);
  if (!token.ok()) return ReportError(line, token.status());
  PrintLine(token->secret);
  std::fprintf(stderr, "%s\n", token->line.c_str());
  return ExitCode::kEquivalent;
}

}  // namespace samebits::cli
