#include "core/isa/amdgcn/metadata.h"

#include "core/isa/amdgcn/operand.h"

namespace samebits::isa::amdgcn {

namespace {

std::string_view Unquote(std::string_view text) {
  text = Strip(text);
  if (text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0]) return text.substr(1, text.size() - 2);
  return text;
}

struct Line {
  size_t indent = 0;  // of the key, behind any dashes
  bool item = false;  // began with a dash
  size_t dash = 0;    // its column
  std::string_view key, value;
};

bool Read(std::string_view text, Line* out) {
  size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  if (at + 1 < text.size() && text[at] == '-' && text[at + 1] == ' ') {
    out->item = true;
    out->dash = at;
    ++at;
    while (at < text.size() && text[at] == ' ') ++at;
  }
  out->indent = at;
  const std::string_view rest = Strip(text.substr(at));
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) {
    out->value = Unquote(rest);
    return true;
  }
  out->key = Strip(rest.substr(0, colon));
  out->value = Unquote(rest.substr(colon + 1));
  return true;
}

bool Number(std::string_view text, uint32_t* out) {
  int64_t n = 0;
  if (!ParseInteger(text, &n) || n < 0 || n > 0xffffffff) return false;
  *out = static_cast<uint32_t>(n);
  return true;
}

}  // namespace

bool ParseMetadata(const std::vector<std::string_view>& lines, std::vector<KernelMetadata>* out, size_t* at,
                   std::string* error) {
  bool in_kernels = false;
  size_t kernel_dash = std::string_view::npos, argument_dash = std::string_view::npos;
  enum class List : uint8_t { kNone, kArguments, kWorkgroup, kOther } list = List::kNone;
  size_t dimension = 0;
  for (*at = 0; *at < lines.size(); ++*at) {
    const std::string_view text = lines[*at];
    const std::string_view stripped = Strip(text);
    if (stripped.empty() || stripped == "---" || stripped == "..." || stripped[0] == '#') continue;
    Line line;
    Read(text, &line);
    if (!line.item && line.indent == 0) {
      in_kernels = line.key == "amdhsa.kernels";
      kernel_dash = std::string_view::npos;
      if (in_kernels && !line.value.empty() && line.value != "[]") {
        *error = "metadata: kernels are not written as a list of blocks";
        return false;
      }
      continue;
    }
    if (!in_kernels) continue;
    if (line.item && (kernel_dash == std::string_view::npos || line.dash == kernel_dash)) {
      kernel_dash = line.dash;
      out->emplace_back();
      list = List::kNone;
    } else if (line.item && !out->empty() && line.dash > kernel_dash) {
      KernelMetadata& k = out->back();
      if (list == List::kArguments && (argument_dash == std::string_view::npos || line.dash == argument_dash)) {
        argument_dash = line.dash;
        if (k.arguments.size() >= 4096) {
          *error = "metadata: more than 4096 arguments";
          return false;
        }
        k.arguments.emplace_back();
      } else if (list == List::kWorkgroup && line.key.empty()) {
        if (dimension >= 3 || !Number(line.value, &k.required_workgroup[dimension++])) {
          *error = "metadata: .reqd_workgroup_size is not three numbers";
          return false;
        }
        continue;
      } else {
        continue;  // a list that does not matter here
      }
    }
    if (out->empty()) {
      *error = "metadata: text outside a kernel";
      return false;
    }
    KernelMetadata& k = out->back();
    bool ok = true;
    if (list == List::kArguments && argument_dash != std::string_view::npos && line.indent > argument_dash) {
      KernelArgument& a = k.arguments.back();
      if (line.key == ".offset") ok = Number(line.value, &a.offset);
      else if (line.key == ".size") ok = Number(line.value, &a.size);
      else if (line.key == ".value_kind") a.value_kind = line.value, a.is_pointer = line.value == "global_buffer";
      else if (line.key == ".name") a.name = line.value;
    } else {
      list = List::kNone;
      if (line.key == ".args") list = List::kArguments, argument_dash = std::string_view::npos;
      else if (line.key == ".reqd_workgroup_size") list = List::kWorkgroup, dimension = 0;
      else if (line.value.empty()) list = List::kOther;
      else if (line.key == ".name") k.name = line.value;
      else if (line.key == ".group_segment_fixed_size") ok = Number(line.value, &k.group_segment_bytes);
      else if (line.key == ".kernarg_segment_size") ok = Number(line.value, &k.kernarg_bytes);
      else if (line.key == ".private_segment_fixed_size") ok = Number(line.value, &k.private_bytes);
      else if (line.key == ".max_flat_workgroup_size") ok = Number(line.value, &k.max_workgroup);
      else if (line.key == ".wavefront_size") ok = Number(line.value, &k.wave_lanes);
    }
    if (!ok) {
      *error = "metadata: " + std::string(line.key) + " is not a number";
      return false;
    }
  }
  return true;
}

}  // namespace samebits::isa::amdgcn
