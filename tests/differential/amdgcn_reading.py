#!/usr/bin/env python3
"""The AMDGCN parser against LLVM's assembler.

    amdgcn_reading.py [--binary B] [--every N] [--mutants N] [--seed S] [FILE-OR-FOLDER ...]

Three questions, on the AMDGCN texts under the given paths (default: the committed corpus, unpacked by the build):
- each instruction, spelled again from what the parser read, is encoded as the source line is, byte for byte;
- each kernel has the instructions that the disassembler finds in the assembled object, and its branches go where it says;
- lines with one token changed: what both accept is encoded alike; what one refuses and the other not is counted.
Needs llvm-mc-19 and llvm-objdump-19 (Debian: llvm-19). Exit status 1 where a reading is wrong, or where the parser refuses
or does not know more of what the assembler accepts than --refused allows.
"""
import argparse
import collections
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = re.compile(r"\s(?:glc|slc|sc0|sc1|nt)\b")  # where data is kept: not read
ENCODING = re.compile(r"; encoding: \[([^\]]*)\]")


def find(name):
    return shutil.which(name + "-19") or shutil.which(name)


def source_of(line):
    """The instruction on a source line: no comment, labels or cache policy."""
    line = re.sub(r"(;|//).*$", "", line).strip()
    line = re.sub(r"^(?:[\w.$@]+:\s*)+", "", line)
    return CACHE.sub("", line)


def encode(lines, target):
    """The encoding of each line by llvm-mc, None where it is refused."""
    command = [find("llvm-mc"), "--triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "--show-encoding"]
    # A line's own number tells which one an error is about.
    done = subprocess.run(command, input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=False)
    refused = {int(n) - 1 for n in re.findall(r"^<stdin>:(\d+):\d+: error:", done.stderr, re.M)}
    text = "".join(f"L_{i}_:\n{line}\n" for i, line in enumerate(lines) if i not in refused)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[:2000])
    answers = [None] * len(lines)
    current = -1
    for line in done.stdout.splitlines():
        if label := re.match(r"L_(\d+)_:", line):
            current = int(label.group(1))
        elif encoding := ENCODING.search(line):
            answers[current] = (answers[current] or "") + encoding.group(1)
    return answers


def texts_of(paths):
    files = []
    for path in paths:
        files += sorted(p for p in path.rglob("*") if p.suffix in (".s", ".amdgcn")) if path.is_dir() else [path]
    return files


def read(binary, files):
    """Rows (file, kernel, index, line, branch target, spelling) of the parser."""
    done = subprocess.run([str(binary), *map(str, files)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[:2000])
    for row in done.stdout.splitlines():
        file, kernel, index, line, target, spelling = row.split("\t")
        yield file, kernel, int(index), int(line), int(target), spelling


def target_of(text):
    found = re.search(r'\.amdgcn_target\s+".*?(gfx[0-9a-f]+)', text)
    return found.group(1) if found else "gfx942"


def assembled(path, text, target, scratch):
    """{kernel: [(address, mnemonic, target address or None)]} by the disassembler."""
    source, binary = scratch / "text.s", scratch / "text.o"
    # Other releases name the target otherwise; sizes refer to labels that a stripped text lacks.
    text = re.sub(r"^\s*\.size\s.*$", "", text, flags=re.M)
    text = re.sub(r'\.amdgcn_target\s+"[^"]*"', f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"', text)
    source.write_text(text)
    done = subprocess.run([find("llvm-mc"), "--triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj", "-o", str(binary), str(source)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, f"{path}: {done.stderr.splitlines()[0] if done.stderr else 'refused'}"
    shown = subprocess.run([find("llvm-objdump"), "-d", str(binary)], capture_output=True, text=True, check=False).stdout
    kernels, current = {}, None
    for line in shown.splitlines():
        if label := re.match(r"[0-9a-f]+ <([^>]+)>:$", line):
            # Local labels are not symbols; a function's name starts a list.
            current = kernels.setdefault(label.group(1), [])
        elif instruction := re.match(r"\s+(\S+)(.*?)//\s*([0-9A-F]+): ([0-9A-F ]+)", line):
            name, operands, address, words = instruction.groups()
            to = None
            if name.startswith(("s_cbranch", "s_branch")):
                offset = int(words.split()[0], 16) & 0xffff
                to = int(address, 16) + 4 + 4 * (offset - 0x10000 if offset & 0x8000 else offset)
            if current is not None:
                current.append((int(address, 16), name, to))
    return kernels, None


def check_sequence(rows, found):
    """What is wrong with one kernel's instructions, or None. `rows`: (index, target, spelling)."""
    at, addresses = 0, []
    for index, target, spelling in rows:
        # Alignment in front of a label is filled with s_nop, behind an end or a branch.
        if at > 0 and not spelling.startswith("s_nop") and rows[index - 1][2].startswith(("s_branch", "s_endpgm")):
            while at < len(found) and found[at][1] == "s_nop":
                at += 1
        if not spelling and index == len(rows) - 1:
            break  # padding behind the end, written as data
        if at >= len(found):
            return f"the object has {len(found)} instructions, instruction {index} is missing"
        address, name, _ = found[at]
        if spelling and re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", name) != re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", spelling.split()[0]):
            return f"instruction {index} is {spelling.split()[0]}, in the object {name}"
        addresses.append((address, found[at][2]))
        at += 1
    for (index, target, spelling), (_, to) in zip(rows, addresses):
        if target >= 0 and target < len(addresses) and to != addresses[target][0]:
            return f"branch {index} goes to instruction {target}, in the object to {to:#x}, not {addresses[target][0]:#x}"
    return None


NUMBERS = ("0", "1", "-1", "4", "7", "15", "16", "31", "63", "64", "65", "-16", "-17", "255", "256", "4095", "4096", "65535", "0x12345678", "1.0", "0.5", "0.15")
REGISTERS = ("v0", "v255", "v256", "v[2:3]", "v[3:4]", "v[4:7]", "v[8:23]", "s0", "s1", "s[2:3]", "s[3:4]", "s[4:7]", "s105", "s106", "vcc", "vcc_lo",
             "exec", "m0", "a3", "a[0:3]", "scc", "-v1", "|v1|", "-|v1|", "neg(v1)", "sext(v1)", "off", "ttmp0", "null")
MODIFIERS = ("clamp", "mul:2", "div:2", "offset:16", "offset:4096", "offset:-8", "offset0:3", "offset1:200", "offset1:256", "offen", "idxen", "lds", "gds",
             "op_sel:[1,0]", "op_sel:[0,1,1]", "op_sel_hi:[0,1]", "op_sel_hi:[0,0,0]", "neg_lo:[1,0]", "neg_hi:[0,1,0]", "row_shr:1", "row_shl:16",
             "row_mirror", "row_bcast:15", "row_bcast:16", "quad_perm:[0,1,2,3]", "quad_perm:[0,1,2,4]", "row_mask:0x3", "bank_mask:0x10", "bound_ctrl:0",
             "bound_ctrl:1", "dst_sel:WORD_1", "dst_unused:UNUSED_SEXT", "src0_sel:BYTE_2", "src1_sel:WORD_1", "cbsz:1", "abid:1", "blgp:2", "fi:1", "dlc")
TOKEN = re.compile(r"[vsa]\[\d+:\d+\]|\b[vsa]\d+\b|\bvcc\b|\bexec\b|-?\b(?:0x[0-9a-f]+|\d+\.\d+|\d+)\b|:\[[\d,]+\]")


def mutate(line, rng):
    name, _, rest = line.partition(" ")
    kind = rng.randrange(8)
    if kind == 0:  # another encoding
        return re.sub(r"_(e32|e64|dpp|sdwa)$", "", name) + rng.choice(("", "_e32", "_e64", "_dpp", "_sdwa")) + " " + rest
    if kind == 1:
        return f"{line} {rng.choice(MODIFIERS)}"
    words = rest.split(" ")
    if kind == 2 and len(words) > 1:  # without a word
        del words[rng.randrange(len(words))]
        return f"{name} {' '.join(words)}"
    operands = rest.split(", ")
    if kind == 3 and len(operands) > 1:
        i, j = rng.randrange(len(operands)), rng.randrange(len(operands))
        operands[i], operands[j] = operands[j], operands[i]
        return f"{name} {', '.join(operands)}"
    if kind == 4:
        operands.insert(rng.randrange(len(operands) + 1), rng.choice(REGISTERS + NUMBERS))
        return f"{name} {', '.join(operands)}"
    tokens = list(TOKEN.finditer(rest))
    if not tokens:
        return line
    token = rng.choice(tokens)
    new = rng.choice(REGISTERS if kind == 5 else NUMBERS if kind == 6 else REGISTERS + NUMBERS)
    return f"{name} {rest[:token.start()]}{new}{rest[token.end():]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = HERE.parent.parent / "build" / "release" / "tests"
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path, default=build / "differential" / "amdgcn_reading")
    parser.add_argument("--every", type=int, default=1, help="take each Nth text")
    parser.add_argument("--mutants", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--refused", type=float, default=0.08, help="of the mutants that the assembler accepts")
    parser.add_argument("--show", type=int, default=12, help="examples of each kind")
    options = parser.parse_args()
    if not find("llvm-mc") or not find("llvm-objdump"):
        print("needs llvm-mc-19 and llvm-objdump-19 (Debian: llvm-19)")
        return 77  # skipped
    files = texts_of(options.paths or [build / "corpus" / "amdgcn"])[::options.every]
    contents = {str(f): f.read_text(errors="replace") for f in files}
    by_kernel, by_target, instructions, unmodelled = collections.defaultdict(list), collections.defaultdict(dict), 0, collections.Counter()
    lines_of = {name: text.split("\n") for name, text in contents.items()}
    for file, kernel, index, line, target, spelling in read(options.binary, files):
        instructions += 1
        by_kernel[file, kernel].append((index, target, spelling))
        source = source_of(lines_of[file][line - 1])
        if not spelling:
            unmodelled[source.split()[0]] += 1
        elif target < 0:
            by_target[target_of(contents[file])][source] = spelling
    wrong, refused_texts, pairs = [], [], 0
    for target, spelled in by_target.items():
        sources = sorted(spelled)
        pairs += len(sources)
        for source, a, b in zip(sources, encode(sources, target), encode([spelled[s] for s in sources], target)):
            if a is None or a != b:
                wrong.append(f"{source!r} read as {spelled[source]!r}: {a} {b}")
    sequences = 0
    with tempfile.TemporaryDirectory() as scratch:
        for file, text in contents.items():
            found, error = assembled(file, text, target_of(text), pathlib.Path(scratch))
            if error:
                refused_texts.append(error)
                continue
            for (name, kernel), rows in by_kernel.items():
                if name != file:
                    continue
                sequences += 1
                if what := check_sequence(rows, found.get(kernel, [])):
                    wrong.append(f"{file} {kernel}: {what}")
    rng, kinds, examples = random.Random(options.seed), collections.Counter(), collections.defaultdict(list)
    for target, spelled in by_target.items():
        # One line of each mnemonic first, so that rare ones are mutated as often.
        by_name = collections.defaultdict(list)
        for source in sorted(spelled):
            by_name[source.split()[0]].append(source)
        names = sorted(by_name)
        lines = sorted({mutate(rng.choice(by_name[rng.choice(names)]), rng) for _ in range(options.mutants)} - set(spelled))
        done = subprocess.run([str(options.binary), "--lines", "--target", target], input="".join(line + "\n" for line in lines),
                              capture_output=True, text=True, check=True)
        answers = [row.split("\t", 1) for row in done.stdout.splitlines()]
        ours = iter(encode([spelling for verdict, spelling in answers if verdict == "ok"], target))
        for line, theirs, (verdict, spelling) in zip(lines, encode(lines, target), answers):
            encoded = next(ours) if verdict == "ok" else None
            if verdict == "ok":
                kind = "only the assembler refuses" if theirs is None else "encoded alike" if theirs == encoded else "WRONG"
            elif verdict == "unmodelled":
                kind = "both refuse or do not know" if theirs is None else "not modelled, accepted by the assembler"
            else:
                kind = "both refuse or do not know" if theirs is None else "only the parser refuses"
            kinds[kind] += 1
            examples[kind].append(f"{line}    [{spelling}]")
            if kind == "WRONG":
                wrong.append(f"{line!r} read as {spelling!r}: {theirs} {encoded}")
    print(f"{len(files)} texts, {instructions} instructions, {pairs} different lines, {sequences} kernels disassembled; "
          f"not modelled: {sum(unmodelled.values())} instructions {dict(unmodelled.most_common(8))}")
    print("mutated lines: " + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()))
    for kind in ("only the parser refuses", "not modelled, accepted by the assembler", "only the assembler refuses"):
        for example in random.Random(options.seed).sample(examples[kind], min(options.show, len(examples[kind]))):
            print(f"  {kind}: {example}")
    for error in refused_texts[:10]:
        print("the assembler refuses", error)
    print(f"{len(wrong)} wrong readings")
    for line in wrong[:40]:
        print("wrong", line)
    accepted = sum(kinds.values()) - kinds["both refuse or do not know"] - kinds["only the assembler refuses"]
    refused = kinds["only the parser refuses"]
    return 1 if wrong or refused_texts or refused > options.refused * max(accepted, 1) else 0


if __name__ == "__main__":
    sys.exit(main())
