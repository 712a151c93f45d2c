"""Turns a GGUF file of a Llama model into a folder with config.json, model.safetensors, tokenizer.json and
tokenizer_config.json, as Hugging Face lays them out:

    python -m samebits.heal.convert MODEL.gguf FOLDER

Weights are dequantised exactly and rounded once to BF16.
"""

import argparse
import json
import pathlib
import sys
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from samebits.heal import safetensors
from samebits.heal.errors import HealError
from samebits.heal.gguf import GgufFile

_CONTROL = 3  # tokenizer.ggml.token_type of special tokens
_LAYER_TENSORS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
# How the pre-tokenizers that GGUF names cut text, in the words of tokenizer.json.
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_PRE_TOKENIZERS = {
    "smollm": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, _BYTE_LEVEL]},
    "gpt-2": _BYTE_LEVEL,
}


def config_of(file: GgufFile) -> Dict[str, Any]:
    """config.json of the model."""
    if file.get("general.architecture", str) != "llama":
        raise HealError(f"{file.path}: architecture {file.metadata['general.architecture']} is not converted; llama is")
    heads, hidden = file.get("llama.attention.head_count", int), file.get("llama.embedding_length", int)
    head_dim = file.metadata.get("llama.attention.key_length", hidden // max(heads, 1))
    if file.metadata.get("llama.rope.dimension_count", head_dim) != head_dim or any(
            key.startswith("llama.rope.scaling") for key in file.metadata) or "rope_freqs.weight" in file.tensors:
        raise HealError(f"{file.path}: a partial or scaled rotation is not converted")
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "hidden_act": "silu",
        "hidden_size": hidden, "intermediate_size": file.get("llama.feed_forward_length", int),
        "num_hidden_layers": file.get("llama.block_count", int), "num_attention_heads": heads,
        "num_key_value_heads": file.metadata.get("llama.attention.head_count_kv", heads), "head_dim": head_dim,
        "vocab_size": len(file.get("tokenizer.ggml.tokens", list)),
        "max_position_embeddings": file.get("llama.context_length", int),
        # kept as FP32; the shortest decimal that means it is what was written first
        "rms_norm_eps": float(str(np.float32(file.get("llama.attention.layer_norm_rms_epsilon", float)))),
        "rope_theta": float(str(np.float32(file.metadata.get("llama.rope.freq_base", 10000.0)))), "rope_scaling": None,
        "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": "output.weight" not in file.tensors,
        "bos_token_id": file.metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": file.metadata.get("tokenizer.ggml.eos_token_id"),
    }


def _rotate_halves(values: np.ndarray, heads: int) -> np.ndarray:
    """Rows of Q or K of a GGUF file rotate in neighbouring pairs; here row i of a head goes with row i + half."""
    rows, columns = values.shape
    return values.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _expected(config: Dict[str, Any]) -> Dict[str, Tuple[str, Tuple[int, ...], int]]:
    """Name in the folder to name in GGUF, shape, and heads whose rows are reordered (0: none)."""
    hidden, inner, head_dim = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    shapes = {
        "attn_norm": (hidden,), "ffn_norm": (hidden,), "attn_q": (heads * head_dim, hidden),
        "attn_k": (kv_heads * head_dim, hidden), "attn_v": (kv_heads * head_dim, hidden),
        "attn_output": (hidden, heads * head_dim), "ffn_gate": (inner, hidden), "ffn_up": (inner, hidden),
        "ffn_down": (hidden, inner),
    }
    table = {"model.embed_tokens.weight": ("token_embd.weight", (config["vocab_size"], hidden), 0)}
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in _LAYER_TENSORS.items():
            reordered = {"attn_q": heads, "attn_k": kv_heads}.get(theirs, 0)
            table[f"model.layers.{layer}.{ours}.weight"] = (f"blk.{layer}.{theirs}.weight", shapes[theirs], reordered)
    table["model.norm.weight"] = ("output_norm.weight", (hidden,), 0)
    if not config["tie_word_embeddings"]:
        table["lm_head.weight"] = ("output.weight", (config["vocab_size"], hidden), 0)
    return table


def _check_tensors(file: GgufFile, table: Dict[str, Tuple[str, Tuple[int, ...], int]]) -> None:
    for theirs, shape, _ in table.values():
        info = file.tensors.get(theirs)
        if info is None or info.shape != shape:
            found = "is missing" if info is None else f"is of shape {info.shape}"
            raise HealError(f"{file.path}: tensor {theirs} {found}; the metadata mean {shape}")
    surplus = sorted(file.tensors.keys() - {theirs for theirs, _, _ in table.values()})
    if surplus:
        raise HealError(f"{file.path}: tensor {surplus[0]} is not of the Llama family; nothing was converted")


def _write_weights(file: GgufFile, config: Dict[str, Any], path: pathlib.Path) -> None:
    table = _expected(config)
    _check_tensors(file, table)

    def maker(theirs: str, heads: int) -> Callable[[], np.ndarray]:
        def make() -> np.ndarray:
            patterns = safetensors.round_to_bf16(file.values(theirs), f"{file.path}: tensor {theirs}")
            return _rotate_halves(patterns, heads) if heads else patterns
        return make

    safetensors.write(path, {ours: (shape, maker(theirs, heads)) for ours, (theirs, shape, heads) in table.items()})


def tokenizer_of(file: GgufFile) -> Dict[str, Any]:
    """tokenizer.json of the model."""
    if file.get("tokenizer.ggml.model", str) != "gpt2" or file.get("tokenizer.ggml.pre", str) not in _PRE_TOKENIZERS:
        raise HealError(f"{file.path}: tokenizer {file.metadata['tokenizer.ggml.model']} with pre-tokenizer "
                        f"{file.metadata.get('tokenizer.ggml.pre')} is not converted; gpt2 with "
                        f"{' or '.join(_PRE_TOKENIZERS)} is")
    tokens: List[str] = file.get("tokenizer.ggml.tokens", list)
    kinds = file.get("tokenizer.ggml.token_type", list)
    special = [index for index, kind in enumerate(kinds) if kind == _CONTROL]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [{"id": index, "content": tokens[index], **flags} for index in special],
        "pre_tokenizer": _PRE_TOKENIZERS[file.metadata["tokenizer.ggml.pre"]],
        "decoder": _BYTE_LEVEL,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {token: index for index, token in enumerate(tokens)},
                  "merges": file.get("tokenizer.ggml.merges", list)},
    }


def convert(gguf: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes the folder; model.safetensors last."""
    with GgufFile(gguf) as file:
        config, tokenizer = config_of(file), tokenizer_of(file)
        tokens = file.metadata["tokenizer.ggml.tokens"]
        chat = {f"{name}_token": tokens[config[f"{name}_token_id"]] for name in ("bos", "eos")
                if config[f"{name}_token_id"] is not None}
        chat["chat_template"] = file.metadata.get("tokenizer.chat_template", "")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in (("config", config), ("tokenizer", tokenizer), ("tokenizer_config", chat)):
                with open(folder / f"{name}.json", "w", encoding="utf-8") as out:
                    json.dump(content, out, ensure_ascii=False, indent=1)
        except OSError as error:
            raise HealError(f"{folder} cannot be written: {error}") from error
        _write_weights(file, config, folder / "model.safetensors")


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m samebits.heal.convert", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args(arguments)
    try:
        convert(options.gguf, options.folder)
    except HealError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"wrote {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
