#ifndef SAMEBITS_CLIENT_CLI_HEAL_JOURNAL_H_
#define SAMEBITS_CLIENT_CLI_HEAL_JOURNAL_H_

// A file of finished units of one job, so that a run that was stopped goes on.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/heal/jobs/job.h"

namespace samebits::cli {

// Units are on the disk when Add returns. A unit that was cut off while it was written is dropped at the next opening.
class HealJournal {
 public:
  // Opens or creates the file for the job that `identity` stands for, any bytes. INVALID_ARGUMENT where it cannot be
  // opened, is no journal or one of another job; FAILED_PRECONDITION where another process has it open.
  static absl::StatusOr<std::unique_ptr<HealJournal>> Open(const std::string& path, const std::string& identity);
  ~HealJournal();
  HealJournal(const HealJournal&) = delete;
  HealJournal& operator=(const HealJournal&) = delete;

  const heal::Records& records() const { return records_; }  // as of Open
  absl::Status Add(int64_t index, const std::string& record);

 private:
  HealJournal(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  absl::Status Load(const std::string& identity);
  absl::Status Write(const std::string& bytes);
  absl::Status Error(const char* what) const;

  const std::string path_;
  const int fd_;
  heal::Records records_;
};

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_HEAL_JOURNAL_H_
