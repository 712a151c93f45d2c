#include "server/auth/tokens.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/registry/digest.h"

namespace samebits::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TokenFileTest : public testing::Test {
 protected:
  TokenFileTest() : path_(testing::TempDir() + "samebits_tokens_" + std::to_string(getpid())) {}
  ~TokenFileTest() override { std::remove(path_.c_str()); }
  void Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_, std::ios::binary) << text;
    chmod(path_.c_str(), mode);
  }
  static absl::StatusOr<Identity> Find(TokenFile& file, const std::string& secret, absl::Time now) {
    return file.Find(ContentDigest(secret), now);
  }
  const absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  const std::string path_;
};

TEST_F(TokenFileTest, FindsTokensByTheirSecret) {
  const auto a = MakeToken(Role::kSubmitter, "alice", absl::InfiniteFuture());
  const auto b = MakeToken(Role::kWorker, "gpu-7", now_ + absl::Seconds(10));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->secret, b->secret);
  EXPECT_THAT(a->line, Not(HasSubstr(a->secret.substr(9))));
  Write("# people\n" + a->line + "\n\n" + b->line + "\n");
  const auto file = TokenFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Find(**file, a->secret, now_)->principal, "alice");
  EXPECT_EQ(Find(**file, a->secret, now_)->role, Role::kSubmitter);
  EXPECT_EQ(Find(**file, a->secret, now_)->token, ContentDigest(a->secret));
  EXPECT_EQ(Find(**file, b->secret, now_)->role, Role::kWorker);
  EXPECT_TRUE(absl::IsUnauthenticated(Find(**file, b->secret, now_ + absl::Seconds(10)).status()));
  EXPECT_TRUE(absl::IsNotFound(Find(**file, "samebits_", now_).status()));
  EXPECT_TRUE(absl::IsNotFound(Find(**file, "", now_).status()));
  EXPECT_TRUE((*file)->HasWorker("gpu-7"));
  EXPECT_FALSE((*file)->HasWorker("alice"));
}

TEST_F(TokenFileTest, ReadsChangesAndKeepsTheLastGoodContent) {
  const auto a = MakeToken(Role::kViewer, "a", absl::InfiniteFuture());
  const auto b = MakeToken(Role::kViewer, "b", absl::InfiniteFuture());
  Write(a->line);
  const auto file = TokenFile::Open(path_);
  ASSERT_TRUE(file.ok());
  Write(b->line + "\n");
  EXPECT_TRUE(Find(**file, b->secret, now_).ok());
  EXPECT_FALSE(Find(**file, a->secret, now_).ok());
  Write("nonsense, and longer");
  EXPECT_TRUE(Find(**file, b->secret, now_ + absl::Minutes(1)).ok());
}

TEST_F(TokenFileTest, RefusesBadFiles) {
  const std::string hash(64, 'a');
  for (const std::string& line : std::vector<std::string>{
           "short viewer a", "A" + hash.substr(1) + " viewer a", hash + " root a", hash + " enrolment a",
           hash + " viewer", hash + " viewer a/b", hash + " viewer a tomorrow",
           hash + " viewer a 2030-01-01T00:00:00Z x", hash + " viewer a\n" + hash + " admin b"}) {
    Write("\n" + line);
    const auto file = TokenFile::Open(path_);
    ASSERT_TRUE(absl::IsInvalidArgument(file.status())) << line;
    EXPECT_THAT(std::string(file.status().message()), HasSubstr(path_ + ":")) << line;
  }
  Write(hash + " viewer a", 0644);  // digests may be read
  EXPECT_TRUE(TokenFile::Open(path_).ok());
  Write(hash + " viewer a", 0620);
  EXPECT_TRUE(absl::IsFailedPrecondition(TokenFile::Open(path_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(TokenFile::Open(path_ + ".none").status()));
}

TEST(RolesTest, EachMethodHasItsRoles) {
  for (int m = 0; m < kMethods; ++m) {
    const auto method = static_cast<Method>(m);
    const std::string name(MethodName(method));
    const bool session = name.find("WorkerSession") != std::string::npos, enrol = name == "EnrolWorker";
    EXPECT_EQ(MayCall(Role::kWorker, method), session) << name;
    EXPECT_EQ(MayCall(Role::kEnrolment, method), enrol) << name;
    EXPECT_EQ(MayCall(Role::kAdmin, method), !session && !enrol) << name;
    if (MayCall(Role::kViewer, method)) {
      EXPECT_TRUE(MayCall(Role::kSubmitter, method)) << name;
      EXPECT_FALSE(IsMutation(method)) << name;
    }
    if (name.starts_with("Delete") || name.starts_with("Drain") || name.starts_with("Revoke")) {
      EXPECT_FALSE(MayCall(Role::kSubmitter, method)) << name;
      EXPECT_TRUE(IsMutation(method)) << name;
    }
  }
  EXPECT_FALSE(MayCall(Role::kViewer, Method::kVerifyKernels));
  EXPECT_TRUE(MayCall(Role::kSubmitter, Method::kVerifyKernels));
  for (const Role role : {Role::kViewer, Role::kSubmitter, Role::kWorker, Role::kAdmin})
    EXPECT_EQ(ParseRole(RoleName(role)), role);
  EXPECT_EQ(ParseRole(RoleName(Role::kEnrolment)), std::nullopt);
  EXPECT_EQ(ParseRole(""), std::nullopt);
}

}  // namespace
}  // namespace samebits::server
