"""Small random models as files, and their forward pass in PyTorch: once plain, in FP32 or FP64, and once with every
rounding of a configuration written out. Independent of the C++ code: only the files are shared."""
import json
import math
import struct

import torch
import torch.nn.functional as F

FAMILIES = {
    # name: model_type, tied, config.json's other keys
    'llama-scaled': ('llama', False, {'rope_theta': 500000.0, 'rope_scaling': {
        'rope_type': 'llama3', 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0,
        'original_max_position_embeddings': 64}}),
    'llama-tied': ('llama', True, {'rope_theta': 100000.0}),
    'qwen3': ('qwen3', True, {'rope_theta': 1000000.0}),
    'qwen2': ('qwen2', False, {'rope_theta': 1000000.0}),
}
HIDDEN, LAYERS, HEADS, KV_HEADS, WIDTH, INTERMEDIATE, VOCABULARY = 80, 3, 6, 2, 16, 200, 131
EPSILON = 1e-5


def shape_tensors(model_type, tied):
    """Name, shape and deviation of each tensor."""
    q, kv = HEADS * WIDTH, KV_HEADS * WIDTH
    out = [('model.embed_tokens.weight', (VOCABULARY, HIDDEN), 1.0), ('model.norm.weight', (HIDDEN,), None)]
    if not tied:
        out.append(('lm_head.weight', (VOCABULARY, HIDDEN), 0.1))
    for layer in range(LAYERS):
        p = f'model.layers.{layer}.'
        out += [(p + 'input_layernorm.weight', (HIDDEN,), None), (p + 'post_attention_layernorm.weight', (HIDDEN,), None)]
        for name, rows, columns in (('self_attn.q_proj', q, HIDDEN), ('self_attn.k_proj', kv, HIDDEN),
                                    ('self_attn.v_proj', kv, HIDDEN), ('self_attn.o_proj', HIDDEN, q),
                                    ('mlp.gate_proj', INTERMEDIATE, HIDDEN), ('mlp.up_proj', INTERMEDIATE, HIDDEN),
                                    ('mlp.down_proj', HIDDEN, INTERMEDIATE)):
            out.append((p + name + '.weight', (rows, columns), 1.5 / math.sqrt(columns)))
            if model_type == 'qwen2' and name[-6:] in ('q_proj', 'k_proj', 'v_proj'):
                out.append((p + name + '.bias', (rows,), 0.5))
        if model_type == 'qwen3':
            out += [(p + 'self_attn.q_norm.weight', (WIDTH,), None), (p + 'self_attn.k_norm.weight', (WIDTH,), None)]
    return out


def write_model(folder, family, seed):
    """Writes config.json and two safetensors files with an index; returns config and BF16 weights by name."""
    model_type, tied, extra = FAMILIES[family]
    config = {'model_type': model_type, 'hidden_size': HIDDEN, 'num_hidden_layers': LAYERS, 'num_attention_heads': HEADS,
              'num_key_value_heads': KV_HEADS, 'head_dim': WIDTH, 'intermediate_size': INTERMEDIATE,
              'vocab_size': VOCABULARY, 'rms_norm_eps': EPSILON, 'tie_word_embeddings': tied, **extra}
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape, deviation in shape_tensors(model_type, tied):
        values = torch.randn(shape, generator=generator)
        weights[name] = (1 + 0.2 * values if deviation is None else deviation * values).to(torch.bfloat16)
    (folder / 'config.json').write_text(json.dumps(config))
    names, index = sorted(weights), {}
    for part in range(2):
        mine = names[part::2]
        index.update({name: f'part{part}.safetensors' for name in mine})
        write_safetensors(folder / f'part{part}.safetensors', {name: weights[name] for name in mine})
    (folder / 'model.safetensors.index.json').write_text(json.dumps({'weight_map': index}))
    return config, weights


def write_safetensors(path, tensors):
    header, data = {}, b''
    for name, tensor in tensors.items():
        raw = tensor.view(torch.int16).numpy().tobytes()
        header[name] = {'dtype': 'BF16', 'shape': list(tensor.shape), 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack('<Q', len(text)) + text + data)


def frequencies(config):
    """Rotary frequencies as Llama 3 scales them, rounded to FP32."""
    out = []
    scaling = config.get('rope_scaling')
    for i in range(0, WIDTH, 2):
        f = config['rope_theta'] ** (-i / WIDTH)
        if scaling:
            old, low, high = scaling['original_max_position_embeddings'], scaling['low_freq_factor'], scaling['high_freq_factor']
            wavelength = 2 * math.pi / f
            if wavelength > old / low:
                f = f / scaling['factor']
            elif wavelength >= old / high:
                smooth = (old / wavelength - low) / (high - low)
                f = (1 - smooth) * f / scaling['factor'] + smooth * f
        out.append(f)
    return torch.tensor(out, dtype=torch.float64).float()


def plain_forward(config, weights, tokens, dtype):
    """The textbook pass in one type throughout, by PyTorch's own operators."""
    w = {name: value.to(dtype) for name, value in weights.items()}

    def norm(x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * weight

    def rotate(x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    count = len(tokens)
    angle = torch.outer(torch.arange(count).float(), frequencies(config)).to(dtype)
    cos, sin = (torch.cat((f(angle), f(angle)), -1)[:, None, :] for f in (torch.cos, torch.sin))
    mask = torch.full((count, count), -math.inf, dtype=dtype).triu(1)
    h = w['model.embed_tokens.weight'][tokens]
    for layer in range(LAYERS):
        p = f'model.layers.{layer}.'

        def linear(x, name):
            return F.linear(x, w[p + name + '.weight'], w.get(p + name + '.bias'))

        x = norm(h, w[p + 'input_layernorm.weight'])
        q = linear(x, 'self_attn.q_proj').view(count, HEADS, WIDTH)
        k, v = (linear(x, f'self_attn.{n}_proj').view(count, KV_HEADS, WIDTH) for n in 'kv')
        if p + 'self_attn.q_norm.weight' in w:
            q, k = norm(q, w[p + 'self_attn.q_norm.weight']), norm(k, w[p + 'self_attn.k_norm.weight'])
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (x.repeat_interleave(HEADS // KV_HEADS, 1) for x in (k, v))
        scores = torch.einsum('ihd,jhd->hij', q, k) / math.sqrt(WIDTH) + mask
        o = torch.einsum('hij,jhd->ihd', scores.softmax(-1), v).reshape(count, -1)
        h = h + linear(o, 'self_attn.o_proj')
        x = norm(h, w[p + 'post_attention_layernorm.weight'])
        h = h + linear(F.silu(linear(x, 'mlp.gate_proj')) * linear(x, 'mlp.up_proj'), 'mlp.down_proj')
    return norm(h, w['model.norm.weight'])
