#include "proto/convert/numerics/instruction_mix.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/heal/instruction_mix/code_object.h"
#include "core/heal/jobs/spec.h"
#include "core/heal/model/checkpoint.h"
#include "core/heal/model/model_shape.h"
#include "core/heal/numerics/configuration.h"
#include "proto/convert/convert.h"

namespace samebits::proto {
namespace {

using heal::FileKind;
using heal::InstructionClass;
using v1::MeasureInstructionMixRequest;

constexpr char kDefaultTarget[] = "sm_90";
constexpr size_t kMostName = 4096, kMostTarget = 16;
constexpr char kSynthetic[] = "synthetic:";

std::optional<InstructionClass> ClassNamed(const std::string& name) {
  for (int i = 0; i < heal::kInstructionClasses; ++i)
    if (name == NameOf(static_cast<InstructionClass>(i))) return static_cast<InstructionClass>(i);
  return std::nullopt;
}

absl::Status Wrong(const std::string& field, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", why));
}

absl::Status CheckFile(const v1::CodeFile& file) {
  const std::string name = absl::StrCat("'", file.name(), "' ");
  if (file.content().empty()) return Wrong("code_files.files.content", absl::StrCat("of ", name, "is empty"));
  switch (heal::KindOf(file.content())) {
    case FileKind::kHipBundle:
      return Wrong("code_files.files.content",
                   absl::StrCat(name, "is a bundle of code objects; take one out first (clang-offload-bundler --unbundle)"));
    case FileKind::kPtx:
      return Wrong("code_files.files.content", absl::StrCat(name, "is PTX, whose instructions are chosen later; compile it "
                                                                  "first (ptxas -arch=sm_90)"));
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckFiles(const MeasureInstructionMixRequest& request) {
  const auto& files = request.code_files().files();
  if (!request.run().model().empty()) return Wrong("run.model", "must be empty where files are counted");
  if (files.empty() || files.size() > kMostCodeFiles)
    return Wrong("code_files.files", absl::StrCat("must be from 1 to ", kMostCodeFiles, ", ", files.size(), " given"));
  size_t bytes = 0;
  std::set<std::string> names;
  for (const v1::CodeFile& file : files) {
    if (file.name().empty() || file.name().size() > kMostName)
      return Wrong("code_files.files.name", absl::StrCat("is required, at most ", kMostName, " bytes"));
    if (!names.insert(file.name()).second) return Wrong("code_files.files.name", absl::StrCat("'", file.name(), "' is there twice"));
    if (absl::Status status = CheckFile(file); !status.ok()) return status;
    bytes += file.content().size();
  }
  if (bytes <= kMostCodeBytes) return absl::OkStatus();
  return Wrong("code_files.files", absl::StrCat("have ", bytes, " bytes, at most ", kMostCodeBytes, " together: give fewer, or count "
                                                "them where they are (samebits heal instruction-mix without --server)"));
}

absl::Status CheckEngine(const MeasureInstructionMixRequest& request) {
  const absl::StatusOr<heal::ModelShape> shape = EngineShapeOf(request);
  if (!shape.ok()) return shape.status();
  const auto parsed = heal::ParseConfigurations(EngineConfigurationsOf(request), shape->layers);
  if (!parsed.ok()) return Wrong("engine_kernels.configurations", parsed.status().message());
  if (parsed->size() > heal::kMostConfigurations)
    return Wrong("engine_kernels.configurations", absl::StrCat("at most ", heal::kMostConfigurations, ", ", parsed->size(), " given"));
  const std::string target = EngineTargetOf(request);
  const bool digits = target.size() > 4 && target.size() < 7 && std::all_of(target.begin() + 3, target.end(), [](char c) { return '0' <= c && c <= '9'; });
  return target.starts_with("sm_") && digits ? absl::OkStatus()
                                             : Wrong("target", absl::StrCat("'", target, "' is no architecture; give sm_90, sm_100, ..."));
}

absl::Status CheckText(const char* field, const std::string& text, size_t most) {
  if (text.size() > most) return Wrong(field, absl::StrCat("must have at most ", most, " bytes"));
  return text.find('\0') == std::string::npos ? absl::OkStatus() : Wrong(field, "must have no zero byte");
}

}  // namespace

absl::Status CheckInstructionMix(const MeasureInstructionMixRequest& request) {
  if (absl::Status status = CheckText("target", request.target(), kMostTarget); !status.ok()) return status;
  if (absl::Status status = CheckText("match", request.match(), heal::kMostPattern); !status.ok()) return status;
  switch (request.code_case()) {
    case MeasureInstructionMixRequest::kCodeFiles:
      return CheckFiles(request);
    case MeasureInstructionMixRequest::kEngineKernels:
      return CheckEngine(request);
    case MeasureInstructionMixRequest::CODE_NOT_SET:
      break;
  }
  return Wrong("code", "is required: code_files or engine_kernels");
}

std::string EngineTargetOf(const MeasureInstructionMixRequest& request) {
  return request.target().empty() ? kDefaultTarget : request.target();
}

std::vector<std::string> EngineConfigurationsOf(const MeasureInstructionMixRequest& request) {
  const auto& given = request.engine_kernels().configurations();
  if (given.empty()) return heal::EvaluateSpec().configurations;
  return {given.begin(), given.end()};
}

absl::StatusOr<heal::ModelShape> EngineShapeOf(const MeasureInstructionMixRequest& request) {
  const std::string& model = request.run().model();
  if (!model.starts_with(kSynthetic))
    return Wrong("run.model", absl::StrCat("must be synthetic:NAME: the engine's kernels are compiled for a published shape; '", model, "' given"));
  const auto checkpoint = heal::OpenCheckpoint(model);  // no file is read, and no weight made
  if (!checkpoint.ok()) return Wrong("run.model", checkpoint.status().message());
  return (*checkpoint)->shape();
}

std::string InstructionSourceOf(const MeasureInstructionMixRequest& request) {
  if (request.has_engine_kernels()) return "engine";
  bool cubin = false, fatbin = false, amdgcn = false;
  for (const v1::CodeFile& file : request.code_files().files()) {
    const FileKind kind = heal::KindOf(file.content());
    cubin |= kind == FileKind::kCubin;
    fatbin |= kind == FileKind::kFatbin || kind == FileKind::kHostElf || kind == FileKind::kArchive;
    amdgcn |= kind == FileKind::kAmdgcn;
  }
  std::vector<std::string> needs;
  if (cubin || fatbin) needs.push_back(fatbin ? "fatbin" : "cubin");
  if (amdgcn) needs.push_back("amdgcn");
  return needs.empty() ? "text" : absl::StrJoin(needs, "+");
}

std::vector<std::string> InstructionSourcesMet(const std::vector<std::string>& has) {
  const auto is = [&](const char* name) { return std::find(has.begin(), has.end(), name) != has.end(); };
  std::vector<std::string> met;
  for (const char* name : {"text", "cubin", "fatbin", "amdgcn", "engine"})
    if (is(name)) met.push_back(name);
  for (const char* name : {"cubin", "fatbin"})
    if (is(name) && is("amdgcn")) met.push_back(absl::StrCat(name, "+amdgcn"));
  return met;
}

void ToMessage(const heal::KernelMix& kernel, v1::KernelInstructions* out) {
  SetText(kernel.kernel, out->mutable_kernel());
  SetText(heal::ReadableNameWithin(kernel.kernel), out->mutable_readable_name());
  SetText(kernel.target, out->mutable_target());
  SetText(kernel.module, out->mutable_module());
  out->set_instructions(kernel.instructions);
  out->set_arithmetic(kernel.Arithmetic());
  out->set_conversions(kernel.Of(InstructionClass::kConversion));
  for (const auto& [key, count] : kernel.opcodes) {
    v1::KernelInstructions::Opcode* opcode = out->add_opcodes();
    SetText(key.first, opcode->mutable_opcode());
    opcode->set_instruction_class(NameOf(key.second));
    opcode->set_count(count);
  }
}

absl::StatusOr<heal::KernelMix> FromMessage(const v1::KernelInstructions& message) {
  heal::KernelMix kernel;
  kernel.kernel = message.kernel();
  kernel.target = message.target();
  kernel.module = message.module();
  for (const v1::KernelInstructions::Opcode& opcode : message.opcodes()) {
    const std::optional<InstructionClass> kind = ClassNamed(opcode.instruction_class());
    if (!kind || opcode.count() < 0 || opcode.count() > (int64_t{1} << 40))
      return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel.kernel, " has ", opcode.count(), " of class '",
                                                     opcode.instruction_class(), "'"));
    kernel.opcodes[{opcode.opcode(), *kind}] += opcode.count();
    kernel.per_class[static_cast<size_t>(*kind)] += opcode.count();
    kernel.instructions += opcode.count();
  }
  return kernel;
}

void ToMessage(const heal::MixReport& report, v1::MeasureInstructionMixResponse* out) {
  for (const heal::KernelMix& kernel : report.kernels) ToMessage(kernel, out->add_kernels());
  out->set_kernels_seen(report.kernels_seen);
  out->set_modules(report.modules);
  out->set_distinct_modules(report.distinct_modules);
  out->set_engine(report.engine);
}

absl::StatusOr<heal::MixReport> FromMessage(const v1::MeasureInstructionMixResponse& message) {
  heal::MixReport report;
  for (const v1::KernelInstructions& kernel : message.kernels()) {
    absl::StatusOr<heal::KernelMix> mix = FromMessage(kernel);
    if (!mix.ok()) return mix.status();
    report.kernels.push_back(*std::move(mix));
  }
  report.kernels_seen = message.kernels_seen();
  report.modules = message.modules();
  report.distinct_modules = message.distinct_modules();
  report.engine = message.engine();
  return report;
}

}  // namespace samebits::proto
