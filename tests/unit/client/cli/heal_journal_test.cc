#include "client/cli/heal_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace samebits::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class HealJournalTest : public testing::Test {
 protected:
  HealJournalTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_journal_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = (folder_ / "journal").string();
  }
  ~HealJournalTest() override { std::filesystem::remove_all(folder_); }
  std::string Bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void SetBytes(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(HealJournalTest, GivesBackWhatWasAdded) {
  const std::string record("a\n\0unit", 7);
  {
    auto journal = HealJournal::Open(path_, "job");
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_THAT((*journal)->records(), IsEmpty());
    ASSERT_TRUE((*journal)->Add(3, record).ok());
    ASSERT_TRUE((*journal)->Add(0, "").ok());
  }
  {
    auto journal = HealJournal::Open(path_, "job");
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_THAT((*journal)->records(), UnorderedElementsAre(Pair(3, record), Pair(0, "")));
    ASSERT_TRUE((*journal)->Add(1, "more").ok());
  }
  EXPECT_EQ((*HealJournal::Open(path_, "job"))->records().size(), 3);
}

TEST_F(HealJournalTest, AnyCutLeavesWholeUnitsAndGoesOn) {
  {
    auto journal = HealJournal::Open(path_, "job");
    ASSERT_TRUE((*journal)->Add(0, "zero").ok());
    ASSERT_TRUE((*journal)->Add(1, "one").ok());
  }
  const std::string whole = Bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    SetBytes(whole.substr(0, length));
    auto journal = HealJournal::Open(path_, "job");
    ASSERT_TRUE(journal.ok()) << length << ": " << journal.status();
    const heal::Records records = (*journal)->records();
    ASSERT_LT(records.size(), 2) << length;
    for (const auto& [index, record] : records) EXPECT_EQ(record, "zero");
    ASSERT_TRUE((*journal)->Add(7, "seven").ok());
    journal->reset();
    EXPECT_EQ((*HealJournal::Open(path_, "job"))->records().size(), records.size() + 1) << length;
  }
}

TEST_F(HealJournalTest, AChangedUnitCountsNothing) {
  {
    auto journal = HealJournal::Open(path_, "job");
    ASSERT_TRUE((*journal)->Add(0, "zero").ok());
  }
  std::string bytes = Bytes();
  bytes[bytes.rfind("zero")] = 'Z';
  SetBytes(bytes);
  EXPECT_THAT((*HealJournal::Open(path_, "job"))->records(), IsEmpty());
}

TEST_F(HealJournalTest, RefusesOtherJobsFilesAndProcesses) {
  auto journal = HealJournal::Open(path_, "job");
  const absl::Status held = HealJournal::Open(path_, "job").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(held)) << held;
  journal->reset();
  const absl::Status other = HealJournal::Open(path_, "another").status();
  EXPECT_TRUE(absl::IsInvalidArgument(other));
  EXPECT_THAT(std::string(other.message()), HasSubstr("another job"));
  SetBytes("a text of someone's\nwith lines, which is long enough to hold a header of a journal, that it is not");
  EXPECT_TRUE(absl::IsInvalidArgument(HealJournal::Open(path_, "job").status()));
  EXPECT_THAT(Bytes(), HasSubstr("someone's"));  // untouched
  EXPECT_TRUE(absl::IsInvalidArgument(HealJournal::Open((folder_ / "no" / "journal").string(), "job").status()));
}

}  // namespace
}  // namespace samebits::cli
