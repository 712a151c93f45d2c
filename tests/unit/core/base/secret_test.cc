#include "core/base/secret.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

namespace samebits {
namespace {

TEST(SecretTest, AreLongAndDiffer) {
  const auto a = MakeSecret(), b = MakeSecret();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->size(), 9 + 64);
  EXPECT_EQ(a->find_first_not_of("0123456789abcdef", 9), std::string::npos);
  EXPECT_NE(*a, *b);
}

TEST(SecretTest, AFileIsItsOwnersAndIsNotOverwritten) {
  const std::string path = testing::TempDir() + "samebits_secret_" + std::to_string(getpid());
  ASSERT_TRUE(WriteSecretFile(path, "one").ok());
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  EXPECT_TRUE(absl::IsAlreadyExists(WriteSecretFile(path, "two")));
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "one");
  std::remove(path.c_str());
  EXPECT_TRUE(absl::IsInvalidArgument(WriteSecretFile(path + "/none", "x")));
}

}  // namespace
}  // namespace samebits
