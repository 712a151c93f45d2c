// The CUDA executor on a stand-in for the driver (tests/support/fake_gpu/fake_driver.cc), whose kernels tell which image
// was loaded.

#include "workers/executor/cuda/cuda_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/support/fake_gpu/scoped_variable.h"

namespace samebits::workers {
namespace {

using fake_gpu::ScopedVariable;
using ::testing::HasSubstr;

constexpr char kKernel[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) { ret; }\n";

class CudaExecutorTest : public testing::Test {
 protected:
  ~CudaExecutorTest() override { std::filesystem::remove(ptxas_); }
  AssemblerOptions Ptxas(const std::string& body) {
    std::ofstream(ptxas_) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(ptxas_, std::filesystem::perms::owner_all);
    return {ptxas_};
  }
  static KernelLaunch Launch() {
    KernelLaunch launch;
    launch.text = kKernel;
    launch.arguments.resize(2);
    launch.arguments[0].buffer = 0;
    launch.arguments[1].buffer = 1;
    return launch;
  }
  // What the kernel writes, or why it does not run.
  static absl::StatusOr<std::vector<uint8_t>> Written(const AssemblerOptions& assembler) {
    auto executor = MakeCudaExecutor(0, {}, assembler);
    if (!executor.ok()) return executor.status();
    const KernelLaunch launch = Launch();
    if (const absl::Status status = (*executor)->Prepare(launch); !status.ok()) return status;
    Buffers buffers = {std::vector<uint8_t>(16), std::vector<uint8_t>(16)};
    if (const absl::Status status = (*executor)->Run(0, &buffers); !status.ok()) return status;
    return buffers[1];
  }

  const std::string ptxas_ = absl::StrCat(testing::TempDir(), "/ptxas_", getpid());
  const ScopedVariable driver_{"SAMEBITS_CUDA_DRIVER", SAMEBITS_FAKE_DRIVER}, runtime_{"SAMEBITS_CUDART", SAMEBITS_FAKE_DRIVER},
      nvrtc_{"SAMEBITS_NVRTC", SAMEBITS_FAKE_DRIVER}, cublas_{"SAMEBITS_CUBLAS", SAMEBITS_FAKE_DRIVER};
};

TEST_F(CudaExecutorTest, DevicesAreDescribedWithTheLibrariesThatAreThere) {
  const ScopedVariable missing("SAMEBITS_CUBLASLT", "/nowhere/libcublasLt.so");
  const auto devices = ListCudaDevices(3);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 1);
  const DeviceInfo& device = devices->front();
  EXPECT_EQ(device.index, 3);
  EXPECT_EQ(device.name, "Stand-in");
  EXPECT_EQ(device.architecture, "sm_90");
  EXPECT_EQ(device.multiprocessors, 132);
  EXPECT_EQ(device.driver_version, "13.1");
  EXPECT_EQ(device.clock_megahertz, 1980);
  EXPECT_TRUE(device.ecc);
  std::vector<std::string> found;
  for (const LibraryVersion& library : device.libraries)
    if (library.name != "driver") found.push_back(absl::StrCat(library.name, " ", library.version));
  EXPECT_THAT(found, testing::ElementsAre("cudart 12.8", "nvrtc 13.2", "cublas 13.1.4"));
  const ScopedVariable there("SAMEBITS_CUBLASLT", SAMEBITS_FAKE_DRIVER);
  EXPECT_EQ(ListCudaDevices(0)->front().libraries.back().version, "13.2.7");
}

TEST_F(CudaExecutorTest, ItRunsWhatTheDriverOrTheNamedAssemblerMakes) {
  const auto by_driver = Written({}), by_program = Written(Ptxas("printf '\\177ELF code' > \"$4\""));
  const auto by_other = Written(Ptxas("printf '\\177ELF other code' > \"$4\""));
  for (const auto* written : {&by_driver, &by_program, &by_other}) ASSERT_TRUE(written->ok()) << written->status();
  EXPECT_EQ(*by_driver, *Written({}));
  EXPECT_NE(*by_driver, *by_program);
  EXPECT_NE(*by_program, *by_other);
}

TEST_F(CudaExecutorTest, TheProgramAssemblesForThisDeviceAndTheTextsSuffix) {
  EXPECT_TRUE(Written(Ptxas("[ \"$1\" = --gpu-name=sm_90a ] && printf '\\177ELF' > \"$4\"")).ok());
}

TEST_F(CudaExecutorTest, WhatItRefusesAndWhatIsNoCodeAreErrorsOfTheLaunch) {
  const absl::Status refused = Written(Ptxas("echo too many registers; exit 1")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("too many registers"));
  const absl::Status no_code = Written(Ptxas("echo hello > \"$4\"")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(no_code)) << no_code;
  EXPECT_THAT(std::string(no_code.message()), HasSubstr("cuModuleLoadDataEx"));
}

}  // namespace
}  // namespace samebits::workers
