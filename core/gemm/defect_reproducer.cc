#include "core/gemm/defect_reproducer.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/gemm/operand.h"

namespace samebits::gemm {
namespace {

struct CudaType {
  const char* name;
  const char* element;  // of the program, by width
  uint64_t one;
};

std::optional<CudaType> CudaTypeOf(FormatId type) {
  switch (type) {
    case FormatId::kE4m3:
      return CudaType{"CUDA_R_8F_E4M3", "uint8_t", 0x38};
    case FormatId::kE5m2:
      return CudaType{"CUDA_R_8F_E5M2", "uint8_t", 0x3c};
    case FormatId::kF16:
      return CudaType{"CUDA_R_16F", "uint16_t", 0x3c00};
    case FormatId::kBf16:
      return CudaType{"CUDA_R_16BF", "uint16_t", 0x3f80};
    case FormatId::kF32:
      return CudaType{"CUDA_R_32F", "uint32_t", 0x3f800000};
    default:
      return std::nullopt;
  }
}

constexpr char kProgram[] = R"(// $WHAT
// Found by samebits on $DEVICE with cuBLASLt $VERSION. D (m x n, row-major) = A (m x k) * B (n x k) transposed.
// Build and run:  g++ -O1 -I/usr/local/cuda/include THIS.cc -o show -L/usr/local/cuda/lib64 -lcublasLt -lcudart && ./show
// Exit code: 1 the tail is lost, 0 it is not, 2 something else failed.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int64_t kM = $M, kN = $N, kK = $K, kSummed = $SUMMED;
constexpr size_t kWorkspace = $WORKSPACE;
using Input = $INPUT;
using Output = $OUTPUT;
constexpr Input kOne = $ONE;

#define CHECK(call)                                                       \
  if (const auto code = (call); static_cast<int>(code) != 0) {            \
    std::printf("%s: error %d\n", #call, static_cast<int>(code));         \
    std::exit(2);                                                         \
  }

double ValueOf(Output pattern) {
  const int exponent_bits = $EXPONENT_BITS, fraction_bits = $FRACTION_BITS;
  const uint64_t field = (pattern >> fraction_bits) & ((1u << exponent_bits) - 1);
  const double fraction = static_cast<double>(pattern & ((1u << fraction_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double value = (field != 0 ? 1.0 : 0.0) + fraction / static_cast<double>(1u << fraction_bits);
  for (int e = field != 0 ? static_cast<int>(field) - bias : 1 - bias; e != 0; e += e < 0 ? 1 : -1) value *= e < 0 ? 0.5 : 2.0;
  return pattern >> (exponent_bits + fraction_bits) != 0 ? -value : value;
}

struct Library {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t b, a, d;
  cublasLtMatmulHeuristicResult_t answer{};
  void *a_at, *b_at, *d_at, *workspace;

  // cuBLASLt counts columns first: its A is B, and the reverse.
  Library() {
    CHECK(cublasLtCreate(&handle));
    CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t first = $B_OPERATION, second = $A_OPERATION;
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first)));
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof(second)));
    CHECK(cublasLtMatrixLayoutCreate(&b, $B_TYPE, $B_ROWS, $B_COLUMNS, $B_ROWS));
    CHECK(cublasLtMatrixLayoutCreate(&a, $A_TYPE, $A_ROWS, $A_COLUMNS, $A_ROWS));
    CHECK(cublasLtMatrixLayoutCreate(&d, $D_TYPE, kN, kM, kN));
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const uint64_t most = kWorkspace;
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most)));
    int answers = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, operation, b, a, d, d, preference, 1, &answer, &answers));
    if (answers == 0) std::printf("no algorithm\n"), std::exit(2);
    CHECK(cudaMalloc(&a_at, kM * kK * sizeof(Input)));
    CHECK(cudaMalloc(&b_at, kN * kK * sizeof(Input)));
    CHECK(cudaMalloc(&d_at, kM * kN * sizeof(Output)));
    CHECK(cudaMalloc(&workspace, kWorkspace));
  }

  // How many of D's elements are what a product has where A and B hold ones at [begin, end) of the contracted axis, and
  // zeros elsewhere; prints D's first element.
  int64_t RightSums(int64_t begin, int64_t end) {
    const auto fill = [&](int64_t rows, bool contiguous, void* to) {
      std::vector<Input> values(rows * kK);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = begin; i < end; ++i) values[contiguous ? r * kK + i : i * rows + r] = kOne;
      CHECK(cudaMemcpy(to, values.data(), values.size() * sizeof(Input), cudaMemcpyHostToDevice));
    };
    fill(kM, $A_CONTIGUOUS, a_at);
    fill(kN, $B_CONTIGUOUS, b_at);
    const float one = 1, zero = 0;
    CHECK(cublasLtMatmul(handle, operation, &one, b_at, b, a_at, a, &zero, d_at, d, d_at, d, &answer.algo, workspace, kWorkspace, nullptr));
    std::vector<Output> result(kM * kN);
    CHECK(cudaMemcpy(result.data(), d_at, result.size() * sizeof(Output), cudaMemcpyDeviceToHost));
    int64_t right = 0;
    for (Output pattern : result) right += ValueOf(pattern) == static_cast<double>(end - begin);
    std::printf("ones at [%lld, %lld): D[0][0] = %g, right is %lld; %lld of %lld elements are right\n", static_cast<long long>(begin),
                static_cast<long long>(end), ValueOf(result[0]), static_cast<long long>(end - begin), static_cast<long long>(right),
                static_cast<long long>(kM * kN));
    return right;
  }
};

}  // namespace

int main() {
  std::printf("cuBLASLt %zu, D (%lld x %lld), k %lld\n", cublasLtGetVersion(), static_cast<long long>(kM), static_cast<long long>(kN),
              static_cast<long long>(kK));
  Library library;
  const int64_t tail = kK - kSummed;
  const int64_t before = library.RightSums(kSummed - tail, kSummed), lost = kM * kN - library.RightSums(kSummed, kK);
  if (before != kM * kN) return std::printf("elements before the tail are lost, too\n"), 2;
  std::printf(lost == 0 ? "the tail is summed\n" : "THE TAIL IS LOST in %lld elements of D\n", static_cast<long long>(lost));
  return lost == 0 ? 0 : 1;
}
)";

}  // namespace

std::vector<ProfileDefect> DefectsOf(const ArchProfile& profile) {
  std::vector<ProfileDefect> defects;
  for (const auto& [kind, section] : profile.sections) {
    for (const ProfileShape& s : section.shapes) {
      if (s.explained && s.summed_k < s.k) defects.push_back({kind.At(s.m, s.n, s.k), s.summed_k});
    }
  }
  return defects;
}

absl::StatusOr<std::string> DefectReproducer(const ArchProfile& profile, const ProfileDefect& defect) {
  const GemmProblem& p = defect.problem;
  const auto a = CudaTypeOf(p.a_type), b = CudaTypeOf(p.b_type), d = CudaTypeOf(p.output_type);
  if (profile.library != "cuBLASLt" || p.accumulate_type != FormatId::kF32 || !a || !b || !d || p.a_type != p.b_type)
    return absl::UnimplementedError(absl::StrCat("no reproducer is written for ", profile.library, " with ", TypesText(p)));
  if (defect.summed_k < 1 || defect.summed_k >= p.k || 2 * defect.summed_k < p.k)
    return absl::UnimplementedError("no reproducer is written where half of the elements or more are lost");
  const softfloat::Format& output = FormatOf(p.output_type);
  const std::string tail = absl::StrCat("Elements ", defect.summed_k, " to ", p.k - 1, " of the contracted axis are left out of a product of ",
                                        p.m, " x ", p.n, " x ", p.k, ", types ", TypesText(p), ", layout ", ToText(p.layout), ".");
  return absl::StrReplaceAll(
      kProgram, {{"$WHAT", tail},
                 {"$DEVICE", profile.device},
                 {"$VERSION", absl::StrCat(profile.library_version)},
                 {"$M", absl::StrCat(p.m)},
                 {"$N", absl::StrCat(p.n)},
                 {"$K", absl::StrCat(p.k)},
                 {"$SUMMED", absl::StrCat(defect.summed_k)},
                 {"$WORKSPACE", absl::StrCat(profile.workspace_bytes)},
                 {"$INPUT", a->element},
                 {"$OUTPUT", d->element},
                 {"$ONE", absl::StrCat(a->one)},
                 {"$EXPONENT_BITS", absl::StrCat(output.exponent_bits)},
                 {"$FRACTION_BITS", absl::StrCat(output.fraction_bits)},
                 {"$B_OPERATION", p.b_contiguous() ? "CUBLAS_OP_T" : "CUBLAS_OP_N"},
                 {"$A_OPERATION", p.a_contiguous() ? "CUBLAS_OP_N" : "CUBLAS_OP_T"},
                 {"$B_TYPE", b->name},
                 {"$A_TYPE", a->name},
                 {"$D_TYPE", d->name},
                 {"$B_ROWS", p.b_contiguous() ? "kK" : "kN"},
                 {"$B_COLUMNS", p.b_contiguous() ? "kN" : "kK"},
                 {"$A_ROWS", p.a_contiguous() ? "kK" : "kM"},
                 {"$A_COLUMNS", p.a_contiguous() ? "kM" : "kK"},
                 {"$A_CONTIGUOUS", p.a_contiguous() ? "true" : "false"},
                 {"$B_CONTIGUOUS", p.b_contiguous() ? "true" : "false"}});
}

}  // namespace samebits::gemm
