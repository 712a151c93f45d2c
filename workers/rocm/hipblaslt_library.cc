#include "workers/rocm/hipblaslt_library.h"

#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gemm/operand.h"
#include "workers/loading/return_if.h"

namespace samebits::workers {
namespace {

using gemm::GemmProblem;
using softfloat::FormatId;

std::optional<int> DataType(FormatId type) {
  switch (type) {
    case FormatId::kE4m3:
      return hip::kR8FE4M3;
    case FormatId::kE5m2:
      return hip::kR8FE5M2;
    case FormatId::kF16:
      return hip::kR16F;
    case FormatId::kBf16:
      return hip::kR16BF;
    case FormatId::kTf32:
    case FormatId::kF32:
      return hip::kR32F;
    case FormatId::kF64:
      return hip::kR64F;
    default:
      return std::nullopt;
  }
}

struct Arithmetic {
  int compute, scale_type;
  const void *one, *zero;
};

Arithmetic ArithmeticOf(const GemmProblem& p) {
  static constexpr float kOne = 1, kZero = 0;
  static constexpr double kOne64 = 1, kZero64 = 0;
  static constexpr uint16_t kOne16 = 0x3c00, kZero16 = 0;
  if (p.accumulate_type == FormatId::kF64) return {hip::kCompute64F, hip::kR64F, &kOne64, &kZero64};
  if (p.accumulate_type == FormatId::kF16) return {hip::kCompute16F, hip::kR16F, &kOne16, &kZero16};
  const int compute = p.a_type == FormatId::kTf32 ? hip::kCompute32FFastTf32 : hip::kCompute32F;
  return {compute, hip::kR32F, &kOne, &kZero};
}

}  // namespace

absl::StatusOr<std::unique_ptr<HipblasLtLibrary>> HipblasLtLibrary::Open(const HipblasLtOptions& options) {
  absl::StatusOr<std::shared_ptr<const HipApi>> api = HipApi::Load();
  if (!api.ok()) return api.status();
  std::unique_ptr<HipblasLtLibrary> library(new HipblasLtLibrary(*std::move(api)));
  SAMEBITS_RETURN_IF(library->Start(options));
  return library;
}

absl::Status HipblasLtLibrary::Start(const HipblasLtOptions& options) {
  device_ = options.device;
  workspace_bytes_ = options.workspace_bytes;
  if (api_->hipSetDevice(device_) != hip::kSuccess) return absl::UnavailableError("no such HIP device");
  char name[256] = {};
  SAMEBITS_RETURN_IF(api_->Hip(api_->hipDeviceGetName(name, sizeof(name) - 1, device_), "hipDeviceGetName"));
  device_name_ = name;
  SAMEBITS_RETURN_IF(api_->Hip(
      api_->hipDeviceGetAttribute(&compute_units_, hip::kAttributeMultiprocessorCount, device_), "hipDeviceGetAttribute"));
  SAMEBITS_RETURN_IF(workspace_.Reserve(workspace_bytes_));
  SAMEBITS_RETURN_IF(HipApi::Blas(api_->hipblasLtCreate(&handle_), "hipblasLtCreate"));
  return HipApi::Blas(api_->hipblasLtGetVersion(handle_, &version_), "hipblasLtGetVersion");
}

HipblasLtLibrary::~HipblasLtLibrary() {
  Forget();
  if (handle_ != nullptr) api_->hipblasLtDestroy(handle_);
}

absl::Status HipblasLtLibrary::SelectDevice() const { return api_->Hip(api_->hipSetDevice(device_), "hipSetDevice"); }

void HipblasLtLibrary::Forget() {
  problem_.reset();
  for (hip::Descriptor* layout : {&layout_a_, &layout_b_, &layout_d_}) {
    if (*layout != nullptr) api_->hipblasLtMatrixLayoutDestroy(*layout);
    *layout = nullptr;
  }
  if (operation_ != nullptr) api_->hipblasLtMatmulDescDestroy(operation_);
  operation_ = nullptr;
}

// Column-major for the library: D^T (n x m) = op(B) * op(A).
absl::Status HipblasLtLibrary::Describe(const GemmProblem& p) {
  if (problem_ && *problem_ == p) return absl::OkStatus();
  Forget();
  const auto a = DataType(p.a_type), b = DataType(p.b_type), d = DataType(p.output_type);
  if (!a || !b || !d) return absl::UnimplementedError(absl::StrCat("hipBLASLt has no name for a type of ", TypesText(p)));
  SAMEBITS_RETURN_IF(SelectDevice());
  const Arithmetic arithmetic = ArithmeticOf(p);
  SAMEBITS_RETURN_IF(HipApi::Blas(
      api_->hipblasLtMatmulDescCreate(&operation_, arithmetic.compute, arithmetic.scale_type), "describe"));
  const auto set = [&](int attribute, int32_t operation) {
    return HipApi::Blas(
        api_->hipblasLtMatmulDescSetAttribute(operation_, attribute, &operation, sizeof(operation)), "describe");
  };
  SAMEBITS_RETURN_IF(set(hip::kDescTransA, p.b_contiguous() ? hip::kOpT : hip::kOpN));
  SAMEBITS_RETURN_IF(set(hip::kDescTransB, p.a_contiguous() ? hip::kOpN : hip::kOpT));
  const auto matrix = [&](hip::Descriptor* layout, int type, int64_t rows, int64_t columns) {
    return HipApi::Blas(api_->hipblasLtMatrixLayoutCreate(layout, type, rows, columns, rows), "layout");
  };
  SAMEBITS_RETURN_IF(p.b_contiguous() ? matrix(&layout_b_, *b, p.k, p.n) : matrix(&layout_b_, *b, p.n, p.k));
  SAMEBITS_RETURN_IF(p.a_contiguous() ? matrix(&layout_a_, *a, p.k, p.m) : matrix(&layout_a_, *a, p.m, p.k));
  SAMEBITS_RETURN_IF(matrix(&layout_d_, *d, p.n, p.m));
  SAMEBITS_RETURN_IF(AskCostModel());
  problem_ = p;
  return absl::OkStatus();
}

absl::Status HipblasLtLibrary::AskCostModel() {
  hip::Descriptor preference = nullptr;
  SAMEBITS_RETURN_IF(HipApi::Blas(api_->hipblasLtMatmulPreferenceCreate(&preference), "preference"));
  const uint64_t most = workspace_bytes_;
  absl::Status status = HipApi::Blas(api_->hipblasLtMatmulPreferenceSetAttribute(
                                         preference, hip::kPreferenceMaxWorkspaceBytes, &most, sizeof(most)),
                                     "preference");
  hip::HeuristicResult answer;
  int answers = 0;
  if (status.ok()) {
    status = HipApi::Blas(api_->hipblasLtMatmulAlgoGetHeuristic(handle_, operation_, layout_b_, layout_a_, layout_d_,
                                                                layout_d_, preference, 1, &answer, &answers),
                          "cost model");
  }
  api_->hipblasLtMatmulPreferenceDestroy(preference);
  SAMEBITS_RETURN_IF(status);
  if (answers == 0) return absl::UnimplementedError("the cost model has no answer for this problem");
  chosen_ = answer;
  return HipApi::Blas(answer.state, "cost model");
}

absl::StatusOr<gemm::Algorithm> HipblasLtLibrary::Choose(const GemmProblem& problem) {
  SAMEBITS_RETURN_IF(Describe(problem));
  uint32_t words[4];
  std::memcpy(words, chosen_.algo.data, sizeof(words));
  gemm::Algorithm algorithm;
  algorithm.id = words[0], algorithm.custom = words[1], algorithm.inner = words[2], algorithm.cluster = words[3];
  algorithm.workspace_bytes = static_cast<int64_t>(chosen_.workspace_size);
  return algorithm;
}

absl::StatusOr<gemm::CallProfile> HipblasLtLibrary::Profile(const GemmProblem& problem) {
  const absl::StatusOr<gemm::Algorithm> algorithm = Choose(problem);
  if (!algorithm.ok()) return algorithm.status();
  gemm::CallProfile profile;
  profile.kernel = gemm::ToText(*algorithm);
  profile.kernels = 0;
  profile.instruction = gemm::Instruction::kMfma;
  profile.workspace_bytes = algorithm->workspace_bytes;
  return profile;
}

absl::Status HipblasLtLibrary::Prepare() {
  const GemmProblem& p = *problem_;
  const auto reserve = [](absl::StatusOr<int64_t> bytes, int64_t* size, HipBuffer* buffer) {
    if (!bytes.ok()) return bytes.status();
    *size = *bytes;
    return buffer->Reserve(*bytes);
  };
  SAMEBITS_RETURN_IF(reserve(gemm::MatrixBytes(p.m, p.k, p.a_type), &a_bytes_, &a_));
  SAMEBITS_RETURN_IF(reserve(gemm::MatrixBytes(p.n, p.k, p.b_type), &b_bytes_, &b_));
  SAMEBITS_RETURN_IF(reserve(gemm::MatrixBytes(p.m, p.n, p.output_type), &d_bytes_, &d_));
  SAMEBITS_RETURN_IF(api_->Hip(api_->hipMemset(a_.data(), 0, a_bytes_), "hipMemset"));
  SAMEBITS_RETURN_IF(api_->Hip(api_->hipMemset(b_.data(), 0, b_bytes_), "hipMemset"));
  return api_->Hip(api_->hipMemset(d_.data(), 0xff, d_bytes_), "hipMemset");  // what is not written shows as NaN
}

absl::Status HipblasLtLibrary::PlaceRows(const gemm::SparseRows& rows, FormatId type, bool contiguous, int64_t side,
                                         uint8_t* to) {
  const int64_t k = problem_->k, width = gemm::BytesOf(type);
  std::vector<uint8_t> bytes(rows.patterns.size() * width);
  for (size_t i = 0; i < rows.patterns.size(); ++i) gemm::StoreElement(bytes, type, i, rows.patterns[i]);
  for (size_t r = 0; r < rows.index.size(); ++r) {
    const uint8_t* from = bytes.data() + r * k * width;
    const int64_t row = rows.index[r];
    SAMEBITS_RETURN_IF(api_->Hip(
        contiguous ? api_->hipMemcpy(to + row * k * width, from, k * width, hip::kCopyHostToDevice)
                   : api_->hipMemcpy2D(to + row * width, side * width, from, width, width, k, hip::kCopyHostToDevice),
        "upload"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> HipblasLtLibrary::Gather(const gemm::SparseRows& a, const gemm::SparseRows& b,
                                                               std::span<const gemm::Output> outputs) {
  const int64_t row_bytes = problem_->n * gemm::BytesOf(problem_->output_type);
  std::map<int64_t, std::vector<uint8_t>> rows;
  std::vector<uint64_t> patterns;
  for (const gemm::Output& output : outputs) {
    std::vector<uint8_t>& row = rows[output.row];
    if (row.empty()) {
      row.resize(row_bytes);
      SAMEBITS_RETURN_IF(api_->Hip(
          api_->hipMemcpy(row.data(), d_.data() + a.index[output.row] * row_bytes, row_bytes, hip::kCopyDeviceToHost),
          "download"));
    }
    patterns.push_back(gemm::LoadElement(row, problem_->output_type, b.index[output.column]));
  }
  return patterns;
}

absl::StatusOr<std::vector<uint64_t>> HipblasLtLibrary::Multiply(const GemmProblem& problem, const gemm::SparseRows& a,
                                                                 const gemm::SparseRows& b,
                                                                 std::span<const gemm::Output> outputs) {
  SAMEBITS_RETURN_IF(SelectDevice());
  SAMEBITS_RETURN_IF(Describe(problem));
  SAMEBITS_RETURN_IF(Prepare());
  SAMEBITS_RETURN_IF(PlaceRows(a, problem.a_type, problem.a_contiguous(), problem.m, a_.data()));
  SAMEBITS_RETURN_IF(PlaceRows(b, problem.b_type, problem.b_contiguous(), problem.n, b_.data()));
  const Arithmetic arithmetic = ArithmeticOf(problem);
  SAMEBITS_RETURN_IF(HipApi::Blas(
      api_->hipblasLtMatmul(handle_, operation_, arithmetic.one, b_.data(), layout_b_, a_.data(), layout_a_,
                            arithmetic.zero, d_.data(), layout_d_, d_.data(), layout_d_, &chosen_.algo,
                            workspace_.data(), workspace_bytes_, nullptr),
      "hipblasLtMatmul"));
  SAMEBITS_RETURN_IF(api_->Hip(api_->hipDeviceSynchronize(), "hipblasLtMatmul"));
  return Gather(a, b, outputs);
}

}  // namespace samebits::workers
