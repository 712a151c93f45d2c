#include "core/heal/model/tensor_names.h"

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

// A part's name within a layer (or the model) in both namings.
struct Names {
  const char *hugging_face, *gguf;
};

std::string FullName(Naming naming, int layer, TensorId id, Names names, const char* kind) {
  if (id == TensorId::kHead) return naming == Naming::kGguf ? "output.weight" : "lm_head.weight";
  if (naming == Naming::kGguf) {
    return IsOfLayer(id) ? absl::StrCat("blk.", layer, ".", names.gguf, kind) : absl::StrCat(names.gguf, kind);
  }
  return IsOfLayer(id) ? absl::StrCat("model.layers.", layer, ".", names.hugging_face, kind)
                       : absl::StrCat("model.", names.hugging_face, kind);
}

constexpr Names kQuery = {"self_attn.q_proj", "attn_q"}, kKey = {"self_attn.k_proj", "attn_k"},
                kValue = {"self_attn.v_proj", "attn_v"}, kGate = {"mlp.gate_proj", "ffn_gate"},
                kUp = {"mlp.up_proj", "ffn_up"};

Names SingleName(TensorId id) {
  switch (id) {
    case TensorId::kInputNorm:
      return {"input_layernorm", "attn_norm"};
    case TensorId::kQueryNorm:
      return {"self_attn.q_norm", "attn_q_norm"};
    case TensorId::kKeyNorm:
      return {"self_attn.k_norm", "attn_k_norm"};
    case TensorId::kOutput:
      return {"self_attn.o_proj", "attn_output"};
    case TensorId::kMlpNorm:
      return {"post_attention_layernorm", "ffn_norm"};
    case TensorId::kDown:
      return {"mlp.down_proj", "ffn_down"};
    case TensorId::kEmbedding:
      return {"embed_tokens", "token_embd"};
    case TensorId::kFinalNorm:
      return {"norm", "output_norm"};
    case TensorId::kHead:
    case TensorId::kQkv:
    case TensorId::kQkvBias:
    case TensorId::kGateUp:
      break;
  }
  return {"", ""};
}

}  // namespace

std::vector<TensorPart> PartsOf(const ModelShape& shape, Naming naming, int layer, TensorId id) {
  const char* kind = id == TensorId::kQkvBias ? ".bias" : ".weight";
  const auto name = [&](Names names) { return FullName(naming, layer, id, names, kind); };
  if (id == TensorId::kQkv || id == TensorId::kQkvBias) {
    return {{name(kQuery), shape.query_width(), shape.heads},
            {name(kKey), shape.kv_width(), shape.kv_heads},
            {name(kValue), shape.kv_width()}};
  }
  if (id == TensorId::kGateUp) return {{name(kGate), shape.intermediate}, {name(kUp), shape.intermediate}};
  return {{name(SingleName(id)), RowsOf(shape, id)}};
}

}  // namespace samebits::heal
