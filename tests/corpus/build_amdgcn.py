#!/usr/bin/env python3
"""Compile the Triton kernels of src/ for AMD targets: AMDGCN assembler text and the manifest that says how to launch it.

    build_amdgcn.py [--out DIR] [--target gfx942] [--only GROUP ...] [--every N] [--jobs N] [--pack]

Needs Triton, no GPU. Writes DIR/amdgcn/<group>/<number>.s and DIR/manifest.jsonl (default DIR: build_amdgcn/ beside this
file); rows are those of build.py. A group's configurations are those of src/ and, numbered after them, those of axes that
AMD's compiler alone has or reads otherwise (own_cases). --every N takes each Nth configuration of a group, the first always.
--pack also writes amdgcn.tar.xz and amdgcn.jsonl next to this file, the committed form. There are no digests: no AMD device
ran these.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import sys

import build

HERE = build.HERE
POINTER_TYPES = {**build.POINTER_TYPES, "e4m3": "*fp8e4b8", "e5m2": "*fp8e5b16"}
WAVE = 64
MOST_WARPS = 16  # 1,024 work-items
MATRIX = ("gemm", "attention")
PLAIN = ("matmul_f32_fma", "decode_attention_f16")  # of those families, without matrix instructions worth an axis


def own_cases(group):
    """Configurations of a group beside those of src/: matrix shapes and packing, more waves, sums and products apart."""
    cases = []
    if (group.family in MATRIX or group.name == "matmul_int8") and group.name not in PLAIN:
        for index, case in enumerate(group.cases):
            shape = {"matrix_instr_nonkdim": 16} if index % 3 else {"matrix_instr_nonkdim": 32, "kpack": 2}
            cases.append(dataclasses.replace(case, options={**case.options, **shape}))
        return cases
    seen = {json.dumps([id(c.kernel), c.grid, c.constants, c.options], sort_keys=True) for c in group.cases}
    for case in group.cases:
        options = case.options
        for changed in ({"num_warps": options["num_warps"] * 2}, {"enable_fp_fusion": False}):
            fresh = dataclasses.replace(case, options={**options, **changed})
            key = json.dumps([id(fresh.kernel), fresh.grid, fresh.constants, fresh.options], sort_keys=True)
            if fresh.options["num_warps"] <= MOST_WARPS and key not in seen:
                seen.add(key)
                cases.append(fresh)
    return cases


def cases_of(group):
    return list(group.cases) + own_cases(group)


def compile_case(case, buffers, arch):
    """(text, entry, dynamic LDS bytes, arguments) of one Triton case."""
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
            attributes[(index,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
        else:
            kind, value = case.scalars[name]
            signature[name] = build.SCALAR_TYPES[kind]
            if kind != "f32" and value % 16 == 0:
                attributes[(index,)] = [["tt.divisibility", 16]]
    target = GPUTarget("hip", arch, WAVE)
    backend = make_backend(target)
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    options = backend.parse_options({"enable_fp_fusion": True, **case.options})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    metadata = {"target": target, **options.__dict__}
    stages = {}
    backend.add_stages(stages, options, source.language)
    for name, stage in stages.items():
        module = stage(module, metadata)
        if name == "amdgcn":
            break
    args = [build.argument(name, case, buffers) for name in kernel.arg_names if name not in case.constants]
    return module, metadata["name"], metadata["shared"], args


def strip_text(text):
    """The text without line tables, debug sections and comments; what the kernel computes is untouched."""
    kept, skip = [], False
    for line in text.split("\n"):
        section = re.match(r"\s*\.section\s+(\S+?),", line)
        if section or re.match(r"\s*\.(text|amdgpu_metadata)\b", line):
            skip = bool(section) and section.group(1).startswith((".debug", ".AMDGPU.csdata"))
        if skip or re.match(r"\s*(\.loc\s|\.file\s|\.cfi_)", line):
            continue
        line = re.sub(r"[ \t]*;.*$", "", line).rstrip()
        if line and not re.match(r"\.L(tmp|func_begin|func_end|debug)\w*:$", line.strip()):
            kept.append(line)
    return "\n".join(kept) + "\n"


def build_case(work):
    group_index, case_index, arch = work
    _, group = build.all_groups()[group_index]
    case = cases_of(group)[case_index]
    text, entry, shared, args = compile_case(case, group.buffers, arch)
    required = re.search(r"\.max_flat_workgroup_size:\s*(\d+)", text)
    args += [{"scratch": True}] * (len(re.findall(r"\.value_kind:\s+(?:global_buffer|by_value)", text)) - len(args))
    number = f"{case_index:03d}"
    row = {"id": f"{group.name}/{number}", "set": "amdgcn", "family": group.family, "group": group.name, "entry": entry,
           "block": [int(required.group(1)), 1, 1], "grid": list(case.grid), "shared": shared, "args": args,
           "config": {**case.constants, **case.options}, "outputs": list(group.outputs),
           "buffers": {name: b.as_row() for name, b in group.buffers.items()},
           "path": f"amdgcn/{group.name}/{number}.s"}
    return row, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "build_amdgcn")
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--only", nargs="*", help="names of groups")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--pack", action="store_true")
    options = parser.parse_args()
    work = [(g, c, options.target) for g, (kind, group) in enumerate(build.all_groups())
            if kind == "triton" and (not options.only or group.name in options.only)
            for c in range(0, len(cases_of(group)), options.every)]
    rows, failed, texts, same = [], [], collections.defaultdict(set), 0
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(build_case, item) for item in work]
        for position, (item, future) in enumerate(zip(work, futures)):
            try:
                row, text = future.result()
            except Exception as error:  # one bad configuration must not hide the others
                failed.append(f"{build.all_groups()[item[0]][1].name}/{item[1]:03d}: {str(error)[:300]!r}")
                continue
            bare, seen = strip_text(text), texts[row["group"]]
            if bare in seen and item[1] >= len(build.all_groups()[item[0]][1].cases):
                same += 1  # an axis that this kernel does not have
                continue
            seen.add(bare)
            path = options.out / row["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(bare if options.pack else text)
            rows.append(row)
    with open(options.out / "manifest.jsonl", "w") as manifest:
        manifest.writelines(json.dumps(row) + "\n" for row in rows)
    print(f"{len(rows)} configurations of {len({r['entry'] for r in rows})} kernels in {len({r['group'] for r in rows})} groups, "
          f"{sum(map(len, texts.values()))} texts; {same} more left out whose text is another's, {len(failed)} failed")
    for line in failed:
        print("failed", line)
    if options.pack:
        build.pack(options.out, rows, "amdgcn.tar.xz", "amdgcn.jsonl")
        print(f"packed {(HERE / 'amdgcn.tar.xz').stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
