#include "client/launch/launch_spec.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/launch/abseil_text.h"
#include "client/launch/arg_value.h"

namespace samebits::launch {
namespace {

constexpr uint32_t kMaxExtent = 0x7fffffff;  // of a grid's x (CUDA's limit); other limits are the checker's

absl::Status Within(std::string_view origin, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(Abseil(origin), ": ", status.message()));
}

const checker::EntryInfo* FindEntry(const checker::TextInfo& text, const std::string& name) {
  if (name.empty()) return text.entries.size() == 1 ? &text.entries[0] : nullptr;
  for (const checker::EntryInfo& entry : text.entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

absl::StatusOr<checker::EntryInfo> ChooseEntry(const checker::TextInfo& text, const std::string& name) {
  if (const checker::EntryInfo* entry = FindEntry(text, name)) return *entry;
  std::vector<std::string> names;
  for (size_t i = 0; i < text.entries.size() && i < 8; ++i) names.push_back(text.entries[i].name);
  if (names.empty()) return absl::InvalidArgumentError("the text has no entry (.visible .entry)");
  const std::string list = absl::StrCat(absl::StrJoin(names, ", "), text.entries.size() > 8 ? ", ..." : "");
  if (name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the text has ", text.entries.size(), " entries: ", list, "; choose one with --entry"));
  }
  return absl::InvalidArgumentError(absl::StrCat("the text has no entry '", name, "'; it has: ", list));
}

// Position of the parameter that `label` names: its full name, its suffix "param_N", or "N".
std::optional<size_t> NamedParameter(std::string_view label, const checker::EntryInfo& entry) {
  if (label.empty()) return std::nullopt;
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    const std::string& name = entry.parameters[i].name;
    if (label == name || label == absl::StrCat(i) || label == absl::StrCat("param_", i)) return i;
  }
  return std::nullopt;
}

std::string DescribeParameters(const checker::EntryInfo& entry) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < entry.parameters.size() && i < 16; ++i) {
    const checker::ParameterInfo& p = entry.parameters[i];
    parts.push_back(absl::StrCat(i, ":", p.type, p.is_pointer ? " pointer" : ""));
  }
  return absl::StrCat(entry.name, "(", absl::StrJoin(parts, ", "), entry.parameters.size() > 16 ? ", ..." : "", ")");
}

absl::Status WrongCount(const checker::EntryInfo& entry, size_t given) {
  std::string remedy = "give one argument per parameter (unknown leaves one open)";
  if (given + 2 == entry.parameters.size()) {
    absl::StrAppend(&remedy, "; kernels of Triton end with two unused pointers: add --arg scratch --arg scratch");
  }
  return absl::InvalidArgumentError(absl::StrCat("arguments: ", given, " given, but ", entry.parameters.size(),
                                                 " parameters declared by ", DescribeParameters(entry), "; ", remedy));
}

// Which parameter each argument is for.
absl::StatusOr<std::vector<size_t>> Place(const std::vector<ArgSpec>& args, const checker::EntryInfo& entry) {
  std::vector<size_t> places(args.size());
  size_t named = 0;
  const ArgSpec* unnamed = nullptr;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::optional<size_t> at = NamedParameter(args[i].label, entry);
    places[i] = at.value_or(i);
    named += at.has_value();
    if (!at) unnamed = &args[i];
  }
  if (named == 0) {
    for (size_t i = 0; i < args.size(); ++i) places[i] = i;
    if (args.size() != entry.parameters.size()) return WrongCount(entry, args.size());
    return places;
  }
  if (unnamed != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(unnamed->origin, ": names no parameter of ",
                                                   DescribeParameters(entry),
                                                   " while other arguments do; name all of them by position, or none"));
  }
  std::vector<bool> taken(entry.parameters.size());
  for (size_t i = 0; i < args.size(); ++i) {
    if (taken[places[i]]) {
      return absl::InvalidArgumentError(
          absl::StrCat(args[i].origin, ": parameter ", places[i], " is given twice; remove one"));
    }
    taken[places[i]] = true;
  }
  return places;
}

void SetArgument(size_t at, checker::Argument argument, uint32_t bytes, ResolvedLaunch* out) {
  out->float_bytes[at] = argument.kind == checker::Argument::Kind::kFloat ? bytes : 0;
  (*out->launch.args)[at] = std::move(argument);
}

void SizeArguments(size_t count, ResolvedLaunch* out) {
  out->launch.args.emplace(count);
  out->float_bytes.assign(count, 0);
}

// Whether a type that was written is worth a look at the text, which says if it is the parameter's. That of integers in
// files, which may be many, is not: the checker refuses those that do not fit.
bool HasTypeToCheck(const ArgSpec& arg) {
  return arg.form == ArgSpec::Form::kTyped && (arg.is_float || arg.origin.starts_with("--"));
}

absl::Status ResolveWithEntry(const std::vector<ArgSpec>& args, const checker::EntryInfo& entry, ResolvedLaunch* out) {
  absl::StatusOr<std::vector<size_t>> places = Place(args, entry);
  if (!places.ok()) return places.status();
  SizeArguments(entry.parameters.size(), out);
  for (size_t i = 0; i < args.size(); ++i) {
    const size_t at = (*places)[i];
    if (!NeedsType(args[i])) {
      const absl::Status status = HasTypeToCheck(args[i]) ? CheckType(args[i], entry.parameters[at]) : absl::OkStatus();
      if (!status.ok()) return Within(args[i].origin, status);
      SetArgument(at, ToArgument(args[i]), args[i].width / 8, out);
      continue;
    }
    absl::StatusOr<checker::Argument> typed = TypeByParameter(args[i], entry.parameters[at]);
    if (!typed.ok()) return Within(args[i].origin, typed.status());
    SetArgument(at, *std::move(typed), entry.parameters[at].bytes, out);
  }
  return absl::OkStatus();
}

void ResolveInOrder(const std::vector<ArgSpec>& args, ResolvedLaunch* out) {
  SizeArguments(args.size(), out);
  for (size_t i = 0; i < args.size(); ++i) SetArgument(i, ToArgument(args[i]), args[i].width / 8, out);
}

bool NeedsText(const LaunchSpec& spec) {
  if (!spec.block) return true;
  if (!spec.args) return false;
  return std::any_of(spec.args->begin(), spec.args->end(),
                     [](const ArgSpec& arg) { return NeedsType(arg) || !arg.label.empty(); });
}

bool HasTypesToCheck(const LaunchSpec& spec) {
  return spec.args && std::any_of(spec.args->begin(), spec.args->end(), HasTypeToCheck);
}

ResolvedLaunch WithArgumentsInOrder(const LaunchSpec& spec, ResolvedLaunch out) {
  out.launch.block = *spec.block;
  if (spec.args) ResolveInOrder(*spec.args, &out);
  return out;
}

}  // namespace

LaunchSpec WithoutSizes(LaunchSpec spec) {
  spec.grid_set = true;
  spec.grid.reset();
  if (!spec.args) return spec;
  for (ArgSpec& arg : *spec.args) {
    if (arg.form == ArgSpec::Form::kPointer || arg.form == ArgSpec::Form::kScratch) continue;
    ArgSpec open;
    open.label = arg.label;
    open.origin = arg.origin;
    arg = std::move(open);
  }
  return spec;
}

LaunchSpec Overlay(LaunchSpec base, const LaunchSpec& top) {
  if (top.entry) base.entry = top.entry;
  if (top.block) base.block = top.block;
  if (top.shared_bytes) base.shared_bytes = top.shared_bytes;
  if (top.outputs) base.outputs = top.outputs;
  if (top.grid_set) {
    base.grid_set = true;
    base.grid = top.grid;
  }
  if (top.args_set) {
    base.args_set = true;
    base.args = top.args;
  }
  for (const BufferDescription& buffer : top.buffers) {
    std::erase_if(base.buffers, [&](const BufferDescription& below) { return below.name == buffer.name; });
    base.buffers.push_back(buffer);
  }
  return base;
}

absl::StatusOr<checker::Dim3> ParseDim3(std::string_view text, std::string_view origin) {
  const std::vector<std::string> parts = absl::StrSplit(Abseil(text), absl::ByAnyChar(",x"));
  checker::Dim3 out{1, 1, 1};
  bool ok = parts.size() <= out.size();
  for (size_t i = 0; ok && i < parts.size(); ++i) {
    ok = absl::SimpleAtoi(parts[i], &out[i]) && out[i] >= 1 && out[i] <= kMaxExtent;
  }
  if (ok) return out;
  return absl::InvalidArgumentError(absl::StrCat(Abseil(origin), ": '", Abseil(text.substr(0, 80)),
                                                 "' is not X, X,Y or X,Y,Z with extents from 1 to 2147483647"));
}

absl::StatusOr<ArgSpec> ParseArg(std::string_view text, std::string_view flag) {
  const size_t equals = text.find('=');
  const bool labelled = equals != std::string_view::npos;
  absl::StatusOr<ArgSpec> arg = ParseArgValue(labelled ? text.substr(equals + 1) : text);
  const std::string origin = absl::StrCat(Abseil(flag), " ", Abseil(text.substr(0, 80)));
  if (!arg.ok()) return Within(origin, arg.status());
  if (labelled) arg->label = std::string(text.substr(0, equals));
  arg->origin = origin;
  return arg;
}

absl::StatusOr<ResolvedLaunch> Resolve(const LaunchSpec& spec, const DescribeFn& describe) {
  ResolvedLaunch out;
  checker::Launch& launch = out.launch;
  launch.entry = spec.entry.value_or("");
  launch.grid = spec.grid;
  launch.shared_bytes = spec.shared_bytes.value_or(0);
  launch.outputs = spec.outputs.value_or(std::vector<std::string>{});
  const bool needs_text = NeedsText(spec);
  if (!needs_text && !HasTypesToCheck(spec)) return WithArgumentsInOrder(spec, std::move(out));
  absl::StatusOr<checker::TextInfo> text = describe();
  if (!text.ok()) return needs_text ? absl::StatusOr<ResolvedLaunch>(text.status()) : WithArgumentsInOrder(spec, std::move(out));
  absl::StatusOr<checker::EntryInfo> entry = ChooseEntry(*text, launch.entry);
  if (!entry.ok()) return entry.status();
  launch.entry = entry->name;
  if (!spec.block && !entry->required_block) {
    return absl::InvalidArgumentError(absl::StrCat("entry ", entry->name,
                                                   " declares no .reqntid, so the block must be "
                                                   "given; add --block X[,Y,Z] or \"block\" to its launch file"));
  }
  launch.block = spec.block ? *spec.block : *entry->required_block;
  if (!spec.args) return out;
  if (absl::Status status = ResolveWithEntry(*spec.args, *entry, &out); !status.ok()) return status;
  return out;
}

}  // namespace samebits::launch
