#include "client/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/commands.h"

namespace samebits::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Outcome {
  ParsedCommandLine parsed;
  std::string out, err;
};

Outcome Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "samebits");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ParsedCommandLine parsed = ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
  std::fflush(stdout);
  std::string out = ::testing::internal::GetCapturedStdout(), err = ::testing::internal::GetCapturedStderr();
  return {std::move(parsed), std::move(out), std::move(err)};
}

CommandLine ParseOk(const std::vector<const char*>& arguments) {
  Outcome outcome = Parse(arguments);
  EXPECT_TRUE(outcome.parsed.command_line.has_value()) << outcome.err;
  return outcome.parsed.command_line.value_or(CommandLine{});
}

TEST(CommandLineTest, LaunchFlagsForBothAndForOneSide) {
  const CommandLine line = ParseOk({"compare", "a.ptx",    "--arg",  "x=ptr",     "b.ptx",    "--arg",    "n=-4",
                                    "--block", "128,2",    "--grid", "96",        "--shared", "4096",     "--entry",
                                    "k",       "--output", "o",      "--b-block", "256",      "--a-grid", "unknown"});
  EXPECT_EQ(line.command, Command::kCompare);
  EXPECT_THAT(line.kernels, ElementsAre("a.ptx", "b.ptx"));
  EXPECT_EQ(line.launch.block, (checker::Dim3{128, 2, 1}));
  EXPECT_EQ(line.launch.grid, (checker::Dim3{96, 1, 1}));
  EXPECT_EQ(line.launch.shared_bytes, 4096u);
  EXPECT_EQ(line.launch.entry, "k");
  EXPECT_THAT(*line.launch.outputs, ElementsAre("o"));
  ASSERT_EQ(line.launch.args->size(), 2u);
  EXPECT_EQ((*line.launch.args)[1].text, "-4");
  EXPECT_TRUE(line.side_launch[0].grid_set);
  EXPECT_FALSE(line.side_launch[0].grid.has_value());
  EXPECT_EQ(line.side_launch[1].block, (checker::Dim3{256, 1, 1}));
  EXPECT_FALSE(line.side_launch[1].grid_set || line.side_launch[1].args_set);
}

TEST(CommandLineTest, CommonOptionsStandBeforeOrAfterTheCommand) {
  for (const auto& arguments : {std::vector<const char*>{"--local", "--format", "json", "signature", "a.ptx"},
                                std::vector<const char*>{"signature", "a.ptx", "--local", "--format", "json"}}) {
    const CommandLine line = ParseOk(arguments);
    EXPECT_TRUE(line.local);
    EXPECT_EQ(line.format, Format::kJson);
  }
  EXPECT_EQ(ParseOk({"signature", "a.ptx"}).format, std::nullopt);
}

TEST(CommandLineTest, TheServerComesFromFlagOrEnvironment) {
  setenv("SAMEBITS_SERVER", "env:1", 1);
  EXPECT_EQ(ParseOk({"compare", "a", "b"}).server, "env:1");
  EXPECT_EQ(ParseOk({"compare", "a", "b", "--server", "flag:2"}).server, "flag:2");
  unsetenv("SAMEBITS_SERVER");
  EXPECT_EQ(ParseOk({"compare", "a", "b"}).server, "");
}

TEST(CommandLineTest, BatchesTakeJobsAndManifests) {
  const CommandLine line = ParseOk({"partition", "--manifest", "m.jsonl", "--jobs", "3", "--reference", "r"});
  EXPECT_EQ(line.manifest, "m.jsonl");
  EXPECT_EQ(line.jobs, 3);
  EXPECT_EQ(line.reference, "r");
}

TEST(CommandLineTest, ServeOptions) {
  const CommandLine line = ParseOk({"serve", "--listen", "127.0.0.1:0", "--metrics", "none", "--data", "d", "--threads",
                                    "2", "--check-seconds", "1.5", "--log-level", "debug"});
  EXPECT_EQ(line.command, Command::kServe);
  EXPECT_EQ(line.serve.listen, "127.0.0.1:0");
  EXPECT_EQ(line.serve.metrics, "none");
  EXPECT_EQ(line.serve.threads, 2);
  EXPECT_EQ(line.serve.check_seconds, 1.5);
  EXPECT_EQ(line.serve.cache_entries, std::nullopt);
}

TEST(CommandLineTest, TheDataFolderComesFromFlagOrEnvironment) {
  setenv("SAMEBITS_DATA", "/of/the/environment", 1);
  const auto flag = ExistingDatabase(ParseOk({"serve", "--data", "/of/the/flag"}).serve);
  const auto fsck = ExistingDatabase(ParseOk({"fsck", "--data", "/of/the/flag"}).serve);
  const auto environment = ExistingDatabase(ParseOk({"serve"}).serve);
  unsetenv("SAMEBITS_DATA");
  EXPECT_EQ(*flag, "/of/the/flag/samebits.db");
  EXPECT_EQ(*fsck, "/of/the/flag/samebits.db");
  EXPECT_EQ(*environment, "/of/the/environment/samebits.db");
}

TEST(CommandLineTest, UsageErrorsSayWhatIsWrong) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> cases = {
      {{"frobnicate", "a"}, "'frobnicate' is no command"},
      {{"compare", "a"}, "two kernels are compared, 1 given"},
      {{"explain", "--manifest", "m"}, "two kernels are compared, 0 given"},
      {{"compare", "a", "b", "--manifest", "m", "--pairs", "p"}, "--pairs"},
      {{"compare", "--pairs", "p"}, "--pairs"},
      {{"compare", "a", "b", "c"}, "c"},
      {{"compare", "a", "b", "--block", "0"}, "--block: '0'"},
      {{"compare", "a", "b", "--a-block", "x"}, "--a-block: 'x'"},
      {{"compare", "a", "b", "--b-arg", "n=q"}, "--b-arg n=q"},
      {{"compare", "a", "b", "--shared", "-1"}, "--shared"},
      {{"compare", "a", "b", "--format", "xml"}, "--format"},
      {{"partition"}, "name files or a --manifest"},
      {{"signature", "--jobs", "0", "a"}, "--jobs"},
      {{"inspect", "a", "--a-block", "3"}, "'--a-block' is no option of inspect"},
      {{"compare", "a", "b", "--blok=3"}, "'--blok' is no option of compare"},
      {{"--local"}, "subcommand"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = Parse(arguments);
    EXPECT_FALSE(outcome.parsed.command_line.has_value()) << arguments[0];
    EXPECT_EQ(outcome.parsed.exit_code, ExitCode::kBadInput);
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(CommandLineTest, HelpTeachesExitCodesAndLaunches) {
  const Outcome outcome = Parse({"compare", "--help"});
  EXPECT_FALSE(outcome.parsed.command_line.has_value());
  EXPECT_EQ(outcome.parsed.exit_code, ExitCode::kEquivalent);
  for (const char* text : {"Exit codes", "--arg", "Examples", "scratch", "--server"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
  const Outcome bare = Parse({});
  EXPECT_EQ(bare.parsed.exit_code, ExitCode::kBadInput);
  EXPECT_THAT(bare.out, HasSubstr("partition"));
}

}  // namespace
}  // namespace samebits::cli
