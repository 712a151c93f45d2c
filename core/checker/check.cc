#include "core/checker/check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/sha256.h"
#include "core/base/thread_time.h"
#include "core/checker/text.h"

namespace samebits::checker {

namespace {

constexpr int kSignatureVersion = 5;

double ThreadMicros() { return absl::ToDoubleMicroseconds(ThreadCpuTime()); }

Digest128 TextKey(std::string_view kind, std::string_view text) {
  WordHasher h(200);
  for (const char c : kind) h.Add(static_cast<uint8_t>(c));
  h.Add(256);
  for (const char c : text) h.Add(static_cast<uint8_t>(c));
  return h.Finish();
}

std::string Dims(const Dim3& d) { return absl::StrCat(d[0], "x", d[1], "x", d[2]); }

absl::Status CheckBlock(const isa::Function& f, const Launch& launch) {
  const uint64_t threads = static_cast<uint64_t>(launch.block[0]) * launch.block[1] * launch.block[2];
  if (threads == 0 || launch.block[0] > 1024 || launch.block[1] > 1024 || launch.block[2] > 64 || threads > 1024)
    return absl::InvalidArgumentError(absl::StrCat("block ", Dims(launch.block), " is not a legal block: 1 to 1024 threads"));
  if (f.reqntid[0] != 0) {
    const Dim3 required{f.reqntid[0], std::max(1u, f.reqntid[1]), std::max(1u, f.reqntid[2])};
    if (required != launch.block)
      return absl::InvalidArgumentError(absl::StrCat("block ", Dims(launch.block), " contradicts the kernel's .reqntid ", Dims(required)));
  }
  const uint64_t most = f.maxntid[0] == 0 ? 1024 : uint64_t{f.maxntid[0]} * std::max(1u, f.maxntid[1]) * std::max(1u, f.maxntid[2]);
  if (threads > most)
    return absl::InvalidArgumentError(absl::StrCat("block ", Dims(launch.block), " has more threads than the ", most,
                                                   " that it says it is launched with at most (.maxntid; AMD: .max_flat_workgroup_size)"));
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> FindEntry(const isa::Module& module, const std::string& name) {
  const uint32_t entry = module.FindEntry(name);
  if (entry != isa::kNone32) return entry;
  std::string names;
  for (const isa::Function& f : module.functions)
    if (f.is_entry) absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(f.name));
  if (names.empty()) return absl::InvalidArgumentError("the text has no entry (.entry, .amdhsa_kernel)");
  if (name.empty()) return absl::InvalidArgumentError(absl::StrCat("the text has several entries; name one of: ", names));
  return absl::InvalidArgumentError(absl::StrCat("no entry '", name, "'; the text has: ", names));
}

// Whether a number is one of the parameter's width: nothing is cut off silently.
bool Fits(const Argument& a, uint64_t bytes) {
  if (bytes >= 8) return true;
  if (a.kind == Argument::Kind::kFloat) return a.bits >> (8 * bytes) == 0;
  const int64_t value = static_cast<int64_t>(a.bits), bound = int64_t{1} << (8 * bytes);
  return value >= -bound / 2 && value < bound;
}

// What outputs may name.
std::string BufferNames(const std::vector<std::pair<expr::BufferId, bool>>& use, const Workspace& workspace) {
  std::vector<std::string> names;
  for (const auto& [buffer, counts] : use) {
    const std::string& name = workspace.nodes.buffer_name(buffer);
    if (!counts) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names.empty() ? "no pointer argument is compared" : absl::StrCat("they are: ", absl::StrJoin(names, ", "));
}

// Binds arguments to parameters and registers their buffers.
absl::Status Bind(const Launch& launch, Workspace* workspace, Check* check) {
  const isa::Module& module = *check->module;
  const isa::Function& f = module.functions[check->entry];
  if (launch.args && launch.args->size() != f.params.size())
    return absl::InvalidArgumentError(absl::StrCat("entry '", std::string(f.name), "' takes ", f.params.size(),
                                                   " arguments, the launch gives ", launch.args->size()));
  std::vector<std::pair<expr::BufferId, bool>> use;
  for (size_t i = 0; i < f.params.size(); ++i) {
    const isa::Symbol& s = module.symbols[f.params[i]];
    Argument unknown;
    const Argument& a = launch.args ? (*launch.args)[i] : unknown;
    symexec::ParamBinding b;
    const bool may_be_pointer = s.size == 8 && !isa::IsFloat(s.type);
    const std::string position = absl::StrCat("arg", i);
    switch (a.kind) {
      case Argument::Kind::kPointer: case Argument::Kind::kScratch:
        if (!may_be_pointer)
          return absl::InvalidArgumentError(absl::StrCat("parameter ", i, " ('", std::string(s.name), "') is no pointer: it is .",
                                                         std::string(isa::TypeName(s.type)), " of ", s.size, " bytes"));
        b.kind = symexec::ParamBinding::Kind::kPointer;
        b.buffer = a.buffer.empty() ? workspace->Buffer(position, TextKey("position", position))
                                    : workspace->Buffer(a.buffer, TextKey("name", a.buffer));
        use.push_back({b.buffer, a.kind == Argument::Kind::kPointer});
        break;
      case Argument::Kind::kInteger: case Argument::Kind::kFloat:
        if (s.size > 8) return absl::InvalidArgumentError(absl::StrCat("parameter ", i, " ('", std::string(s.name), "') is an aggregate of ", s.size, " bytes"));
        if (!Fits(a, s.size))
          return absl::InvalidArgumentError(absl::StrCat("parameter ", i, " ('", std::string(s.name), "') is .", std::string(isa::TypeName(s.type)), " of ", s.size, " bytes, ",
                                                         a.kind == Argument::Kind::kFloat ? "the launch gives a float of 64 bits"
                                                                                          : absl::StrCat("where ", static_cast<int64_t>(a.bits), " does not fit"),
                                                         "; give a value of the parameter's type"));
        b.kind = symexec::ParamBinding::Kind::kScalar;
        b.bits = a.bits;
        break;
      case Argument::Kind::kBytes:
        if (a.bytes.size() != s.size)
          return absl::InvalidArgumentError(absl::StrCat("parameter ", i, " ('", std::string(s.name), "') takes ", s.size, " bytes, the launch gives ", a.bytes.size()));
        b.kind = symexec::ParamBinding::Kind::kBytes;
        b.bytes = a.bytes;
        break;
      case Argument::Kind::kUnknown:
        if (may_be_pointer) {
          b.kind = symexec::ParamBinding::Kind::kPointer;
          b.buffer = workspace->Buffer(position, TextKey("position", position));
          use.push_back({b.buffer, true});
        }
        break;
    }
    check->launch.params.push_back(std::move(b));
  }
  check->compared.assign(workspace->nodes.buffer_count(), false);
  for (const auto& [buffer, counts] : use) {
    const bool named = launch.outputs.empty() || std::find(launch.outputs.begin(), launch.outputs.end(),
                                                           workspace->nodes.buffer_name(buffer)) != launch.outputs.end();
    if (counts && named) check->compared[buffer] = true;
  }
  for (const std::string& name : launch.outputs) {
    bool found = false;
    for (const auto& [buffer, counts] : use) found |= workspace->nodes.buffer_name(buffer) == name;
    if (!found)
      return absl::InvalidArgumentError(absl::StrCat("output '", name, "' is not the buffer of any pointer argument; ", BufferNames(use, *workspace)));
  }
  return absl::OkStatus();
}

std::vector<std::vector<uint32_t>> Partition(const std::vector<uint32_t>& blocks, const std::vector<uint32_t>& group) {
  std::vector<std::vector<uint32_t>> parts;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (group[b] >= parts.size()) parts.resize(group[b] + 1);
    parts[group[b]].push_back(blocks[b]);
  }
  return parts;
}

// Every class must count the same open argument into a buffer's offsets. False: stopped.
bool MergeStrides(const std::vector<symexec::AtomId>& strides, Check* check) {
  for (size_t b = 0; b < strides.size(); ++b) {
    if (strides[b] == 0) continue;
    const auto [it, fresh] = check->strides.try_emplace(static_cast<expr::BufferId>(b), strides[b]);
    if (it->second == strides[b]) continue;
    check->stop.kind = symexec::StopKind::kUnknown;
    check->stop.code = "OPEN_SIZE";
    check->stop.reason = "blocks of an open grid step through one buffer by different arguments";
    return false;
  }
  return true;
}

// Executes all classes, from one of all blocks to as fine as decisions need. False: again, with the residues that the
// open grid now has.
bool ExecuteOnce(const Options& options, absl::Duration deadline, Workspace* workspace, Check* check) {
  const Dim3& g = check->launch.grid;
  const uint64_t blocks = static_cast<uint64_t>(g[0]) * g[1] * g[2];
  std::vector<std::vector<uint32_t>> work(1);
  work[0].resize(blocks);
  for (uint32_t b = 0; b < blocks; ++b) work[0][b] = b;
  uint64_t steps = 0, kept_bytes = 0;  // of finished classes
  while (!work.empty()) {
    ClassResult c;
    c.blocks = std::move(work.back());
    work.pop_back();
    c.symbolic = std::make_unique<symexec::SymbolicSpace>(c.blocks.size());
    symexec::MachineLimits limits;
    limits.max_steps = options.limits.max_steps > steps ? options.limits.max_steps - steps : 0;
    limits.max_memory_bytes = options.limits.max_memory_bytes > kept_bytes ? options.limits.max_memory_bytes - kept_bytes : 0;
    limits.deadline = deadline;
    limits.cancelled = options.cancelled;
    c.execution = MakeMachine(*check->module, check->entry, check->launch, c.blocks, &workspace->builder,
                              check->space.get(), c.symbolic.get(), limits)
                      ->Run();
    steps += c.execution.steps;
    check->signature.steps = steps;
    if (c.execution.stop.kind == symexec::StopKind::kSplit) {
      auto parts = Partition(c.blocks, c.execution.stop.group_of_block);
      if (check->classes.size() + work.size() + parts.size() > options.limits.max_grid_classes) {
        check->stop = c.execution.stop;
        check->stop.kind = symexec::StopKind::kUnknown;
        check->stop.code = "GRID_CLASS_LIMIT";
        check->stop.reason = "limit max_grid_classes reached: blocks take too many different courses";
        return true;
      }
      for (auto it = parts.rbegin(); it != parts.rend(); ++it) work.push_back(std::move(*it));
      continue;
    }
    if (c.execution.stop.kind == symexec::StopKind::kRefine) {
      check->launch.grid = c.execution.stop.residues;
      check->classes.clear();
      check->strides.clear();
      return false;
    }
    if (c.execution.stop.kind != symexec::StopKind::kDone) {
      check->stop = c.execution.stop;
      return true;
    }
    for (const std::string& a : c.execution.assumptions) check->assumptions.push_back(a);
    if (!MergeStrides(c.execution.strides, check)) return true;
    kept_bytes += c.execution.memory_bytes() + c.symbolic->memory_bytes();
    check->classes.push_back(std::move(c));
  }
  return true;
}

// Residues of an open grid grow with every turn, up to a bound of the executor's.
void Execute(const Options& options, absl::Duration deadline, Workspace* workspace, Check* check) {
  while (!ExecuteOnce(options, deadline, workspace, check)) {
  }
}

std::string DigestOf(const Check& check, const Options& options, const Workspace& workspace) {
  std::string bytes = absl::StrCat("samebits signature ", kSignatureVersion, "\n", options.ignore_signed_zero ? "signed zero ignored\n" : "",
                                   check.launch.grid_known ? "" : "grid open 4\n");
  std::vector<std::pair<Digest128, const BufferMap*>> ordered;
  for (const auto& [buffer, map] : check.maps) ordered.push_back({workspace.nodes.buffer_key(buffer), &map});
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  auto word = [&bytes](uint64_t w) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(w >> (8 * i));
  };
  std::vector<std::pair<Digest128, symexec::AtomId>> strides;
  for (const auto& [buffer, stride] : check.strides) strides.push_back({workspace.nodes.buffer_key(buffer), stride});
  std::sort(strides.begin(), strides.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, stride] : strides) {
    bytes += 's';
    word(key.hi);
    word(key.lo);
    word(stride);
  }
  for (const auto& [key, map] : ordered) {
    word(key.hi);
    word(key.lo);
    word(map->sum.hi());
    word(map->sum.lo());
  }
  return Sha256Hex(bytes).substr(0, 32);
}

}  // namespace

int SignatureVersion() { return kSignatureVersion; }

expr::BufferId Workspace::Buffer(const std::string& name, const Digest128& key) {
  auto [it, fresh] = buffers.try_emplace({key.hi, key.lo}, 0);
  if (fresh) it->second = nodes.AddBuffer(name, key);
  return it->second;
}

absl::StatusOr<std::unique_ptr<Check>> ParseCheck(std::string_view text, const Launch& launch, const Options& options) {
  if (text.size() > options.limits.max_text_bytes)
    return absl::ResourceExhaustedError(absl::StrCat("text of ", text.size(), " bytes is over the limit max_text_bytes (",
                                                     options.limits.max_text_bytes, ")"));
  auto check = std::make_unique<Check>();
  const double start = ThreadMicros();
  auto module = ParseText(text, options.isa, options.limits);
  if (!module.ok()) return module.status();
  check->module = std::make_unique<isa::Module>(std::move(*module));
  auto entry = FindEntry(*check->module, launch.entry);
  if (!entry.ok()) return entry.status();
  check->entry = *entry;
  check->signature.times.parse = ThreadMicros() - start;
  return check;
}

absl::Status RunParsed(const Launch& launch, const Options& options, Workspace* workspace, Check* check) {
  const double parsed = ThreadMicros();
  const absl::Duration deadline =
      ThreadCpuTime() + options.limits.max_time - absl::Microseconds(check->signature.times.parse);
  const isa::Function& f = check->module->functions[check->entry];
  if (absl::Status s = CheckBlock(f, launch); !s.ok()) return s;
  check->launch.block = launch.block;
  check->launch.dynamic_shared = launch.shared_bytes;
  check->launch.grid_known = launch.grid.has_value();
  if (launch.grid) check->launch.grid = *launch.grid;
  if (check->launch.grid[0] > 0x7fffffff || check->launch.grid[1] > 0xffff || check->launch.grid[2] > 0xffff)
    return absl::InvalidArgumentError(absl::StrCat("grid ", Dims(check->launch.grid), " is not a legal grid: at most 2147483647 x 65535 x 65535"));
  const uint64_t blocks = static_cast<uint64_t>(check->launch.grid[0]) * check->launch.grid[1] * check->launch.grid[2];
  if (blocks == 0) return absl::InvalidArgumentError("the grid has a dimension of zero");
  workspace->builder.ForgetSights();
  if (absl::Status s = Bind(launch, workspace, check); !s.ok()) return s;
  Signature& sig = check->signature;
  check->space = std::make_unique<symexec::LaneSpace>(static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]));
  if (blocks > options.limits.max_grid_blocks) {
    check->stop.kind = symexec::StopKind::kUnknown;
    check->stop.code = "GRID_LIMIT";
    check->stop.reason = absl::StrCat("grid of ", blocks, " blocks is over the limit max_grid_blocks (", options.limits.max_grid_blocks, ")");
  } else {
    Execute(options, deadline, workspace, check);
  }
  const double executed = ThreadMicros();
  MapBuilder maps(&workspace->builder, check->space.get(), check->launch.grid_known, check->launch.grid);
  if (check->stop.kind == symexec::StopKind::kDone) check->stop = maps.Build(check->classes, check->compared, &check->maps);
  if (check->stop.kind == symexec::StopKind::kDone && workspace->builder.saw_contraction()) {
    check->assumptions.push_back("contraction: the assembler treats each unrounded mul feeding an add alike in both kernels");
    if (options.strict_contraction) {
      check->stop.kind = symexec::StopKind::kUnknown;
      check->stop.code = "CONTRACTIBLE";
      check->stop.reason = "a mul without rounding modifier feeds an add without one: the assembler may fuse them";
    }
  }
  if (workspace->builder.saw_f64())
    check->assumptions.push_back("f64: which of several NaN operands an operation returns is not compared");
  check->assumptions.push_back("buffers of different arguments do not overlap");
  if (check->module->amdgcn != nullptr)
    check->assumptions.push_back("amdgcn: no operand is a signalling NaN, and which NaN an operation returns is not compared");
  if (!check->launch.grid_known)
    check->assumptions.push_back("grid open: equal for every two grids with which both write the same addresses, each once, "
                                 "and no index runs past the extent of its dimension");
  std::sort(check->assumptions.begin(), check->assumptions.end());
  check->assumptions.erase(std::unique(check->assumptions.begin(), check->assumptions.end()), check->assumptions.end());
  sig.times = {sig.times.parse, executed - parsed, ThreadMicros() - executed};
  sig.nodes = workspace->nodes.size();
  sig.families = maps.families();
  sig.assumptions = check->assumptions;
  switch (check->stop.kind) {
    case symexec::StopKind::kDone:
      sig.status = SignatureStatus::kOk;
      sig.digest = DigestOf(*check, options, *workspace);
      break;
    case symexec::StopKind::kNondeterministic: sig.status = SignatureStatus::kNondeterministic; break;
    default: sig.status = SignatureStatus::kUnknown; break;
  }
  if (sig.status != SignatureStatus::kOk) {
    sig.reason = check->stop.reason;
    sig.reason_code = check->stop.code;
    sig.place.line = check->stop.line;
    sig.place.instruction = check->stop.instruction;
    if (check->stop.loc_file != 0 && check->stop.loc_file < check->module->files.size())
      sig.place.source = absl::StrCat(check->module->files[check->stop.loc_file], ":", check->stop.loc_line);
  }
  if (check->launch.grid_known)
    for (const auto& [buffer, map] : check->maps) sig.output_bytes += map.bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Check>> RunCheck(std::string_view text, const Launch& launch, const Options& options,
                                                Workspace* workspace) {
  auto check = ParseCheck(text, launch, options);
  if (!check.ok()) return check.status();
  if (absl::Status s = RunParsed(launch, options, workspace, check->get()); !s.ok()) return s;
  return check;
}

}  // namespace samebits::checker
