#include "workers/gemm_jobs/operand_source.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::workers {
namespace {

constexpr int64_t kMostWholeBytes = 256 << 20;

}  // namespace

absl::StatusOr<OperandSource> OperandSource::Make(const v1::GemmOperand& operand, const std::string& name, gemm::FormatId type,
                                                  int64_t elements) {
  const auto bad = [&](const std::string& problem) { return absl::InvalidArgumentError(absl::StrCat(name, ": ", problem)); };
  OperandSource source(operand, type, elements);
  if (operand.has_packed()) {
    if (static_cast<int64_t>(operand.packed().size()) != elements * gemm::BytesOf(type))
      return bad(absl::StrCat(operand.packed().size(), " bytes, ", elements * gemm::BytesOf(type), " are needed"));
    return source;
  }
  const v1::GemmOperand::Generated& generated = operand.generated();
  const auto data_type = inputs::ParseDataType(gemm::FormatOf(type).name);
  const auto distribution = inputs::ParseDistribution(generated.distribution().empty() ? "uniform" : generated.distribution());
  if (!operand.has_generated()) return bad("no elements");
  if (!data_type) return bad("elements of this type cannot be generated");
  if (!distribution) return bad("unknown distribution");
  source.buffer_.name = generated.buffer().empty() ? name : generated.buffer();
  source.buffer_.type = *data_type;
  source.buffer_.elements = static_cast<uint64_t>(elements);
  source.distribution_ = *distribution;
  return source;
}

absl::StatusOr<std::vector<uint8_t>> OperandSource::Generate(int64_t first, int64_t count) const {
  return inputs::MakeElements(operand_.generated().seed(), buffer_, distribution_, static_cast<uint64_t>(first),
                              static_cast<uint64_t>(count));
}

absl::Status OperandSource::Append(int64_t first, int64_t count, std::vector<uint64_t>* out) {
  const int64_t width = gemm::BytesOf(type_);
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(operand_.packed().data()), operand_.packed().size());
  std::vector<uint8_t> made;
  if (operand_.has_generated()) {
    const bool keep = elements_ * width <= kMostWholeBytes;
    if (!keep || whole_.empty()) {
      absl::StatusOr<std::vector<uint8_t>> generated = keep ? Generate(0, elements_) : Generate(first, count);
      if (!generated.ok()) return generated.status();
      (keep ? whole_ : made) = *std::move(generated);
    }
    bytes = keep ? std::span<const uint8_t>(whole_) : made;
    if (!keep) first = 0;
  }
  for (int64_t i = first; i < first + count; ++i) out->push_back(gemm::LoadElement(bytes, type_, i));
  return absl::OkStatus();
}

}  // namespace samebits::workers
