#ifndef SAMEBITS_CLIENT_CLI_REPRODUCER_FILES_H_
#define SAMEBITS_CLIENT_CLI_REPRODUCER_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace samebits::v1 {
class Reproducer;
}

namespace samebits::cli {

// A row of a manifest (docs/cli.md) for launch `index` of the reproducer, whose text lies in `path`.
std::string ReproducerRow(const v1::Reproducer& reproducer, int index, const std::string& id, const std::string& path);

// Writes a.ptx and, for a pair, b.ptx, with manifest.jsonl whose rows are "a" and "b", and reproducer.json into the
// folder, which is made where it is not there; files of these names are replaced. INVALID_ARGUMENT with the reason.
absl::Status WriteReproducer(const v1::Reproducer& reproducer, const std::string& folder);

// The commands that look at what WriteReproducer wrote, one a line.
std::string ReproducerCommands(const v1::Reproducer& reproducer, const std::string& folder);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_REPRODUCER_FILES_H_
