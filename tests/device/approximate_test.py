#!/usr/bin/env python3
"""Asking for approximate functions: spellings, kernels, tables and rounds, without a GPU."""
import pathlib
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "corpus", HERE.parent / "differential"):
    sys.path.insert(0, str(folder))

try:
    import numpy as np
except ImportError:
    sys.exit(77)  # skipped

import approximate
import differential
import run_differential


class SpellingTest(unittest.TestCase):
    def test_expression_names_become_instructions(self):
        for name, spelling in (("fdiv.full.ftz.f32", "div.full.ftz.f32"), ("frsqrt.approx.f64", "rsqrt.approx.f64"),
                               ("ex2.approx.ftz.bf16", "ex2.approx.ftz.bf16"), ("tanh.approx.f16", "tanh.approx.f16")):
            self.assertEqual(approximate.instruction_of(name)[0], spelling)
        for name in ("fadd.rn.f32", "fdiv.rn.f32", "ex2.approx.f32; trap", "frcp.approx.s32"):
            with self.assertRaises(ValueError):
                approximate.instruction_of(name)

    def test_operands_and_result_have_their_width(self):
        text = approximate.kernel_of("fdiv.full.f32", 2)
        self.assertIn("div.full.f32 %w0, %w1, %w2;", text)
        self.assertIn("[%p + 8]", text)
        self.assertIn("ex2.approx.f16 %h0, %h1;", approximate.kernel_of("ex2.approx.f16", 1))
        self.assertIn("rcp.approx.ftz.f64 %d0, %d1;", approximate.kernel_of("frcp.approx.ftz.f64", 1))


class OracleTest(unittest.TestCase):
    def test_records_ascend_and_come_back(self):
        oracle = approximate.Oracle()
        oracle.add("f", np.array([[5, 2], [1, 9]], np.uint64), np.array([7, 8], np.uint64))
        oracle.add("f", np.array([[5, 1], [2**63, 0]], np.uint64), np.array([3, 4], np.uint64))
        oracle.add("g", np.array([[6]], np.uint64), np.array([1], np.uint64))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table"
            oracle.write(path)
            back = approximate.read_sections(path)
        self.assertEqual(back["f"].tolist(), [[1, 9, 8], [5, 1, 3], [5, 2, 7], [2**63, 0, 4]])
        self.assertEqual(back["g"].tolist(), [[6, 1]])
        self.assertEqual(oracle.size(), 5)


class RoundsTest(unittest.TestCase):
    """An evaluator that needs three functions of functions, and one that asks the same for ever."""

    def rounds(self, next_question):
        calls = []

        def evaluate(binary, manifest, task, folder, draws, seconds, extra):
            table, questions = extra[extra.index("--oracle") + 1], extra[extra.index("--questions") + 1]
            known = {int(r[0]): int(r[1]) for r in approximate.read_sections(table).get("f", [])}
            calls.append(len(known))
            question = next_question(known)
            approximate.write_sections(questions, {} if question is None else {"f": np.array([[question]], np.uint64)})
            return {r["id"]: {"unanswered": [0 if question is None else 1]} for r in task.rows}

        asker = types.SimpleNamespace(answers=lambda name, records: records[:, 0] + np.uint64(1))
        options = types.SimpleNamespace(binary="", manifest="", kernel_seconds=1)
        source = types.SimpleNamespace(of=lambda row: "", draws=[0])
        real, differential.evaluate = differential.evaluate, evaluate
        try:
            with tempfile.TemporaryDirectory() as folder:
                rounds = run_differential.Rounds(options, source, asker, pathlib.Path(folder), float("inf"))
                answers = rounds.run(differential.Task([{"id": "g/0", "group": "g"}]))
        finally:
            differential.evaluate = real
        return calls, answers

    def test_rounds_go_on_until_nothing_is_asked(self):
        calls, answers = self.rounds(lambda known: None if len(known) == 3 else 10 + len(known))
        self.assertEqual(calls, [0, 1, 2, 3])
        self.assertEqual(answers["g/0"]["unanswered"], [0])

    def test_rounds_have_a_bound(self):
        calls, answers = self.rounds(lambda known: 1000 + len(known))
        self.assertEqual(len(calls), run_differential.ROUNDS)
        self.assertEqual(answers["g/0"]["unanswered"], [1])


if __name__ == "__main__":
    unittest.main()
