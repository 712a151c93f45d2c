#include "storage/sqlite/checkpointer.h"

#include <gmock/gmock.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/unit/storage/sqlite/sample_database.h"

namespace samebits::storage::sqlite {
namespace {

class CheckpointerTest : public SampleDatabase {
 protected:
  // The number in the log's header that changes whenever it begins anew (SQLite file format, section 4.1).
  std::string LogGeneration() const {
    std::ifstream log(path_ + "-wal", std::ios::binary);
    std::string header(16, '\0');
    log.read(header.data(), 16);
    return header.substr(12);
  }
};

TEST_F(CheckpointerTest, MovesCommitsIntoTheDatabaseByItself) {
  Open();
  for (int i = 0; i < 50; ++i) AddKernel(absl::StrCat(i, std::string(20'000, 'x')));
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (std::filesystem::file_size(path_) < 1'000'000 && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(20));
  EXPECT_GE(std::filesystem::file_size(path_), 1'000'000);
}

TEST_F(CheckpointerTest, ALogThatIsNeverLeftInPeaceIsEmptiedAllTheSame) {
  SqliteOptions options;
  options.path = path_;
  options.log_pages = 1;
  auto database = SharedDatabase::Open(options);
  ASSERT_TRUE(database.ok()) << database.status();
  kernels_ = *MakeSqliteKernelStore(*database);
  AddKernel("the first");
  const std::string first = LogGeneration();
  const absl::Time limit = absl::Now() + absl::Seconds(30);
  for (int i = 0; LogGeneration() == first && absl::Now() < limit; ++i) AddKernel(absl::StrCat(i));
  EXPECT_NE(LogGeneration(), first);
}

}  // namespace
}  // namespace samebits::storage::sqlite
