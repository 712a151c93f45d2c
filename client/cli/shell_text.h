#ifndef SAMEBITS_CLIENT_CLI_SHELL_TEXT_H_
#define SAMEBITS_CLIENT_CLI_SHELL_TEXT_H_

// What shells and manual readers need to know of the command line, from its description.

#include <string>

namespace CLI {
class App;
}

namespace samebits::cli {

std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);

// Section 1 of the manual, in troff with the man macros.
std::string TroffPage(const CLI::App& app, const std::string& version);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_SHELL_TEXT_H_
