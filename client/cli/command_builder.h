#ifndef SAMEBITS_CLIENT_CLI_COMMAND_BUILDER_H_
#define SAMEBITS_CLIENT_CLI_COMMAND_BUILDER_H_

// A command line under construction; what the files that add commands share.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/command_line.h"

namespace samebits::cli {

// Launch flags as written, before they are parsed.
struct LaunchFlags {
  std::string prefix;  // "--", "--a-" or "--b-"
  std::string entry, block, grid;
  std::optional<uint32_t> shared;
  std::vector<std::string> args, outputs;
};

struct Builder {
  CommandLine line;
  std::map<const CLI::App*, Command> commands;
  LaunchFlags common{"--"}, sides[2] = {{"--a-"}, {"--b-"}};
  std::string format;
  std::vector<std::string> buffers;
};

// An option that takes one of a few words.
void AddChoice(CLI::App* app, const char* name, std::string* value, std::vector<std::string> words, const char* what);

template <typename Number>
void AddSeconds(CLI::App* app, const char* name, Number* value, const char* what) {
  app->add_option(name, *value, what)->check(CLI::Range(0.0, 86400.0).description(""))->type_name("SECONDS");
}

template <typename Number>
void AddThreads(CLI::App* app, const char* name, Number* value, const char* what) {
  app->add_option(name, *value, what)->check(CLI::Range(1, 1024).description(""))->type_name("N");
}

// Taken before and after the command's name alike.
void AddCommonOptions(CLI::App* app, Builder* b);

CLI::App* AddCommand(CLI::App* app, Builder* b, Command command, const char* name, const char* summary,
                     std::string footer);

void AddHeal(CLI::App* app, Builder* b);  // `heal ...`

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_COMMAND_BUILDER_H_
