"""The forward pass with every rounding of a configuration written out. Sums are FP64 and rounded to FP32 once."""
import torch

from torch_model import EPSILON, HEADS, KV_HEADS, LAYERS, WIDTH, frequencies

D = torch.float64


def bf16(x):
    return x.to(torch.bfloat16).float()


def fp16(x):
    return x.to(torch.float16).float()


def same(x):
    return x


def truncate(bits):
    return lambda x: (x.contiguous().view(torch.int32) & -(1 << (23 - bits))).view(torch.float32)


def tf32(x):
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1fff).view(torch.float32)


def split(x):
    """hi + lo / 2^10 in FP64, both FP16."""
    hi = fp16(x)
    return hi.to(D) + fp16((x - hi) * 1024).to(D) / 1024


# configuration: boundary, what a product reads, attention's type
CONFIGURATIONS = {
    'bf16': (bf16, bf16, bf16),
    'fp16': (fp16, fp16, fp16),
    'tf32': (same, tf32, same),
    'fp32': (same, same, same),
    'heal-base': (same, fp16, fp16),
    'heal+': (same, fp16, 'int16'),
    'heal-full': (same, split, 'int16'),
    'trunc:3': (truncate(3), same, same),
    'trunc:9': (truncate(9), same, same),
}
SKIPPING = {'heal++:@0,2': ('heal+', {0, 2}, set()), 'heal-full:1': ('heal-full', set(), {0}),
            'paper-heal+': ('heal+', set(), set()), 'paper-heal-full:1': ('heal-full', set(), {0})}


class Rounded:
    """Operators of one configuration for one layer."""

    def __init__(self, name, config, weights, layer):
        base, unprotected, uncompensated = SKIPPING.get(name, (name, set(), set()))
        self.q, self.input, self.attention_type = CONFIGURATIONS[base]
        if layer in unprotected:
            self.attention_type = fp16
        if layer in uncompensated:
            self.input = fp16
        # INT16 attention's FP32 output is not rounded on its way through the output product, but in the paper's variants
        whole = self.attention_type == 'int16' and not name.startswith('paper-')
        self.output_input = split if whole and self.input == fp16 else self.input
        self.config, self.weights, self.prefix = config, weights, f'model.layers.{layer}.'

    def weight(self, name):
        return self.weights[self.prefix + name].float()

    def norm(self, x, weight):
        r = (1 / (x.to(D).pow(2).mean(-1, keepdim=True) + EPSILON).sqrt()).float()
        return x * r * weight

    def product(self, x, *names):
        parts = []
        read = self.output_input if names == ('self_attn.o_proj',) else self.input
        for name in names:
            w = self.weight(name + '.weight')
            if read in (fp16, split):  # a power of two per joined matrix: exact but for the smallest weights
                most = max(self.weight(n + '.weight').abs().max().item() for n in names)
                scale = 2.0 ** (13 - torch.tensor(most).log2().floor().item())
                w = fp16(w * scale) / scale
            y = (read(x).to(D) @ w.to(D).T).float()
            bias = self.weights.get(self.prefix + name + '.bias')
            parts.append(y if bias is None else y + bias.float())
        return self.q(torch.cat(parts, -1))

    def rotation(self, qkv, positions):
        count = len(positions)
        angle = (positions.float()[:, None] * frequencies(self.config)).to(D)
        cos, sin = angle.cos().float()[:, None, :], angle.sin().float()[:, None, :]
        x = qkv[:, :(HEADS + KV_HEADS) * WIDTH].reshape(count, HEADS + KV_HEADS, WIDTH)
        if self.prefix + 'self_attn.q_norm.weight' in self.weights:
            weight = torch.cat((self.weight('self_attn.q_norm.weight').expand(HEADS, WIDTH),
                                self.weight('self_attn.k_norm.weight').expand(KV_HEADS, WIDTH)))
            x = self.norm(x, weight)
        first, second = x[..., :WIDTH // 2], x[..., WIDTH // 2:]
        x = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
        return self.q(torch.cat((x.reshape(count, -1), qkv[:, (HEADS + KV_HEADS) * WIDTH:]), -1))

    def held(self, x):
        """Heads as attention holds them: values, and what each head's count."""
        if self.attention_type != 'int16':
            return self.attention_type(x).to(D), torch.ones(x.shape[:-1] + (1,), dtype=D)
        most = x.abs().amax(-1, keepdim=True)
        scale = most / 32767
        step = scale.to(D)
        q = (x * (32767 / most)).round().to(D)
        rest = x.to(D) - q * step
        return q + (rest > step / 2).to(D) - (rest < -step / 2).to(D), step

    def attention(self, q, k, v, positions):
        (q, q_scale), (k, k_scale), (v, v_scale) = (self.held(x.view(len(x), -1, WIDTH)) for x in (q, k, v))
        group = HEADS // KV_HEADS
        k, k_scale, v, v_scale = (x.repeat_interleave(group, 1) for x in (k, k_scale, v, v_scale))
        sums = torch.einsum('ihd,jhd->ihj', q, k) * q_scale * k_scale[:, :, 0].T
        scores = sums.float() * torch.tensor(WIDTH ** -0.5, dtype=D).float()
        seen = torch.arange(len(k))[None, None, :] <= positions[:, None, None]
        scores = scores.masked_fill(~seen, -float('inf'))
        p = (scores - scores.amax(-1, keepdim=True)).to(D).exp().float()
        total = p.to(D).sum(-1).float()
        rounded = self.attention_type(p) if self.attention_type in (bf16, fp16) else p
        o = torch.einsum('ihj,jhd->ihd', rounded.to(D), v * v_scale).float() / total[..., None]
        return self.q(o.reshape(len(q), -1))

    def activation(self, gate_up):
        gate, up = gate_up.chunk(2, -1)
        gate = gate.to(D)
        return self.q((gate / (1 + (-gate).exp())).float() * up)


def rounded_forward(name, config, weights, tokens, unrounded_norm=False):
    positions = torch.arange(len(tokens))
    boundary = CONFIGURATIONS[SKIPPING.get(name, (name,))[0]][0]
    total = boundary(weights['model.embed_tokens.weight'].float()[tokens])
    for layer in range(LAYERS):
        op = Rounded(name, config, weights, layer)
        h = op.q(total)
        x = op.q(op.norm(total if unrounded_norm else h, op.weight('input_layernorm.weight')))
        qkv = op.rotation(op.product(x, *(f'self_attn.{n}_proj' for n in 'qkv')), positions)
        q, k, v = qkv.split((HEADS * WIDTH, KV_HEADS * WIDTH, KV_HEADS * WIDTH), -1)
        total = h + op.product(op.attention(q, k, v, positions), 'self_attn.o_proj')
        a = op.q(total)
        x = op.q(op.norm(total if unrounded_norm else a, op.weight('post_attention_layernorm.weight')))
        total = a + op.product(op.activation(op.product(x, 'mlp.gate_proj', 'mlp.up_proj')), 'mlp.down_proj')
    h = op.q(total)
    hidden = op.q(op.norm(total if unrounded_norm else h, weights['model.norm.weight'].float()))
    op.prefix = ''  # the head: no layer skips its compensation
    op.input = CONFIGURATIONS[SKIPPING.get(name, (name,))[0]][1]
    head = 'lm_head' if 'lm_head.weight' in weights else 'model.embed_tokens'
    return hidden, op.product(hidden, head)
