"""A small Llama model as a GGUF file, made for the tests."""

import struct

import numpy as np
from samebits.heal.tokenizer import byte_characters

HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, INNER = 64, 2, 4, 2, 16, 96
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ t", "Ġt h", "Ġth e", "o n", "i s"]
TOKENS = [*SPECIAL, *byte_characters(), *(merge.replace(" ", "") for merge in MERGES)]
TEMPLATE = ("{% for m in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
            "Be brief.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n'}}"
            "{% endfor %}")
KINDS = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q8_0": (8, 32, 34),
         "BF16": (30, 1, 2)}


def metadata():
    return {
        "general.architecture": "llama", "llama.block_count": LAYERS, "llama.embedding_length": HIDDEN,
        "llama.feed_forward_length": INNER, "llama.attention.head_count": HEADS, "llama.context_length": 128,
        "llama.attention.head_count_kv": KV_HEADS, "llama.rope.freq_base": 1e5,
        "llama.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS, "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (len(TOKENS) - len(SPECIAL)),
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.chat_template": TEMPLATE,
    }


def tensor_kinds():
    """Name to shape and how it is stored; every format occurs."""
    table = {"token_embd.weight": ((len(TOKENS), HIDDEN), "Q8_0"), "output_norm.weight": ((HIDDEN,), "F32")}
    for layer, (attention, mlp) in enumerate([("Q4_1", "Q4_0"), ("F16", "BF16")]):
        shapes = {"attn_q": (HEADS * HEAD_DIM, HIDDEN), "attn_k": (KV_HEADS * HEAD_DIM, HIDDEN),
                  "attn_v": (KV_HEADS * HEAD_DIM, HIDDEN), "attn_output": (HIDDEN, HEADS * HEAD_DIM),
                  "ffn_gate": (INNER, HIDDEN), "ffn_up": (INNER, HIDDEN), "ffn_down": (HIDDEN, INNER)}
        for name, shape in shapes.items():
            table[f"blk.{layer}.{name}.weight"] = (shape, attention if name.startswith("attn") else mlp)
        for name in ("attn_norm", "ffn_norm"):
            table[f"blk.{layer}.{name}.weight"] = ((HIDDEN,), "F32")
    return table


def random_blocks(rng, shape, kind):
    """Stored bytes of a tensor: random scales of moderate size, random everything else."""
    _, values, size = KINDS[kind]
    count = int(np.prod(shape)) // values
    numbers = rng.uniform(-1, 1, count).astype(np.float32)
    if kind == "F32":
        return numbers.tobytes()
    if kind == "BF16":
        return (numbers.view(np.uint32) >> 16).astype("<u2").tobytes()
    if kind == "F16":
        return numbers.astype("<f2").tobytes()
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for column in range({"Q4_1": 2}.get(kind, 1)):
        scale = rng.uniform(-0.1, 0.1, count).astype("<f2")
        blocks[:, 2 * column:2 * column + 2] = scale.view(np.uint8).reshape(count, 2)
    return blocks.tobytes()


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value):
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    kind = 8 if isinstance(value[0], str) else 5
    body = b"".join(_string(v) if kind == 8 else struct.pack("<i", v) for v in value)
    return struct.pack("<IIQ", 9, kind, len(value)) + body


def gguf_bytes(changed_metadata=None, changed_tensors=None, seed=1):
    """The file. changed_*: entries that differ; None removes one. changed_tensors: name to (shape, kind, bytes)."""
    rng = np.random.default_rng(seed)
    keys = {**metadata(), **(changed_metadata or {})}
    tensors = {name: (shape, kind, random_blocks(rng, shape, kind)) for name, (shape, kind) in tensor_kinds().items()}
    tensors.update(changed_tensors or {})
    keys = {k: v for k, v in keys.items() if v is not None}
    tensors = {k: v for k, v in tensors.items() if v is not None}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    head += b"".join(_string(key) + _value(value) for key, value in keys.items())
    data = b""
    for name, (shape, kind, stored) in tensors.items():
        head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), KINDS[kind][0], len(data))
        data += stored + b"\0" * (-len(stored) % 32)
    return head + b"\0" * (-len(head) % 32) + data
