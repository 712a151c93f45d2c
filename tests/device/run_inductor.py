#!/usr/bin/env python3
"""torch.compile with and without samebits.inductor.keep_equivalent on the GPU.

    run_inductor.py --out DIR [--packages DIR] [--commit C] [--only NAME] [--seconds S]

Needs PyTorch and Triton besides what the other programs need; --packages names a folder made with
client/python/bundle.py. Each case is compiled with max-autotune four times, each with fresh caches: as PyTorch does it,
with the hook (reference "first" and "largest"), and with the reference alone. In the hooked run every choice and every
configuration, kept or not, runs on the same data, so that the hardware says which return the reference's bytes. Writes
DIR/inductor-record.json as it goes; what it held before of other cases stays. Exit status 1 where something kept returned
other bytes, or a case failed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import time
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--only", default="", help="cases whose names this regular expression finds")
    parser.add_argument("--seconds", type=float, default=150.0, help="stop starting cases after this long")
    options = parser.parse_args()
    if options.packages:
        sys.path.insert(0, str(options.packages.resolve()))
    return options


options = parse()
import torch  # noqa: E402
import torch._inductor.utils  # noqa: E402
import triton  # noqa: E402

import record  # noqa: E402
import samebits.inductor  # noqa: E402

warnings.simplefilter("ignore")


def random(shape, dtype, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)


def norm(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


CASES = {
    "product bf16 2048x2048x2048": (lambda a, b: a @ b, [((2048, 2048), torch.bfloat16)] * 2),
    "product fp16 256x512x8192": (lambda a, b: a @ b, [((256, 8192), torch.float16), ((8192, 512), torch.float16)]),
    "product, bias, gelu bf16 1024x4096x1024": (lambda a, b, c: torch.nn.functional.gelu(a @ b + c),
                                                [((1024, 1024), torch.bfloat16), ((1024, 4096), torch.bfloat16), ((4096,), torch.bfloat16)]),
    "sum fp32 4096x16384": (lambda x: x.sum(-1), [((4096, 16384), torch.float32)]),
    "softmax fp16 4096x8192": (lambda x: torch.softmax(x, -1), [((4096, 8192), torch.float16)]),
    "rms norm bf16 8192x5120": (norm, [((8192, 5120), torch.bfloat16), ((5120,), torch.bfloat16)]),
    "layer norm fp32 4096x4096": (lambda x, w, b: torch.nn.functional.layer_norm(x, (4096,), w, b),
                                  [((4096, 4096), torch.float32), ((4096,), torch.float32), ((4096,), torch.float32)]),
    "column sum fp32 16384x4096": (lambda x: x.sum(0), [((16384, 4096), torch.float32)]),
}


def same(a, b):
    return all(torch.equal(x.contiguous().view(torch.uint8), y.contiguous().view(torch.uint8)) for x, y in zip(a, b))


class Watched(samebits.inductor.KeepEquivalent):
    """Runs all that it judges, kept or not, and notes what the hardware says. `alone`: keeps the reference alone."""

    def __init__(self, reference, *, alone=False, watch=False):
        super().__init__(reference, cache=None)
        self.alone, self.watch = alone, watch
        self.facts, self.spent = [], 0.0

    def _choices(self, choices):
        kept = super()._choices(choices)
        if kept is choices:
            return choices
        if self.watch:
            begin = time.perf_counter()
            self.judge("choices", self._decider.report(), choice_outputs(choices))
            self.spent += time.perf_counter() - begin
        return kept[:1] if self.alone else kept

    def _tune(self, original, autotuner, *args, **keywords):
        launchers = list(autotuner.launchers)
        if self.watch:
            begin = time.perf_counter()
            outputs = [launcher_output(launcher, args) for launcher in launchers]
            self.spent += time.perf_counter() - begin
        super()._tune(original if not self.alone else only_first, autotuner, *args, **keywords)
        if self.watch:
            self.judge("configurations", self._decider.report(), outputs)

    def _descend(self, original, autotuner, launcher, *args, **keywords):
        return launcher if self.alone else super()._descend(original, autotuner, launcher, *args, **keywords)

    def judge(self, what, report, outputs):
        """Against the first that is kept, which has the reference's bits."""
        wanted = next((out for row, out in zip(report.rows, outputs) if row.kept and out is not None), None)
        equal = [out is not None and wanted is not None and same(out, wanted) for out in outputs]
        rows = list(zip(report.rows, outputs, equal))
        self.facts.append({
            "what": what, "kernel": report.kernel, "of": len(rows), "kept": len(report.kept), "ran": sum(o is not None for o in outputs),
            "seconds": round(report.seconds["total"], 2),
            "kept with other bytes": [str(row.config) for row, out, e in rows if row.kept and out is not None and not e],
            "dropped with the same": [{"config": str(row.config), "reason": row.reason[:200]} for row, out, e in rows if not row.kept and e]})


def only_first(autotuner, *args, **keywords):
    autotuner.launchers = autotuner.launchers[:1]


def choice_outputs(choices):
    """What each template writes on the same random operands; None for what is no template or does not run."""
    from torch._inductor.select_algorithm import TritonTemplateCaller

    templates = [c for c in choices if isinstance(c, TritonTemplateCaller)]

    def compiled(choice):
        try:
            choice.precompile()
            return True
        except Exception:
            return False

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        works = dict(zip(map(id, templates), pool.map(compiled, templates)))
    metas = templates[0].bmreq.input_tensor_meta
    torch.manual_seed(5)
    operands = [meta.to_tensor() for meta in (metas if isinstance(metas, (list, tuple)) else [metas])]
    outputs = []
    for choice in choices:
        if not works.get(id(choice)):
            outputs.append(None)
            continue
        out = choice.bmreq.output_tensor_meta.to_tensor().zero_()
        try:
            choice.bmreq.make_run_fn(*operands, out=out)()
            torch.cuda.synchronize()
            outputs.append([out])
        except Exception:
            outputs.append(None)
    return outputs


def launcher_output(launcher, args):
    """All tensors after one run on copies of them."""
    copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    launcher(*copies, stream=torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    return [c for c in copies if isinstance(c, torch.Tensor)]


def compiled_once(function, inputs, hook):
    """Output, seconds of compilation with tuning, and microseconds of a run."""
    torch._dynamo.reset()
    with torch._inductor.utils.fresh_inductor_cache():
        begin = time.perf_counter()
        if hook is None:
            compiled = torch.compile(function, mode="max-autotune-no-cudagraphs")
            out = compiled(*inputs)
        else:
            with hook:
                compiled = torch.compile(function, mode="max-autotune-no-cudagraphs")
                out = compiled(*inputs)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin - (hook.spent if hook else 0.0)
        micros = 1000 * triton.testing.do_bench(lambda: compiled(*inputs), warmup=10, rep=60, return_mode="median")
    return [out.contiguous()], seconds, micros


def one_case(name):
    function, shapes = CASES[name]
    inputs = [random(shape, dtype, 11 + i) for i, (shape, dtype) in enumerate(shapes)]
    free, free_seconds, free_micros = compiled_once(function, inputs, None)
    hook = Watched("first", watch=True)
    first, first_seconds, first_micros = compiled_once(function, inputs, hook)
    largest_hook = Watched("largest")
    largest, largest_seconds, largest_micros = compiled_once(function, inputs, largest_hook)
    alone, _, alone_micros = compiled_once(function, inputs, Watched("first", alone=True))
    return {"case": name, "seconds": round(free_seconds, 2), "seconds with the hook": round(first_seconds, 2),
            "in the hook": round(sum(r.seconds["total"] for r in hook.reports), 2),
            "seconds, largest": round(largest_seconds, 2), "us": round(free_micros, 2), "us, first": round(first_micros, 2), "us, largest": round(largest_micros, 2),
            "us, reference alone": round(alone_micros, 2), "output has the reference's bytes": same(first, alone),
            "free output has the reference's bytes": same(free, alone), "lists": hook.facts,
            "descents": [{"kernel": r.kernel, "kept": len(r.kept), "of": len(r.rows)} for r in hook.reports if "descent" in r.kernel],
            "largest kept": [[r.kernel, len(r.kept), len(r.rows)] for r in largest_hook.reports]}


def main():
    begin = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    device = (torch.cuda.get_device_name(), int(float(torch.version.cuda or 0) * 1000))
    print(f"{device[0]}, torch {torch.__version__}, triton {triton.__version__}", flush=True)
    rows, left = [], []
    for name in (name for name in CASES if re.search(options.only, name)):
        if time.monotonic() - begin > options.seconds:
            left.append(name)
            continue
        try:
            row = one_case(name)
        except Exception:
            traceback.print_exc()
            row = {"case": name, "failed": traceback.format_exc().splitlines()[-1]}
        rows.append(row)
        print(f"{time.monotonic() - begin:6.1f} s  {json.dumps(row)}"[:3000], flush=True)
        every = record.renewed(options.out / "inductor-record.json", "case", rows, options.commit)
        done = [r for r in every if "failed" not in r]
        lists = [fact for r in done for fact in r["lists"]]
        figures = {"cases": len(every), "failed": len(every) - len(done), "left_out": len(left), "lists": len(lists),
                   "judged": sum(f["of"] for f in lists), "kept": sum(f["kept"] for f in lists),
                   "kept with other bytes": sum(len(f["kept with other bytes"]) for f in lists),
                   "dropped with the same": sum(len(f["dropped with the same"]) for f in lists),
                   "outputs with the reference's bytes": sum(r["output has the reference's bytes"] for r in done),
                   "the same without the hook": sum(r["free output has the reference's bytes"] for r in done),
                   "seconds": round(time.monotonic() - begin, 1)}
        (options.out / "inductor-record.json").write_text(json.dumps(
            {"what": "torch.compile with equal bits", **record.environment(*device, options.commit), "torch": torch.__version__,
             "triton": triton.__version__, "figures": figures, "cases": every, "left": left}, indent=1) + "\n")
    good = not left and all("failed" not in r and r["output has the reference's bytes"] for r in rows)
    return 0 if good and not any(f["kept with other bytes"] for r in rows for f in r["lists"]) else 1


if __name__ == "__main__":
    sys.exit(main())
