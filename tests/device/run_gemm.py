#!/usr/bin/env python3
"""Run the programs about matrix products on this machine's GPU, and write their records.

    run_gemm.py hidden|survey|lanes|defects|emulator [--bin DIR] [--out DIR] [--commit C] [--seconds S] [--seed N]
                [--profile FILE] [--simulated]

hidden    5,000 hidden descriptors, recovered from a simulated library (no GPU): gemm-hidden.json
survey    language models' products and 5,000 random shapes a type, from the rules of the profile: gemm-h200.json,
          profile.txt, survey.jsonl
lanes     shapes that an earlier survey left unexplained, and random ones of the GEMV kernel with many parts: gemm-lanes-h200.json
defects   programs of `samebits profile defects`, compiled and run: gemm-defects-h200.json
emulator  the emulator on the GPU against the CPU's and against cuBLASLt: gemm-emulator-h200.json

DIR has samebits_gemm_survey, samebits_gemm_emulator and samebits. Each writes its record into --out, and ends with 1 where
something is not as claimed: not recovered, no tail lost, or other bytes.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

from record import environment

HERE = pathlib.Path(__file__).resolve().parent
PROFILE = HERE / "records/gemm-h200-cublaslt-13.1.profile"
FAMILIES = ("plain", "split_k", "chained", "gemv", "all")

# Left unexplained by the survey of 2026-11-30, and by that of 2026-12-01.
UNEXPLAINED = [("bf16,bf16,f32,bf16:NT", "1x2x45866"), ("f16,f16,f32,f16:NN", "4x1x100069"), ("f16,f16,f32,f16:NT", "1x1x165268"),
               ("f16,f16,f32,f16:TT", "1x16x64847"), ("bf16,bf16,f32,f32:NN", "1x3x144320"), ("e4m3,e4m3,f32,bf16:TN", "1x16x6736"),
               ("bf16,bf16,f32,bf16:NT", "1x1x180000")]


def gpu(field):
    """What nvidia-smi says of the first GPU; empty where there is none."""
    try:
        result = subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"], capture_output=True, text=True)
    except OSError:
        return ""
    return result.stdout.split("\n")[0].strip()


class Runner:
    def __init__(self, options):
        self.options = options

    def program(self, name, *words, may_fail=False):
        """Its standard output; the exit code must be 0, or anything where it may fail."""
        result = subprocess.run([self.options.bin / name, *map(str, words)], capture_output=True, text=True)
        if result.returncode != 0 and not may_fail:
            sys.exit(f"{name}: {result.returncode}\n{result.stdout[-4000:]}{result.stderr[-2000:]}")
        sys.stderr.write(result.stdout[-4000:])
        return result.stdout

    def survey(self, folder, *words):
        """Record and shapes of one run of samebits_gemm_survey."""
        words = ["--simulated", *words] if self.options.simulated else ["--driver", gpu("driver_version"), "--device", gpu("name"), *words]
        self.program("samebits_gemm_survey", "--out", folder, *words)
        shapes = [json.loads(line) for line in (folder / "survey.jsonl").open()]
        return json.loads((folder / "record.json").read_text()), [s for s in shapes if s["phase"] != "walks" and s.get("supported", True)]

    def write(self, name, what, versions, figures, **more):
        record = {"what": what, **environment(gpu("name"), "", self.options.commit), **more, "figures": figures}
        record["versions"] |= versions
        text = json.dumps(record, indent=1) + "\n"
        (self.options.out / name).write_text(text)
        print(json.dumps(record))


def hidden(run):
    table = run.program("samebits_gemm_survey", "--out", run.options.out, "--hidden", 5000, "--seed", run.options.seed)
    rows = {words[0]: words for words in map(str.split, table.splitlines()) if words and words[0] in FAMILIES}
    names = ("hidden", "recovered", "defects", "located", "launches, median", "launches, 90 %", "launches, most")
    figures = {family: dict(zip(names, map(int, rows[family][1:]))) for family in FAMILIES}
    run.write("gemm-hidden.json", "random hidden descriptors, recovered from a simulated library", {},
              {"seed": run.options.seed, "threads": os.cpu_count(), **figures})
    return figures["all"]["recovered"] == figures["all"]["hidden"] and figures["all"]["located"] == figures["all"]["defects"]


def survey(run):
    record, shapes = run.survey(run.options.out, "--seed", run.options.seed, "--profile", run.options.profile,
                                "--seconds", run.options.seconds)
    library, version = record["library"].split()
    unexplained = collections.Counter()
    for s in shapes:
        if not s["explained"]:
            unexplained[f"{s['kind']}, algorithm " + (s["algorithm"] or "id=unknown").split()[0].split("=")[1]] += 1
    defects = sorted(f"{s['kind']} {s['m']}x{s['n']}x{s['k']}: {line}" for s in shapes for line in s.get("evidence", [])
                     if line.startswith("DEFECT"))
    run.write("gemm-h200.json", record["what"], {library: version}, record["figures"], defects=defects,
              unexplained=dict(sorted(unexplained.items())), unexplained_shapes=[f"{s['kind']} {s['m']}x{s['n']}x{s['k']}"
                                                                                 for s in shapes if not s["explained"]],
              **{name: record[name] for name in ("workspace", "seed", "draws", "threads", "seconds", "kinds of answers with rules", "answers")})
    return True


def thin_shapes(seed, count):
    """One to sixteen rows or columns, K from 40,000 to 200,000."""
    draw = random.Random(seed)
    for _ in range(count):
        kind = draw.choice(["f16,f16,f32,f16", "f16,f16,f32,f32", "bf16,bf16,f32,bf16", "bf16,bf16,f32,f32"]) + ":" + draw.choice(["TN", "NN", "NT", "TT"])
        sides = [1, draw.randint(1, 16)]
        draw.shuffle(sides)
        yield kind, f"{sides[0]}x{sides[1]}x{draw.randint(40000, 200000)}"


def explained(run, wanted, seed):
    """Rows of the survey's file for these (kind, shape) pairs."""
    by_kind = collections.defaultdict(list)
    for kind, shape in wanted:
        by_kind[kind].append(shape)
    rows = []
    for kind, shapes in by_kind.items():
        with tempfile.TemporaryDirectory() as name:
            rows += run.survey(pathlib.Path(name), "--types", kind, "--shape", ",".join(shapes), "--seed", seed)[1]
    return rows


def tally(rows):
    orders = collections.Counter()
    for row in rows:
        if row["explained"]:
            orders[next((name for name in ("lanes8", "lanes4", "lanes") if f":{name}" in row["desc"]), "no lanes")] += 1
    return {"shapes": len(rows), "explained": sum(r["explained"] for r in rows), "orders of partial sums": dict(orders),
            "launches, median": statistics.median(r["launches"] for r in rows),
            "unexplained": [f"{r['kind']} {r['m']}x{r['n']}x{r['k']}: {r['reason']}" for r in rows if not r["explained"]]}


def lanes(run):
    first = explained(run, UNEXPLAINED, run.options.seed)
    others = explained(run, list(thin_shapes(run.options.seed, 64)), run.options.seed)
    figures = {"seed": run.options.seed, "shapes that were unexplained": tally(first),
               "one to sixteen rows or columns, K 40,000 to 200,000": tally(others),
               "descriptors of the first": {f"{r['kind']} {r['m']}x{r['n']}x{r['k']}": r["desc"] for r in first}}
    run.write("gemm-lanes-h200.json", "shapes that surveys left unexplained, and more of the GEMV kernel with many parts", {}, figures)
    return True


def toolkit():
    """Folders of CUDA's headers and libraries, and of cuBLASLt, where the compiler does not look."""
    found = []
    for library in ("cublasLt", "cudart"):
        for line in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
            if line and list(pathlib.Path(line).glob(f"lib{library}.so*")):
                found.append((library, pathlib.Path(line)))
                break
    return dict(found)


def compile_program(source, program):
    cuda = pathlib.Path("/usr/local/cuda")
    words = ["g++", "-O1", source, "-o", program, f"-I{cuda / 'include'}"]
    for library, folder in toolkit().items():
        words += [next(iter(sorted(folder.glob(f"lib{library}.so*")))), f"-Wl,-rpath,{folder}"]
    result = subprocess.run(words, capture_output=True, text=True)
    return result.returncode == 0, result.stderr[-300:]


def defects(run):
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        run.program("samebits", "profile", "defects", run.options.profile, "--out", name, may_fail=True)
        for source in sorted(pathlib.Path(name).glob("*.cc")):
            title = source.read_text().splitlines()[0].removeprefix("// ")
            done, words = compile_program(source, source.with_suffix(""))
            if not done:
                figures[title] = {"not compiled": words}
                continue
            result = subprocess.run([source.with_suffix("")], capture_output=True, text=True, timeout=60)
            figures[title] = {"says": result.stdout.strip().splitlines(), "exit code": result.returncode}
    shown = sum(f.get("exit code") == 1 for f in figures.values())
    run.write("gemm-defects-h200.json", "reproducers of located defects, compiled and run", {},
              {"programs": len(figures), "show the defect": shown, "by defect": figures})
    return shown == len(figures) > 0


def emulator(run):
    parts = {}
    words = [["--hidden", 150, "--seed", 5], ["--ratio"],
             ["--profile", run.options.profile, "--seconds", run.options.seconds, "--most", "2e11", "--seed", run.options.seed]]
    with tempfile.TemporaryDirectory() as name:
        for i, more in enumerate(words):
            out = pathlib.Path(name) / f"{i}.json"
            run.program("samebits_gemm_emulator", "--out", out, *more, may_fail=True)
            parts |= json.loads(out.read_text())
    version = str(parts["against cuBLASLt, every output"].pop("cuBLASLt"))
    run.write("gemm-emulator-h200.json", "the emulator of matrix products on a GPU, against the CPU's and against cuBLASLt",
              {"cuBLASLt": version}, parts)
    return (parts["against the CPU emulator"]["different"] == 0 and parts["against cuBLASLt, every output"]["different outputs"] == 0
            and all(case["equal"] for case in parts["speed"].values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    studies = {"hidden": hidden, "survey": survey, "lanes": lanes, "defects": defects, "emulator": emulator}
    parser.add_argument("study", choices=studies)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build/release/tests/device")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--commit", default="")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--profile", type=pathlib.Path, default=PROFILE)
    parser.add_argument("--simulated", action="store_true", help="of survey and lanes: without a GPU")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    sys.exit(0 if studies[options.study](Runner(options)) else 1)


if __name__ == "__main__":
    main()
