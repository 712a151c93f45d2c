#!/usr/bin/env python3
"""Speed of the static checker, each figure against a named reference of the same run.

    checker_benchmark.py --samebits BIN --manifest M [--only kernels|ptxas|growth|memory|partition] [--kernels N]
                         [--ptxas ptxas] [--plot FILE.svg] [--configurations 500] [--passes 3]

kernels    processor time of one thread for each kernel of the manifest (PTX or AMDGCN), the least of --passes passes:
           median, 9 of 10, longest, and the stages' shares; also by family
ptxas      checks N kernels, evenly spread over the manifest, and assembles the same texts with `ptxas -O3`, on one
           core: processor time of both, and of ptxas for a module with an empty kernel (what it costs to start)
growth     time against length of text, lanes and executed instructions, on generated kernels; the exponents of a fit
           through the upper half, where start-up costs no longer show; --plot draws them (needs matplotlib)
memory     the whole manifest in one process: its largest resident set
partition  PartitionKernels over gRPC: wall time of one call with --configurations kernels, client process included,
           by a fresh server with two threads (nothing cached), then again (all cached)

Run it on an idle machine; it pins itself to one core (partition: two).
"""
import argparse
import json
import math
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from local_service import free_port  # noqa: E402


def signatures(options, manifest):
    command = [options.samebits, "signature", "--local", "--quiet", "--jobs", "1", "--manifest", str(manifest)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def rows_of(manifest):
    """Rows with absolute paths."""
    folder = pathlib.Path(manifest).resolve().parent
    with open(manifest) as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    for row in rows:
        row["path"] = str(folder / row["path"])
    return rows


def spread(rows, count):
    step = max(1, len(rows) / count)
    return [rows[int(i * step)] for i in range(min(count, len(rows)))]


def write_manifest(rows, folder):
    path = pathlib.Path(folder) / "manifest.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def measure_kernels(options):
    family = {row["id"]: row.get("family", "") for row in rows_of(options.manifest)}
    best = {}
    for _ in range(options.passes):
        for s in signatures(options, options.manifest):
            if s["id"] not in best or s["micros"] < best[s["id"]]["micros"]:
                best[s["id"]] = s

    def say(name, answers):
        times = sorted(s["micros"] / 1e3 for s in answers)
        stages = {stage: sum(s["stage_micros"][stage] for s in answers) for stage in ("parse", "execute", "map")}
        shares = ", ".join(f"{stage} {100 * micros / sum(stages.values()):.0f} %" for stage, micros in stages.items())
        print(f"kernels: {name}: {len(times)}; median {statistics.median(times):.2f} ms, 9 of 10 below "
              f"{times[len(times) * 9 // 10]:.1f} ms, longest {times[-1]:.0f} ms, sum {sum(times) / 1e3:.1f} s; {shares}")

    say("all", list(best.values()))
    for name in sorted(set(family.values())):
        say(name, [s for i, s in best.items() if family[i] == name])


def processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def target_of(path):
    with open(path) as text:
        return re.search(r"^\s*\.target\s+(\w+)", text.read(), re.M).group(1)


def compare_with_ptxas(options):
    rows = spread(rows_of(options.manifest), options.kernels)
    with tempfile.TemporaryDirectory() as folder:
        micros = {s["id"]: s["micros"] for s in signatures(options, write_manifest(rows, folder))}
        cubin = str(pathlib.Path(folder) / "out.cubin")
        empty = pathlib.Path(folder) / "empty.ptx"
        empty.write_text(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n")
        start = min(processor_seconds([options.ptxas, "-O3", "-arch=sm_90a", str(empty), "-o", cubin]) for _ in range(5))
        pairs = [(micros[row["id"]] / 1e6, processor_seconds(
            [options.ptxas, "-O3", f"-arch={target_of(row['path'])}", row["path"], "-o", cubin])) for row in rows]
    ratios = sorted(check / assemble for check, assemble in pairs)
    above = sorted(check / max(1e-3, assemble - start) for check, assemble in pairs)
    print(f"ptxas: {len(pairs)} kernels; checker median {statistics.median(c for c, _ in pairs) * 1e3:.2f} ms, "
          f"ptxas -O3 median {statistics.median(p for _, p in pairs) * 1e3:.1f} ms (start-up {start * 1e3:.1f} ms)")
    print(f"ptxas: checker / ptxas -O3: median {statistics.median(ratios):.3f}, p90 {ratios[len(ratios) * 9 // 10]:.3f}, "
          f"largest {ratios[-1]:.3f}, of the sums {sum(c for c, _ in pairs) / sum(p for _, p in pairs):.3f}")
    print(f"ptxas: the same without ptxas's start-up: median {statistics.median(above):.3f}, "
          f"of the sums {sum(c for c, _ in pairs) / sum(p - start for _, p in pairs):.3f}")


HEADER = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o)
{
.reg .pred %p<2>;
.reg .f32 %f<4>;
.reg .b32 %r<8>;
.reg .b64 %d<8>;
ld.param.u64 %d1, [x];
ld.param.u64 %d2, [o];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1;
mul.wide.s32 %d3, %r4, 4;
add.s64 %d4, %d1, %d3;
add.s64 %d5, %d2, %d3;
ld.global.f32 %f1, [%d4];
"""
FOOTER = "st.global.f32 [%d5], %f1;\nret;\n}\n"


def straight(length):
    """`length` dependent instructions."""
    return HEADER + "fma.rn.f32 %f1, %f1, %f1, 0f3F800000;\n" * length + FOOTER


def loop(trips):
    return (HEADER + "mov.u32 %r5, 0;\n$L:\n" + "fma.rn.f32 %f1, %f1, %f1, 0f3F800000;\n" * 8 +
            f"add.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, {trips};\n@%p1 bra $L;\n" + FOOTER)


def reduction(lanes):
    """A tree over the lanes of a block in shared memory, every lane with a path of its own."""
    text = HEADER.replace(".reg .pred", f".shared .align 4 .b8 s[{4 * lanes}];\n.reg .pred")
    text += "shl.b32 %r5, %r1, 2;\nmov.u32 %r6, s;\nadd.s32 %r5, %r5, %r6;\nst.shared.f32 [%r5], %f1;\nbar.sync 0;\n"
    step = lanes // 2
    while step:
        text += (f"setp.lt.s32 %p1, %r1, {step};\n@%p1 ld.shared.f32 %f1, [%r5];\n@%p1 ld.shared.f32 %f2, [%r5+{4 * step}];\n"
                 "@%p1 add.rn.f32 %f1, %f1, %f2;\n@%p1 st.shared.f32 [%r5], %f1;\nbar.sync 0;\n")
        step //= 2
    return text + FOOTER


SWEEPS = {
    "text (instructions, straight line)": ([2000 << i for i in range(6)], straight, 128),
    "executed instructions (trips of a loop, 11 instructions each)": ([2000 << i for i in range(6)], loop, 128),
    "lanes (shared-memory tree, time over its depth)": ([32 << i for i in range(6)], reduction, None),
}


def measure_growth(options):
    curves = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (sizes, make, block) in SWEEPS.items():
            rows = []
            for size in sizes:
                path = pathlib.Path(folder) / f"{make.__name__}{size}.ptx"
                path.write_text(make(size))
                rows.append({"id": str(size), "path": str(path), "entry": "k", "block": [block or size, 1, 1],
                             "grid": [4, 1, 1], "args": [{"ptr": "x"}, {"ptr": "o"}], "outputs": ["o"]})
            manifest = write_manifest(rows, folder)
            best = {}
            for _ in range(5):
                for s in signatures(options, manifest):
                    if s["status"] != "OK":
                        sys.exit(f"{name}, {s['id']}: {s['status']}, {s['reason']}")
                    best[int(s["id"])] = min(best.get(int(s["id"]), math.inf), s["micros"])
            if make is reduction:
                best = {lanes: micros / math.log2(lanes) for lanes, micros in best.items()}
            curves[name] = best
            print(f"growth: {name}: " + ", ".join(f"{n}: {t / 1e3:.2f} ms" for n, t in best.items()) +
                  f"; exponent {exponent(best):.2f}")
    if options.plot:
        plot(curves, options.plot)


def exponent(curve):
    """Slope of log time over log size, least squares, upper half."""
    points = [(math.log(n), math.log(t)) for n, t in curve.items()][len(curve) // 2 - 1:]
    mean_x, mean_y = (statistics.mean(p[i] for p in points) for i in (0, 1))
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def plot(curves, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "samebits"
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.4), layout="constrained")
    for axis, (name, curve) in zip(axes, curves.items()):
        sizes, times = list(curve), [t / 1e3 for t in curve.values()]
        axis.loglog(sizes, times, "o-", label=f"checker, exponent {exponent(curve):.2f}")
        axis.loglog(sizes, [times[-1] * n / sizes[-1] for n in sizes], "--", color="grey", label="linear")
        axis.set_xlabel(name.split(" (")[0])
        axis.set_title(name[name.index("(") + 1:-1], fontsize=8)
        axis.set_ylabel("ms")
        axis.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def measure_memory(options):
    command = [options.samebits, "signature", "--local", "--quiet", "--jobs", "1", "--manifest", options.manifest]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"signature: exit status {status}")
    print(f"memory: {len(rows_of(options.manifest))} kernels in one process, largest resident set {usage.ru_maxrss / 1024:.0f} MiB")


def measure_partition(options):
    rows = [row for row in rows_of(options.manifest) if row.get("set", "triton") == "triton"]
    rows = spread(rows, options.configurations)
    with tempfile.TemporaryDirectory() as folder:
        manifest = write_manifest(rows, folder)
        address = f"127.0.0.1:{free_port()}"
        server = subprocess.Popen([options.samebits, "serve", "--listen", address, "--metrics", "none", "--data", folder,
                                   "--threads", "2", "--log-level", "error"])
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(tuple([address.split(":")[0], int(address.split(":")[1])])) == 0:
                        break
                time.sleep(0.05)
            for what in ("nothing cached", "all cached"):
                start = time.perf_counter()
                out = subprocess.run([options.samebits, "partition", "--quiet", "--server", address, "--manifest", str(manifest),
                                      "--format", "json"], stdout=subprocess.PIPE, text=True, check=False)
                seconds = time.perf_counter() - start
                if out.returncode not in (0, 1, 3):
                    sys.exit(f"partition: exit status {out.returncode}")
                print(f"partition: {len(rows)} configurations over gRPC, {what}: {seconds:.2f} s, "
                      f"{len(json.loads(out.stdout)['classes'])} classes")
        finally:
            server.terminate()
            server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samebits", required=True)
    parser.add_argument("--manifest", required=True)
    parser.add_argument("--only", choices=("kernels", "ptxas", "growth", "memory", "partition"), action="append")
    parser.add_argument("--kernels", type=int, default=120)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--configurations", type=int, default=500)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--plot")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    parts = {"kernels": measure_kernels, "ptxas": compare_with_ptxas, "growth": measure_growth, "memory": measure_memory,
             "partition": measure_partition}
    for name, part in parts.items():
        if options.only and name not in options.only:
            continue
        os.sched_setaffinity(0, cores[:2] if name == "partition" else cores[:1])
        part(options)


if __name__ == "__main__":
    main()
