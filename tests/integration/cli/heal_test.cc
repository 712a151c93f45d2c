// heal: jobs of numerics in the program itself, and on workers of a server, which may be killed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/integration/cli/program.h"
#include "tests/support/http_get.h"

namespace samebits::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::vector<std::string> Job(const std::string& name, const std::vector<std::string>& more = {}) {
  return Joined({"heal", name, "--model", "synthetic:tiny:7", "--synthetic-prompts", "4x12:3", "--max-new-tokens", "6",
                 "--slots", "2", "--rows", "32", "--json", "--quiet"},
                more);
}

// A job of many short units.
std::vector<std::string> LongJob(const std::vector<std::string>& more) {
  return Joined({"heal", "sweep", "--model", "synthetic:tiny:7", "--synthetic-prompts", "10x24:3", "--max-new-tokens", "32",
                 "--slots", "4", "--rows", "64", "--json", "--quiet"},
                more);
}

// What it finds where nothing disturbs it.
const std::string& Undisturbed() {
  static const auto& found = *new Outcome(RunSamebits(LongJob({"--local"})));
  EXPECT_EQ(found.exit_code, 0) << found.err;
  return found.out;
}

void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

class HealTest : public ::testing::Test {
 protected:
  Outcome Ask(const std::vector<std::string>& words) { return RunSamebits(Joined(words, {"--server", server_.address()})); }
  Json Task(const std::string& operation) { return Json::parse(Ask({"jobs", operation, "--format", "json"}).out)["tasks"][0]; }

  const Folder data_, files_;
  ServerProcess server_{data_.path(), {"--lease-seconds", "1"}};
};

TEST_F(HealTest, EveryJobRunsByOneCommandAndAWorkerFindsTheSame) {
  WorkerProcess worker(server_.address(), "w");
  const std::pair<const char*, std::vector<std::string>> jobs[] = {
      {"evaluate", {"--configurations", "bf16,heal+", "--schedules", "fixed,reversed"}},
      {"attribute", {"--configurations", "bf16", "--fitted-rows", "16"}},
      {"decompose", {"--configuration", "fp16", "--use-prompts", "2"}},
      {"sweep", {"--least-bits", "6", "--most-bits", "8", "--baselines", "bf16"}},
      {"qkv", {"--configurations", "fp32", "--use-prompts", "2"}},
      {"policy", {"--variant", "heal-full", "--use-prompts", "2"}},
  };
  for (const auto& [name, options] : jobs) {
    const std::string folder = files_.path() + "/" + name;
    const Outcome here = RunSamebits(Joined(Job(name, options), {"--local", "--output", folder}));
    ASSERT_EQ(here.exit_code, 0) << name << ": " << here.err;
    const Outcome there = Ask(Job(name, options));
    ASSERT_EQ(there.exit_code, 0) << name << ": " << there.err;
    EXPECT_EQ(Json::parse(here.out), Json::parse(there.out)) << name;
    EXPECT_EQ(Json::parse(ReadAll(folder + "/result.json")), Json::parse(here.out));
    EXPECT_THAT(ReadAll(folder + "/figure.svg"), HasSubstr("<svg"));
    EXPECT_THAT(ReadAll(folder + "/table.txt"), AllOf(HasSubstr("model synthetic:tiny:7"), HasSubstr("anchor fp32")));
  }
  EXPECT_EQ(worker.Stop(), 0);
}

TEST_F(HealTest, TablesAndJobsShowTheResult) {
  WorkerProcess worker(server_.address(), "w");
  std::vector<std::string> words = Job("evaluate", {"--configurations", "bf16,heal-base", "--format", "human"});
  words.erase(std::find(words.begin(), words.end(), "--json"));
  const Outcome table = Ask(words);
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("CPU reference"), HasSubstr("final hidden MSE"), HasSubstr("heal-base")));
  words.push_back("--no-wait");
  const Outcome started = Ask(words);
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string name = started.out.substr(0, started.out.find('\n'));
  const Outcome watched = Ask({"jobs", name, "--watch"});
  EXPECT_THAT(watched.out, AllOf(HasSubstr("SUCCEEDED"), HasSubstr("EvaluateReproducibility"), HasSubstr("final hidden MSE")));
  EXPECT_EQ(Ask({"jobs", name, "--delete"}).exit_code, 0);
  const Outcome fsck = RunSamebits({"fsck", "--data", data_.path()});
  EXPECT_EQ(fsck.exit_code, 0) << fsck.out;
}

TEST_F(HealTest, AnotherWorkerGoesOnWhereOneWasKilled) {
  WorkerProcess first(server_.address(), "first");
  const Outcome started = Ask(LongJob({"--no-wait"}));
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string name = Json::parse(started.out)["name"];
  uint64_t done = 0, total = 0;
  while (done < 3) {
    const Json task = Task(name);
    ASSERT_NE(task["state"], "SUCCEEDED") << "the job is too short to be killed";
    done = std::stoull(task["done"].get<std::string>());
    total = std::stoull(task["total"].get<std::string>());
    Pause();
  }
  ASSERT_LT(done, total);
  first.Kill();
  WorkerProcess second(server_.address(), "second");
  ASSERT_EQ(Ask({"jobs", name, "--watch", "--quiet"}).exit_code, 0);
  const Json operation = Json::parse(Ask({"jobs", name, "--format", "json"}).out);
  EXPECT_EQ(operation["state"], "SUCCEEDED");
  EXPECT_EQ(operation["tasks"][0]["worker"], "second");
  EXPECT_EQ(operation["tasks"][0]["attempt"], 2);
  EXPECT_EQ(operation["numerics"], Json::parse(Undisturbed()));
  // What the first worker had finished was not done again.
  const std::string metrics = HttpGet(server_.metrics(), "/metrics");
  const size_t at = metrics.find("\nsamebits_task_units_total ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LE(std::stod(metrics.substr(at + 27)), static_cast<double>(total));
  EXPECT_GE(std::stod(metrics.substr(at + 27)), 3);
}

// A small Llama model in a folder, whose weights follow from the seed.
void WriteModel(const std::string& folder, uint32_t seed) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json")
      << R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
             "head_dim": 8, "intermediate_size": 64, "vocab_size": 64, "rms_norm_eps": 1e-5})";
  std::string header = "{", data;
  const auto add = [&](const std::string& name, std::vector<int> shape) {
    int values = 1;
    for (const int size : shape) values *= size;
    header += (data.empty() ? "\"" : ",\"") + name + "\":{\"dtype\":\"BF16\",\"shape\":" + Json(shape).dump() + ",\"data_offsets\":[" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 2 * static_cast<size_t>(values)) + "]}";
    for (int i = 0; i < values; ++i) {
      seed = seed * 1664525 + 1013904223;
      data += {static_cast<char>(seed >> 24), static_cast<char>(0x3d | (seed >> 16 & 0x80))};  // around 0.03 and 0.12
    }
  };
  add("model.embed_tokens.weight", {64, 32});
  add("model.norm.weight", {32});
  add("lm_head.weight", {64, 32});
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    const std::string at = layer;
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) add(at + norm + ".weight", {32});
    for (const char* square : {"q_proj", "o_proj"}) add(at + "self_attn." + square + ".weight", {32, 32});
    for (const char* narrow : {"k_proj", "v_proj"}) add(at + "self_attn." + narrow + ".weight", {16, 32});
    for (const char* wide : {"gate_proj", "up_proj"}) add(at + "mlp." + wide + ".weight", {64, 32});
    add(at + "mlp.down_proj.weight", {32, 64});
  }
  header += "}";
  const uint64_t size = header.size();
  std::ofstream(folder + "/model.safetensors", std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&size), sizeof size) << header << data;
}

TEST_F(HealTest, AWorkerWithOtherWeightsDoesNotGoOn) {
  for (const uint32_t seed : {1, 2}) WriteModel(files_.path() + "/m" + std::to_string(seed), seed);
  WorkerProcess first(server_.address(), "first", {"--model", "m=" + files_.path() + "/m1"});
  const Outcome started = Ask({"heal", "sweep", "--model", "m", "--synthetic-prompts", "64x64:3", "--max-new-tokens", "64", "--json", "--no-wait"});
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string name = Json::parse(started.out)["name"];
  while (true) {
    const Json task = Task(name);
    ASSERT_NE(task["state"], "SUCCEEDED") << "the job is too short to be killed";
    if (task["state"] == "FAILED" || std::stoull(task.value("done", "0")) >= 2) break;
    Pause();
  }
  first.Kill();
  WorkerProcess second(server_.address(), "second", {"--model", "m=" + files_.path() + "/m2"});
  EXPECT_NE(Ask({"jobs", name, "--watch", "--quiet"}).exit_code, 0);
  const Json operation = Json::parse(Ask({"jobs", name, "--format", "json"}).out);
  EXPECT_EQ(operation["state"], "FAILED");
  EXPECT_THAT(operation["error"].value("message", ""), AllOf(HasSubstr("'m' has other weights"), HasSubstr("--model")));
}

TEST_F(HealTest, ALocalRunThatWasKilledGoesOn) {
  const std::string journal = files_.path() + "/journal";
  const auto units = [&] {
    size_t count = 0;
    const std::string text = ReadAll(journal);
    for (size_t at = 0; (at = text.find("\nunit ", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  {
    SamebitsProcess run(LongJob({"--local", "--resume", journal}));
    while (units() < 4) {
      ASSERT_TRUE(run.Running()) << "the job is too short to be killed";
      Pause();
    }
    run.Kill();
  }
  const std::string before = ReadAll(journal);
  const size_t kept = before.rfind("\nunit ");  // the last one may have been cut off
  const Outcome resumed = RunSamebits(LongJob({"--local", "--resume", journal}));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, Undisturbed());
  EXPECT_EQ(ReadAll(journal).substr(0, kept), before.substr(0, kept));
  const Outcome other = RunSamebits(LongJob({"--local", "--resume", journal, "--anchor", "tf32"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("another job"));
}

TEST_F(HealTest, BadRequestsSayWhatIsWrong) {
  const auto expect = [](const Outcome& outcome, const std::string& words) {
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(words));
  };
  expect(Ask(Job("evaluate")), "start samebits-worker");
  const std::string truncated = files_.Write("bad.gguf", "GGUF\x03");
  WorkerProcess worker(server_.address(), "w", {"--model", "bad=" + truncated});
  EXPECT_THAT(Ask({"fleet"}).out, HasSubstr("models: bad"));
  for (const bool local : {true, false}) {
    const auto run = [&](const std::vector<std::string>& words) {
      return local ? RunSamebits(Joined(words, {"--local"})) : Ask(words);
    };
    expect(run(Job("evaluate", {"--configurations", "bf17"})), "bf17");
    expect(run(Job("evaluate", {"--anchor", "heal++:99"})), "99");
    expect(run(Job("evaluate", {"--schedules", "random"})), "random");
    expect(run({"heal", "evaluate", "--model", "synthetic:tiny", "--synthetic-prompts", "1x4", "--max-new-tokens", "0"}), "--max-new-tokens");
    expect(run(Job("policy", {"--use-prompts", "100"})), "prompts");
    expect(run({"heal", "evaluate", "--model", "synthetic:huge", "--synthetic-prompts", "1x4"}), "tiny");
    expect(run({"heal", "evaluate", "--model", "synthetic:tiny"}), "--prompts");
    expect(run({"heal", "evaluate", "--model", "synthetic:tiny", "--synthetic-prompts", "4by4"}), "COUNTxLENGTH");
    expect(run({"heal", "evaluate", "--model", "synthetic:tiny", "--prompts", "/nowhere.jsonl"}), "/nowhere.jsonl");
    const std::string file = files_.Write("bad.jsonl", "{\"format\": \"samebits-prompts/1\", \"stop_tokens\": []}\n{\"id\": \"a\"}\n");
    expect(run({"heal", "evaluate", "--model", "synthetic:tiny", "--prompts", file}), "line 2");
  }
  const std::vector<std::string> asking = {"--synthetic-prompts", "1x4"};
  expect(RunSamebits(Joined({"heal", "evaluate", "--local", "--model", truncated}, asking)), "bad.gguf");
  expect(Ask(Joined({"heal", "evaluate", "--model", "bad"}, asking)), "bad.gguf");
  expect(Ask(Joined({"heal", "evaluate", "--model", "other"}, asking)), "--model other=PATH");
  expect(Ask(Joined({"heal", "evaluate", "--model", truncated}, asking)), "workers read no other files");
  expect(Ask(Job("evaluate", {"--device", "cuda"})), "cuda");
  expect(Ask(Job("evaluate", {"--resume", files_.path() + "/j"})), "--local");
  expect(RunSamebits(Job("evaluate", {"--local", "--device", "tpu"})), "tpu");
  const Outcome cost = RunSamebits({"heal", "serve-cost", "--local", "--model", "synthetic:tiny", "--batches", "0"});
  expect(cost, "batches");
  const Outcome nowhere = RunSamebits(Job("sweep", {"--local", "--output", truncated + "/out"}));
  expect(nowhere, "--output");
  EXPECT_EQ(nowhere.err.find("parts"), std::string::npos) << "the job ran first: " << nowhere.err;
}

const std::string kFixtures = SAMEBITS_SOURCE_DIR "/tests/unit/core/heal/instruction_mix/fixtures/";

// Disassemblers of the test in place of the machine's, for all programs that it starts.
class MixTest : public HealTest {
 protected:
  MixTest() : path_(std::getenv("PATH")) {
    setenv("PATH", (tools_.path() + ":/usr/bin:/bin").c_str(), 1);
    for (const char* name : {"NVDISASM_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"}) unsetenv(name);
  }
  ~MixTest() override { setenv("PATH", path_.c_str(), 1); }
  void WriteTool(const std::string& name, const std::string& script) {
    std::filesystem::permissions(tools_.Write(name, "#!/bin/sh\n" + script), std::filesystem::perms::owner_all);
  }
  // Cubins, which the tool reads in their order.
  std::vector<std::string> WriteCubins(int number) {
    std::vector<std::string> files;
    for (int i = 0; i < number; ++i) {
      std::string head("\x7f" "ELF\x02\x01\x01", 7);
      head.resize(64);
      head[18] = '\xbe';
      files.push_back(files_.Write("k" + std::to_string(i) + ".cubin", head + std::to_string(i)));
    }
    return files;
  }

  const std::string path_;
  const Folder tools_;
};

TEST_F(MixTest, AWorkerFindsTheSameAsThisProcess) {
  WriteTool("nvdisasm", "cat " + kFixtures + "nvdisasm_sm_90a.txt");
  WriteTool("cuobjdump", "cp \"$3\" lib.1.sm_90.cubin; echo member > lib.2.sm_90.cubin");
  WorkerProcess worker(server_.address(), "w");
  EXPECT_THAT(Ask({"fleet"}).out, HasSubstr("counts instructions of: text cubin fatbin"));
  std::vector<std::string> words = {"heal", "instruction-mix", kFixtures + "cuobjdump_sm_80.txt", files_.Write("f.fatbin", "\x50\xed\x55\xba")};
  words = Joined(Joined(words, WriteCubins(2)), {"--json", "--kernels", "--quiet"});
  const Outcome here = RunSamebits(Joined(words, {"--output", files_.path() + "/here"}));
  ASSERT_EQ(here.exit_code, 0) << here.err;
  const Outcome there = Ask(Joined(words, {"--output", files_.path() + "/there"}));
  ASSERT_EQ(there.exit_code, 0) << there.err;
  EXPECT_EQ(there.out, here.out);
  for (const char* name : {"/result.json", "/table.txt", "/figure.svg"})
    EXPECT_EQ(ReadAll(files_.path() + "/there" + name), ReadAll(files_.path() + "/here" + name)) << name;
  EXPECT_THAT(ReadAll(files_.path() + "/there/table.txt"), HasSubstr("HMMA.16816.F32"));
  EXPECT_THAT(ReadAll(files_.path() + "/there/figure.svg"), HasSubstr("<svg"));
  EXPECT_THAT(Ask({"jobs"}).out, HasSubstr("MeasureInstructionMix"));
  EXPECT_EQ(worker.Stop(), 0);
  EXPECT_EQ(RunSamebits({"fsck", "--data", data_.path()}).exit_code, 0);
}

TEST_F(MixTest, AnotherWorkerGoesOnWhereOneWasKilled) {
  const std::string log = files_.path() + "/log";
  WriteTool("nvdisasm", "for last; do :; done; sleep 0.15; cat " + kFixtures + "nvdisasm_sm_90a.txt && echo $(basename $last) >> " + log);
  const std::vector<std::string> words = Joined({"heal", "instruction-mix", "--json", "--kernels", "--quiet"}, WriteCubins(24));
  auto first = std::make_unique<WorkerProcess>(server_.address(), "first");
  const Outcome started = Ask(Joined(words, {"--no-wait"}));
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string name = Json::parse(started.out)["name"];
  uint64_t done = 0;
  while (done < 5) {
    const Json task = Task(name);
    ASSERT_NE(task["state"], "SUCCEEDED") << "the job is too short to be killed";
    done = std::stoull(task.value("done", "0"));
    Pause();
  }
  first->Kill();
  WorkerProcess second(server_.address(), "second");
  ASSERT_EQ(Ask({"jobs", name, "--watch", "--quiet"}).exit_code, 0);
  const Json operation = Json::parse(Ask({"jobs", name, "--format", "json"}).out);
  EXPECT_EQ(operation["state"], "SUCCEEDED");
  EXPECT_EQ(operation["tasks"][0]["worker"], "second");
  EXPECT_EQ(operation["tasks"][0]["attempt"], 2);
  const std::string runs = ReadAll(log);
  EXPECT_LE(std::count(runs.begin(), runs.end(), '\n'), 24 + 4 + 4) << "what was kept was read again";
  // The same numbers as undisturbed.
  WriteTool("nvdisasm", "cat " + kFixtures + "nvdisasm_sm_90a.txt");
  const Json whole = Json::parse(RunSamebits(words).out);
  const Json& found = operation.at("numerics").at("instruction_mix");
  ASSERT_EQ(found["kernels"].size(), whole["kernels"].size());
  for (size_t i = 0; i < whole["kernels"].size(); ++i) {
    EXPECT_EQ(found["kernels"][i]["module"], whole["kernels"][i]["module"]);
    EXPECT_EQ(found["kernels"][i]["opcodes"].size(), whole["kernels"][i]["opcodes"].size());
    EXPECT_EQ(found["kernels"][i]["instructions"], std::to_string(whole["kernels"][i]["instructions"].get<int64_t>()));
  }
}

TEST_F(MixTest, WhatIsMissingIsNamed) {
  WorkerProcess worker(server_.address(), "w", {"--no-disassembly"});
  const auto expect = [](const Outcome& outcome, const std::string& words) {
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(words));
  };
  const std::vector<std::string> cubin = Joined({"heal", "instruction-mix"}, WriteCubins(1));
  expect(Ask(cubin), "samebits-worker where cuobjdump and nvdisasm");
  expect(Ask({"heal", "instruction-mix", "--engine", "all"}), "NVRTC");
  expect(Ask({"heal", "instruction-mix", "--engine", "bf17"}), "bf17");
  expect(Ask({"heal", "instruction-mix", "--engine", "bf16", "--shape", "huge"}), "tiny");
  expect(Ask({"heal", "instruction-mix", files_.Write("none.txt", "no code")}), "none.txt");
  expect(Ask({"heal", "instruction-mix", kFixtures + "cuobjdump_sm_80.txt", "--match", "("}), "regular expression");
  expect(Ask({"heal", "instruction-mix", kFixtures + "cuobjdump_sm_80.txt", "--match", "no_such_kernel"}), "no_such_kernel");
  expect(Ask({"heal", "instruction-mix", "/nowhere.cubin"}), "/nowhere.cubin");
  expect(Ask({"heal", "instruction-mix"}), "--engine");
  expect(RunSamebits({"heal", "instruction-mix", "--engine", "bf16", "k.cubin"}), "--engine");
  expect(RunSamebits({"heal", "instruction-mix", "--engine", "bf16", "--arch", "gfx942"}), "sm_90");
}

TEST(HealEngineMixTest, OurOwnKernelsUnderAConfiguration) {
  const std::vector<std::string> words = {"heal", "instruction-mix", "--engine", "heal+", "--shape", "smollm2-135m", "--json", "--quiet"};
  const Outcome here = RunSamebits(words);
  if (here.exit_code == 2 && (here.err.find("NVRTC") != std::string::npos || here.err.find("nvdisasm") != std::string::npos ||
                              here.err.find("CUDA engine") != std::string::npos))
    GTEST_SKIP() << here.err;
  ASSERT_EQ(here.exit_code, 0) << here.err;
  bool attends = false;
  const Json found = Json::parse(here.out);
  for (const Json& row : found["rows"])
    if (row["name"].get<std::string>().starts_with("heal+: Attend")) attends |= row["classes"]["tensor"] > 0;
  EXPECT_TRUE(attends) << "INT16 attention works on FP16 tensor cores";
  const Folder data;
  const ServerProcess server(data.path());
  const WorkerProcess worker(server.address(), "w");
  const Outcome there = RunSamebits(Joined(words, {"--server", server.address()}));
  ASSERT_EQ(there.exit_code, 0) << there.err;
  EXPECT_EQ(there.out, here.out);
}

TEST(HealInstructionMixTest, CountsATextOfADisassembler) {
  const std::string text = SAMEBITS_SOURCE_DIR "/tests/unit/core/heal/instruction_mix/fixtures/cuobjdump_sm_80.txt";
  const Outcome table = RunSamebits({"heal", "instruction-mix", text});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("HMMA.16816.F32"));
  const Json counts = Json::parse(RunSamebits({"heal", "instruction-mix", text, "--json", "--kernels"}).out);
  EXPECT_FALSE(counts["rows"].empty());
  EXPECT_FALSE(counts["kernels"].empty());
  const Outcome none = RunSamebits({"heal", "instruction-mix", text, "--match", "no_such_kernel"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(RunSamebits({"heal", "instruction-mix", "/nowhere.cubin"}).exit_code, 2);
  EXPECT_EQ(RunSamebits({"heal", "instruction-mix", text, "--group", "("}).exit_code, 2);
}

}  // namespace
}  // namespace samebits::test
