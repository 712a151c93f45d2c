#!/usr/bin/env python3
"""Tune Triton kernels with equal bits on the GPU, and time pinned-order reductions against free-order ones.

    run_tuning.py --out DIR [--packages DIR] [--commit C] [--part tuning|ops] [--only NAME] [--seconds S]

Needs PyTorch and Triton besides what the other programs need; --packages names a folder made with
client/python/bundle.py (samebits, libsamebits.so, protobuf).

tuning: for each kernel of tuning_cases.py every configuration runs on three draws of inputs; the configurations that
samebits.triton.keep_equivalent keeps are compared, byte for byte, with those that return the reference's bytes, and its
time with that of Triton's own benchmarking of the whole space: its compilations, one after the other as the tuner makes
them, and its timing.
ops: for each case of ops_cases.py the pinned configurations are checked, run and compared byte for byte, and the best
time is set against the best of the free-order space at the same shape.
Writes DIR/tuning-record.json and DIR/ops-record.json as it goes; what they held before of other names stays. Exit status 1 where a kept configuration returned other
bytes, a pinned space has several classes, or time ran out.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--part", choices=("tuning", "ops", "cold"))
    parser.add_argument("--only", default="", help="kernels and cases whose names this regular expression finds")
    parser.add_argument("--seconds", type=float, default=440.0, help="stop starting work after this long")
    options = parser.parse_args()
    if options.packages:
        sys.path.insert(0, str(options.packages.resolve()))
    return options


def wanted(cases):
    return (case for case in cases if re.search(options.only, case.name))


def say(begin, text):
    print(f"{time.monotonic() - begin:6.1f} s  {text}", flush=True)


class Hardware:
    """Classes of configurations by the bytes that they wrote."""

    def __init__(self):
        self.seen = []  # (outputs of the draws, class number)
        self.of = {}

    def add(self, config, outputs):
        for other, number in self.seen:
            if all(torch.equal(a, b) for a, b in zip(other, outputs)):
                self.of[config] = number
                return
        self.of[config] = len(self.seen)
        self.seen.append((outputs, len(self.seen)))


def bits(tensor):
    return tensor.detach().clone().view(torch.uint8)


def run_all(case):
    """What each configuration writes on three draws; "fails" with the reason for those that do not run."""
    hardware, fails = Hardware(), {}
    draws = [case.arguments(seed) for seed in (1, 2, 3)]
    for config in case.configs:
        try:
            outputs = []
            for named in draws:
                named[case.output].zero_()
                case.kernel[case.grid](**named, **case.fixed, **config.all_kwargs())
                outputs.append(bits(named[case.output]))
            torch.cuda.synchronize()
            hardware.add(config, outputs)
        except triton.runtime.errors.OutOfResources as error:
            fails[config] = str(error)
    return hardware, fails


def benchmark(case):
    """Triton's own benchmarking of the whole space: its seconds, and each configuration's milliseconds."""
    tuner = triton.autotune(configs=case.configs, key=[])(case.kernel)
    named = case.arguments(1)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    tuner[case.grid](**named, **case.fixed)
    torch.cuda.synchronize()
    return time.perf_counter() - begin, {c: t[0] if isinstance(t, (list, tuple)) else t for c, t in tuner.configs_timings.items()}


def judge(report, hardware, fails):
    """Kept configurations with other bytes than the reference, and dropped ones with the same."""
    reference = next((hardware.of[row.config] for row in report.rows if row.kept and row.config in hardware.of), None)
    wrong = [str(row.config) for row in report.rows if row.kept and hardware.of.get(row.config, reference) != reference]
    split = [{"config": str(row.config), "reason": row.reason} for row in report.rows
             if not row.kept and row.config in hardware.of and hardware.of[row.config] == reference]
    return wrong, split


def compile_as_the_tuner(case, named, keywords):
    """Seconds that the tuner's compilations take one after the other; leaves all of them in Triton's cache. A quarter of the
    cores work, so that no compilation is slower for its neighbours."""
    target = triton.runtime.driver.active.get_current_target()
    bounds = [binding.bind(case.kernel, target, named, {**keywords, **config.all_kwargs()}) for config in case.configs]
    return sum(result.seconds for result in compiling.compile_all(bounds, max(1, len(os.sched_getaffinity(0)) // 4)))


def tune_cold(case, folder):
    """Seconds of the tuner in a process of its own with nothing compiled, as a user has it: with what Triton sets up once
    in a process, which the first call of keep_equivalent also holds."""
    command = [sys.executable, __file__, "--part", "cold", "--only", f"^{case.name}$", "--out", folder]
    packages = ["--packages", str(options.packages)] if options.packages else []
    environment = {**os.environ, "TRITON_CACHE_DIR": os.path.join(folder, "cold")}
    done = subprocess.run([*command, *packages], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def cold():
    """The tuner alone, without keep_equivalent."""
    print(benchmark(next(wanted([make() for make in tuning_cases.CASES])))[0])
    return 0


def tune_case(case, folder, alone):
    named, keywords = case.arguments(1), {"grid": case.grid, "warmup": False, **case.fixed}
    torch.cuda.synchronize()
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "call")
    begin = time.perf_counter()
    keep = samebits.triton.keep_equivalent("first", kernel=case.kernel, cache=folder)
    keep(case.configs, named, **keywords)
    first = time.perf_counter() - begin
    report = keep.report()
    begin = time.perf_counter()
    keep(case.configs, named, **keywords)
    again = time.perf_counter() - begin
    largest = samebits.triton.keep_equivalent("largest", kernel=case.kernel, cache=folder)
    largest(case.configs, named, **keywords)
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "tuner")
    compilers = compile_as_the_tuner(case, named, keywords)
    hardware, fails = run_all(case)
    seconds, times = benchmark(case)
    row = {"kernel": case.name, "configurations": len(case.configs), "run": len(hardware.of), "do not run": len(fails),
           "hardware classes": len(hardware.seen),
           "unknown": sum(r.verdict is samebits.Verdict.UNKNOWN for r in report.rows),
           "call seconds": round(first, 2), "parts": {k: round(v, 2) for k, v in report.seconds.items()},
           "call seconds, signatures cached": round(again, 3),
           "tuner's compilations, seconds": round(compilers, 2),
           "benchmark seconds, all compiled": round(seconds, 2),
           "benchmark seconds with its compilations": round(seconds + compilers, 2)}
    if alone:
        row["benchmark seconds, a process of its own"] = round(tune_cold(case, folder), 2)
    row["share"] = round(first / row.get("benchmark seconds, a process of its own", seconds + compilers), 4)
    for name, given in (("first", report), ("largest", largest.report())):
        wrong, split = judge(given, hardware, fails)
        kept = [times[c] for c in given.kept if c in times and c in hardware.of]
        row[name] = {"kept": len(given.kept), "kept with other bytes": wrong, "over-split": split,
                     "best kept over best of all": round(min(kept) / min(times.values()), 4) if kept else None}
    return row


def tuning(options, begin, device):
    rows, left = [], []
    for case in wanted([make() for make in tuning_cases.CASES]):
        if time.monotonic() - begin > options.seconds:
            left.append(case.name)
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                row = tune_case(case, folder, not rows)
        except Exception:
            traceback.print_exc()
            row = {"kernel": case.name, "failed": traceback.format_exc().splitlines()[-1]}
        rows.append(row)
        say(begin, json.dumps({k: v if k not in ("first", "largest") else {a: len(b) if isinstance(b, list) else b for a, b in v.items()}
                               for k, v in row.items()}))
        every = record.renewed(options.out / "tuning-record.json", "kernel", rows, options.commit)
        done = [r for r in every if "failed" not in r]
        figures = {"kernels": len(every), "failed": len(every) - len(done), "left_out": len(left),
                   "configurations": sum(r["configurations"] for r in done),
                   "kept with other bytes": sum(len(r[k]["kept with other bytes"]) for r in done for k in ("first", "largest")),
                   "over-split, of the first's class": sum(len(r["first"]["over-split"]) for r in done),
                   "over-split, of the largest class": sum(len(r["largest"]["over-split"]) for r in done),
                   "largest share of the call": max((r["share"] for r in done), default=None),
                   "seconds": round(time.monotonic() - begin, 1)}
        write(options, "tuning-record.json", "keep_equivalent against the hardware", device, figures, {"kernels": every, "left": left})
    return not left and all("failed" not in r and not r["first"]["kept with other bytes"] and not r["largest"]["kept with other bytes"] for r in rows)


def milliseconds(variant, rep, replays):
    """Median time of one run, in a graph of about `rep` milliseconds, so that launching costs nothing."""
    stream = torch.cuda.current_stream()
    variant.run()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    marks[0].record()
    for _ in range(3):
        variant.run()
    marks[1].record()
    stream.synchronize()
    count = max(1, min(200, int(3 * rep / marks[0].elapsed_time(marks[1]))))
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()
    for _ in range(count):
        variant.run()
    graph.capture_end()
    times = []
    for _ in range(replays + 1):
        marks[0].record()
        graph.replay()
        marks[1].record()
        stream.synchronize()
        times.append(marks[0].elapsed_time(marks[1]) / count)
    return sorted(times[1:])[replays // 2]


def compile_variants(variants):
    """Fills Triton's cache on all cores; the bound launches of the first passes, for the checker."""
    target = triton.runtime.driver.active.get_current_target()
    bounds = [[binding.bind(launch.kernel, target, launch.named, launch.keywords()) for launch in v.launches] for v in variants]
    flat = [b for group in bounds for b in group]
    done = dict(zip(map(id, flat), compiling.compile_all(flat, len(os.sched_getaffinity(0)))))
    return [[(b, done[id(b)]) for b in group] for group in bounds]


def proved_classes(variants, built):
    """Classes that the checker finds among the launches that write the output whole, and how many it could not decide."""
    items = []
    for i, (variant, group) in enumerate(zip(variants, built)):
        if len(group) == 1 and not group[0][1].error:
            items.append((str(i), compiled.kernel_launch(*group[0])))
    partition = samebits.Local().partition(items)
    return len(items), len(partition.classes), len(partition.unknown_ids) + len(partition.error_ids)


def race(sides):
    """Best time of each side: all once, then the best four of each again, in turn."""
    coarse = {}
    for variants in sides.values():
        for variant in variants:
            try:
                coarse[variant.name] = milliseconds(variant, 2, 3)
            except triton.runtime.errors.OutOfResources:
                continue
    best = {}
    for name, variants in sides.items():
        ranked = sorted((v for v in variants if v.name in coarse), key=lambda v: coarse[v.name])[:4]
        best[name] = ranked
    times = {v.name: [] for ranked in best.values() for v in ranked}
    for _ in range(3):
        for ranked in best.values():
            for variant in ranked:
                times[variant.name].append(milliseconds(variant, 10, 5))
    median = {name: sorted(values)[1] for name, values in times.items()}
    return {name: min((median[v.name], v.name) for v in ranked) for name, ranked in best.items()}


def ops_case(case):
    case.prepare()
    pinned, free = case.variants(True), case.variants(False)
    built = compile_variants(pinned + free)
    checked, classes, undecided = proved_classes(pinned, built[:len(pinned)])
    hardware = Hardware()
    for variant in pinned:
        try:
            variant.out.zero_()
            variant.run()
            torch.cuda.synchronize()
            hardware.add(variant.name, [bits(variant.out)])
        except triton.runtime.errors.OutOfResources:
            continue
    orders = Hardware()
    for variant in free:
        try:
            variant.run()
            orders.add(variant.name, [bits(variant.out)])
        except triton.runtime.errors.OutOfResources:
            continue
    with torch.cuda.stream(torch.cuda.Stream()):
        best = race({"pinned": pinned, "free": free})
    case.release()
    return {"case": case.name, "pinned configurations": len(hardware.of), "classes on the hardware": len(hardware.seen),
            "checked": checked, "classes proved": classes, "undecided": undecided, "free configurations": len(orders.of),
            "free classes on the hardware": len(orders.seen), "pinned us": round(1000 * best["pinned"][0], 2), "free us": round(1000 * best["free"][0], 2),
            "ratio": round(best["pinned"][0] / best["free"][0], 4), "best pinned": best["pinned"][1], "best free": best["free"][1]}


def ops_table(options, begin, device):
    rows, left = [], []
    for case in wanted(ops_cases.cases()):
        if time.monotonic() - begin > options.seconds:
            left.append(case.name)
            continue
        try:
            row = ops_case(case)
        except Exception:
            traceback.print_exc()
            row = {"case": case.name, "failed": traceback.format_exc().splitlines()[-1]}
        rows.append(row)
        say(begin, json.dumps(row))
        every = record.renewed(options.out / "ops-record.json", "case", rows, options.commit)
        done = [r for r in every if "failed" not in r]
        figures = {"cases": len(every), "failed": len(every) - len(done), "left_out": len(left),
                   "within 5 %": sum(r["ratio"] <= 1.05 for r in done), "within 10 %": sum(r["ratio"] <= 1.10 for r in done),
                   "largest ratio": max((r["ratio"] for r in done), default=None),
                   "one class on the hardware": sum(r["classes on the hardware"] == 1 for r in done),
                   "one class proved": sum(r["classes proved"] == 1 and not r["undecided"] for r in done),
                   "seconds": round(time.monotonic() - begin, 1)}
        write(options, "ops-record.json", "pinned-order reductions against free-order ones", device, figures, {"cases": every, "left": left})
    return not left and all("failed" not in r and r["classes on the hardware"] == 1 for r in rows)


def write(options, name, what, device, figures, more):
    (options.out / name).write_text(json.dumps(
        {"what": what, **record.environment(*device, options.commit), "figures": figures, **more}, indent=1) + "\n")


def main():
    begin = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    device = (torch.cuda.get_device_name(), int(float(torch.version.cuda or 0) * 1000))
    say(begin, f"{device[0]}, torch {torch.__version__}, triton {triton.__version__}, {len(os.sched_getaffinity(0))} cores")
    if options.part == "cold":
        return cold()
    good = True
    if options.part in (None, "tuning"):
        good &= tuning(options, begin, device)
    if options.part in (None, "ops"):
        good &= ops_table(options, begin, device)
    return 0 if good else 1


if __name__ == "__main__":
    options = parse()
    import torch
    import triton

    import ops_cases
    import record
    import samebits
    import samebits.triton
    import tuning_cases
    from samebits.triton import binding, compiled, compiling

    sys.exit(main())
