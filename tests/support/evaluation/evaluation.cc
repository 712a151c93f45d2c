#include "tests/support/evaluation/evaluation.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/checker/check.h"
#include "core/checker/map.h"
#include "core/expr/evaluator.h"
#include "core/isa/ptx/parser.h"
#include "core/interpreter/interpreter.h"

namespace samebits::evaluation {

using checker::Argument;

namespace {

std::string BufferName(const Argument& argument, size_t index) {
  return argument.buffer.empty() ? absl::StrCat("arg", index) : argument.buffer;
}

bool IsPointer(const Argument& a) { return a.kind == Argument::Kind::kPointer || a.kind == Argument::Kind::kScratch; }

Outcome Initial(const checker::Launch& launch, const Contents& contents) {
  Outcome outcome;
  for (size_t i = 0; i < launch.args->size(); ++i) {
    const Argument& a = (*launch.args)[i];
    if (!IsPointer(a)) continue;
    Buffer& b = outcome.buffers[BufferName(a, i)];
    if (const auto it = contents.find(BufferName(a, i)); it != contents.end()) b.bytes = it->second;
    b.states.assign(b.bytes.size(), ByteState::kUntouched);
  }
  return outcome;
}

absl::Status CheckLaunch(const checker::Launch& launch) {
  if (!launch.grid || !launch.args) return absl::InvalidArgumentError("grid and arguments must be known");
  for (const Argument& a : *launch.args)
    if (a.kind == Argument::Kind::kUnknown) return absl::InvalidArgumentError("an argument is unknown");
  return absl::OkStatus();
}

class ContentsMemory : public expr::Memory {
 public:
  ContentsMemory(const expr::NodeManager& nodes, const Contents& contents) : nodes_(nodes), contents_(contents) {}
  bool Read(expr::BufferId buffer, int64_t offset, int bytes, uint8_t* out) const override {
    const auto it = contents_.find(nodes_.buffer_name(buffer));
    if (it == contents_.end() || offset < 0 || offset + bytes > static_cast<int64_t>(it->second.size())) return false;
    std::memcpy(out, it->second.data() + offset, static_cast<size_t>(bytes));
    return true;
  }

 private:
  const expr::NodeManager& nodes_;
  const Contents& contents_;
};

// Evaluates elements and puts them into buffers.
class Writer {
 public:
  Writer(checker::Workspace* workspace, checker::MapBuilder* maps, const Contents& contents, Outcome* outcome)
      : nodes_(workspace->nodes),
        maps_(*maps),
        memory_(nodes_, contents),
        evaluator_(&nodes_, &memory_),
        outcome_(*outcome) {}

  void LeaveOut(const std::string& name, const checker::Element& e) {
    Buffer& buffer = outcome_.buffers[name];
    if (!Inside(buffer, e)) return;
    for (uint32_t i = 0; i < e.bytes; ++i) buffer.states[static_cast<size_t>(e.address) + i] = ByteState::kUndefined;
  }

  absl::Status Write(const std::string& name, const checker::Element& e) {
    expr::Scalar value = maps_.ElementValue(e);
    Buffer& buffer = outcome_.buffers[name];
    if (!Inside(buffer, e))
      return absl::OutOfRangeError(absl::StrCat("write of ", e.bytes, " bytes at ", e.address, " of '", name, "'"));
    bool undefined_guard = false;
    if (e.store->guarded) {
      const expr::Scalar guard = nodes_.ChildScalar(value, 1);
      value = nodes_.ChildScalar(value, 0);
      const auto truth = evaluator_.Evaluate(guard, 1);
      if (!truth.ok()) return truth.status();
      outcome_.inexact |= truth->inexact;
      undefined_guard = truth->undefined;
      if (!undefined_guard && (truth->bits & 1) == 0) return absl::OkStatus();
    }
    const auto bits = evaluator_.Evaluate(value, static_cast<int>(e.bytes) * 8);
    if (!bits.ok()) return bits.status();
    outcome_.inexact |= bits->inexact;
    const ByteState state = undefined_guard || bits->undefined ? ByteState::kUndefined : ByteState::kWritten;
    for (uint32_t i = 0; i < e.bytes; ++i) {
      buffer.bytes[static_cast<size_t>(e.address) + i] = static_cast<uint8_t>(bits->bits >> (8 * i));
      buffer.states[static_cast<size_t>(e.address) + i] = state;
    }
    return absl::OkStatus();
  }

 private:
  static bool Inside(const Buffer& buffer, const checker::Element& e) {
    return e.address >= 0 && e.address + static_cast<int64_t>(e.bytes) <= static_cast<int64_t>(buffer.bytes.size());
  }

  const expr::NodeManager& nodes_;
  checker::MapBuilder& maps_;
  ContentsMemory memory_;
  expr::Evaluator evaluator_;
  Outcome& outcome_;
};

}  // namespace

absl::StatusOr<Evaluation> EvaluateLaunch(std::string_view text, const checker::Launch& launch,
                                          const Contents& contents, const checker::Options& options,
                                          const EvaluationLimits& limits) {
  if (absl::Status s = CheckLaunch(launch); !s.ok()) return s;
  checker::Workspace workspace(options.limits, options.ignore_signed_zero);
  auto check = checker::RunCheck(text, launch, options, &workspace);
  if (!check.ok()) return check.status();
  Evaluation result;
  result.signature = (*check)->signature;
  result.outcome = Initial(launch, contents);
  if (result.signature.status != checker::SignatureStatus::kOk) return result;
  checker::MapBuilder maps(&workspace.builder, (*check)->space.get(), true);
  Writer writer(&workspace, &maps, contents, &result.outcome);
  for (int b = 0; b < workspace.nodes.buffer_count(); ++b) {
    const auto buffer = static_cast<expr::BufferId>(b);
    std::vector<checker::Element> elements;
    if (!checker::MapBuilder::Enumerate((*check)->classes, *(*check)->space, buffer, limits.max_elements, &elements))
      return absl::ResourceExhaustedError("more written elements than are evaluated");
    std::stable_sort(elements.begin(), elements.end(), [](const checker::Element& x, const checker::Element& y) {
      return x.store->order < y.store->order;
    });
    const std::string& name = workspace.nodes.buffer_name(buffer);
    const uint64_t stride = elements.size() / std::max<uint64_t>(1, limits.max_evaluated) + 1;
    for (const checker::Element& e : elements) {
      if (stride > 1 && Scramble(static_cast<uint64_t>(e.address)) % stride != 0) {
        writer.LeaveOut(name, e);
        continue;
      }
      if (absl::Status s = writer.Write(name, e); !s.ok()) return s;
    }
  }
  return result;
}

absl::StatusOr<Outcome> InterpretLaunch(std::string_view text, const checker::Launch& launch, const Contents& contents,
                                        uint64_t max_steps) {
  if (absl::Status s = CheckLaunch(launch); !s.ok()) return s;
  auto module = isa::ptx::Parse(std::string(text), {});
  if (!module.ok()) return module.status();
  Outcome outcome = Initial(launch, contents);
  interpreter::Memory memory;
  std::map<std::string, uint64_t> addresses;
  for (const auto& [name, buffer] : outcome.buffers) addresses[name] = memory.Allocate(buffer.bytes);
  interpreter::LaunchConfig config;
  config.grid = *launch.grid;
  config.block = launch.block;
  config.shared_bytes = launch.shared_bytes;
  config.max_steps = max_steps;
  for (size_t i = 0; i < launch.args->size(); ++i) {
    const Argument& a = (*launch.args)[i];
    if (IsPointer(a))
      config.args.push_back(interpreter::Bytes(addresses[BufferName(a, i)]));
    else if (a.kind == Argument::Kind::kBytes)
      config.args.push_back(a.bytes);
    else
      config.args.push_back(interpreter::Bytes(a.bits));
  }
  // Arguments are as wide as their parameters.
  const uint32_t entry = module->FindEntry(launch.entry);
  if (entry == isa::kNone32) return absl::NotFoundError("no such entry");
  const auto& params = module->functions[entry].params;
  for (size_t i = 0; i < config.args.size() && i < params.size(); ++i)
    config.args[i].resize(std::min<size_t>(config.args[i].size(), module->symbols[params[i]].size));
  const auto run = interpreter::Run(*module, launch.entry, config, memory);
  if (!run.ok()) return run.status();
  outcome.inexact = run->model_results != 0;
  for (auto& [name, buffer] : outcome.buffers) {
    const auto bytes = memory.Buffer(addresses[name]);
    buffer.bytes.assign(bytes.begin(), bytes.end());
    const std::vector<bool>& written = memory.Written(addresses[name]);
    for (size_t i = 0; i < written.size(); ++i)
      buffer.states[i] = written[i] ? ByteState::kWritten : ByteState::kUntouched;
  }
  return outcome;
}

namespace {

// How far a launch's accesses reach in each buffer.
std::map<std::string, uint64_t> Extents(const checker::Check& check, const expr::NodeManager& nodes, uint64_t room) {
  std::map<std::string, uint64_t> ends;
  for (const checker::ClassResult& c : check.classes) {
    const auto reach = [&](expr::BufferId buffer, const symexec::LaneAnchor& a, symexec::MaskId mask, uint32_t bytes) {
      uint64_t& end = ends[nodes.buffer_name(buffer)];
      if (bytes == 0) end = std::max(end, room);
      const int64_t* array = check.space->array(a.array);
      for (int l = 0; l < check.space->lanes(); ++l) {
        if (!check.space->Test(mask, l)) continue;
        const int64_t last = array[l] + a.constant + (*c.symbolic)[a.symbolic].max + bytes;
        end = std::max(end, static_cast<uint64_t>(std::max<int64_t>(last, 0)));
      }
    };
    for (const symexec::Store& s : c.execution.stores) reach(s.buffer, s.address, s.mask, s.value.bits / 8u);
    for (const symexec::Load& l : c.execution.loads) reach(l.buffer, l.address, l.mask, l.bytes);
  }
  return ends;
}

}  // namespace

absl::StatusOr<Contents> MakeContents(std::string_view text, const checker::Launch& launch, uint64_t seed,
                                      const checker::Options& options, uint64_t room) {
  if (absl::Status s = CheckLaunch(launch); !s.ok()) return s;
  checker::Workspace workspace(options.limits, options.ignore_signed_zero);
  auto check = checker::RunCheck(text, launch, options, &workspace);
  if (!check.ok()) return check.status();
  Contents contents;
  constexpr uint64_t kLargest = uint64_t{1} << 30;
  for (const auto& [name, end] : Extents(**check, workspace.nodes, room)) {
    if (end > kLargest) return absl::ResourceExhaustedError(absl::StrCat("buffer '", name, "' of ", end, " bytes"));
    std::vector<uint8_t>& bytes = contents[name];
    bytes.resize((end + 15) / 16 * 16);
    // Halves 0x3800 to 0x47ff of either sign: 0.5 to 8 in f16, 3e-5 to 65,000 in bf16 and f32.
    for (size_t i = 0; i + 2 <= bytes.size(); i += 2) {
      const uint64_t r = Scramble(seed += 0x9e3779b97f4a7c15ull);
      const uint64_t half = (0x3800 + (r & 0xfff)) | (r >> 12 & 1) << 15;
      bytes[i] = static_cast<uint8_t>(half);
      bytes[i + 1] = static_cast<uint8_t>(half >> 8);
    }
  }
  return contents;
}

std::string FirstMismatch(const Outcome& evaluated, const Outcome& interpreted) {
  const auto hex = [](uint8_t byte) { return absl::StrCat(absl::Hex(byte, absl::kZeroPad2)); };
  for (const auto& [name, a] : evaluated.buffers) {
    const Buffer& b = interpreted.buffers.at(name);
    for (size_t i = 0; i < a.bytes.size(); ++i) {
      if (a.states[i] == ByteState::kUndefined || b.states[i] == ByteState::kUndefined) continue;
      if (a.states[i] != b.states[i])
        return absl::StrCat("byte ", i, " of '", name, "' is written by the ",
                            a.states[i] == ByteState::kWritten ? "checker's map" : "interpreter", " only");
      if (a.bytes[i] != b.bytes[i])
        return absl::StrCat("byte ", i, " of '", name, "': map 0x", hex(a.bytes[i]), ", interpreter 0x",
                            hex(b.bytes[i]));
    }
  }
  return "";
}

}  // namespace samebits::evaluation
