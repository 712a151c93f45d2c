#include "workers/executor/rocm/rocm_executor.h"

#include <dlfcn.h>

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/amdgcn_kernels.h"
#include "tests/support/fake_gpu/scoped_variable.h"
#include "workers/executor/rocm/hip_errors.h"

namespace samebits::workers {
namespace {

using ::samebits::fake_gpu::ScopedVariable;
using ::samebits::test::AmdgcnElement;
using ::samebits::test::AmdgcnText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<uint8_t> Words(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

// k(x, o, 1.0f) on one workgroup of two work-items.
KernelLaunch Launch(const std::string& text) {
  KernelLaunch launch;
  launch.text = text;
  launch.block = {2, 1, 1};
  launch.arguments = {{0, {}}, {1, {}}, {{}, Words({0x3f800000, 0})}};
  return launch;
}

class RocmExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open(int ordinal = 0, const DeviceInfo& info = {}) {
    auto executor = MakeRocmExecutor(ordinal, info);
    ASSERT_TRUE(executor.ok()) << executor.status();
    executor_ = *std::move(executor);
  }
  absl::StatusOr<std::vector<uint32_t>> Run(const KernelLaunch& launch, const std::vector<uint32_t>& in) {
    if (absl::Status status = executor_->Prepare(launch); !status.ok()) return status;
    Buffers buffers = {Words(in), std::vector<uint8_t>(in.size() * 4, 0x5a)};
    if (absl::Status status = executor_->Run(0, &buffers); !status.ok()) return status;
    EXPECT_EQ(buffers[0], Words(in));
    std::vector<uint32_t> out(in.size());
    std::memcpy(out.data(), buffers[1].data(), buffers[1].size());
    return out;
  }
  absl::StatusCode CodeOf(const std::string& told) {
    return Run(Launch("; stand-in: " + told + "\n" + AmdgcnElement()), {0, 0}).status().code();
  }

  const ScopedVariable hip_{"SAMEBITS_HIP", SAMEBITS_FAKE_HIP_MACHINE}, comgr_{"SAMEBITS_COMGR", SAMEBITS_FAKE_COMGR3},
      visible_{"HIP_VISIBLE_DEVICES", nullptr};
  std::unique_ptr<Executor> executor_;
};

TEST_F(RocmExecutorTest, ListsDevicesAsHipTellsThem) {
  const auto devices = ListRocmDevices(3);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 2u);
  const DeviceInfo& first = (*devices)[0];
  EXPECT_EQ(first.backend, "rocm");
  EXPECT_EQ(first.index, 3u);
  EXPECT_EQ(first.name, "stand-in of AMD");
  EXPECT_EQ(first.architecture, "gfx942");
  EXPECT_EQ(first.multiprocessors, 304u);
  EXPECT_EQ(first.memory_bytes, 64u << 20);
  EXPECT_EQ(first.driver_version, "6.3.42134");
  EXPECT_EQ(first.uuid, "117374616e642d696e206e756d626572");
  EXPECT_EQ(first.clock_megahertz, 2100u);
  EXPECT_TRUE(first.ecc);
  EXPECT_EQ(first.assembler, "comgr 3.0");
  ASSERT_EQ(first.libraries.size(), 1u);
  EXPECT_EQ(first.libraries[0].version, "6.3.42134");
  EXPECT_EQ((*devices)[1].index, 4u);
  EXPECT_EQ((*devices)[1].architecture, "gfx90a");
  EXPECT_EQ((*devices)[1].uuid, "0000:c1:00.0");
}

TEST_F(RocmExecutorTest, SaysWhyThereIsNoDevice) {
  {
    const ScopedVariable none("HIP_VISIBLE_DEVICES", "");
    EXPECT_THAT(std::string(ListRocmDevices(0).status().message()), HasSubstr("/dev/kfd"));
    EXPECT_TRUE(absl::IsUnavailable(MakeRocmExecutor(0, {}).status()));
  }
  {
    const ScopedVariable no_assembler("SAMEBITS_COMGR", "/nowhere/libamd_comgr.so");
    const absl::Status status = ListRocmDevices(0).status();
    if (!status.ok()) {  // else this machine has ROCm
      EXPECT_THAT(std::string(status.message()), HasSubstr("no assembler of AMDGCN"));
    }
  }
  const ScopedVariable wrong("SAMEBITS_HIP", SAMEBITS_FAKE_COMGR2);
  EXPECT_EQ(ListRocmDevices(0).status(), absl::UnavailableError("hipInit is not found"));
}

TEST_F(RocmExecutorTest, RefusesADeviceThatIsAnotherNow) {
  DeviceInfo info = (*ListRocmDevices(0))[0];
  Open(0, info);
  const ScopedVariable swapped("HIP_VISIBLE_DEVICES", "1,0");
  const absl::Status status = MakeRocmExecutor(0, info).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no longer 117374616e642d696e206e756d626572"));
  Open(1, info);
  EXPECT_EQ(executor_->device().architecture, "gfx942");
}

TEST_F(RocmExecutorTest, ComputesBitsLeavesTheRestAndGivesEverythingBack) {
  EXPECT_THAT(*Run(Launch(AmdgcnElement()), {0x3f800000, 0x40000000}), ElementsAre(0x40000000, 0x40400000));
  EXPECT_THAT(*Run(Launch(AmdgcnElement("\tv_mul_f32_e32 v3, v1, v1\n")), {0x40000000, 0x40400000, 7}),
              ElementsAre(0x40800000, 0x41100000, 0x5a5a5a5a));
  const auto live = reinterpret_cast<int (*)()>(dlsym(dlopen(SAMEBITS_FAKE_HIP_MACHINE, RTLD_NOW), "samebits_fake_hip_live"));
  ASSERT_NE(live, nullptr);
  EXPECT_EQ(live(), 2);  // a module and the buffers
  executor_.reset();
  EXPECT_EQ(live(), 0);
}

TEST_F(RocmExecutorTest, HipFillsHiddenArguments) {
  KernelLaunch launch = Launch(AmdgcnElement("\tv_cvt_f32_u32_e32 v3, s9\n"));
  launch.grid = {7, 1, 1};
  launch.block = {32, 1, 1};
  const auto out = Run(launch, std::vector<uint32_t>(7 * 32, 0));
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[7 * 32 - 1], 0x40e00000u);
}

TEST_F(RocmExecutorTest, DynamicLdsLiesBehindTheTextsOwn) {
  AmdgcnText text;
  text.lds_bytes = 1024;
  text.body = "\tv_add_u32_e32 v2, 0x400, v0\n\tds_write_b32 v2, v1\n\ts_waitcnt lgkmcnt(0)\n\tds_read_b32 v3, v2\n\ts_waitcnt lgkmcnt(0)\n";
  KernelLaunch launch = Launch(AmdgcnElement(text));
  launch.shared_bytes = 8;
  EXPECT_THAT(*Run(launch, {5, 6}), ElementsAre(5, 6));
  launch.shared_bytes = 64 << 10;
  const absl::Status status = Run(launch, {5, 6}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("66560 bytes of LDS"));
}

TEST_F(RocmExecutorTest, AWriteBesideTheBuffersIsFound) {
  const absl::Status status = Run(Launch(AmdgcnElement("\tv_mov_b32_e32 v3, v1\n\tv_add_u32_e32 v0, 0x2000, v0\n")), {1, 2}).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("wrote outside its buffers"));
  EXPECT_TRUE(Run(Launch(AmdgcnElement()), {1, 2}).ok());
}

TEST_F(RocmExecutorTest, RefusesWhatTheDeviceDoesNotRun) {
  const auto refused = [&](const KernelLaunch& launch, absl::StatusCode code, const char* words) {
    const absl::Status status = executor_->Prepare(launch);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    Buffers buffers;
    EXPECT_TRUE(absl::IsInternal(executor_->Run(0, &buffers)));  // nothing is prepared
  };
  refused(Launch(".version 8.0\n.target sm_90\n"), absl::StatusCode::kUnimplemented, "the text is PTX");
  AmdgcnText text;
  text.processor = "gfx90a";
  refused(Launch(AmdgcnElement(text)), absl::StatusCode::kInvalidArgument, "the text is for gfx90a, the device is gfx942");
  KernelLaunch launch = Launch(AmdgcnElement());
  launch.entry = "other";
  refused(launch, absl::StatusCode::kInvalidArgument, "no entry 'other'");
  launch = Launch(AmdgcnElement());
  launch.arguments.pop_back();
  refused(launch, absl::StatusCode::kInvalidArgument, "3 parameters, the launch 2");
  launch = Launch(AmdgcnElement());
  launch.block = {257, 1, 1};
  refused(launch, absl::StatusCode::kInvalidArgument, "at most 256 work-items");
  text = {};
  text.metadata = "    .reqd_workgroup_size:\n      - 64\n      - 1\n      - 1\n";
  refused(Launch(AmdgcnElement(text)), absl::StatusCode::kInvalidArgument, "demands workgroups of 64 x 1 x 1");
  refused(Launch(AmdgcnElement("\tmisassembled v1\n")), absl::StatusCode::kInvalidArgument, "does not assemble: kernel.s:2:3");
  refused(Launch(AmdgcnElement("\t.include \"/etc/passwd\"\n")), absl::StatusCode::kInvalidArgument, "directive is refused");
}

TEST_F(RocmExecutorTest, MapsHipsErrors) {
  EXPECT_EQ(CodeOf("hipModuleLoadData returns 209"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf("hipModuleLoadData returns 2"), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeOf("hipModuleLaunchKernel returns 1"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf("hipModuleLaunchKernel returns 701"), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeOf("hipModuleLaunchKernel returns 801"), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CodeOf("hipDeviceSynchronize returns 700"), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(CodeOf("hipDeviceSynchronize returns 719"), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CodeOf("hipDeviceSynchronize returns 999"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf("nothing returns 1"), absl::StatusCode::kOk);
}

TEST_F(RocmExecutorTest, BuffersLargerThanTheDeviceAreAnErrorAndTheNextOnesFit) {
  const KernelLaunch launch = Launch(AmdgcnElement());
  ASSERT_TRUE(executor_->Prepare(launch).ok());
  Buffers large = {std::vector<uint8_t>(70 << 20), std::vector<uint8_t>(8)};
  EXPECT_TRUE(absl::IsResourceExhausted(executor_->Run(0, &large)));
  EXPECT_TRUE(Run(launch, {1, 2}).ok());
}

TEST(FromRuntimeAbortTest, ReadsTheWordsOfAmdsRuntime) {
  const auto code = [](const char* words) { return FromRuntimeAbort(absl::InternalError(words)).code(); };
  EXPECT_EQ(code("the task's process ended with signal 6 (Aborted): Memory access fault by GPU node-2 (Agent handle: 0x5) on "
                 "address (nil). Reason: Unknown."),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code("HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory"), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code("HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception."), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code("HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed"), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("the task's process ended with signal 11"), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace samebits::workers
