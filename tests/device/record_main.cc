// Records what a GPU returns for every probe and, given a file of launches (see KernelLaunch), for whole kernels:
//   samebits_device_recorder OUTPUT [LAUNCHES]
// Needs the NVIDIA driver and nothing else of the project, so that it builds anywhere:
//   g++ -std=c++20 -O2 -I. tests/device/{record_main,scalar_probes,matrix_probes,kernel_launch}.cc -ldl

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/device/cuda_driver.h"
#include "tests/device/probes.h"

namespace samebits::device_test {
namespace {

template <typename T>
std::vector<uint8_t> AsBytes(const T* first, size_t count) {
  std::vector<uint8_t> bytes(count * sizeof(T));
  std::memcpy(bytes.data(), first, bytes.size());
  return bytes;
}

class Recorder {
 public:
  Recorder(CudaDriver& driver, const char* path) : driver_(driver), file_(path, std::ios::binary) {}

  void RecordProbe(const std::string& name, const std::string& kernel, const std::vector<uint8_t>& input,
                   size_t output_bytes, uint32_t blocks, uint32_t threads, uint32_t shared_bytes) {
    std::vector<uint8_t> output(output_bytes);
    const uint64_t in = driver_.Allocate(input), out = driver_.Allocate(output);
    const bool ok = driver_.Launch(kernel, "probe", {blocks, 1, 1}, {threads, 1, 1}, shared_bytes,
                                   {AsBytes(&in, 1), AsBytes(&out, 1)}) &&
                    driver_.ReadBack(out, output);
    driver_.Free(in);
    driver_.Free(out);
    Write(name, output, ok);
  }

  void RecordKernel(const KernelLaunch& launch) {
    std::ifstream source(launch.path);
    std::stringstream text;
    text << source.rdbuf();
    std::vector<uint64_t> buffers;
    std::vector<std::vector<uint8_t>> args;
    for (const std::string& arg : launch.args) {
      if (arg != "p") {
        args.push_back(ArgumentBytes(arg));
        continue;
      }
      buffers.push_back(driver_.Allocate(BufferContents(buffers.size())));
      args.push_back(AsBytes(&buffers.back(), 1));
    }
    bool ok = driver_.Launch(text.str(), launch.entry, launch.grid, launch.block, launch.shared_bytes, args);
    std::vector<uint8_t> hashes, contents(kBufferBytes);
    for (uint64_t buffer : buffers) {
      ok = ok && driver_.ReadBack(buffer, contents);
      AppendPageHashes(contents.data(), contents.size(), &hashes);
      driver_.Free(buffer);
    }
    Write(launch.name, hashes, ok);
  }

  int failures() const { return failures_; }

 private:
  void Write(const std::string& name, const std::vector<uint8_t>& bytes, bool ok) {
    if (!ok) {
      ++failures_;
      std::printf("%s: %s\n", name.c_str(), driver_.error().c_str());
      return;
    }
    file_ << name << "\n" << bytes.size() << "\n";
    file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  CudaDriver& driver_;
  std::ofstream file_;
  int failures_ = 0;
};

int Main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::printf("usage: %s OUTPUT [LAUNCHES]\n", argv[0]);
    return 2;
  }
  std::string why;
  const auto driver = CudaDriver::Open(&why);
  if (driver == nullptr || driver->compute_capability() != 90) {
    std::printf("needs a device of compute capability 9.0: %s\n", why.c_str());
    return 1;
  }
  Recorder recorder(*driver, argv[1]);
  for (const Probe& probe : ScalarProbes()) {
    const std::vector<Row> rows = RowsFor(probe.inputs);
    recorder.RecordProbe(probe.text, ScalarKernel(probe), AsBytes(rows.data(), rows.size()),
                         rows.size() * kScalarResultBytes, kScalarRows / 128, 128, 0);
  }
  for (const MatrixProbe& probe : MatrixProbes()) {
    const std::vector<uint32_t> words = MatrixInput(probe, kMatrixBlocks);
    const size_t output_bytes = size_t{4} * kMatrixBlocks * probe.threads * probe.result_words;
    recorder.RecordProbe(probe.text, MatrixKernel(probe), AsBytes(words.data(), words.size()), output_bytes,
                         kMatrixBlocks, static_cast<uint32_t>(probe.threads), probe.shared_bytes);
  }
  std::ifstream launches(argc > 2 ? argv[2] : "");
  for (std::string line; argc > 2 && std::getline(launches, line);) {
    KernelLaunch launch;
    if (ParseKernelLaunch(line, &launch)) recorder.RecordKernel(launch);
  }
  std::printf("%d failures\n", recorder.failures());
  return recorder.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace samebits::device_test

int main(int argc, char** argv) { return samebits::device_test::Main(argc, argv); }
