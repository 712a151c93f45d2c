#include <initializer_list>
#include <string_view>

#include "core/heal/instruction_mix/instruction_class.h"

namespace samebits::heal {
namespace {

using Class = InstructionClass;

bool StartsWithOne(std::string_view text, std::initializer_list<std::string_view> starts) {
  for (const std::string_view start : starts)
    if (text.starts_with(start)) return true;
  return false;
}

// The float type that the last part of a name with one has, as a class; kOther without one.
Class FloatType(std::string_view name) {
  while (true) {
    const size_t at = name.rfind('_');
    const std::string_view part = at == std::string_view::npos ? name : name.substr(at + 1);
    if (part == "f16" || part == "bf16") return Class::kHalf;
    if (part == "f32" || part == "f32x2") return Class::kSingle;
    if (part == "f64") return Class::kDouble;
    if (at == std::string_view::npos) return Class::kOther;
    name = name.substr(0, at);
  }
}

bool HasFloatType(std::string_view name) { return FloatType(name) != Class::kOther; }

bool EndsInInteger(std::string_view name) {
  const std::string_view part = name.substr(name.rfind('_') + 1);
  return part.size() >= 2 && (part[0] == 'i' || part[0] == 'u' || part[0] == 'b') && '0' <= part[1] && part[1] <= '9';
}

Class OfConversion(std::string_view name) {
  const bool floating = HasFloatType(name) || name.find("scalef32") != std::string_view::npos ||
                        name.find("f8") != std::string_view::npos || name.find("f6") != std::string_view::npos ||
                        name.find("f4") != std::string_view::npos;
  return floating ? Class::kConversion : Class::kInteger;
}

// `name` without "v_" or "s_".
Class OfAlu(std::string_view name, bool vector) {
  if (name.starts_with("dual_")) name.remove_prefix(5);
  if (StartsWithOne(name, {"mfma_", "smfmac_", "wmma_", "swmmac_"})) return Class::kTensor;
  if (name.starts_with("cvt_")) return OfConversion(name);
  if (StartsWithOne(name, {"cmp_", "cmpx_", "cmpk_"})) return HasFloatType(name) ? Class::kCompare : Class::kInteger;
  if (StartsWithOne(name, {"frexp_exp_", "pack_"})) return Class::kInteger;
  if (!vector && StartsWithOne(name, {"load_", "store_", "buffer_", "scratch_", "atomic_"})) return Class::kOther;
  if (!HasFloatType(name)) return vector || EndsInInteger(name) ? Class::kInteger : Class::kOther;
  if (StartsWithOne(name, {"trunc_", "ceil_", "floor_", "rndne_"})) return Class::kConversion;
  if (StartsWithOne(name, {"exp_", "log_", "rcp_", "rsq_", "sqrt_", "sin_", "cos_", "tanh_", "prng_"})) return Class::kSpecial;
  return FloatType(name);
}

}  // namespace

std::string_view WithoutEncoding(std::string_view opcode) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view suffix : {"_e32", "_e64", "_dpp", "_dpp8", "_sdwa"}) {
      if (!opcode.ends_with(suffix)) continue;
      opcode.remove_suffix(suffix.size());
      again = true;
    }
  }
  return opcode;
}

InstructionClass ClassifyAmdgcn(std::string_view opcode) {
  const std::string_view name = WithoutEncoding(opcode);
  if (name.starts_with("v_")) return OfAlu(name.substr(2), true);
  if (StartsWithOne(name, {"ds_", "buffer_", "global_", "flat_", "scratch_", "tbuffer_", "image_"})) {
    const bool atomic = name.find("_atomic_") != std::string_view::npos || name.starts_with("ds_");
    const bool floating = HasFloatType(name) || name.find("_fadd") != std::string_view::npos ||
                          name.find("_fmin") != std::string_view::npos || name.find("_fmax") != std::string_view::npos;
    return atomic && floating ? Class::kAtomic : Class::kOther;
  }
  if (name.starts_with("s_")) return OfAlu(name.substr(2), false);
  if (name == "exp" || name.starts_with("export") || name.starts_with("lds_")) return Class::kOther;
  return Class::kUnrecognized;
}

}  // namespace samebits::heal
