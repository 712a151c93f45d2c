// AMDGCN through `samebits verify`, server and worker, on the CPU and on the stand-in of an AMD GPU, which executes with the
// interpreter. No AMD GPU takes part.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/cli/kernels.h"
#include "tests/integration/cli/program.h"
#include "tests/support/amdgcn_kernels.h"
#include "tests/support/fake_gpu/scoped_variable.h"

namespace samebits::test {
namespace {

using ::samebits::fake_gpu::ScopedVariable;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class RocmTest : public ::testing::Test {
 protected:
  Outcome Ask(const std::vector<std::string>& words) { return RunSamebits(Joined(words, {"--server", server_.address()})); }
  Outcome Verify(const std::vector<std::string>& kernels, const std::vector<std::string>& more = {}, int elements = 64) {
    const std::string out = "o=f32:" + std::to_string(elements) + ":out";
    return Ask(Joined(Joined({"verify", "--block", "32", "--grid", "2", "--arg", "x=ptr:x", "--arg", "o=ptr:o", "--arg", "s=f32:1.5",
                              "--buffer", "x=f32:64:in", "--buffer", out, "--distribution", "scales"}, kernels), more));
  }
  // What the first device did with the texts, in order.
  Json Device(const std::vector<std::string>& kernels, int elements = 64) {
    const Outcome outcome = Verify(kernels, {"--format", "json"}, elements);
    const Json result = Json::parse(outcome.out, nullptr, false);
    if (!result.is_object()) {
      ADD_FAILURE() << outcome.out << outcome.err;
      return Json();
    }
    return result["verify_kernels"]["devices"][0];
  }
  std::string Write(const std::string& name, const std::string& body) { return files_.Write(name + ".s", AmdgcnElement(body)); }

  const ScopedVariable hip_{"SAMEBITS_HIP", SAMEBITS_FAKE_HIP_MACHINE}, comgr_{"SAMEBITS_COMGR", SAMEBITS_FAKE_COMGR2},
      visible_{"HIP_VISIBLE_DEVICES", "0"};
  const Folder data_, files_;
  ServerProcess server_{data_.path()};
  const std::string sum_ = Write("sum", "\tv_add_f32_e32 v3, s8, v1\n"), swapped_ = Write("swapped", "\tv_add_f32_e64 v3, v1, s8\n"),
                    product_ = Write("product", "\tv_mul_f32_e32 v3, s8, v1\n"), ptx_ = files_.Write("sum.ptx", Added());
};

TEST_F(RocmTest, KernelsGoToDevicesThatRunTheirLanguage) {
  WorkerProcess worker(server_.address(), "w");
  EXPECT_THAT(Ask({"fleet"}).out, AllOf(HasSubstr("stand-in of AMD"), HasSubstr("gfx942")));
  EXPECT_THAT(Ask({"fleet", "w"}).out, AllOf(HasSubstr("304 CUs"), HasSubstr("6.3.42134"), HasSubstr("comgr 2.0")));
  // All devices of a language: AMDGCN on the CPU and ROCm, PTX on the CPU only; where they agree they are one class.
  const Outcome both = Verify({sum_, swapped_});
  EXPECT_EQ(both.exit_code, 0) << both.out << both.err;
  EXPECT_THAT(both.out, AllOf(HasSubstr("CONSISTENT"), HasSubstr("stand-in of AMD"), HasSubstr("interpreter of PTX"), HasSubstr("2 of 2")));
  const Json mixed = Json::parse(Verify({sum_, product_, ptx_}, {"--format", "json"}).out)["verify_kernels"];
  ASSERT_EQ(mixed["devices"].size(), 2u);
  const Json& on_rocm = mixed["devices"][1];
  EXPECT_EQ(on_rocm["device"]["backend"], "rocm");
  EXPECT_FALSE(on_rocm["outcomes"][0].contains("error"));
  EXPECT_EQ(on_rocm["outcomes"][2]["error"]["code"], 12);
  EXPECT_THAT(on_rocm["outcomes"][2]["error"]["message"].get<std::string>(), HasSubstr("the text is PTX"));
  EXPECT_EQ(on_rocm["outcomes"][0]["digests"], mixed["devices"][0]["outcomes"][0]["digests"]);
  EXPECT_NE(on_rocm["outcomes"][0]["digests"], on_rocm["outcomes"][1]["digests"]);
  EXPECT_EQ(mixed["devices"][0]["outcomes"][2]["digests"], on_rocm["outcomes"][0]["digests"]);  // the same sum in PTX
  for (const char* target : {"rocm", "rocm/gfx942", "workers/w/devices/1"}) {
    const Outcome one = Verify({sum_, product_}, {"--device", target});
    EXPECT_EQ(one.exit_code, 1) << one.err;
    EXPECT_THAT(one.out, HasSubstr("stand-in of AMD"));
  }
  const Outcome ptx = Verify({ptx_}, {"--device", "rocm"});
  EXPECT_EQ(ptx.exit_code, 2);
  EXPECT_THAT(ptx.err, HasSubstr("'rocm' runs AMDGCN, and every kernel is PTX; cuda devices and the cpu run it"));
  EXPECT_EQ(Verify({ptx_}).exit_code, 0);
  const Outcome none = Verify({sum_}, {"--device", "cuda"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no worker has registered cuda"));
  EXPECT_EQ(worker.Stop(), 0);
}

TEST_F(RocmTest, BadKernelsHarmOnlyThemselvesAndTheNextJobRuns) {
  WorkerProcess worker(server_.address(), "w", {"--no-cpu", "--launch-seconds", "1"});
  AmdgcnText other;
  other.processor = "gfx90a";
  const Json device = Device(
      {Write("far", "\tv_mov_b32_e32 v3, v1\n\tv_add_u32_e32 v0, 0x7000000, v0\n"),
       Write("near", "\tv_mov_b32_e32 v3, v1\n\tv_add_u32_e32 v0, 0x2000, v0\n"), Write("endless", ".Lagain:\n\ts_branch .Lagain\n"),
       Write("trap", "\ts_trap 2\n"), Write("misassembled", "\tmisassembled v1\n"), files_.Write("other.s", AmdgcnElement(other)),
       Write("lost", "\tv_mov_b32_e32 v3, v1 ; stand-in: hipDeviceSynchronize returns 999\n"), sum_});
  ASSERT_TRUE(device.contains("outcomes")) << device;
  const Json& outcomes = device["outcomes"];
  const auto expect = [&](size_t i, int code, const char* words) {
    EXPECT_EQ(outcomes[i]["error"]["code"], code) << outcomes[i];
    EXPECT_THAT(outcomes[i]["error"].value("message", ""), HasSubstr(words));
  };
  expect(0, 11, "Memory access fault by GPU");
  expect(1, 11, "wrote outside its buffers");
  expect(2, 4, "ran longer than 1s");
  expect(3, 9, "HSA_STATUS_ERROR_EXCEPTION");
  expect(4, 3, "does not assemble");
  expect(5, 3, "the text is for gfx90a, the device is gfx942");
  expect(6, 14, "hipDeviceSynchronize");
  EXPECT_FALSE(outcomes[7].contains("error")) << outcomes[7];
  EXPECT_EQ(Verify({sum_, swapped_}, {"--device", "rocm"}).exit_code, 0);
  EXPECT_EQ(Device({sum_}, 20'000'000)["outcomes"][0]["error"]["code"], 8);  // more than the device's memory
  EXPECT_EQ(worker.Stop(), 0);
}

TEST_F(RocmTest, AWorkerWithoutAssemblerOrDevicesSaysSo) {
  {
    const ScopedVariable none("HIP_VISIBLE_DEVICES", "");
    WorkerProcess worker(server_.address(), "w");
    EXPECT_THAT(worker.log(), HasSubstr("no ROCm devices: HIP finds no device"));
    EXPECT_THAT(Verify({sum_}, {"--device", "rocm"}).err, HasSubstr("no worker has registered rocm"));
    EXPECT_EQ(Verify({sum_}).exit_code, 0);  // on the CPU
  }
  WorkerProcess worker(server_.address(), "x", {"--amdgcn-clang", "/nowhere/clang"});
  EXPECT_THAT(worker.log(), HasSubstr("no ROCm devices: --amdgcn-clang: /nowhere/clang is no program"));
}

}  // namespace
}  // namespace samebits::test
