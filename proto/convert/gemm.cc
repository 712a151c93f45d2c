#include "proto/convert/gemm.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::proto {
namespace {

using Desc = v1::GemmDesc;
using softfloat::FormatId;

constexpr std::pair<FormatId, Desc::Type> kTypes[] = {
    {FormatId::kE4m3, Desc::E4M3}, {FormatId::kE5m2, Desc::E5M2}, {FormatId::kF16, Desc::F16},
    {FormatId::kBf16, Desc::BF16}, {FormatId::kTf32, Desc::TF32}, {FormatId::kF32, Desc::F32},
    {FormatId::kF64, Desc::F64}};
constexpr std::pair<gemm::Family, Desc::Family> kFamilies[] = {{gemm::Family::kPlain, Desc::PLAIN},
                                                               {gemm::Family::kSplitK, Desc::SPLIT_K},
                                                               {gemm::Family::kChained, Desc::CHAINED},
                                                               {gemm::Family::kGemv, Desc::GEMV}};
constexpr std::pair<gemm::Instruction, Desc::Instruction> kInstructions[] = {
    {gemm::Instruction::kFma, Desc::FMA},     {gemm::Instruction::kMulAdd, Desc::MUL_ADD},
    {gemm::Instruction::kMma, Desc::MMA},     {gemm::Instruction::kWgmma, Desc::WGMMA},
    {gemm::Instruction::kTcgen05, Desc::TCGEN05}, {gemm::Instruction::kMfma, Desc::MFMA}};
constexpr std::pair<gemm::ShortTurn, Desc::ShortTurn> kShortTurns[] = {{gemm::ShortTurn::kLast, Desc::LAST},
                                                                       {gemm::ShortTurn::kFirst, Desc::FIRST}};
constexpr std::pair<gemm::CutLayout, Desc::Cut::Layout> kLayouts[] = {
    {gemm::CutLayout::kContiguous, Desc::Cut::CONTIGUOUS},
    {gemm::CutLayout::kStrided, Desc::Cut::STRIDED},
    {gemm::CutLayout::kBalanced, Desc::Cut::BALANCED}};
constexpr std::pair<gemm::MergeOrder, Desc::Cut::Order> kOrders[] = {
    {gemm::MergeOrder::kAscending, Desc::Cut::ASCENDING}, {gemm::MergeOrder::kDescending, Desc::Cut::DESCENDING},
    {gemm::MergeOrder::kLanes, Desc::Cut::LANES},
    {gemm::MergeOrder::kLanes4, Desc::Cut::LANES4},
    {gemm::MergeOrder::kLanes8, Desc::Cut::LANES8}};
constexpr std::pair<gemm::BetaStep, Desc::Epilogue::Beta> kBetas[] = {
    {gemm::BetaStep::kNone, Desc::Epilogue::BETA_NONE},
    {gemm::BetaStep::kFused, Desc::Epilogue::BETA_FUSED},
    {gemm::BetaStep::kMultiplyAdd, Desc::Epilogue::BETA_MULTIPLY_ADD}};
constexpr std::pair<gemm::Activation, Desc::Epilogue::Activation> kActivations[] = {
    {gemm::Activation::kNone, Desc::Epilogue::ACTIVATION_NONE}, {gemm::Activation::kRelu, Desc::Epilogue::RELU}};

template <typename Own, typename Message, size_t n>
Message ToMessage(const std::pair<Own, Message> (&table)[n], Own value) {
  for (const auto& [own, message] : table) {
    if (own == value) return message;
  }
  return Message{};
}

// Reads enums; the first that is not known is the error.
class Reader {
 public:
  template <typename Own, typename Message, size_t n>
  void Read(const char* field, const std::pair<Own, Message> (&table)[n], int value, Own* out) {
    for (const auto& [own, message] : table) {
      if (message != value) continue;
      *out = own;
      return;
    }
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(field, ": unspecified or unknown"));
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

}  // namespace

void GemmDescToProto(const gemm::GemmDesc& desc, v1::GemmDesc* out) {
  out->set_a_type(ToMessage(kTypes, desc.a_type));
  out->set_b_type(ToMessage(kTypes, desc.b_type));
  out->set_accumulate_type(ToMessage(kTypes, desc.accumulate_type));
  out->set_output_type(ToMessage(kTypes, desc.output_type));
  out->set_family(ToMessage(kFamilies, desc.family));
  out->set_instruction(ToMessage(kInstructions, desc.instruction));
  out->set_instruction_k(desc.instruction_k);
  out->set_use_fast_accum(desc.use_fast_accum);
  out->set_promotion_interval(desc.promotion_interval);
  out->set_k_loop_step(desc.k_loop_step);
  out->set_short_turn(ToMessage(kShortTurns, desc.short_turn));
  for (const gemm::KCut& cut : desc.k_cuts) {
    v1::GemmDesc::Cut* to = out->add_k_cuts();
    to->set_layout(ToMessage(kLayouts, cut.layout));
    to->set_span(cut.span);
    to->set_count(cut.count);
    to->set_order(ToMessage(kOrders, cut.order));
  }
  out->set_partial_type(ToMessage(kTypes, desc.partial_type));
  out->set_merge_type(ToMessage(kTypes, desc.merge_type));
  v1::GemmDesc::Epilogue* epilogue = out->mutable_epilogue();
  epilogue->set_multiply_alpha(desc.epilogue.alpha == gemm::AlphaStep::kMultiply);
  epilogue->set_beta(ToMessage(kBetas, desc.epilogue.beta));
  epilogue->set_add_bias(desc.epilogue.bias == gemm::BiasStep::kAdd);
  epilogue->set_activation(ToMessage(kActivations, desc.epilogue.activation));
}

absl::StatusOr<gemm::GemmDesc> GemmDescFromProto(const v1::GemmDesc& desc) {
  gemm::GemmDesc own;
  Reader reader;
  reader.Read("a_type", kTypes, desc.a_type(), &own.a_type);
  reader.Read("b_type", kTypes, desc.b_type(), &own.b_type);
  reader.Read("accumulate_type", kTypes, desc.accumulate_type(), &own.accumulate_type);
  reader.Read("output_type", kTypes, desc.output_type(), &own.output_type);
  reader.Read("family", kFamilies, desc.family(), &own.family);
  reader.Read("instruction", kInstructions, desc.instruction(), &own.instruction);
  own.instruction_k = desc.instruction_k();
  own.use_fast_accum = desc.use_fast_accum();
  own.promotion_interval = desc.promotion_interval();
  own.k_loop_step = desc.k_loop_step();
  reader.Read("short_turn", kShortTurns, desc.short_turn(), &own.short_turn);
  for (const v1::GemmDesc::Cut& cut : desc.k_cuts()) {
    gemm::KCut& to = own.k_cuts.emplace_back();
    reader.Read("k_cuts.layout", kLayouts, cut.layout(), &to.layout);
    reader.Read("k_cuts.order", kOrders, cut.order(), &to.order);
    to.span = cut.span();
    to.count = cut.count();
  }
  reader.Read("partial_type", kTypes, desc.partial_type(), &own.partial_type);
  reader.Read("merge_type", kTypes, desc.merge_type(), &own.merge_type);
  own.epilogue.alpha = desc.epilogue().multiply_alpha() ? gemm::AlphaStep::kMultiply : gemm::AlphaStep::kNone;
  own.epilogue.bias = desc.epilogue().add_bias() ? gemm::BiasStep::kAdd : gemm::BiasStep::kNone;
  reader.Read("epilogue.beta", kBetas, desc.epilogue().beta(), &own.epilogue.beta);
  reader.Read("epilogue.activation", kActivations, desc.epilogue().activation(), &own.epilogue.activation);
  if (!reader.status().ok()) return reader.status();
  if (absl::Status status = gemm::Validate(own); !status.ok()) return status;
  return own;
}

void GemmShapeToProto(const gemm::GemmProblem& problem, v1::GemmShape* out) {
  out->set_m(problem.m);
  out->set_n(problem.n);
  out->set_k(problem.k);
  out->set_types(TypesText(problem));
  out->set_layout(gemm::ToText(problem.layout));
}

absl::StatusOr<gemm::GemmProblem> GemmShapeFromProto(const v1::GemmShape& shape) {
  gemm::GemmProblem problem;
  if (absl::Status status = gemm::ParseTypes(shape.types(), &problem); !status.ok()) return status;
  const absl::StatusOr<gemm::Layout> layout = gemm::ParseLayout(shape.layout().empty() ? "TN" : shape.layout());
  if (!layout.ok()) return layout.status();
  problem.layout = *layout;
  problem.m = shape.m(), problem.n = shape.n(), problem.k = shape.k();
  if (problem.m < 1 || problem.n < 1 || problem.k < 1 || problem.k > gemm::kMaxK)
    return absl::InvalidArgumentError("sides must be positive, and k at most 2^24");
  return problem;
}

}  // namespace samebits::proto
