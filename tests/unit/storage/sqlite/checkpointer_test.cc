#include "storage/sqlite/checkpointer.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/unit/storage/sqlite/sample_database.h"

namespace samebits::storage::sqlite {
namespace {

using CheckpointerTest = SampleDatabase;

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
  const absl::Time end = absl::Now() + absl::Seconds(3);
  uint64_t written = 0;
  for (int i = 0; absl::Now() < end; ++i) {
    AddKernel(absl::StrCat(i, std::string(20'000, 'x')));
    written += 20'000;
  }
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), written * 3 / 4);
}

}  // namespace
}  // namespace samebits::storage::sqlite
