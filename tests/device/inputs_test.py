#!/usr/bin/env python3
"""The inputs are the same on every machine: digests of known buffers, and the shape of each draw."""
import hashlib
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

try:
    import numpy as np
except ImportError:
    sys.exit(77)  # skipped

import inputs


def floats(dtype, draw, count=4096):
    raw = inputs.buffer_bytes("g", "x", {"dtype": dtype, "elements": count}, draw)
    if dtype == "f16":
        return raw.view(np.float16).astype(np.float64)
    if dtype == "bf16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return raw.view(np.float32).astype(np.float64)


class InputsTest(unittest.TestCase):
    def test_bytes_are_pinned(self):
        whole = hashlib.sha256()
        for dtype in ("f32", "f16", "bf16", "e4m3", "e5m2", "i32", "i8"):
            for draw in range(inputs.DRAWS):
                buffer = {"dtype": dtype, "elements": 1000, "low": -7, "high": 90}
                whole.update(inputs.buffer_bytes("group", "x", buffer, draw).tobytes())
        self.assertEqual(whole.hexdigest()[:32], PINNED)

    def test_draws_have_their_shape(self):
        for dtype in ("f32", "f16", "bf16"):
            self.assertLess(np.abs(floats(dtype, 0)).max(), 1.0 + 2.0 ** -7)
            self.assertTrue((floats(dtype, 3) >= 0).all())
            integers = floats(dtype, 4)
            self.assertTrue((integers == np.round(integers)).all())
            self.assertAlmostEqual((floats(dtype, 5) == 0).mean(), 0.75, delta=0.05)
            self.assertTrue(((floats(dtype, 7) >= 3) & (floats(dtype, 7) <= 3.0625)).all())
        wide = np.abs(floats("f32", 6))
        self.assertTrue(((wide > 0) & (wide < 2.0 ** -126)).any(), "no subnormals")

    def test_no_infinities_and_no_nans(self):
        for dtype in ("f32", "f16", "bf16"):
            for draw in range(inputs.DRAWS):
                self.assertTrue(np.isfinite(floats(dtype, draw)).all())
        for dtype, top in (("e4m3", 0x78), ("e5m2", 0x7C)):
            for draw in range(inputs.DRAWS):
                raw = inputs.buffer_bytes("g", "x", {"dtype": dtype, "elements": 4096}, draw)
                self.assertLess((raw & 127).max(), top)

    def test_the_table_that_the_other_generator_is_held_to(self):
        lines = []
        for dtype in inputs.ITEM_BYTES:
            for draw, name in enumerate(inputs.DISTRIBUTIONS):
                for values in ("any", "unit"):
                    buffer = {"dtype": dtype, "elements": 1001, "low": -7, "high": 90, "values": values}
                    digest = hashlib.sha256(inputs.buffer_bytes("seed", "x", buffer, draw).tobytes()).hexdigest()
                    lines.append(f"{dtype} {name} {values} {digest}")
        text = "\n".join(lines) + "\n"
        if "--update" in OPTIONS:
            TABLE.write_text(text)
        self.assertEqual(TABLE.read_text(), text, "inputs_test.py --update writes the table")

    def test_special_values_are_there(self):
        raw = inputs.buffer_bytes("g", "x", {"dtype": "f32", "elements": 4096}, 9).view(np.uint32)
        self.assertTrue(set((0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 1)) <= set(raw.tolist()))
        raw = inputs.buffer_bytes("g", "x", {"dtype": "f16", "elements": 4096}, 8).view(np.uint16)
        self.assertEqual(int((raw & 0x7C00).max()), 0)

    def test_later_draws_have_their_shape(self):
        for dtype, least in (("f32", -126), ("bf16", -126), ("f16", -14)):
            x = floats(dtype, inputs.DISTRIBUTIONS.index("vanishing"))
            products = np.abs(x[1:] * x[:-1])
            self.assertTrue((products < 2.0 ** least).any() and (products > 2.0 ** least).any())
            zeros = floats(dtype, inputs.DISTRIBUTIONS.index("zeros"))
            self.assertTrue((zeros == 0).all() and 0.9 < np.signbit(zeros).mean() < 1)
            varied = np.abs(floats(dtype, inputs.DISTRIBUTIONS.index("varied")))
            self.assertTrue((varied >= 2.0 ** -8).all() and (varied <= 4).all())
            ones = np.abs(floats(dtype, inputs.DISTRIBUTIONS.index("ones")))
            self.assertTrue((np.abs(ones - 1) <= 2.0 ** -6).all() and len(np.unique(ones)) > 2)

    def test_buffers_and_draws_differ(self):
        buffer = {"dtype": "f32", "elements": 64}
        seen = {inputs.buffer_bytes(g, n, buffer, d).tobytes() for g in "gh" for n in "xy" for d in range(inputs.DRAWS)}
        self.assertEqual(len(seen), 4 * inputs.DRAWS)


PINNED = "c5c608d159d875be8367df5e76443410"

TABLE = pathlib.Path(__file__).resolve().parents[1] / "unit" / "core" / "inputs" / "table.txt"
OPTIONS = sys.argv[1:]

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
