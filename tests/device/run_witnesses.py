#!/usr/bin/env python3
"""Run witnesses on the GPU: both kernels of a pair, on the memory that the witness describes.

    run_witnesses.py --manifest M --pairs FILE --out DIR [--commit C] [--workers N] [--pairs-limit N]

FILE is what tests/witness/account.py --out wrote. A witness holds if the two kernels leave different bytes at the output
that it names, and, where it is exact, the very bits that it predicts. All memory that it does not name holds zeros.
Texts with matrix instructions for another architecture are left out: those units round differently.
Writes DIR/witnesses.jsonl (one line a pair) and DIR/witnesses-record.json; exit status 1 if a witness does not hold.
"""
import argparse
import collections
import json
import pathlib
import re
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "corpus"):
    sys.path.insert(0, str(folder))

import arena as arena_module
import assemble
import pool
import record
from run_corpus import device


class Memory:
    """One group's buffers on the device, all zero but for a witness's inputs."""

    def __init__(self, driver, base, row, witness):
        self.driver, self.buffers = driver, arena_module.buffers_of(row)
        self.offsets, self.scratch_offset, size = arena_module.layout(self.buffers)
        if size > arena_module.ALLOCATION - 2 * arena_module.MARGIN:
            raise ValueError(f"buffers of {size} bytes do not fit")
        self.base = base + arena_module.MARGIN
        self.image = np.zeros(size, np.uint8)
        for item in witness["inputs"]:
            at = self.place(item["buffer"], item["byte_offset"], item["bytes"])
            self.image[at:at + item["bytes"]] = np.frombuffer(int(item["bits"], 16).to_bytes(item["bytes"], "little"), np.uint8)
        self.output = self.place(witness["buffer"], witness["byte_offset"], witness["bytes"])
        self.output_bytes = witness["bytes"]

    def place(self, buffer, offset, count):
        if offset < 0 or offset + count > arena_module.bytes_of(self.buffers[buffer]):
            raise ValueError(f"byte {offset} is outside buffer {buffer}")
        return self.offsets[buffer] + offset

    def run(self, row, image):
        """The output's bits as a number."""
        module, function = self.driver.load(image, row["entry"], row["shared"])
        values = arena_module.parameters(row["args"], self.base, self.offsets, self.scratch_offset)
        self.driver.upload(self.base, self.image)
        self.driver.launch(function, row["grid"], row["block"], row["shared"], values)
        back = np.empty(self.output_bytes, np.uint8)
        self.driver.download(back, self.base + self.output)
        self.driver.unload(module)
        return int.from_bytes(back.tobytes(), "little")


class Runner:
    def __init__(self):
        from cuda_driver import Driver
        self.driver = Driver()
        self.base = self.driver.allocate(arena_module.ALLOCATION)

    def prepare(self, task):
        return None

    def run(self, _, job):
        pair, sides = job
        witness = pair["witness"]
        try:
            memory = Memory(self.driver, self.base, sides[0][1], witness)
        except (ValueError, KeyError) as error:
            return {"outcome": "not runnable", "why": str(error)}
        bits = [memory.run(row, pathlib.Path(cubin).read_bytes()) for cubin, row in sides]
        predicted = [int(witness["bits_a"], 16), int(witness["bits_b"], 16)]
        outcome = "same bytes" if bits[0] == bits[1] else "holds"
        if outcome == "holds" and witness["exact"] and bits != predicted:
            outcome = "other bits"
        return {"outcome": outcome, "bits": [hex(b) for b in bits], "predicted": [hex(b) for b in predicted],
                "exact": witness["exact"]}

    def finish(self, _):
        pass


def for_other_units(text):
    return "mma" in text and not re.search(r"^\s*\.target\s+sm_90", text, re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=pathlib.Path, required=True)
    parser.add_argument("--pairs", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--commit", default="")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--pairs-limit", type=int, default=10**9)
    options = parser.parse_args()
    begin = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = {row["id"]: row for row in map(json.loads, open(options.manifest))}
    pairs = [pair for pair in map(json.loads, open(options.pairs)) if pair.get("witness")]
    pairs = pairs[::max(1, -(-len(pairs) // options.pairs_limit))]
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        used = sorted({name for pair in pairs for name in (pair["a"], pair["b"])})
        numbers = {name: str(number) for number, name in enumerate(used)}
        texts = {name: (options.manifest.parent / rows[name]["path"]).read_text() for name in used}
        cubins = assemble.assemble_all(((numbers[name], text) for name, text in texts.items()), scratch)
        tasks = []
        for pair in pairs:
            key = f"{pair['kind']} {pair['a']} {pair['b']}"
            built = [(cubins[numbers[name]], rows[name]) for name in (pair["a"], pair["b"])]
            errors = [error for (_, error), _ in built if error]
            if any(for_other_units(texts[name]) for name in (pair["a"], pair["b"])):
                results[key] = {"outcome": "other architecture"}
            elif errors:
                results[key] = {"outcome": "not assembled", "why": errors[0]}
            else:
                tasks.append(pool.Task(key, [(pair, [(str(path), row) for (path, _), row in built])]))
        left = pool.run_tasks(tasks, Runner, lambda task, _, result: results.update({task.key: result}), options.workers,
                              deadline=begin + 500)
    for result in results.values():
        result.setdefault("outcome", "fault")
    with open(options.out / "witnesses.jsonl", "w") as out:
        out.writelines(json.dumps({"pair": key, **result}) + "\n" for key, result in results.items())
    wrong = sorted(key for key, result in results.items() if result["outcome"] not in ("holds", "other architecture"))
    counts = collections.Counter(result["outcome"] for result in results.values())
    figures = {"pairs": len(pairs), "left_out": left, **dict(sorted(counts.items())),
               "with_predicted_bits": sum(r.get("exact", False) and r["outcome"] == "holds" for r in results.values()),
               "seconds": round(time.monotonic() - begin, 1)}
    name, version = device()
    (options.out / "witnesses-record.json").write_text(json.dumps(
        {"what": "witnesses of the search, run on the hardware", **record.environment(name, version, options.commit),
         "figures": figures, "not_held": wrong[:50]}, indent=1) + "\n")
    for key in wrong[:20]:
        print(key, results[key])
    print(json.dumps(figures))
    return 1 if wrong or left else 0


if __name__ == "__main__":
    sys.exit(main())
