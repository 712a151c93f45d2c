#!/usr/bin/env python3
"""Compile the corpus: kernels of src/ in all their configurations to PTX, and the manifest that says how to launch them.

    build.py [--out DIR] [--only GROUP ...] [--jobs N] [--pack]

Needs Triton and nvcc, no GPU. Writes DIR/ptx/<set>/<group>/<number>.ptx and DIR/manifest.jsonl (default DIR: build/
beside this file). --pack also writes kernels.tar.xz and manifest.jsonl next to this file, the committed form: line
tables are kept for a sample of kernels and stripped from the others. Digests are not made here: tests/device/
run_corpus.py adds them on a GPU. See README.md for the row format.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "src"
sys.path.insert(0, str(SOURCES))

POINTER_TYPES = {"f32": "*fp32", "f16": "*fp16", "bf16": "*bf16", "e4m3": "*fp8e4nv", "e5m2": "*fp8e5", "i32": "*i32",
                 "i8": "*i8"}
SCALAR_TYPES = {"i32": "i32", "i64": "i64", "f32": "fp32"}
TRITON_FILES = ("reduce", "norm", "elementwise", "gemm", "attention")
PTX_VERSION = 87  # what the oldest driver that the device runs support accepts
KEEP_LINES_EVERY = 16


def compile_triton(case, buffers):
    """PTX text and launch facts of one Triton case, stopping before the assembler."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import ASTSource, make_backend

    kernel = case.kernel
    signature, attributes, constants = {}, {}, {}
    for index, name in enumerate(kernel.arg_names):
        if name in case.constants:
            signature[name] = "constexpr"
            constants[name] = case.constants[name]
        elif name in buffers:
            signature[name] = POINTER_TYPES[buffers[name].dtype]
            attributes[(index,)] = [["tt.divisibility", 16]]
        else:
            kind, value = case.scalars[name]
            signature[name] = SCALAR_TYPES[kind]
            if kind != "f32" and value % 16 == 0:
                attributes[(index,)] = [["tt.divisibility", 16]]
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    options = backend.parse_options({"enable_fp_fusion": True, **case.options, "ptx_version": PTX_VERSION})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    metadata = {"target": target, **options.__dict__}
    stages = {}
    backend.add_stages(stages, options, source.language)
    for name, stage in stages.items():
        module = stage(module, metadata)
        if name == "ptx":
            break
    args = [argument(name, case, buffers) for name in kernel.arg_names if name not in case.constants]
    return module, metadata["name"], metadata["shared"], args


def argument(name, case, buffers):
    if name in buffers:
        return {"ptr": name}
    kind, value = case.scalars[name]
    return {kind: value}


def compile_cuda(case, buffers):
    source, entry = case.kernel
    macros = [f"-D{name}={value}" for name, value in {f"K_{entry}": 1, **case.constants}.items()]
    with tempfile.TemporaryDirectory() as scratch:
        target = pathlib.Path(scratch, entry + ".ptx")
        command = ["nvcc", "-ptx", "-std=c++17", "-arch=" + case.options["arch"], *case.options["flags"].split(),
                   *macros, "-o", str(target), f"cuda/{source}.cu"]
        done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        text = target.read_text()
    pointers = [name for name in buffers]
    return text, entry, case.shared, [{"ptr": name} for name in pointers] + [
        argument(name, case, buffers) for name in case.scalars]


def entry_parameters(text, entry):
    """Types of the entry's parameters, as written."""
    head = re.search(r"\.entry\s+" + re.escape(entry) + r"\s*\((.*?)\)", text, re.S)
    return re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)", head.group(1)) if head else []


def block_of(text, case):
    required = re.search(r"\.reqntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", text)
    return [int(d or 1) for d in required.groups()] if required else list(case.block)


def strip_lines(text):
    """The text without line tables and debug sections; what the kernel computes is untouched."""
    text = re.sub(r"^\s*\.section\s+\.debug_\w+\s*\{[^}]*\}\s*$", "", text, flags=re.M)
    lines = [line for line in text.split("\n") if not re.match(r"\s*(\.loc\s|\.file\s|//)", line)]
    text = re.sub(r"[ \t]*//[^\n]*", "", "\n".join(lines))
    return re.sub(r"\n{2,}", "\n", text).strip() + "\n"


def build_case(work):
    """Compile one case; `work` is (group index, case index), so that it can cross a process boundary."""
    group_index, case_index = work
    set_name, group = all_groups()[group_index]
    case = group.cases[case_index]
    compiler = compile_triton if set_name == "triton" else compile_cuda
    text, entry, shared, args = compiler(case, group.buffers)
    for _ in range(len(entry_parameters(text, entry)) - len(args)):
        args.append({"scratch": True})
    number = f"{case_index:03d}"
    config = {**case.constants, **case.options} if set_name == "triton" else {
        "kernel": case.kernel[1], **case.constants, **case.options}
    row = {"id": f"{group.name}/{number}", "set": set_name, "family": group.family, "group": group.name, "entry": entry,
           "block": block_of(text, case), "grid": list(case.grid), "shared": shared, "args": args, "config": config,
           "outputs": list(group.outputs), "buffers": {name: b.as_row() for name, b in group.buffers.items()},
           "path": f"ptx/{set_name}/{group.name}/{number}.ptx"}
    return row, text


GROUPS = None


def all_groups():
    """(set, group) in build order, imported once a process."""
    global GROUPS
    if GROUPS is None:
        import importlib
        GROUPS = [("triton", g) for f in TRITON_FILES for g in importlib.import_module("triton_kernels." + f).groups()]
        GROUPS += [("cuda", g) for g in importlib.import_module("cuda.spaces").groups()]
    return GROUPS


def keeps_lines(row, position):
    """A sample keeps its line tables, and so do the kernels whose point is their debug information."""
    return position % KEEP_LINES_EVERY == 0 or row["config"].get("flags") in ("-lineinfo", "-G")


def pack(out, rows, archive_name="kernels.tar.xz", manifest_name="manifest.jsonl"):
    """Writes the committed form of what lies in `out` beside this file."""
    with tarfile.open(HERE / archive_name, "w:xz", preset=9) as archive:
        for row in sorted(rows, key=lambda r: (r["entry"], r["path"])):
            info = archive.gettarinfo(out / row["path"], row["path"])
            info.uid = info.gid = info.mtime = 0
            info.uname = info.gname = ""
            info.mode = 0o644
            with open(out / row["path"], "rb") as text:
                archive.addfile(info, text)
    (HERE / manifest_name).write_text((out / "manifest.jsonl").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "build")
    parser.add_argument("--only", nargs="*", help="names of groups")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--pack", action="store_true")
    options = parser.parse_args()
    work = [(g, c) for g, (_, group) in enumerate(all_groups()) if not options.only or group.name in options.only
            for c in range(len(group.cases))]
    rows, failed = [], []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(build_case, item) for item in work]
        for position, (item, future) in enumerate(zip(work, futures)):
            try:
                row, text = future.result()
            except Exception as error:  # one bad configuration must not hide the others
                group = all_groups()[item[0]][1]
                failed.append(f"{group.name}/{item[1]:03d}: {error}"[:400])
                continue
            path = options.out / row["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if keeps_lines(row, position) else strip_lines(text))
            rows.append(row)
            if position % 50 == 0:
                print(f"{position + 1}/{len(work)} {row['id']}", flush=True)
    with open(options.out / "manifest.jsonl", "w") as manifest:
        manifest.writelines(json.dumps(row) + "\n" for row in rows)
    print(f"{len(rows)} kernels in {len({r['group'] for r in rows})} groups, {len(failed)} failed")
    for line in failed:
        print("failed", line)
    if options.pack:
        pack(options.out, rows)
        print(f"packed {(HERE / 'kernels.tar.xz').stat().st_size} bytes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
