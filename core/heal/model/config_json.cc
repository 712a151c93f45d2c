#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/heal/model/json_text.h"
#include "core/heal/model/model_shape.h"

namespace samebits::heal {
namespace {

using Json = nlohmann::json;

// Reads keys of one object; the first thing that is wrong is kept.
class Fields {
 public:
  Fields(const Json& json, std::string prefix) : json_(json), prefix_(std::move(prefix)) {}

  const Json* Find(const char* key) const {
    const auto at = json_.find(key);
    return at == json_.end() || at->is_null() ? nullptr : &*at;
  }

  int Integer(const char* key, std::optional<int> otherwise = {}) {
    const Json* value = Find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) return Fail(key, "is missing"), 0;
    if (!value->is_number_integer() || *value < 0 || *value > (1 << 30)) return Fail(key, "must be a count"), 0;
    return value->get<int>();
  }

  double Number(const char* key, std::optional<double> otherwise = {}) {
    const Json* value = Find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) return Fail(key, "is missing"), 0;
    if (!value->is_number()) return Fail(key, "must be a number"), 0;
    return value->get<double>();
  }

  bool Flag(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) return Fail(key, "must be true or false"), false;
    return value->get<bool>();
  }

  std::string Word(const char* key, const char* otherwise) {
    const Json* value = Find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) return Fail(key, "must be a text"), otherwise;
    return value->get<std::string>();
  }

  void Refuse(const char* key) {
    if (Flag(key)) Fail(key, "is true, which is not supported");
  }

  void Fail(const char* key, absl::string_view what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat("key '", prefix_, key, "' ", what));
  }
  const absl::Status& status() const { return status_; }

 private:
  const Json& json_;
  const std::string prefix_;
  absl::Status status_;
};

std::optional<RopeScaling> ReadScaling(Fields& fields) {
  const std::string type = fields.Word("rope_type", fields.Word("type", "default").c_str());
  if (type == "default") return {};
  if (type != "llama3")
    return fields.Fail("rope_type", absl::StrCat("is '", type, "'; llama3 and default are known")), std::nullopt;
  RopeScaling scaling;
  scaling.factor = fields.Number("factor");
  scaling.low_frequency = fields.Number("low_freq_factor");
  scaling.high_frequency = fields.Number("high_freq_factor");
  scaling.original_context = fields.Integer("original_max_position_embeddings");
  return scaling;
}

// Newer files have theta inside "rope_parameters", older ones beside "rope_scaling".
absl::Status ReadRope(Fields& fields, ModelShape* shape) {
  const char* key = fields.Find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  shape->rope_theta = fields.Number("rope_theta", 1e4);
  const Json* inner = fields.Find(key);
  if (inner == nullptr) return absl::OkStatus();
  if (!inner->is_object()) return absl::InvalidArgumentError(absl::StrCat("key '", key, "' must be an object"));
  Fields rope(*inner, absl::StrCat(key, "."));
  shape->rope_theta = rope.Number("rope_theta", shape->rope_theta);
  shape->rope_scaling = ReadScaling(rope);
  return rope.status();
}

// What the forward pass does not have must be off.
void RefuseOthers(Fields& fields, const std::string& type) {
  if (fields.Word("hidden_act", "silu") != "silu") fields.Fail("hidden_act", "must be silu");
  if (fields.Number("partial_rotary_factor", 1) != 1) fields.Fail("partial_rotary_factor", "must be 1");
  if (fields.Find("quantization_config") != nullptr)
    fields.Fail("quantization_config", "is set: weights must be 16 or 32 bits wide");
  fields.Refuse("use_sliding_window");
  fields.Refuse("mlp_bias");
  if (type != "qwen2") fields.Refuse("attention_bias");
}

absl::StatusOr<ModelShape> ReadShape(Fields& fields) {
  const std::string type = fields.Word("model_type", "");
  if (type != "llama" && type != "qwen2" && type != "qwen3") {
    fields.Fail("model_type", absl::StrCat("is '", type, "'; llama, qwen2 and qwen3 are known"));
  }
  ModelShape shape;
  shape.name = fields.Word("_name_or_path", type.c_str());
  if (shape.name.empty()) shape.name = type;
  shape.hidden = fields.Integer("hidden_size");
  shape.layers = fields.Integer("num_hidden_layers");
  shape.heads = fields.Integer("num_attention_heads");
  shape.kv_heads = fields.Integer("num_key_value_heads", shape.heads);
  shape.head_dim = fields.Integer("head_dim", type == "qwen3" ? 128 : shape.heads > 0 ? shape.hidden / shape.heads : 0);
  shape.intermediate = fields.Integer("intermediate_size");
  shape.vocabulary = fields.Integer("vocab_size");
  shape.tied = fields.Flag("tie_word_embeddings");
  shape.qk_norm = type == "qwen3";
  shape.qkv_bias = type == "qwen2";
  shape.norm_epsilon = fields.Number("rms_norm_eps", 1e-6);
  RefuseOthers(fields, type);
  absl::Status status = fields.status();
  status.Update(ReadRope(fields, &shape));
  status.Update(fields.status());
  status.Update(Validate(shape));
  if (!status.ok()) return status;
  return shape;
}

}  // namespace

absl::StatusOr<ModelShape> ParseConfigJson(std::string_view text) {
  const absl::StatusOr<Json> json = ParseJsonObject(text);
  if (!json.ok()) return json.status();
  Fields fields(*json, "");
  return ReadShape(fields);
}

}  // namespace samebits::heal
