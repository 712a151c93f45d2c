#include "proto/convert/convert.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/convert/tree.h"

namespace samebits::proto {
namespace {

absl::StatusOr<checker::Dim3> DimFromProto(const v1::Dim3& dim, const char* field) {
  if (dim.x() == 0 || dim.y() == 0 || dim.z() == 0)
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": each of x, y and z must be at least 1, got ", dim.x(), ",", dim.y(), ",", dim.z()));
  return checker::Dim3{dim.x(), dim.y(), dim.z()};
}

void DimToProto(const checker::Dim3& dim, v1::Dim3* out) {
  out->set_x(dim[0]);
  out->set_y(dim[1]);
  out->set_z(dim[2]);
}

checker::Argument ArgumentFromProto(const v1::Argument& argument) {
  using Kind = checker::Argument::Kind;
  checker::Argument out;
  switch (argument.value_case()) {
    case v1::Argument::kPointer:
      out.kind = Kind::kPointer;
      out.buffer = argument.pointer().buffer();
      break;
    case v1::Argument::kInteger:
      out.kind = Kind::kInteger;
      out.bits = static_cast<uint64_t>(argument.integer());
      break;
    case v1::Argument::kFloat32Bits:
      out.kind = Kind::kFloat;
      out.bits = argument.float32_bits();
      break;
    case v1::Argument::kFloat64Bits:
      out.kind = Kind::kFloat;
      out.bits = argument.float64_bits();
      break;
    case v1::Argument::kScratch:
      out.kind = Kind::kScratch;
      break;
    case v1::Argument::kAggregate:
      out.kind = Kind::kBytes;
      out.bytes.assign(argument.aggregate().begin(), argument.aggregate().end());
      break;
    case v1::Argument::VALUE_NOT_SET:
      break;
  }
  return out;
}

void ArgumentToProto(const checker::Argument& argument, uint32_t float_bytes, v1::Argument* out) {
  using Kind = checker::Argument::Kind;
  switch (argument.kind) {
    case Kind::kUnknown:
      return;
    case Kind::kPointer:
      out->mutable_pointer()->set_buffer(argument.buffer);
      return;
    case Kind::kInteger:
      out->set_integer(static_cast<int64_t>(argument.bits));
      return;
    case Kind::kFloat:
      if (float_bytes == 8 || (float_bytes == 0 && argument.bits >> 32 != 0)) {
        out->set_float64_bits(argument.bits);
      } else {
        out->set_float32_bits(static_cast<uint32_t>(argument.bits));
      }
      return;
    case Kind::kScratch:
      out->mutable_scratch();
      return;
    case Kind::kBytes:
      out->set_aggregate(argument.bytes.data(), argument.bytes.size());
      return;
  }
}

// Length of the well-formed UTF-8 sequence that `text`, not empty, starts with; 0 if it starts with none (Unicode 15,
// table 3-7).
size_t SequenceLength(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead <= 0xdf ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (size_t i = 2; i < length; ++i)
    if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

v1::KernelSignature::Status StatusToProto(checker::SignatureStatus status) {
  switch (status) {
    case checker::SignatureStatus::kOk:
      return v1::KernelSignature::OK;
    case checker::SignatureStatus::kNondeterministic:
      return v1::KernelSignature::NONDETERMINISTIC;
    case checker::SignatureStatus::kUnknown:
      return v1::KernelSignature::UNKNOWN;
  }
  return v1::KernelSignature::UNKNOWN;
}

checker::SignatureStatus StatusFromProto(v1::KernelSignature::Status status) {
  switch (status) {
    case v1::KernelSignature::OK:
      return checker::SignatureStatus::kOk;
    case v1::KernelSignature::NONDETERMINISTIC:
      return checker::SignatureStatus::kNondeterministic;
    default:
      return checker::SignatureStatus::kUnknown;
  }
}

void SideToProto(const checker::PartingSide& side, v1::PartingSide* out) {
  SetText(side.tree, out->mutable_tree());
  SetText(side.node, out->mutable_node());
  if (IsSet(side.place)) PlaceToProto(side.place, out->mutable_place());
  TreeToProto(side.nodes, out);
  if (side.nodes.empty()) return;
  DimToProto(side.thread, out->mutable_thread());
  DimToProto(side.block, out->mutable_block());
}

checker::PartingSide SideFromProto(const v1::PartingSide& side) {
  checker::PartingSide out{side.tree(), side.node(), PlaceFromProto(side.place())};
  out.nodes = TreeFromProto(side);
  out.thread = {side.thread().x(), side.thread().y(), side.thread().z()};
  out.block = {side.block().x(), side.block().y(), side.block().z()};
  return out;
}

v1::Difference::Cause CauseToProto(checker::Cause cause) {
  switch (cause) {
    case checker::Cause::kNone:
      return v1::Difference::CAUSE_UNSPECIFIED;
    case checker::Cause::kSignedZero:
      return v1::Difference::SIGNED_ZERO;
    case checker::Cause::kNanPayload:
      return v1::Difference::NAN_PAYLOAD;
    case checker::Cause::kApproximateFunction:
      return v1::Difference::APPROXIMATE_FUNCTION;
    case checker::Cause::kContraction:
      return v1::Difference::CONTRACTION;
    case checker::Cause::kSpecialValues:
      return v1::Difference::SPECIAL_VALUES;
    case checker::Cause::kSameTrees:
      return v1::Difference::SAME_TREES;
    case checker::Cause::kNotEvaluated:
      return v1::Difference::NOT_EVALUATED;
  }
  return v1::Difference::CAUSE_UNSPECIFIED;
}

checker::Cause CauseFromProto(v1::Difference::Cause cause) {
  switch (cause) {
    case v1::Difference::SIGNED_ZERO:
      return checker::Cause::kSignedZero;
    case v1::Difference::NAN_PAYLOAD:
      return checker::Cause::kNanPayload;
    case v1::Difference::APPROXIMATE_FUNCTION:
      return checker::Cause::kApproximateFunction;
    case v1::Difference::CONTRACTION:
      return checker::Cause::kContraction;
    case v1::Difference::SPECIAL_VALUES:
      return checker::Cause::kSpecialValues;
    case v1::Difference::SAME_TREES:
      return checker::Cause::kSameTrees;
    case v1::Difference::NOT_EVALUATED:
      return checker::Cause::kNotEvaluated;
    default:
      return checker::Cause::kNone;
  }
}

void WitnessToProto(const checker::Witness& witness, v1::Witness* out) {
  for (const checker::WitnessInput& input : witness.inputs) {
    v1::WitnessInput* to = out->add_inputs();
    SetText(input.buffer, to->mutable_buffer());
    to->set_byte_offset(input.byte_offset);
    to->set_bytes(input.bytes);
    to->set_bits(input.bits);
    to->set_value(input.value);
  }
  SetText(witness.buffer, out->mutable_buffer());
  out->set_byte_offset(witness.byte_offset);
  out->set_bytes(witness.bytes);
  out->set_bits_a(witness.bits_a);
  out->set_bits_b(witness.bits_b);
  out->set_value_a(witness.value_a);
  out->set_value_b(witness.value_b);
  out->set_approximate(!witness.exact);
}

checker::Witness WitnessFromProto(const v1::Witness& witness) {
  checker::Witness out;
  for (const v1::WitnessInput& input : witness.inputs())
    out.inputs.push_back({input.buffer(), input.byte_offset(), input.bytes(), input.bits(), input.value()});
  out.buffer = witness.buffer();
  out.byte_offset = witness.byte_offset();
  out.bytes = witness.bytes();
  out.bits_a = witness.bits_a();
  out.bits_b = witness.bits_b();
  out.value_a = witness.value_a();
  out.value_b = witness.value_b();
  out.exact = !witness.approximate();
  return out;
}

}  // namespace

void SetText(std::string_view text, std::string* out) {
  out->clear();
  while (!text.empty()) {
    size_t length = 0;  // of the well-formed start
    while (length < text.size()) {
      const size_t sequence = SequenceLength(text.substr(length));
      if (sequence == 0) break;
      length += sequence;
    }
    out->append(text.substr(0, length));
    text.remove_prefix(length);
    if (text.empty()) return;
    out->append("\xef\xbf\xbd");
    text.remove_prefix(1);
  }
}

absl::StatusOr<checker::Launch> LaunchFromProto(const v1::Launch& launch) {
  checker::Launch out;
  out.entry = launch.entry();
  absl::StatusOr<checker::Dim3> block = DimFromProto(launch.block(), "block");
  if (!block.ok()) return block.status();
  out.block = *block;
  if (launch.has_grid()) {
    absl::StatusOr<checker::Dim3> grid = DimFromProto(launch.grid(), "grid");
    if (!grid.ok()) return grid.status();
    out.grid = *grid;
  }
  out.shared_bytes = launch.shared_bytes();
  if (launch.has_args()) {
    out.args.emplace().reserve(launch.args().arguments_size());
    for (const v1::Argument& argument : launch.args().arguments()) out.args->push_back(ArgumentFromProto(argument));
  }
  out.outputs.assign(launch.outputs().begin(), launch.outputs().end());
  return out;
}

int FloatWidth(const v1::Argument& argument) {
  switch (argument.value_case()) {
    case v1::Argument::kFloat32Bits:
      return 4;
    case v1::Argument::kFloat64Bits:
      return 8;
    default:
      return 0;
  }
}

void LaunchToProto(const checker::Launch& launch, const std::vector<uint32_t>& float_bytes, v1::Launch* out) {
  out->set_entry(launch.entry);
  DimToProto(launch.block, out->mutable_block());
  if (launch.grid) DimToProto(*launch.grid, out->mutable_grid());
  out->set_shared_bytes(launch.shared_bytes);
  if (launch.args) {
    v1::ArgumentList* args = out->mutable_args();
    for (size_t i = 0; i < launch.args->size(); ++i)
      ArgumentToProto((*launch.args)[i], i < float_bytes.size() ? float_bytes[i] : 0, args->add_arguments());
  }
  for (const std::string& name : launch.outputs) out->add_outputs(name);
}

void OptionsFromProto(const v1::CheckOptions& options, checker::Options* out) {
  out->ignore_signed_zero = options.ignore_signed_zero();
  out->strict_contraction = options.strict_contraction();
}

void OptionsToProto(const checker::Options& options, v1::CheckOptions* out) {
  out->set_ignore_signed_zero(options.ignore_signed_zero);
  out->set_strict_contraction(options.strict_contraction);
}

void SignatureToProto(const checker::Signature& signature, int version, bool cached, v1::KernelSignature* out) {
  out->set_status(StatusToProto(signature.status));
  if (!signature.digest.empty()) {
    std::string* name = out->mutable_name();
    name->reserve(64);
    name->append("kernelSignatures/").append(signature.digest);
    out->set_digest(signature.digest);
  }
  SetText(signature.reason, out->mutable_reason());
  out->set_reason_code(signature.reason_code);
  if (IsSet(signature.place)) PlaceToProto(signature.place, out->mutable_place());
  for (const std::string& assumption : signature.assumptions) SetText(assumption, out->add_assumptions());
  out->set_signature_version(version);
  if (!cached) {
    out->mutable_times()->set_parse_micros(signature.times.parse);
    out->mutable_times()->set_execute_micros(signature.times.execute);
    out->mutable_times()->set_map_micros(signature.times.map);
  }
  out->set_steps(signature.steps);
  out->set_nodes(signature.nodes);
  out->set_families(signature.families);
  out->set_output_bytes(signature.output_bytes);
  out->set_cached(cached);
}

checker::Signature SignatureFromProto(const v1::KernelSignature& signature) {
  checker::Signature out;
  out.status = StatusFromProto(signature.status());
  out.digest = signature.digest();
  out.reason = signature.reason();
  out.reason_code = signature.reason_code();
  out.place = PlaceFromProto(signature.place());
  out.assumptions.assign(signature.assumptions().begin(), signature.assumptions().end());
  out.times = {signature.times().parse_micros(), signature.times().execute_micros(), signature.times().map_micros()};
  out.steps = signature.steps();
  out.nodes = signature.nodes();
  out.families = signature.families();
  out.output_bytes = signature.output_bytes();
  return out;
}

void VerdictToProto(const checker::Comparison& comparison, v1::Comparison* out) {
  out->set_verdict(VerdictToProto(comparison.verdict));
  SetText(comparison.reason, out->mutable_reason());
  if (!comparison.difference) return;
  const checker::Difference& difference = *comparison.difference;
  v1::Difference* to = out->mutable_difference();
  SetText(difference.summary, to->mutable_summary());
  SetText(difference.buffer, to->mutable_buffer());
  to->set_byte_offset(difference.byte_offset);
  SideToProto(difference.a, to->mutable_a());
  SideToProto(difference.b, to->mutable_b());
  if (difference.witness) WitnessToProto(*difference.witness, to->mutable_witness());
  to->set_cause(CauseToProto(difference.cause));
  SetText(difference.cause_text, to->mutable_cause_text());
  to->set_inputs_tried(difference.inputs_tried);
}

checker::Comparison ComparisonFromProto(const v1::Comparison& comparison) {
  checker::Comparison out;
  out.verdict = VerdictFromProto(comparison.verdict());
  out.reason = comparison.reason();
  out.a = SignatureFromProto(comparison.a());
  out.b = SignatureFromProto(comparison.b());
  if (comparison.has_difference()) {
    const v1::Difference& from = comparison.difference();
    checker::Difference& to = out.difference.emplace();
    to.summary = from.summary();
    to.buffer = from.buffer();
    to.byte_offset = from.byte_offset();
    to.a = SideFromProto(from.a());
    to.b = SideFromProto(from.b());
    if (from.has_witness()) to.witness = WitnessFromProto(from.witness());
    to.cause = CauseFromProto(from.cause());
    to.cause_text = from.cause_text();
    to.inputs_tried = from.inputs_tried();
  }
  return out;
}

v1::Comparison::Verdict VerdictToProto(checker::Verdict verdict) {
  switch (verdict) {
    case checker::Verdict::kEquivalent:
      return v1::Comparison::EQUIVALENT;
    case checker::Verdict::kDifferent:
      return v1::Comparison::DIFFERENT;
    case checker::Verdict::kDistinct:
      return v1::Comparison::DISTINCT;
    case checker::Verdict::kNondeterministic:
      return v1::Comparison::NONDETERMINISTIC;
    case checker::Verdict::kUnknown:
      return v1::Comparison::UNKNOWN;
  }
  return v1::Comparison::UNKNOWN;
}

checker::Verdict VerdictFromProto(v1::Comparison::Verdict verdict) {
  switch (verdict) {
    case v1::Comparison::EQUIVALENT:
      return checker::Verdict::kEquivalent;
    case v1::Comparison::DIFFERENT:
      return checker::Verdict::kDifferent;
    case v1::Comparison::DISTINCT:
      return checker::Verdict::kDistinct;
    case v1::Comparison::NONDETERMINISTIC:
      return checker::Verdict::kNondeterministic;
    default:
      return checker::Verdict::kUnknown;
  }
}

void TextInfoToProto(const checker::TextInfo& info, v1::Kernel* out) {
  SetText(info.isa, out->mutable_isa());
  SetText(info.version, out->mutable_isa_version());
  SetText(info.target, out->mutable_target());
  for (const checker::EntryInfo& entry : info.entries) {
    v1::Kernel::Entry* to = out->add_entries();
    SetText(entry.name, to->mutable_name());
    for (const checker::ParameterInfo& parameter : entry.parameters) {
      v1::Kernel::Parameter* p = to->add_parameters();
      SetText(parameter.name, p->mutable_name());
      SetText(parameter.type, p->mutable_type());
      p->set_size_bytes(parameter.bytes);
      p->set_is_pointer(parameter.is_pointer);
    }
    if (entry.required_block) DimToProto(*entry.required_block, to->mutable_required_block());
    to->set_static_shared_bytes(entry.static_shared_bytes);
  }
}

checker::TextInfo TextInfoFromProto(const v1::Kernel& kernel) {
  checker::TextInfo out{kernel.isa(), kernel.target(), kernel.isa_version(), {}};
  for (const v1::Kernel::Entry& entry : kernel.entries()) {
    checker::EntryInfo& to = out.entries.emplace_back();
    to.name = entry.name();
    for (const v1::Kernel::Parameter& p : entry.parameters())
      to.parameters.push_back({p.name(), p.type(), p.size_bytes(), p.is_pointer()});
    if (entry.has_required_block())
      to.required_block = {entry.required_block().x(), entry.required_block().y(), entry.required_block().z()};
    to.static_shared_bytes = entry.static_shared_bytes();
  }
  return out;
}

}  // namespace samebits::proto
