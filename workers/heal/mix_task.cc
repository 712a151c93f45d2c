#include "workers/heal/mix_task.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/heal/instruction_mix/modules.h"
#include "core/heal/instruction_mix/tools.h"
#include "proto/convert/numerics/instruction_mix.h"
#include "workers/heal/backend/engine_mix.h"

namespace samebits::workers {
namespace {

using worker::v1::InstructionMixUnit;
using Leased = worker::v1::UpdateWorkerSessionResponse::Leased;

constexpr size_t kMostUnitBytes = 2 << 20, kMostResultBytes = 32 << 20;
constexpr uint64_t kMostExtractedBytes = 8ull << 30;
constexpr int kMostTools = 4;  // side by side

// Parts of earlier leases, of which all pieces are there.
std::map<std::string, heal::DisassemblyMixes> PartsOf(const Leased& lease) {
  std::map<std::string, std::map<uint32_t, InstructionMixUnit>> pieces;
  for (const worker::v1::TaskUnit& unit : lease.units()) {
    InstructionMixUnit piece;
    if (piece.ParseFromString(unit.body()) && piece.piece() < piece.pieces()) pieces[piece.key()][piece.piece()] = std::move(piece);
  }
  std::map<std::string, heal::DisassemblyMixes> parts;
  for (const auto& [key, found] : pieces) {
    bool whole = found.size() == found.begin()->second.pieces();
    heal::DisassemblyMixes mixes;
    for (const auto& [number, piece] : found) {
      mixes.kernels_seen = piece.kernels_seen();
      for (const v1::KernelInstructions& kernel : piece.kernels()) {
        absl::StatusOr<heal::KernelMix> mix = proto::FromMessage(kernel);
        whole &= mix.ok();
        if (mix.ok()) mixes.kernels.push_back(*std::move(mix));
      }
    }
    if (whole) parts.emplace(key, std::move(mixes));
  }
  return parts;
}

class Events : public heal::MixEvents {
 public:
  Events(const Leased& lease, const MixTaskEvents& events) : events_(events), known_(PartsOf(lease)) {
    for (const worker::v1::TaskUnit& unit : lease.units()) next_ = std::max(next_, unit.index() + 1);
  }
  const heal::DisassemblyMixes* Find(const std::string& key) override {
    const auto at = known_.find(key);
    return at == known_.end() ? nullptr : &at->second;
  }
  absl::Status OnPart(const std::string& key, const heal::DisassemblyMixes& mixes) override {
    for (const InstructionMixUnit& piece : UnitsOf(key, mixes)) {
      worker::v1::TaskUnit unit;
      unit.set_index(next_++);
      unit.set_body(piece.SerializeAsString());
      events_.on_unit(std::move(unit));
    }
    return absl::OkStatus();
  }
  void OnProgress(int64_t done, int64_t total, const std::string&) override {
    events_.on_progress(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  }

 private:
  const MixTaskEvents& events_;
  const std::map<std::string, heal::DisassemblyMixes> known_;
  uint32_t next_ = 0;
};

// The last part of a file's name, of letters that no tool takes for anything else: extracted members are named by it.
std::string PlainName(const std::string& name) {
  std::string plain = name.substr(name.rfind('/') + 1).substr(0, 100);
  for (char& c : plain)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-' && c != '+') c = '_';
  return plain.empty() || plain[0] == '.' || plain[0] == '-' ? absl::StrCat("file", plain) : plain;
}

absl::StatusOr<std::vector<heal::MixSource>> WriteFiles(const v1::CodeFiles& files, const std::string& folder) {
  std::vector<heal::MixSource> sources;
  for (const v1::CodeFile& file : files.files()) {
    const std::filesystem::path own = std::filesystem::path(folder) / absl::StrCat(sources.size());
    std::error_code error;
    std::filesystem::create_directory(own, error);
    const std::string path = (own / PlainName(file.name())).string();
    std::ofstream out(path, std::ios::binary);
    out << file.content();
    out.close();
    if (error || !out) return absl::UnavailableError(absl::StrCat(path, " cannot be written on the worker (TMPDIR)"));
    sources.push_back({file.name(), path, nullptr, ""});
  }
  return sources;
}

std::string ToolsOf(const std::string& source) {
  if (source == "text") return "disassembly text";
  std::string tools = source.starts_with("fatbin") ? "cuobjdump, nvdisasm" : source.starts_with("cubin") ? "nvdisasm" : "";
  if (source.ends_with("amdgcn")) absl::StrAppend(&tools, tools.empty() ? "" : ", ", "llvm-objdump");
  return tools;
}

}  // namespace

std::vector<std::string> FindInstructionSources(bool disassembles) {
  std::vector<std::string> sources = {"text"};
  if (!disassembles) return sources;
  const bool nvdisasm = heal::FindTool(heal::Tool::kNvdisasm).ok();
  if (nvdisasm) sources.push_back("cubin");
  if (nvdisasm && heal::FindTool(heal::Tool::kCuobjdump).ok()) sources.push_back("fatbin");
  if (heal::FindTool(heal::Tool::kLlvmObjdump).ok()) sources.push_back("amdgcn");
  if (nvdisasm && EngineCompiler().ok()) sources.push_back("engine");
  return sources;
}

std::vector<InstructionMixUnit> UnitsOf(const std::string& key, const heal::DisassemblyMixes& mixes) {
  std::vector<InstructionMixUnit> units(1);
  size_t bytes = 0;
  for (const heal::KernelMix& kernel : mixes.kernels) {
    v1::KernelInstructions message;
    proto::ToMessage(kernel, &message);
    const size_t size = message.ByteSizeLong();
    if (bytes + size > kMostUnitBytes && bytes != 0) {
      units.emplace_back();
      bytes = 0;
    }
    bytes += size;
    *units.back().add_kernels() = std::move(message);
  }
  for (size_t i = 0; i < units.size(); ++i) {
    units[i].set_key(key);
    units[i].set_piece(static_cast<uint32_t>(i));
    units[i].set_pieces(static_cast<uint32_t>(units.size()));
    units[i].set_kernels_seen(mixes.kernels_seen);
  }
  return units;
}

absl::StatusOr<v1::NumericsResult> RunMixTask(const Leased& lease, const MixTaskEvents& task_events) {
  const v1::MeasureInstructionMixRequest& request = lease.numerics().request().instruction_mix();
  if (absl::Status status = proto::CheckInstructionMix(request); !status.ok()) return status;
  const absl::StatusOr<heal::TemporaryFolder> folder = heal::TemporaryFolder::Make();
  if (!folder.ok()) return folder.status();
  heal::MixRequest mix;
  mix.target = request.target();
  mix.match = request.match();
  mix.most_extracted_bytes = kMostExtractedBytes;
  mix.jobs = kMostTools;
  v1::NumericsResult result;
  result.set_model(request.run().model());
  absl::StatusOr<std::vector<heal::MixSource>> sources;
  if (request.has_engine_kernels()) {
    const absl::StatusOr<heal::ModelShape> shape = proto::EngineShapeOf(request);
    if (!shape.ok()) return shape.status();
    mix.target = proto::EngineTargetOf(request);
    sources = EngineSources(proto::EngineConfigurationsOf(request), *shape, mix.target);
    if (sources.ok()) result.set_engine(absl::StrCat(*EngineCompiler(), ", nvdisasm"));
  } else {
    sources = WriteFiles(request.code_files(), folder->path());
    result.set_engine(ToolsOf(proto::InstructionSourceOf(request)));
  }
  if (!sources.ok()) return sources.status();
  mix.sources = *std::move(sources);
  Events events(lease, task_events);
  absl::StatusOr<heal::MixReport> report = heal::MeasureInstructionMix(mix, events);
  if (!report.ok()) return report.status();
  report->engine = request.has_engine_kernels();
  proto::ToMessage(*report, result.mutable_instruction_mix());
  if (const size_t bytes = result.ByteSizeLong(); bytes > kMostResultBytes)
    return absl::ResourceExhaustedError(absl::StrCat("the result has ", bytes >> 20, " MiB, ", kMostResultBytes >> 20,
                                                     " are allowed: name fewer kernels (match)"));
  return result;
}

}  // namespace samebits::workers
