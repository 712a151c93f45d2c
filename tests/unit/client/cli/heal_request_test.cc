#include "client/cli/heal_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/commands.h"

namespace samebits::cli {
namespace {

using ::testing::ElementsAre;

CommandLine Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"samebits", "heal"});
  arguments.insert(arguments.end(), {"--local", "--model", "synthetic:tiny"});
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data()).command_line.value_or(CommandLine{});
}

TEST(HealRequestTest, LayersAreNamedInsideAList) {
  const auto evaluate = MakeHealRequest(
      Parse({"evaluate", "--synthetic-prompts", "1x1", "--configurations", "bf16,heal++:@2,5,7-9,heal-full:@0,1", "--configurations", "fp16"}));
  ASSERT_TRUE(evaluate.ok()) << evaluate.status();
  EXPECT_THAT(evaluate->evaluate().configurations(), ElementsAre("bf16", "heal++:@2,5,7-9", "heal-full:@0,1", "fp16"));
  const auto sweep = MakeHealRequest(Parse({"sweep", "--synthetic-prompts", "1x1", "--baselines", "heal++:@1,3,bf16"}));
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_THAT(sweep->sweep().baselines(), ElementsAre("heal++:@1,3", "bf16"));
  const auto cost = MakeHealRequest(Parse({"serve-cost", "--configurations", "heal++:4,5"}));
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_THAT(cost->serve_cost().configurations(), ElementsAre("heal++:4", "5"));
}

TEST(HealRequestTest, InstructionMixesAreCountedHereUnlessAServerIsNamed) {
  const auto parse = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"samebits", "heal", "instruction-mix"});
    return ParseCommandLine(static_cast<int>(words.size()), words.data()).command_line.value_or(CommandLine{});
  };
  EXPECT_TRUE(parse({"k.cubin"}).local);
  const CommandLine engine = parse({"--server", "127.0.0.1:1", "--engine", "heal++:@1,3,bf16", "--shape", "tiny", "--arch", "sm_100", "--device", "cuda"});
  EXPECT_FALSE(engine.local);
  const auto request = MakeMixRequest(engine);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->instruction_mix().engine_kernels().configurations(), ElementsAre("heal++:@1,3", "bf16"));
  EXPECT_EQ(request->instruction_mix().run().model(), "synthetic:tiny");
  EXPECT_EQ(request->instruction_mix().run().device(), "cuda");
  EXPECT_NE(request->instruction_mix().run().request_id(), "");
  EXPECT_EQ(request->instruction_mix().target(), "sm_100");
  const auto all = MakeMixRequest(parse({"--engine", "all"}));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->instruction_mix().engine_kernels().configurations_size(), 0);
  EXPECT_FALSE(MakeMixRequest(parse({"/nowhere.cubin"})).ok());
}

TEST(HealRequestTest, ALimitIsOfAFile) {
  const std::vector<const char*> arguments = {"samebits", "heal", "evaluate", "--local", "--model", "synthetic:tiny",
                                              "--synthetic-prompts", "4x2", "--limit", "1"};
  EXPECT_FALSE(ParseCommandLine(static_cast<int>(arguments.size()), arguments.data()).command_line.has_value());
}

}  // namespace
}  // namespace samebits::cli
