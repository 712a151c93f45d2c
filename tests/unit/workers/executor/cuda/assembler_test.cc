// Assembling with a program: stand-ins for ptxas, written as shell scripts, and the real one where this machine has it.

#include "workers/executor/cuda/assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace samebits::workers {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKernel[] = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n";

class AssemblerTest : public testing::Test {
 protected:
  AssemblerTest() { std::filesystem::create_directories(folder_); }
  ~AssemblerTest() override { std::filesystem::remove_all(folder_); }

  // A program that does this with its arguments: $1 --gpu-name=..., $2 the text, $4 the image.
  AssemblerOptions Script(const std::string& body) {
    AssemblerOptions options;
    options.program = folder_ + "/ptxas";
    std::ofstream(options.program) << "#!/bin/sh\nPATH=/usr/bin:/bin\n" << body << "\n";
    std::filesystem::permissions(options.program, std::filesystem::perms::owner_all);
    return options;
  }

  const std::string folder_ = absl::StrCat(testing::TempDir(), "/assembler_", getpid());
};

TEST_F(AssemblerTest, TheProgramGetsTheTextAndTheArchitectureAndWritesTheImage) {
  const auto code = Assemble(Script("{ echo \"$1\"; cat \"$2\"; } > \"$4\"; echo a remark"), kKernel, "sm_90a");
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, absl::StrCat("--gpu-name=sm_90a\n", kKernel));
}

TEST_F(AssemblerTest, ItSeesNothingOfThisProcess) {
  setenv("SAMEBITS_TEST_SECRET", "secret", 1);
  const int kept = dup2(0, 77);  // open, and without O_CLOEXEC
  const auto code = Assemble(Script("{ /usr/bin/env; ls /proc/self/fd; } > \"$4\""), kKernel, "sm_90");
  unsetenv("SAMEBITS_TEST_SECRET");
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_THAT(*code, Not(HasSubstr("secret")));
  close(kept);
  EXPECT_THAT(*code, Not(HasSubstr("\n77\n")));
}

TEST_F(AssemblerTest, ErrorsSayWhatTheProgramSays) {
  const struct {
    const char* body;
    absl::StatusCode code;
    const char* says;
  } cases[] = {
      {"echo \"ptxas $2, line 3; error : no such instruction\" >&2; exit 255", absl::StatusCode::kInvalidArgument,
       "ptxas text, line 3; error : no such instruction"},
      {"exit 3", absl::StatusCode::kInvalidArgument, "exit code 3"},
      {"echo 'ptxas fatal : Memory allocation failure'; exit 1", absl::StatusCode::kResourceExhausted, "memory"},
      {"kill -SEGV $$", absl::StatusCode::kInternal, "signal 11"},
      {"exit 0", absl::StatusCode::kInternal, "no machine code"},
  };
  for (const auto& c : cases) {
    const auto code = Assemble(Script(c.body), kKernel, "sm_90");
    EXPECT_EQ(code.status().code(), c.code) << c.body << ": " << code.status();
    EXPECT_THAT(std::string(code.status().message()), HasSubstr(c.says)) << c.body;
  }
  EXPECT_TRUE(absl::IsUnavailable(Assemble({folder_ + "/nothing"}, kKernel, "sm_90").status()));
}

TEST_F(AssemblerTest, ItsTimeItsMemoryAndItsWordsAreBounded) {
  AssemblerOptions slow = Script("exec sleep 60");
  slow.timeout = absl::Milliseconds(200);
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Assemble(slow, kKernel, "sm_90").status()));
  slow.program = Script("exec sleep 60 > /dev/null 2>&1").program;  // says nothing more, and goes on
  EXPECT_TRUE(absl::IsDeadlineExceeded(Assemble(slow, kKernel, "sm_90").status()));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  AssemblerOptions small = Script("ulimit -v > \"$4\"");
  small.memory_bytes = 64 << 20;
  EXPECT_EQ(*Assemble(small, kKernel, "sm_90"), "65536\n");
  const auto wordy = Assemble(Script("head -c 1000000 /dev/zero | tr '\\0' x; exit 1"), kKernel, "sm_90");
  EXPECT_TRUE(absl::IsInvalidArgument(wordy.status()));
  EXPECT_LT(wordy.status().message().size(), 4000);
}

TEST_F(AssemblerTest, VersionsAreReadAndOtherProgramsRefused) {
  EXPECT_EQ(*AssemblerVersion(Script("echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'\n"
                                     "echo 'Cuda compilation tools, release 12.8, V12.8.93'\necho 'Build x'")),
            "ptxas V12.8.93");
  for (const char* body : {"echo 'GNU assembler (GNU Binutils) 2.40, V1'", "echo ptxas", "exit 1"})
    EXPECT_TRUE(absl::IsInvalidArgument(AssemblerVersion(Script(body)).status())) << body;
}

TEST_F(AssemblerTest, TheTargetsSuffixStays) {
  EXPECT_EQ(AssembledArchitecture("sm_90a", "sm_90"), "sm_90a");
  EXPECT_EQ(AssembledArchitecture("sm_80", "sm_90"), "sm_90");
  EXPECT_EQ(AssembledArchitecture("sm_100f", "sm_103"), "sm_103f");
  EXPECT_EQ(AssembledArchitecture("", "sm_90"), "sm_90");
}

TEST_F(AssemblerTest, TheRealOneAssembles) {
  AssemblerOptions real;
  for (const char* path : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"})
    if (access(path, X_OK) == 0) real.program = path;
  if (real.program.empty()) GTEST_SKIP() << "no ptxas on this machine";
  EXPECT_TRUE(absl::StartsWith(*AssemblerVersion(real), "ptxas V"));
  const auto code = Assemble(real, kKernel, "sm_90a");
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_TRUE(absl::StartsWith(*code, "\x7f" "ELF"));
  const auto wrong = Assemble(real, ".version 8.0\n.target sm_90\nnonsense\n", "sm_90");
  EXPECT_TRUE(absl::IsInvalidArgument(wrong.status())) << wrong.status();
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("text, line 3"));
}

}  // namespace
}  // namespace samebits::workers
