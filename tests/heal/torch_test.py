#!/usr/bin/env python3
"""The CPU reference engine against PyTorch, for small random models of each family."""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    print('skipped: python3-torch is not installed')
    sys.exit(77)

import torch_model
from torch_model import FAMILIES, HEADS, HIDDEN, INTERMEDIATE, KV_HEADS, LAYERS, WIDTH
from torch_rounding import CONFIGURATIONS, SKIPPING, Rounded, rounded_forward

TOKENS = [5, 130, 17, 17, 0, 64, 99, 3, 42, 7, 128, 55, 54, 53, 21, 2, 77, 31, 8, 110, 1, 90, 12]
# numbers of OperatorFamily and TapPoint in core/heal/engine/engine.h
NORM, ROPE, GEMM, SWIGLU, ATTENTION = range(5)
INPUT, ATTENTION_NORM, QKV, QUERY, KEY, VALUE, ATTENTION_OUT, POST_ATTENTION, MLP_NORM, GATE_UP, ACTIVATION, OUTPUT = range(12)
DRIVER = None


def write(path, tensor):
    path.write_bytes(tensor.contiguous().numpy().tobytes())


def read_floats(path, width):
    return torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.float32).view(-1, width)


def bits(tensor):
    return tensor.contiguous().view(torch.int32)


class Case(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.models, self.commands = {}, []
        for number, family in enumerate(FAMILIES):
            folder = self.folder / family
            folder.mkdir()
            self.models[family] = torch_model.write_model(folder, family, 100 + number)

    def engine(self, family, configuration, norm='rounded'):
        self.commands.append(f'engine {self.folder / family} {configuration} {norm}')

    def run_driver(self):
        done = subprocess.run([DRIVER], input='\n'.join(self.commands) + '\n', text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class ForwardTest(Case):
    def forward(self, wanted):
        """Hidden states and next tokens of (family, configuration, norm)."""
        (self.folder / 'tokens').write_bytes(struct.pack(f'<{len(TOKENS)}i', *TOKENS))
        for number, (family, configuration, norm) in enumerate(wanted):
            self.engine(family, configuration, norm)
            self.commands.append(f'forward {self.folder}/tokens {self.folder}/hidden{number} {self.folder}/next{number}')
        self.run_driver()
        return {key: (read_floats(self.folder / f'hidden{number}', HIDDEN),
                      list(struct.unpack(f'<{len(TOKENS)}i', (self.folder / f'next{number}').read_bytes())))
                for number, key in enumerate(wanted)}

    def test_fp32_is_within_1e_5(self):
        results = self.forward([(family, 'fp32', 'rounded') for family in FAMILIES])
        for (family, _, _), (hidden, _) in results.items():
            for dtype in (torch.float32, torch.float64):
                expected = torch_model.plain_forward(*self.models[family], TOKENS, dtype).double()
                error = (hidden.double() - expected).abs()
                self.assertLess((error.norm() / expected.norm()).item(), 1e-5, (family, dtype))
                self.assertLess((error.norm(dim=-1) / expected.norm(dim=-1)).max().item(), 1e-5, (family, dtype))
                self.assertLess((error.max() / expected.abs().max()).item(), 1e-5, (family, dtype))

    def test_all_configurations_are_the_rounded_pass(self):
        names = list(CONFIGURATIONS) + list(SKIPPING)
        wanted = [(family, name, 'rounded') for family in FAMILIES for name in names]
        wanted += [('qwen2', name, 'unrounded') for name in ('bf16', 'fp16', 'trunc:9', 'heal+')]
        results = self.forward(wanted)
        for (family, name, norm), (hidden, tokens) in results.items():
            expected, logits = rounded_forward(name, *self.models[family], TOKENS, norm == 'unrounded')
            # exp, sin and cos of two libraries may differ in the last bit of FP64, and so, rarely, the rounded values
            equal = (bits(hidden) == bits(expected)).float().mean().item()
            self.assertGreater(equal, 0.99, (family, name, norm))
            self.assertLess(((hidden - expected).norm() / expected.norm()).item(), 1e-4, (family, name, norm))
            if equal == 1:
                self.assertEqual(tokens, [row.eq(row.max()).nonzero()[0].item() for row in logits], (family, name))

    def test_configurations_differ_as_they_should(self):
        """Errors against FP32 are ordered, and what should make a difference does."""
        order = ['trunc:3', 'bf16', 'trunc:9', 'heal-base', 'paper-heal+', 'heal+', 'heal-full']
        results = self.forward([(f, n, 'rounded') for f in FAMILIES for n in sorted({*order, 'fp32', 'tf32', *SKIPPING})] +
                               [('qwen2', 'bf16', 'unrounded')])
        for family in FAMILIES:
            exact = torch_model.plain_forward(*self.models[family], TOKENS, torch.float64)
            error = {n: (results[family, n, 'rounded'][0].double() - exact).pow(2).mean().item()
                     for n in sorted({*order, 'fp32', 'tf32', *SKIPPING})}
            for worse, better in zip(order, order[1:] + ['fp32']):
                self.assertGreater(error[worse], error[better], (family, worse, better))
            self.assertGreater(error['heal++:@0,2'], error['heal+'], family)
            self.assertGreater(error['heal-full:1'], error['heal-full'], family)
            self.assertGreater(error['paper-heal-full:1'], error['heal-full:1'], family)
            self.assertGreater(error['bf16'], error['tf32'], family)
        self.assertFalse(torch.equal(results['qwen2', 'bf16', 'rounded'][0], results['qwen2', 'bf16', 'unrounded'][0]))


class OperatorTest(Case):
    """Bits of single operators, under every configuration. Inputs have few bits and a narrow range, so that FP32 sums are
    exact in any order where they are compared with PyTorch's own FP32 operators."""

    def check(self, jobs):
        """jobs: configuration, family, operator, layer, reads, x, expected, optional positions, key, value."""
        opened = None
        for number, (name, family, operator, layer, reads, x, _, *rest) in enumerate(jobs):
            if opened != (family, name):
                self.engine(family, name)
                opened = (family, name)
            files = []
            for letter, tensor in zip('xpkv', (x, *rest)):
                files.append(self.folder / f'{letter}{number}')
                write(files[-1], tensor)
            out = self.folder / f'out{number}'
            self.commands.append(' '.join(map(str, ['apply', operator, layer, reads, files[0], out, *files[1:]])))
        self.run_driver()
        for number, (name, family, operator, layer, reads, _, expected, *_) in enumerate(jobs):
            result = read_floats(self.folder / f'out{number}', expected.shape[-1])
            self.assertTrue(torch.equal(bits(result), bits(expected)), (name, family, operator, layer, reads))

    def everywhere(self):
        for family in FAMILIES:
            for name in list(CONFIGURATIONS) + list(SKIPPING):
                for layer in range(LAYERS):
                    yield name, family, layer, Rounded(name, *self.models[family], layer)

    def test_products_of_exact_sums(self):
        """x in [1, 2) with all of FP32's bits; weights of the files are replaced by small multiples of 1/8, so that what
        16-bit inputs leave of x sums up exactly in FP32."""
        generator = torch.Generator().manual_seed(1)
        for family, (config, weights) in self.models.items():
            for name, w in weights.items():
                if 'proj' in name:
                    weights[name] = (torch.randint(-8, 9, w.shape, generator=generator) / 8).to(torch.bfloat16)
            torch_model.write_safetensors(self.folder / family / 'all.safetensors', weights)
            (self.folder / family / 'model.safetensors.index.json').unlink()
            for part in range(2):
                (self.folder / family / f'part{part}.safetensors').unlink()
        jobs = []
        for name, family, layer, op in self.everywhere():
            for reads, width, projections in ((ATTENTION_NORM, HIDDEN, [f'self_attn.{n}_proj' for n in 'qkv']),
                                              (ATTENTION_OUT, HEADS * WIDTH, ['self_attn.o_proj']),
                                              (MLP_NORM, HIDDEN, ['mlp.gate_proj', 'mlp.up_proj']),
                                              (ACTIVATION, INTERMEDIATE, ['mlp.down_proj'])):
                x = 1 + torch.rand((5, width), generator=generator)
                jobs.append((name, family, GEMM, layer, reads, x, op.product(op.q(x), *projections)))
                if name in ('bf16', 'fp16'):  # PyTorch's FP32 product, in whatever order it sums
                    plain = torch.cat([torch.nn.functional.linear(op.q(x), op.weight(p + '.weight')) +
                                       self.models[family][1].get(op.prefix + p + '.bias', torch.zeros(1)).float()
                                       for p in projections], -1)
                    self.assertTrue(torch.equal(bits(op.q(plain)), bits(jobs[-1][6])), (name, reads))
        self.check(jobs)

    def test_norm_activation_and_rotation(self):
        generator = torch.Generator().manual_seed(2)
        jobs = []
        for name, family, layer, op in self.everywhere():
            x = torch.randn((4, HIDDEN), generator=generator)
            for reads, weight in ((INPUT, 'input_layernorm.weight'), (POST_ATTENTION, 'post_attention_layernorm.weight')):
                jobs.append((name, family, NORM, layer, reads, x, op.q(op.norm(op.q(x), op.weight(weight)))))
            gate_up = 3 * torch.randn((4, 2 * INTERMEDIATE), generator=generator)
            jobs.append((name, family, SWIGLU, layer, GATE_UP, gate_up, op.activation(op.q(gate_up))))
            qkv = torch.randn((4, (HEADS + 2 * KV_HEADS) * WIDTH), generator=generator)
            positions = torch.tensor([0, 3, 100, 255], dtype=torch.int32)
            jobs.append((name, family, ROPE, layer, QKV, qkv, op.rotation(op.q(qkv), positions), positions))
        self.check(jobs)

    def test_attention(self):
        generator = torch.Generator().manual_seed(3)
        jobs = []
        for name, family, layer, op in self.everywhere():
            q = 2 * torch.randn((4, HEADS * WIDTH), generator=generator)
            k, v = (torch.randn((37, KV_HEADS * WIDTH), generator=generator) for _ in range(2))
            positions = torch.tensor([0, 1, 20, 36], dtype=torch.int32)
            jobs.append((name, family, ATTENTION, layer, QUERY, q,
                         op.attention(op.q(q), op.q(k), op.q(v), positions), positions, k, v))
        self.check(jobs)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--driver', required=True)
    known, rest = parser.parse_known_args()
    DRIVER = known.driver
    unittest.main(argv=[sys.argv[0], *rest])
