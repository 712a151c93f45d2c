#include "proto/convert/gemm_answers.h"

#include <span>
#include <string>
#include <vector>

#include "core/gemm/emulator.h"
#include "proto/convert/gemm.h"

namespace samebits::proto {

void ArchProfileToProto(const gemm::ArchProfile& profile, size_t text_bytes, v1::ArchProfile* out) {
  out->set_device(profile.device);
  out->set_architecture(static_cast<int32_t>(profile.sm));
  out->set_multiprocessors(static_cast<int32_t>(profile.multiprocessors));
  out->set_library(profile.library);
  out->set_library_version(profile.library_version);
  out->set_driver(profile.driver);
  out->set_workspace_bytes(profile.workspace_bytes);
  int64_t shapes = 0, explained = 0;
  for (const auto& [kind, section] : profile.sections) shapes += section.tally.shapes, explained += section.tally.explained;
  out->set_shapes(shapes);
  out->set_explained_shapes(explained);
  out->set_rule_kinds(static_cast<int64_t>(profile.entries.size()));
  out->set_size_bytes(static_cast<int64_t>(text_bytes));
}

absl::Status DescribeGemm(const gemm::ArchProfile& profile, const gemm::GemmProblem& problem, v1::DescribeGemmResponse* out) {
  const absl::StatusOr<gemm::ShapeDescription> d = gemm::Describe(profile, problem);
  if (!d.ok()) return d.status();
  GemmDescToProto(d->desc, out->mutable_desc());
  out->set_text(gemm::ToText(d->desc));
  out->set_description(gemm::Describe(d->desc));
  out->set_algorithm(gemm::ToText(d->algorithm));
  out->set_summed_k(d->summed_k);
  out->set_studied(d->studied);
  out->set_rule_shapes(d->rule_shapes);
  return absl::OkStatus();
}

absl::Status EmulateGemm(const v1::EmulateGemmRequest& request, int threads, v1::EmulateGemmResponse* out) {
  const absl::StatusOr<gemm::GemmDesc> desc = GemmDescFromProto(request.desc());
  if (!desc.ok()) return desc.status();
  if (request.m() < 1 || request.n() < 1 || request.k() < 1) return absl::InvalidArgumentError("sides must be positive");
  const auto bytes = [](const std::string& text) {
    return std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  gemm::GemmOperands operands{request.m(), request.n(), request.k(), bytes(request.a()), bytes(request.b()),
                              bytes(request.c()), bytes(request.bias())};
  operands.alpha = request.alpha();
  operands.beta = request.beta();
  const absl::StatusOr<std::vector<uint8_t>> d = gemm::Emulate(*desc, request.architecture(), operands, threads);
  if (!d.ok()) return d.status();
  out->set_d(d->data(), d->size());
  return absl::OkStatus();
}

void InvarianceReportToProto(const gemm::InvarianceReport& report, v1::ReportBatchInvarianceResponse* out) {
  for (const gemm::InvarianceRun& run : report.runs) {
    v1::ReportBatchInvarianceResponse::Run* own = out->add_runs();
    own->set_first_m(run.first_m);
    own->set_last_m(run.last_m);
    if (run.known) own->set_text(gemm::ToText(run.desc));
    if (run.known) own->set_bits(run.bits);
    own->set_summed_k(run.summed_k);
    for (const std::string& change : run.changes) own->add_changes(change);
    own->set_why(run.why);
  }
  out->set_kinds_of_bits(report.kinds_of_bits);
  out->set_unknown_m(report.unknown_m);
  out->set_invariant(report.invariant());
}

}  // namespace samebits::proto
