// Stands in for libamd_comgr.so of interface SAMEBITS_FAKE_COMGR_MAJOR. Its code objects hold the text, for the stand-in of
// HIP. Handles, reference counts, kinds, the numbers of actions and the order of calls are checked. A text with
// "misassembled" does not assemble.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/support/fake_gpu/fake_code_object.h"

namespace samebits::fake_gpu {
namespace {

constexpr int kOk = 0, kError = 1, kInvalidArgument = 2;
constexpr int kSourceKind = 1, kLogKind = 5, kRelocatableKind = 7, kExecutableKind = 8;
constexpr int kLink = SAMEBITS_FAKE_COMGR_MAJOR == 2 ? 9 : 7, kAssemble = SAMEBITS_FAKE_COMGR_MAJOR == 2 ? 10 : 8;

struct Handle {
  uint64_t value;
};
struct Data {
  int kind = 0, references = 1;
  bool frozen = false;  // was input or output of an action
  std::string name, content;
};
struct Info {
  std::string processor;
  bool logging = false;
};
struct State {
  uint64_t next = 1000;
  std::map<uint64_t, Data> data;
  std::map<uint64_t, std::vector<uint64_t>> sets;
  std::map<uint64_t, Info> infos;
};
State& state() {
  static State* const state = new State();
  return *state;
}

void Release(uint64_t data) {
  if (--state().data[data].references == 0) state().data.erase(data);
}

void Produce(uint64_t set, int kind, std::string content) {
  const uint64_t data = state().next++;
  state().data[data] = {kind, 1, true, "", std::move(content)};
  state().sets[set].push_back(data);
}

// The first data of a kind in a set, 0 where there is none.
uint64_t Find(uint64_t set, int kind) {
  for (const uint64_t data : state().sets[set])
    if (state().data[data].kind == kind) return data;
  return 0;
}

int Assemble(const Info& info, Data* source, uint64_t result) {
  source->frozen = true;
  const std::string target = ".amdgcn_target \"" + info.processor + "\"";
  std::string problem;
  if (source->name.size() < 3 || !source->name.ends_with(".s")) problem = "no assembler source: " + source->name;
  if (source->content.find(target) == std::string::npos) problem = source->name + ":1:1: error: the target id does not match " + info.processor;
  if (source->content.find("misassembled") != std::string::npos) problem = source->name + ":2:3: error: unknown token in expression";
  if (problem.empty()) return Produce(result, kRelocatableKind, MakeCodeObject(kRelocatable, source->content)), kOk;
  if (info.logging) Produce(result, kLogKind, problem);
  return kError;
}

int Link(const Data& object, uint64_t result) {
  const auto text = TextOf(kRelocatable, object.content.c_str());
  if (!text) return kError;
  return Produce(result, kExecutableKind, MakeCodeObject(kExecutable, *text)), kOk;
}

}  // namespace
}  // namespace samebits::fake_gpu

using namespace samebits::fake_gpu;

extern "C" {

void amd_comgr_get_version(size_t* major, size_t* minor) { *major = SAMEBITS_FAKE_COMGR_MAJOR, *minor = 0; }
int amd_comgr_create_data(int kind, Handle* data) {
  if (kind != kSourceKind) return kInvalidArgument;
  data->value = state().next++;
  state().data[data->value].kind = kind;
  return kOk;
}
int amd_comgr_release_data(Handle data) {
  if (!state().data.contains(data.value)) return kInvalidArgument;
  return Release(data.value), kOk;
}
int amd_comgr_set_data(Handle data, size_t bytes, const char* content) {
  if (!state().data.contains(data.value) || state().data[data.value].frozen || bytes == 0) return kInvalidArgument;
  return state().data[data.value].content.assign(content, bytes), kOk;
}
int amd_comgr_set_data_name(Handle data, const char* name) {
  if (!state().data.contains(data.value) || state().data[data.value].frozen) return kInvalidArgument;
  return state().data[data.value].name = name, kOk;
}
int amd_comgr_get_data(Handle data, size_t* bytes, char* content) {
  if (!state().data.contains(data.value)) return kInvalidArgument;
  const std::string& from = state().data[data.value].content;
  if (content == nullptr) return *bytes = from.size(), kOk;
  if (*bytes < from.size()) return kInvalidArgument;
  return std::memcpy(content, from.data(), from.size()), kOk;
}
int amd_comgr_create_data_set(Handle* set) { return state().sets[set->value = state().next++], kOk; }
int amd_comgr_destroy_data_set(Handle set) {
  if (!state().sets.contains(set.value)) return kInvalidArgument;
  for (const uint64_t data : state().sets[set.value]) Release(data);
  return state().sets.erase(set.value), kOk;
}
int amd_comgr_data_set_add(Handle set, Handle data) {
  if (!state().sets.contains(set.value) || !state().data.contains(data.value)) return kInvalidArgument;
  ++state().data[data.value].references;
  return state().sets[set.value].push_back(data.value), kOk;
}
int amd_comgr_action_data_count(Handle set, int kind, size_t* count) {
  if (!state().sets.contains(set.value)) return kInvalidArgument;
  return *count = Find(set.value, kind) != 0, kOk;
}
int amd_comgr_action_data_get_data(Handle set, int kind, size_t index, Handle* data) {
  if (!state().sets.contains(set.value) || index != 0 || Find(set.value, kind) == 0) return kInvalidArgument;
  data->value = Find(set.value, kind);
  return ++state().data[data->value].references, kOk;
}
int amd_comgr_create_action_info(Handle* info) { return state().infos[info->value = state().next++], kOk; }
int amd_comgr_destroy_action_info(Handle info) { return state().infos.erase(info.value) == 1 ? kOk : kInvalidArgument; }
int amd_comgr_action_info_set_isa_name(Handle info, const char* name) {
  const std::string processor = name;
  if (!state().infos.contains(info.value)) return kInvalidArgument;
  for (const char* known : {"gfx942", "gfx90a"}) {
    const std::string triple = std::string("amdgcn-amd-amdhsa--") + known;
    if (processor != triple && !processor.starts_with(triple + ":")) continue;
    return state().infos[info.value].processor = processor, kOk;
  }
  return kInvalidArgument;
}
int amd_comgr_action_info_set_logging(Handle info, bool logging) {
  if (!state().infos.contains(info.value)) return kInvalidArgument;
  return state().infos[info.value].logging = logging, kOk;
}
int amd_comgr_do_action(int kind, Handle info, Handle input, Handle result) {
  if (!state().infos.contains(info.value) || !state().sets.contains(input.value) || !state().sets.contains(result.value))
    return kInvalidArgument;
  const Info& how = state().infos[info.value];
  const uint64_t data = Find(input.value, kind == kAssemble ? kSourceKind : kRelocatableKind);
  if ((kind != kAssemble && kind != kLink) || how.processor.empty() || data == 0) return kInvalidArgument;
  return kind == kAssemble ? Assemble(how, &state().data[data], result.value) : Link(state().data[data], result.value);
}

// Objects that are still there.
int samebits_fake_comgr_live() {
  return static_cast<int>(state().data.size() + state().sets.size() + state().infos.size());
}

}  // extern "C"
