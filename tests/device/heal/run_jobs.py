#!/usr/bin/env python3
"""Runs the numerics jobs on a GPU, one command each, and writes what they found as records.

    run_jobs.py --bin DIR --model MODEL --prompts FILE.jsonl --output DIR [--long-prompts FILE.jsonl] [--commit REV]
                [--only JOB[,..]]

--prompts are asked where answers are read, --long-prompts where rows count (attribution, policies); --bin holds `samebits`. The output folder gets a folder for each job (result.json, table.txt, figure.svg, log), and
heal-h200.json and heal-serving-h200.json as tests/device/records has them. Jobs that are named are run, or all; those
whose result.json is there already are kept.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import record  # noqa: E402

SERVED = "heal-base,paper-heal+,heal+,heal++:{skip},heal-full"


def jobs(args):
    """Name -> the command's words after `samebits heal`."""
    asked = ["--local", "--device", args.device, "--slots", "64", "--rows", "1024"]
    about = asked + ["--model", args.model, "--prompts", args.prompts]
    at_length = asked + ["--model", args.model, "--prompts", args.long_prompts or args.prompts]

    def cost(model, skip, batches, configurations, rounds):
        return ["serve-cost", *asked[:3], "--model", model, "--batches", batches, "--contexts", "2048", "--rounds",
                str(rounds), "--configurations", configurations.format(skip=skip)]

    return {
        "evaluate": ["evaluate", *about, "--max-new-tokens", "128", "--configurations",
                     "bf16,fp16,tf32,fp32,heal-base,paper-heal+,heal+,heal++:5,heal-full,heal-full:5"],
        "evaluate-long": ["evaluate", *at_length, "--max-new-tokens", "192", "--schedules", "fixed", "--configurations",
                          "bf16,tf32,heal-base,paper-heal+,heal+,heal-full"],
        "attribute": ["attribute", *at_length, "--max-new-tokens", "192"],
        "decompose": ["decompose", *about],
        "sweep": ["sweep", *about, "--max-new-tokens", "128"],
        "qkv": ["qkv", *about, "--max-new-tokens", "64"],
        "policy-heal++": ["policy", *at_length, "--variant", "heal++", "--max-new-tokens", "192"],
        "policy-heal-full": ["policy", *at_length, "--variant", "heal-full", "--max-new-tokens", "192"],
        "cost-qwen3-8b": cost("synthetic:qwen3-8b:1", 11, "1,16,64", SERVED, 3),
        "cost-llama-3.1-8b": cost("synthetic:llama-3.1-8b:1", 5, "1,16,64", SERVED, 3),
        "cost-large-qwen3-8b": cost("synthetic:qwen3-8b:1", 11, "128,256", SERVED + ",fp32", 1),
        "cost-large-llama-3.1-8b": cost("synthetic:llama-3.1-8b:1", 5, "128,256", SERVED + ",fp32", 1),
        "cost-fp32-qwen3-8b": cost("synthetic:qwen3-8b:1", 11, "1,16,64", "fp32", 1),
        "cost-fp32-llama-3.1-8b": cost("synthetic:llama-3.1-8b:1", 5, "1,16,64", "fp32", 1),
    }


def run(args, name, words):
    folder = args.output / name
    if (folder / "result.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(args.bin / "samebits"), "heal", *words, "--output", str(folder)]
    begin = time.monotonic()
    with open(folder / "log", "w") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, timeout=args.timeout)
    seconds = time.monotonic() - begin
    (folder / "run.json").write_text(json.dumps({"command": ["samebits", "heal", *words], "seconds": round(seconds, 1),
                                                 "exit_code": done.returncode}))
    print(f"{name}: exit code {done.returncode}, {seconds:.1f} s", flush=True)
    if done.returncode != 0:
        print("\n".join(open(folder / "log", errors="replace").read().splitlines()[-15:]), flush=True)


def result(args, name):
    path = args.output / name / "result.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    kinds = ("evaluate", "attribute", "decompose", "sweep", "qkv", "policy", "serve_cost", "serveCost")
    for level in (found, found.get("numerics", {}), found.get("result", {})):
        for kind in kinds:
            if kind in level:
                return level[kind]
    return found


def get(message, *names, default=0):
    """A field by its name in the proto or in JSON; absent ones have the default."""
    for name in names:
        words = name.split("_")
        for key in (name, words[0] + "".join(word.title() for word in words[1:])):
            if key in message:
                value = message[key]
                return float(value) if isinstance(value, str) and value not in ("NaN", "") and name != "configuration" else value
    return default


def reproducibility(args, figures):
    for name, prefix in (("evaluate", ""), ("evaluate-long", "long prompts: ")):
        found = result(args, name)
        if found is not None:
            evaluation(found, prefix, figures)


def evaluation(found, prefix, all_figures):
    figures = {}
    anchor = found["anchor"]
    for key in ("prompts", "generated_tokens", "parsed", "correct"):
        figures[f"anchor {key}"] = get(anchor, key)
    mse = {}
    for entry in found["configurations"]:
        name = entry["configuration"]
        mse[name] = get(entry["mse"], "mean")
        figures[f"{name} final hidden MSE"] = mse[name]
        figures[f"{name} flip rate"] = get(entry.get("flipRate", entry.get("flip_rate", {})), "mean")
        figures[f"{name} divergence rate"] = get(entry.get("divergenceRate", entry.get("divergence_rate", {})), "mean")
    for a, b in (("bf16", "heal-base"), ("heal-base", "paper-heal+"), ("heal-base", "heal+"), ("heal+", "heal-full")):
        if mse.get(b):
            figures[f"MSE {a} / {b}"] = mse[a] / mse[b]
    all_figures.update({prefix + key: value for key, value in figures.items()})


def structure(args, figures):
    found = result(args, "attribute")
    for entry in found["configurations"] if found else []:
        parts = [get(entry, part) for part in ("attention", "kv", "mlp", "remainder")]
        for part, value in zip(("attention", "KV cache", "MLP", "remainder"), parts):
            figures[f"{entry['configuration']} share of {part}"] = value
        figures[f"{entry['configuration']} shares, sum"] = sum(parts)
    found = result(args, "decompose")
    for family in found["families"] if found else []:
        figures[f"{family['family']} arithmetic share, median"] = get(family["ratio"], "median")
        figures[f"{family['family']} arithmetic share, mean"] = get(family["ratio"], "mean")
        figures[f"{family['family']} arithmetic share, most"] = get(family["ratio"], "most")
    found = result(args, "sweep")
    if found:
        figures["sweep threshold, bits"] = get(found, "threshold_bits", default=-1)
        figures["sweep threshold, MSE"] = get(found, "threshold_mse")
        figures["sweep tolerated flip rate"] = get(found, "tolerated_rate")
    found = result(args, "qkv")
    for entry in found["distributions"] if found else []:
        if get(entry, "layer", default=0) == -1 and get(entry, "per_head", default=False):
            key = f"{entry['configuration']} {entry['tensor']} by head"
            figures[f"{key} AbsMax/sigma median"] = get(entry, "ratio_median")
            for kind in ("predicted_int16", "measured_int16", "predicted_f16", "measured_f16"):
                figures[f"{key} {kind} MSE"] = get(entry, kind)
    for variant in ("heal++", "heal-full"):
        found = result(args, f"policy-{variant}")
        if found:
            figures[f"{variant} skipped layers"] = get(found, "skipped")


def serving(args, figures):
    for name in jobs(args):
        found = result(args, name) if name.startswith("cost-") else None
        for row in found["rows"] if found else []:
            batch = row["batch"]
            if name.startswith("cost-fp32") and row["configuration"] != "fp32":
                continue  # measured with more rounds
            key = f"{name.split('-', 1)[1].removeprefix('large-').removeprefix('fp32-')} batch {batch} {row['configuration']}"
            if row.get("missing"):
                continue
            figures[f"{key} ms"] = get(row["milliseconds"], "mean")
            if row["configuration"] != "bf16":
                figures[f"{key} overhead"] = get(row["overhead"], "mean")
            figures[f"{key} over floor"] = get(row["milliseconds"], "mean") / get(row, "floor_milliseconds", default=1)
            figures[f"{key} KV bytes"] = get(row, "kv_bytes")
        if found:
            figures[f"{name.removeprefix('cost-')} copy bandwidth"] = get(found.get("copyBandwidth", found.get("copy_bandwidth")), "mean")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=lambda x: pathlib.Path(x).resolve(), required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--prompts", required=True)
    parser.add_argument("--long-prompts")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--device-name", default="NVIDIA H200")
    parser.add_argument("--commit", default="")
    parser.add_argument("--only", type=lambda x: x.split(","), default=None)
    parser.add_argument("--timeout", type=float, default=600)
    args = parser.parse_args()
    for name, words in jobs(args).items():
        if args.only is None or name in args.only:
            run(args, name, words)
    environment = record.environment(args.device_name, 0, args.commit)
    environment["versions"].pop("cuda_driver_api")
    for file, what, collect in (
            ("heal-h200.json", "numerics jobs 1 to 6 on SmolLM2-135M-Instruct", (reproducibility, structure)),
            ("heal-serving-h200.json", "time per output token and KV memory of synthetic models", (serving,))):
        figures = {}
        for part in collect:
            part(args, figures)
        if figures:
            (args.output / file).write_text(json.dumps({"what": what, **environment, "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
