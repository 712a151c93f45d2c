#ifndef SAMEBITS_STORAGE_SQLITE_CHECK_H_
#define SAMEBITS_STORAGE_SQLITE_CHECK_H_

// Whether a database is whole: as a file, as a schema, and as the rows that the stores keep (job_store.h and others).

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/kernel_store.h"

namespace samebits::storage::sqlite {

struct Finding {
  std::string check;    // stable name: "jobs-open-tasks"
  std::string what;     // one line
  std::string example;  // the first row that it is true of
  std::string remedy;   // what to do, one line
  uint64_t count = 0;   // rows
};

struct CheckReport {
  int schema_version = 0, latest_version = 0;  // equal unless a server has yet to migrate the database
  uint64_t kernels = 0, signatures = 0, jobs = 0, tasks = 0, reproducers = 0, workers = 0, profiles = 0;
  std::vector<Finding> findings;  // none: whole
};

// What only the owner of the stored bytes can say; each returns what is wrong, empty where nothing is. Null: not checked.
struct ContentChecks {
  std::function<std::string(const Digest& digest, std::string_view text)> text;
  std::function<std::string(std::string_view description)> kernel;
  std::function<std::string(std::string_view digest, std::string_view body)> signature;
  std::function<std::string(std::string_view kind, std::string_view spec)> job;
  std::function<std::string(std::string_view kind, std::string_view result)> result;  // of a job that succeeded
  std::function<std::string(std::string_view body)> reproducer;
  std::function<std::string(std::string_view description)> worker;
  std::function<std::string(const Digest& digest, std::string_view text)> profile_text;
  std::function<std::string(std::string_view description)> profile;
};

// Reads one state of the database, beside a server that may use it, and changes nothing. Errors are those of a file that
// cannot be checked: NOT_FOUND, FAILED_PRECONDITION for one of another program or of a newer version, DATA_LOSS for
// one that is no database.
absl::StatusOr<CheckReport> CheckDatabase(const std::string& path, const ContentChecks& content);

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_CHECK_H_
