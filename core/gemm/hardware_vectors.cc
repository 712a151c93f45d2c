#include "core/gemm/hardware_vectors.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/softfloat/convert.h"
#include "core/softfloat/matrix_unit.h"

namespace samebits::gemm {
namespace {

using softfloat::Format;
using softfloat::FormatId;
using softfloat::MatrixInstruction;
using softfloat::MatrixUnit;
using softfloat::Rounding;

constexpr size_t kMaxColumns = 1024;

struct Gpu {
  const char* name;
  int sm;
};
constexpr Gpu kGpus[] = {{"V100", 70}, {"A100", 80}, {"L40S", 89}, {"Ada", 89}, {"H100", 90}, {"H200", 90}, {"B200", 100}};

const Format* InputFormat(const std::string& type) {
  if (type == "fp16") return &softfloat::kF16;
  if (type == "bf16") return &softfloat::kBf16;
  if (type == "tf32") return &softfloat::kTf32;
  if (type == "E4M3") return &softfloat::kE4m3;
  if (type == "E5M2") return &softfloat::kE5m2;
  return nullptr;
}

const Format* ResultFormat(const std::string& result) {
  if (result == "fp32") return &softfloat::kF32;
  if (result == "fp16") return &softfloat::kF16;
  return nullptr;
}

struct Model {
  MatrixUnit unit;
  std::string name;
  bool zero_accumulator;  // the published rows were taken without the accumulator
};

// fp8 with an f32 accumulator was taken with wgmma and c = 0 on sm_90, everything else with mma.
std::optional<Model> FindModel(const std::string& gpu, const Format& input, const Format& result) {
  const auto* known = std::find_if(std::begin(kGpus), std::end(kGpus), [&](const Gpu& g) { return gpu == g.name; });
  if (known == std::end(kGpus)) return std::nullopt;
  const bool fp8 = input.bits == 8;
  const bool wgmma = fp8 && known->sm == 90 && result.id == FormatId::kF32;
  const auto unit = FindMatrixUnit(known->sm, wgmma ? MatrixInstruction::kWgmma : MatrixInstruction::kMma, input.id,
                                   input.id, result.id);
  if (!unit) return std::nullopt;
  return Model{*unit, absl::StrCat("sm_", known->sm, wgmma ? " wgmma" : " mma"), wgmma};
}

using Rows = std::vector<std::vector<uint64_t>>;

absl::Status Malformed(const std::string& path, size_t line, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", what));
}

absl::StatusOr<Rows> ReadRows(const std::string& path, int base) {
  std::ifstream in(path);
  if (!in) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  Rows rows;
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    std::vector<uint64_t> row;
    for (std::string_view rest = line;;) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r"), rest.size()));
      if (rest.empty()) break;
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
      uint32_t value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
      if (error != std::errc() || end != word.data() + word.size()) return Malformed(path, number, "not a 32-bit pattern");
      if (row.size() == kMaxColumns) return Malformed(path, number, "more than 1024 values");
      row.push_back(value);
      rest.remove_prefix(word.size());
    }
    if (!row.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

struct VectorSet {
  Rows a, b, c, d;
};

absl::StatusOr<VectorSet> ReadSet(const std::filesystem::path& folder, const VectorCheck& check) {
  const auto path = [&](const std::string& name) { return (folder / (name + ".txt")).string(); };
  const std::string inputs = absl::StrCat("_", check.gpu, "_", check.type);
  VectorSet set;
  for (const auto& [rows, name, base] :
       {std::tuple{&set.a, "a" + inputs, 16}, std::tuple{&set.b, "b" + inputs, 16},
        std::tuple{&set.c, absl::StrCat("c_", check.gpu, "_fp32"), 2},
        std::tuple{&set.d, absl::StrCat("d_", check.gpu, "_", check.result), 2}}) {
    absl::StatusOr<Rows> read = ReadRows(path(name), base);
    if (!read.ok()) return read.status();
    *rows = *std::move(read);
  }
  const size_t rows = set.d.size();
  if (rows == 0) return absl::InvalidArgumentError(absl::StrCat(folder.string(), ": no rows"));
  if (set.a.size() != rows || set.b.size() != rows || set.c.size() != rows) {
    return absl::InvalidArgumentError(absl::StrCat(folder.string(), ": files differ in their number of rows"));
  }
  for (size_t i = 0; i < rows; ++i) {
    if (set.a[i].size() != set.b[i].size() || set.c[i].size() != 1 || set.d[i].size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(folder.string(), ": row ", i + 1, " is not of one length"));
    }
  }
  return set;
}

std::vector<softfloat::MatrixElement> Decode(const Format& format, const std::vector<uint64_t>& widened) {
  std::vector<softfloat::MatrixElement> elements;
  for (uint64_t bits : widened) {
    // tf32 keeps its f32 container
    const uint64_t narrow =
        format.id == FormatId::kTf32 ? bits : ConvertFloat(format, softfloat::kF32, bits, Rounding::kRn);
    elements.push_back(softfloat::DecodeElement(format, narrow));
  }
  return elements;
}

int64_t CountMismatches(const Model& model, const Format& input, const Format& result, const VectorSet& set) {
  int64_t mismatches = 0;
  for (size_t i = 0; i < set.d.size(); ++i) {
    const uint64_t c =
        model.zero_accumulator ? 0 : ConvertFloat(result, softfloat::kF32, set.c[i][0], Rounding::kRn);
    const uint64_t d = Dot(model.unit, Decode(input, set.a[i]), Decode(input, set.b[i]), c);
    mismatches += ConvertFloat(softfloat::kF32, result, d, Rounding::kRn) != set.d[i][0];
  }
  return mismatches;
}

absl::StatusOr<VectorCheck> CheckOne(const std::filesystem::path& folder, const std::string& gpu,
                                     const std::string& result) {
  VectorCheck check{gpu, folder.filename().string(), result};
  absl::StatusOr<VectorSet> set = ReadSet(folder, check);
  if (!set.ok()) return set.status();
  check.rows = static_cast<int64_t>(set->d.size());
  const Format* input = InputFormat(check.type);
  const Format* output = ResultFormat(check.result);
  const std::optional<Model> model = input && output ? FindModel(gpu, *input, *output) : std::nullopt;
  if (!model) return check;
  check.claimed = true;
  check.unit = model->name;
  check.mismatches = CountMismatches(*model, *input, *output, *set);
  return check;
}

}  // namespace

absl::StatusOr<std::vector<VectorCheck>> CheckVectors(const std::string& folder) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator walk(folder, error), end;
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  std::vector<std::filesystem::path> files;
  for (; walk != end; walk.increment(error)) {
    if (error) return absl::InvalidArgumentError(absl::StrCat(folder, ": ", error.message()));
    const std::string name = walk->path().filename().string();
    if (name.starts_with("d_") && name.ends_with(".txt")) files.push_back(walk->path());
  }
  std::vector<VectorCheck> checks;
  for (const std::filesystem::path& file : files) {
    const std::string stem = file.stem().string();  // d_GPU_RESULT
    const size_t cut = stem.rfind('_');
    if (cut <= 2) return absl::InvalidArgumentError(absl::StrCat(file.string(), ": is not named d_GPU_RESULT.txt"));
    absl::StatusOr<VectorCheck> check = CheckOne(file.parent_path(), stem.substr(2, cut - 2), stem.substr(cut + 1));
    if (!check.ok()) return check.status();
    checks.push_back(*std::move(check));
  }
  if (checks.empty()) return absl::NotFoundError(absl::StrCat(folder, ": holds no files d_GPU_RESULT.txt"));
  std::sort(checks.begin(), checks.end(), [](const VectorCheck& x, const VectorCheck& y) {
    return std::tie(x.gpu, x.type, x.result) < std::tie(y.gpu, y.type, y.result);
  });
  return checks;
}

}  // namespace samebits::gemm
