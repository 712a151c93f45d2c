#include "client/cli/command_builder.h"

#include <utility>

#include "absl/strings/str_join.h"

namespace samebits::cli {

void AddChoice(CLI::App* app, const char* name, std::string* value, std::vector<std::string> words, const char* what) {
  std::string type = absl::StrJoin(words, "|");
  app->add_option(name, *value, what)->check(CLI::IsMember(std::move(words)).description(""))->type_name(type);
}

void AddCommonOptions(CLI::App* app, Builder* b) {
  CommandLine& line = b->line;
  app->add_option("--server", line.server, "Server to ask; default $SAMEBITS_SERVER, else 127.0.0.1:7433")
      ->type_name("HOST:PORT");
  const auto file = [&](const char* name, std::string& value, const char* variable, const char* what) {
    app->add_option(name, value, what)->envname(variable)->type_name("FILE");
  };
  file("--tls-ca", line.tls_ca, "SAMEBITS_TLS_CA", "Certificates that sign the server's; encrypts the connection");
  file("--tls-cert", line.tls_cert, "SAMEBITS_TLS_CERT", "Certificate of this client");
  file("--tls-key", line.tls_key, "SAMEBITS_TLS_KEY", "Its key");
  file("--token-file", line.token_file, "SAMEBITS_TOKEN_FILE", "Holds the token that the server asks for");
  app->add_flag("--token-over-plaintext", line.token_over_plaintext,
                "Send the token without encryption to another machine");
  app->add_flag("--local", line.local, "Check in this process, without a server");
  AddChoice(app, "--format", &b->format, {"human", "json"}, "Form of the answer");
  AddChoice(app, "--color", &line.color, {"auto", "always", "never"}, "Colour; auto: on a terminal, NO_COLOR obeyed");
  app->add_flag("-q,--quiet", line.quiet, "No progress on standard error");
  app->add_flag("-v,--verbose", line.verbose, "A line for each kernel on standard error, as it is decided");
  AddSeconds(app, "--timeout", &line.timeout_seconds, "Longest wait for one call to the server");
}

CLI::App* AddCommand(CLI::App* app, Builder* b, Command command, const char* name, const char* summary,
                     std::string footer) {
  CLI::App* sub = app->add_subcommand(name, summary);
  sub->footer("\n" + std::move(footer));
  b->commands[sub] = command;
  return sub;
}

}  // namespace samebits::cli
