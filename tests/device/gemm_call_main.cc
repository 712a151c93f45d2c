// One product of a library, of generated operands (docs/inputs.md, buffers "a" and "b"), as `samebits gemm emulate --a
// generate:SEED --b generate:SEED` takes them: prints the SHA-256 of D, row after row.
//   samebits_gemm_call LIBRARY TYPES LAYOUT M N K SEED DISTRIBUTION
// LIBRARY: cublaslt, cublas, or simulated, which needs no GPU.

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/sha256.h"
#include "core/gemm/operand.h"
#include "core/inputs/inputs.h"
#include "workers/gemm/library.h"

namespace samebits::device_test {
namespace {

absl::StatusOr<gemm::SparseRows> Rows(const std::string& name, gemm::FormatId type, int64_t rows, int64_t k, const std::string& seed,
                                      inputs::Distribution distribution) {
  const auto data_type = inputs::ParseDataType(gemm::FormatOf(type).name);
  if (!data_type) return absl::InvalidArgumentError("types: elements cannot be generated");
  const auto bytes = inputs::MakeBuffer(seed, {name, *data_type, static_cast<uint64_t>(rows * k)}, distribution);
  if (!bytes.ok()) return bytes.status();
  gemm::SparseRows made{std::vector<int64_t>(rows), gemm::LoadPatterns(*bytes, type)};
  std::iota(made.index.begin(), made.index.end(), 0);
  return made;
}

absl::StatusOr<std::string> DigestOfProduct(const std::string& name, const gemm::GemmProblem& p, const std::string& seed,
                                            inputs::Distribution distribution) {
  const auto library = workers::FindGemmLibrary({name});
  if (!library.ok()) return library.status();
  const auto box = library->open();
  if (!box.ok()) return box.status();
  const auto a = Rows("a", p.a_type, p.m, p.k, seed, distribution), b = Rows("b", p.b_type, p.n, p.k, seed, distribution);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  std::vector<gemm::Output> outputs;
  for (int64_t i = 0; i < p.m * p.n; ++i) outputs.push_back({i / p.n, i % p.n});
  const auto d = (*box)->Multiply(p, *a, *b, outputs);
  if (!d.ok()) return d.status();
  std::vector<uint8_t> bytes(d->size() * gemm::BytesOf(p.output_type));
  for (size_t i = 0; i < d->size(); ++i) gemm::StoreElement(bytes, p.output_type, static_cast<int64_t>(i), (*d)[i]);
  return Sha256Hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

absl::StatusOr<std::string> Run(char** argv) {
  gemm::GemmProblem p;
  if (absl::Status status = gemm::ParseTypes(argv[2], &p); !status.ok()) return status;
  const absl::StatusOr<gemm::Layout> layout = gemm::ParseLayout(argv[3]);
  if (!layout.ok()) return layout.status();
  p.layout = *layout;
  p.m = std::atoll(argv[4]), p.n = std::atoll(argv[5]), p.k = std::atoll(argv[6]);
  const auto distribution = inputs::ParseDistribution(argv[8]);
  if (p.m < 1 || p.n < 1 || p.k < 1 || !distribution) return absl::InvalidArgumentError("sides must be positive, the distribution a name");
  return DigestOfProduct(argv[1], p, argv[7], *distribution);
}

}  // namespace
}  // namespace samebits::device_test

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr, "usage: see the head of gemm_call_main.cc\n");
    return 2;
  }
  const absl::StatusOr<std::string> digest = samebits::device_test::Run(argv);
  if (digest.ok()) return std::printf("%s\n", digest->c_str()), 0;
  std::fprintf(stderr, "%s\n", std::string(digest.status().message()).c_str());
  return 2;
}
