#include "client/launch/launch_json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/launch/abseil_text.h"
#include "client/launch/arg_value.h"
#include "client/launch/manifest.h"
#include "core/base/json_depth.h"

namespace samebits::launch {
namespace {

using Json = nlohmann::json;

// The place of a value in the messages: "m.jsonl:7: args[2]".
absl::Status Bad(std::string_view place, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Abseil(place), ": ", Abseil(what)));
}

std::string Shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80);
}

// Deepest nesting of brackets outside strings. The JSON library prints recursively, so depth has a bound.
constexpr int kMaxDepth = 64;

absl::StatusOr<Json> ParseObject(std::string_view text, std::string_view origin) {
  if (text.size() > kMaxJsonBytes) return Bad(origin, absl::StrCat("longer than ", kMaxJsonBytes, " bytes"));
  if (JsonNestsDeeperThan(text, kMaxDepth)) return Bad(origin, absl::StrCat("nested deeper than ", kMaxDepth, " brackets"));
  try {
    Json json = Json::parse(text);
    if (json.is_object()) return json;
    return Bad(origin, absl::StrCat("a JSON object is expected, not ", json.type_name()));
  } catch (const Json::parse_error& error) {
    return Bad(origin, absl::StrCat("not JSON at byte ", error.byte, ": '",
                                    Abseil(text.substr(error.byte > 10 ? error.byte - 10 : 0, 20)), "'"));
  }
}

const Json* Find(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

absl::Status ReadText(const Json& row, const char* key, std::string_view origin, std::string* out) {
  const Json* value = Find(row, key);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_string()) return Bad(absl::StrCat(Abseil(origin), ": ", key), "a string is expected");
  *out = value->get<std::string>();
  return absl::OkStatus();
}

// [X], [X, Y], [X, Y, Z], a number or a string as on the command line.
absl::StatusOr<checker::Dim3> ReadDim3(const Json& value, std::string_view place) {
  if (value.is_string()) return ParseDim3(value.get<std::string>(), place);
  if (value.is_number()) return ParseDim3(value.dump(), place);
  std::string text;
  if (!value.is_array() || value.empty() || value.size() > 3) return Bad(place, "write [X, Y, Z]");
  for (const Json& extent : value) {
    if (!extent.is_number_integer()) return Bad(place, absl::StrCat(Shown(extent), " is not an integer"));
    absl::StrAppend(&text, text.empty() ? "" : ",", extent.dump());
  }
  return ParseDim3(text, place);
}

absl::StatusOr<ArgSpec> ReadArg(const Json& value, std::string_view place) {
  if (value.is_null()) return ParseArgValue("unknown");
  if (!value.is_object() || value.size() != 1) {
    return Bad(place, absl::StrCat(Shown(value),
                                   " is not null or an object with one of ptr, i32, u32, i64, u64, f32, "
                                   "f64, bits, bytes, scratch"));
  }
  const auto member = value.begin();
  const std::string type = member.key();
  const Json& content = *member;
  if (type == "scratch") {
    if (!content.is_boolean() || !content.get<bool>()) return Bad(place, "write {\"scratch\": true}");
    return ParseArgValue("scratch");
  }
  const bool may_be_null = type == "ptr";
  const bool may_be_number = type != "ptr" && type != "bytes" && type != "bits";
  if (!content.is_string() && !(may_be_null && content.is_null()) && !(may_be_number && content.is_number())) {
    return Bad(place, absl::StrCat(Shown(content), " is no value of type ", type));
  }
  const std::string text = content.is_string() ? content.get<std::string>() : content.is_null() ? "" : content.dump();
  absl::StatusOr<ArgSpec> arg = ParseTypedValue(type, text);
  if (!arg.ok()) return Bad(place, std::string(arg.status().message()));
  return arg;
}

absl::Status ReadArgs(const Json& row, std::string_view origin, LaunchSpec* spec) {
  const auto at = row.find("args");
  if (at == row.end()) return absl::OkStatus();
  spec->args_set = true;
  if (at->is_null()) return absl::OkStatus();
  if (!at->is_array()) return Bad(absl::StrCat(Abseil(origin), ": args"), "an array is expected");
  spec->args.emplace();
  for (const Json& value : *at) {
    const std::string place = absl::StrCat(Abseil(origin), ": args[", spec->args->size(), "]");
    absl::StatusOr<ArgSpec> arg = ReadArg(value, place);
    if (!arg.ok()) return arg.status();
    arg->origin = place;
    spec->args->push_back(*std::move(arg));
  }
  return absl::OkStatus();
}

absl::Status ReadOutputs(const Json& row, std::string_view origin, LaunchSpec* spec) {
  const auto at = row.find("outputs");
  if (at == row.end()) return absl::OkStatus();
  spec->outputs.emplace();
  if (at->is_null()) return absl::OkStatus();
  const std::string place = absl::StrCat(Abseil(origin), ": outputs");
  if (!at->is_array()) return Bad(place, "an array of buffer names, or null for all, is expected");
  for (const Json& name : *at) {
    if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
      return Bad(place, absl::StrCat(Shown(name), " is not a buffer's name"));
    }
    spec->outputs->push_back(name.get<std::string>());
  }
  if (spec->outputs->empty()) return Bad(place, "an empty array compares nothing; write null to compare all buffers");
  return absl::OkStatus();
}

absl::Status ReadShared(const Json& row, std::string_view origin, LaunchSpec* spec) {
  const Json* value = Find(row, "shared");
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_number_unsigned() || value->get<uint64_t>() > 0xffffffffu) {
    return Bad(absl::StrCat(Abseil(origin), ": shared"), "a number of bytes below 2^32 is expected");
  }
  spec->shared_bytes = value->get<uint32_t>();
  return absl::OkStatus();
}

absl::Status ReadShape(const Json& row, std::string_view origin, LaunchSpec* spec) {
  if (const Json* value = Find(row, "block")) {
    absl::StatusOr<checker::Dim3> block = ReadDim3(*value, absl::StrCat(Abseil(origin), ": block"));
    if (!block.ok()) return block.status();
    spec->block = *block;
  }
  spec->grid_set = row.contains("grid");
  if (const Json* value = Find(row, "grid")) {
    absl::StatusOr<checker::Dim3> grid = ReadDim3(*value, absl::StrCat(Abseil(origin), ": grid"));
    if (!grid.ok()) return grid.status();
    spec->grid = *grid;
  }
  return absl::OkStatus();
}

// Keys that this program reads. Others are their writer's, unless they look like one of these.
constexpr const char* kRowKeys[] = {"id", "path", "entry", "block", "grid", "shared", "args", "outputs", "buffers"};
constexpr const char* kBufferKeys[] = {"dtype", "elements", "role", "values", "low", "high"};

// Characters to insert, remove, replace or swap with their neighbour to make one of the other; case does not count.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  const auto same = [](char x, char y) { return absl::ascii_tolower(x) == absl::ascii_tolower(y); };
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// How far a misspelt key may be off.
size_t Slip(std::string_view known) { return known.size() <= 2 ? 0 : known.size() <= 5 ? 1 : 2; }

template <size_t N>
absl::Status CheckKeys(const Json& object, const char* const (&known)[N], bool closed, std::string_view place) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(std::begin(known), std::end(known), key) != std::end(known)) continue;
    const std::string shown = Shown(Json(key));
    for (const char* name : known) {
      if (key.size() <= 16 && Distance(key, name) <= Slip(name)) return Bad(place, absl::StrCat("unknown key ", shown, "; did you mean \"", name, "\"?"));
    }
    if (closed) return Bad(place, absl::StrCat("unknown key ", shown, "; keys are: ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::Status ReadBuffer(const std::string& name, const Json& value, const std::string& place,
                        BufferDescription* buffer) {
  buffer->name = name;
  if (!value.is_object()) return Bad(place, "an object is expected");
  if (absl::Status status = CheckKeys(value, kBufferKeys, true, place); !status.ok()) return status;
  if (absl::Status status = ReadText(value, "dtype", place, &buffer->type); !status.ok()) return status;
  const Json* elements = Find(value, "elements");
  if (elements == nullptr || !elements->is_number_unsigned() || elements->get<uint64_t>() == 0)
    return Bad(place, "elements must be a positive number");
  buffer->elements = elements->get<uint64_t>();
  std::string role = "inout", values;
  if (absl::Status status = ReadText(value, "role", place, &role); !status.ok()) return status;
  if (absl::Status status = ReadText(value, "values", place, &values); !status.ok()) return status;
  const auto parsed = ParseRole(role);
  if (!parsed) return Bad(place, "role must be in, out or inout");
  buffer->role = *parsed;
  buffer->unit = values == "unit";
  for (const auto& [key, bound] : {std::pair{"low", &buffer->low}, std::pair{"high", &buffer->high}}) {
    const Json* number = Find(value, key);
    if (number == nullptr) continue;
    if (!number->is_number_integer()) return Bad(place, absl::StrCat(key, " must be an integer"));
    *bound = number->get<int64_t>();
  }
  return absl::OkStatus();
}

absl::Status ReadBuffers(const Json& row, std::string_view origin, LaunchSpec* spec) {
  const Json* buffers = Find(row, "buffers");
  if (buffers == nullptr) return absl::OkStatus();
  const std::string place = absl::StrCat(Abseil(origin), ": buffers");
  if (!buffers->is_object()) return Bad(place, "an object from names to buffers is expected");
  for (const auto& [name, value] : buffers->items()) {
    absl::Status status = ReadBuffer(name, value, absl::StrCat(place, ".", name), &spec->buffers.emplace_back());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ReadLaunch(const Json& row, std::string_view origin, LaunchSpec* spec) {
  if (absl::Status status = CheckKeys(row, kRowKeys, false, origin); !status.ok()) return status;
  std::string entry;
  if (absl::Status status = ReadText(row, "entry", origin, &entry); !status.ok()) return status;
  if (!entry.empty()) spec->entry = entry;
  for (auto* read : {&ReadShape, &ReadShared, &ReadArgs, &ReadOutputs, &ReadBuffers}) {
    if (absl::Status status = read(row, origin, spec); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JsonRow> ParseRowJson(std::string_view text, std::string_view origin) {
  absl::StatusOr<Json> json = ParseObject(text, origin);
  if (!json.ok()) return json.status();
  JsonRow row;
  for (const auto& [key, field] : {std::pair{"id", &row.id}, std::pair{"path", &row.path}}) {
    if (absl::Status status = ReadText(*json, key, origin, field); !status.ok()) return status;
  }
  row.launch_status = ReadLaunch(*json, origin, &row.spec);
  return row;
}

absl::StatusOr<LaunchSpec> ParseLaunchJson(std::string_view json, std::string_view origin) {
  absl::StatusOr<JsonRow> row = ParseRowJson(json, origin);
  if (!row.ok()) return row.status();
  if (!row->launch_status.ok()) return row->launch_status;
  return row->spec;
}

}  // namespace samebits::launch
