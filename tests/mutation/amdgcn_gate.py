#!/usr/bin/env python3
"""Mutation gate of the AMDGCN checker: change one instruction of a kernel; a signature may stay only where the bytes do.

    amdgcn_gate.py [--manifest M] [--binary B] [--count N (200)] [--seed S] [--draws 0,5,6] [--seconds S] [--jobs N] [--out FILE]

Bytes are the direct interpreter's. Mutants with the original's signature and other bytes are unsound: exit status 1, as where the checker crashes.
Mutants whose texts are refused, that leave the buffers or never end, are counted apart.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "differential"))

import differential

SWAPS = {"v_add_f32": "v_mul_f32", "v_mul_f32": "v_add_f32", "v_sub_f32": "v_add_f32", "v_max_f32": "v_min_f32", "v_fmac_f32": "v_mul_f32",
         "v_pk_add_f32": "v_pk_mul_f32", "v_pk_mul_f32": "v_pk_add_f32", "v_add_u32": "v_sub_u32", "v_lshlrev_b32": "v_lshrrev_b32",
         "v_lshrrev_b32": "v_ashrrev_i32", "v_and_b32": "v_or_b32", "v_or_b32": "v_xor_b32", "v_xor_b32": "v_or_b32", "s_add_i32": "s_sub_i32",
         "s_and_b32": "s_or_b32", "s_lshl_b32": "s_lshr_b32", "s_and_b64": "s_or_b64", "s_or_b64": "s_and_b64", "s_cbranch_scc1": "s_cbranch_scc0",
         "s_cbranch_scc0": "s_cbranch_scc1", "v_cvt_f16_f32": "v_cvt_f32_f16", "v_max3_f32": "v_add3_u32", "v_floor_f32": "v_rndne_f32",
         "buffer_load_ushort": "buffer_load_sshort", "ds_read_u16": "ds_read_i16"}
COMPARES = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "lg", "lg": "eq"}
CODE = re.compile(r"^\s+([vs]_|ds_|buffer_|global_)")


def mutate(lines, rng):
    """(name, text) of one mutant, or None where the drawn line has none of the drawn kind."""
    index = rng.choice([i for i, line in enumerate(lines) if CODE.match(line)])
    line = lines[index].split(";")[0].rstrip()
    op, _, rest = line.strip().partition(" ")
    stem = re.sub(r"_(e32|e64|dpp|sdwa)$", "", op)
    kind = rng.choice(["drop", "swap", "operand", "number", "modifier", "register", "sign"])
    new = None
    if kind == "drop" and op not in ("s_endpgm", "s_nop"):
        new = ""
    elif kind == "swap":
        if stem in SWAPS:
            new = line.replace(stem, SWAPS[stem], 1)
        else:
            found = re.match(r"([vs])_cmp_(lt|le|gt|ge|eq|lg)_(.*)", op)
            if found:
                to = COMPARES[found[2]]
                to = "ne" if to == "lg" and found[1] == "v" and found[3][0] in "iu" else to
                new = line.replace(op, f"{found[1]}_cmp_{to}_{found[3]}", 1)
    elif kind == "operand":
        parts = rest.split(", ")
        if len(parts) >= 3 and " " not in parts[-1]:
            i = rng.randrange(1, len(parts) - 1)
            parts[i], parts[i + 1] = parts[i + 1], parts[i]
            new = f"\t{op} {', '.join(parts)}"
    elif kind == "number":
        spots = [m for m in re.finditer(r"(?<![\w\[:.])(0x[0-9a-f]+|\d+)(?![\w\]:.])", line) if m.start() > line.find(op) + len(op)]
        if spots:
            spot = rng.choice(spots)
            value = int(spot[0], 0) ^ (1 << rng.randrange(5)) if rng.random() < 0.5 else int(spot[0], 0) + rng.choice((1, -1, 4, 16))
            new = line[:spot.start()] + (hex(value) if value >= 0 else "0") + line[spot.end():]
    elif kind == "modifier":
        for pattern, make in ((r"offset:(\d+)", lambda m: f"offset:{int(m[1]) + rng.choice((2, 4, 64))}"),
                              (r"row_shr:(\d+)", lambda m: f"row_shr:{int(m[1]) % 15 + 1}"), (r"row_bcast:15", lambda m: "row_bcast:31"),
                              (r"row_mask:0x(\w)", lambda m: f"row_mask:0x{rng.choice('3579abcdef')}"),
                              (r"quad_perm:\[1,0,3,2\]", lambda m: "quad_perm:[2,3,0,1]"), (r"vmcnt\((\d+)\)", lambda m: f"vmcnt({int(m[1]) + 1})"),
                              (r"lgkmcnt\((\d+)\)", lambda m: f"lgkmcnt({int(m[1]) + 1})"), (r" bound_ctrl:1", lambda m: ""),
                              (r"op_sel_hi:\[1,0\]", lambda m: "op_sel_hi:[0,1]"), (r"neg_lo:\[0,1\]", lambda m: "neg_lo:[1,0]"),
                              (r"WORD_1", lambda m: "WORD_0"), (r"offset1:(\d+)", lambda m: f"offset1:{int(m[1]) ^ 1}")):
            if re.search(pattern, line):
                new = re.sub(pattern, make, line, count=1)
                break
    elif kind == "register":
        spots = list(re.finditer(r"(?<![\w\[])([vs])(\d+)(?![\w\]])", line))
        if spots:
            spot = rng.choice(spots)
            new = f"{line[:spot.start()]}{spot[1]}{max(0, int(spot[2]) + rng.choice((1, -1)))}{line[spot.end():]}"
    elif kind == "sign" and stem in ("v_fma_f32", "v_div_fixup_f32") and rest:
        parts = rest.split(", ")
        parts[-1] = parts[-1][1:] if parts[-1].startswith("-") else "-" + parts[-1]
        new = f"\t{op} {', '.join(parts)}"
    if new is None or new == line:
        return None
    return f"{kind} line {index + 1}: {line.strip()} -> {new.strip() or '(nothing)'}", "\n".join(lines[:index] + [new] + lines[index + 1:])


def ask(binary, manifest, identifier, options):
    try:
        done = subprocess.run([str(binary), "--manifest", str(manifest), *options, identifier], capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return {"error": "time"}
    lines = done.stdout.splitlines()
    return json.loads(lines[0]) if lines else {"error": f"ended with {done.returncode}", "crash": done.returncode < 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = HERE.parent.parent / "build" / "release" / "tests"
    parser.add_argument("--manifest", type=pathlib.Path, default=build / "corpus" / "amdgcn" / "amdgcn.jsonl")
    parser.add_argument("--binary", type=pathlib.Path, default=build / "differential" / "differential_evaluator")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=lambda t: [int(d) for d in t.split(",")], default=[0, 5, 6])
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in open(options.manifest) if line.strip()]
    begin, counts, unsound = time.monotonic(), collections.Counter(), []
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        inputs = differential.Inputs(scratch, options.draws)
        originals = {}

        def original(row):
            key = row["id"]
            if key not in originals:
                common = ["--inputs", str(inputs.of(row)), "--draws", ",".join(map(str, options.draws))]
                originals[key] = (ask(options.binary, options.manifest, key, ["--signatures"]),
                                  ask(options.binary, options.manifest, key, ["--interpret", *common]), common)
            return originals[key]

        def one(job):
            number, seed = job
            own = random.Random(seed)
            while True:  # until an original is decided
                if time.monotonic() - begin > options.seconds:
                    return None
                row = own.choice(rows)
                signature, run, common = original(row)
                if signature.get("status") == "OK" and "error" not in run:
                    break
            lines = (options.manifest.parent / row["path"]).read_text().split("\n")
            mutant = None
            for _ in range(200):
                mutant = mutate(lines, own)
                if mutant:
                    break
            folder = pathlib.Path(scratch, f"mutant{number}")
            folder.mkdir()
            (folder / "k.s").write_text(mutant[1])
            (folder / "m.jsonl").write_text(json.dumps({**row, "path": "k.s"}) + "\n")
            changed = ask(options.binary, folder / "m.jsonl", row["id"], ["--signatures"])
            if changed.get("crash"):
                return "CRASH", mutant[0], row
            if "error" in changed:
                return "not within a minute" if changed["error"] == "time" else "refused", mutant[0], row
            if changed["status"] != "OK":
                return changed["status"], mutant[0], row
            if changed["signature"] != signature["signature"]:
                return "signature differs", mutant[0], row
            again = ask(options.binary, folder / "m.jsonl", row["id"], ["--interpret", *common])
            if again.get("crash"):
                return "CRASH", mutant[0], row
            if "error" in again:
                return "same signature, not interpreted", mutant[0] + ": " + again["error"], row
            return ("same signature, same bytes" if again["digests"] == run["digests"] else "UNSOUND"), mutant[0], row

        jobs = [(i, rng.random()) for i in range(options.count)]
        for result in pool.map(one, jobs):
            if result is None:
                continue
            counts[result[0]] += 1
            if result[0] in ("UNSOUND", "CRASH", "same signature, not interpreted"):
                unsound.append(result)
            if options.out:
                with open(options.out, "a", encoding="utf-8") as out:
                    out.write(json.dumps([result[0], result[1], result[2]["id"]]) + "\n")
    for name, n in counts.most_common():
        print(f"{n:6d} {name}")
    for kind, name, row in unsound[:40]:
        print(kind, row["id"], name)
    return 1 if counts["UNSOUND"] or counts["CRASH"] else 0


if __name__ == "__main__":
    sys.exit(main())
