"""One-instruction mutations. Each operator yields (new opcode, new operands, new guard) triples for one line, or the
word DROP. Operators keep the text assemblable in the usual case; what does not assemble is discarded later."""
import re

from ptx_lines import REGISTER

DROP = "drop"
INTEGER = re.compile(r"^-?(0x[0-9a-fA-F]+|\d+)$")
FLOAT = re.compile(r"^0f([0-9a-fA-F]{8})$")
ADDRESS = re.compile(r"^\[\s*(%\w+)\s*(?:\+\s*(-?\d+)\s*)?\]$")
ORDERED = ("sub", "div", "rem", "shl", "shr", "copysign")
COMPARES = {"lt": ("le", "gt"), "le": ("lt", "ge"), "gt": ("ge", "lt"), "ge": ("gt", "le"), "eq": ("ne",), "ne": ("eq",),
            "ltu": ("leu", "gtu"), "gtu": ("geu",), "leu": ("ltu",), "geu": ("gtu",), "nan": ("num",), "num": ("nan",)}
FLOAT_TYPES = ("f32", "f16", "f16x2", "bf16", "bf16x2", "f64")


def _with(line, position, operand):
    return line.op, [operand if i == position else o for i, o in enumerate(line.operands)], None


def _replace_part(line, old, new):
    parts = list(line.parts)
    parts[parts.index(old)] = new
    return ".".join(p for p in parts if p), list(line.operands), None


def _number(text):
    return int(text, 0)


def operand_order(line, text):
    if line.base in ORDERED and len(line.operands) == 3:
        d, a, b = line.operands
        if a != b:
            yield line.op, [d, b, a], None
    if line.base == "setp" and len(line.operands) == 3 and line.parts[1] not in ("eq", "ne", "nan", "num"):
        if line.operands[0] not in text.steering:
            yield line.op, [line.operands[0], line.operands[2], line.operands[1]], None
    if line.base == "selp" and line.operands[1] != line.operands[2]:
        d, a, b, p = line.operands
        yield line.op, [d, b, a, p], None
    if line.base == "fma" and line.operands[2] != line.operands[3]:
        d, a, b, c = line.operands
        yield line.op, [d, a, c, b], None
    if line.base == "prmt":
        d, a, b, c = line.operands
        yield line.op, [d, b, a, c], None


def immediate(line, text):
    if line.base in ("bar", "shfl", "setp", "cp", "wgmma", "bra", "redux", "vote", "fence"):
        return
    if any(r in text.steering for r in line.defines()):
        return
    for position, operand in enumerate(line.operands[1:], 1):
        if INTEGER.match(operand) and abs(_number(operand)) < 1 << 31:
            value = _number(operand)
            for new in {value + 1, value ^ 2 if value > 1 else value + 2, value * 2 if 0 < value < 64 else value + 1}:
                if not (line.base in ("shl", "shr", "shf") and not 0 <= new < 32):
                    yield _with(line, position, str(new))
        if FLOAT.match(operand):
            bits = int(FLOAT.match(operand)[1], 16)
            for new in (bits ^ 1, bits ^ 0x80000000, bits ^ 0x00800000):
                yield _with(line, position, f"0f{new:08X}")


def access_bytes(line):
    """Bytes of one lane's access of a load or store."""
    vector = next((int(p[1:]) for p in line.parts if re.match(r"^v\d$", p)), 1)
    match = re.match(r"^[a-z]+(\d+)$", line.parts[-1])
    return vector * int(match[1]) // 8 if match else 4


def offset(line, text):
    if line.base not in ("ld", "st", "cp", "ldmatrix", "stmatrix") or "param" in line.parts or "commit_group" in line.parts:
        return
    for position, operand in enumerate(line.operands):
        match = ADDRESS.match(operand)
        if match:
            step = 16 if line.base in ("cp", "ldmatrix", "stmatrix") else access_bytes(line)
            now = int(match[2] or 0)
            for new in (now + step, now - step if now >= step else now + 2 * step):
                yield _with(line, position, f"[{match[1]}+{new}]")


def predicate(line, text):
    if line.base == "setp" and line.operands[0] not in text.steering:
        for new in COMPARES.get(line.parts[1], ()):
            yield _replace_part(line, line.parts[1], new)
    if line.guard and line.guard not in text.steering:
        if line.base != "bra" or not text.spans_barrier(line):
            yield line.op, list(line.operands), ("" if line.negated else "!") + line.guard
            if line.base in ("ld", "st", "cp"):
                yield line.op, list(line.operands), ""
    if line.base in ("and", "or") and line.parts[-1] == "pred" and line.operands[0] not in text.steering:
        yield _replace_part(line, line.base, "or" if line.base == "and" else "and")


def modifier(line, text):
    floating = any(t in line.parts for t in FLOAT_TYPES)
    if floating and line.base in ("add", "sub", "mul", "fma", "div", "sqrt", "rcp", "cvt"):
        for old, news in (("rn", ("rz", "rm", "rp")), ("rz", ("rn",)), ("rm", ("rp",)), ("rni", ("rzi",)), ("rzi", ("rni",))):
            if old in line.parts:
                for new in news:
                    yield _replace_part(line, old, new)
    if floating and line.base in ("add", "sub", "mul", "fma", "ex2", "lg2", "max", "min", "setp", "abs", "neg", "rsqrt", "div"):
        if "ftz" in line.parts:
            yield _replace_part(line, "ftz", "")
        elif "f32" in line.parts and not any(r in text.steering for r in line.defines()):
            yield _replace_part(line, "f32", "ftz.f32")
    if line.base in ("add", "sub", "mul") and line.parts[1:] == ["f32"]:
        yield line.base + ".rz.f32", list(line.operands), None
    if line.base == "div" and "full" in line.parts:
        yield "div.rn.f32", list(line.operands), None
        yield "div.approx.f32", list(line.operands), None
    if line.base in ("max", "min") and not any(r in text.steering for r in line.defines()):
        yield _replace_part(line, line.base, "min" if line.base == "max" else "max")
    if any(r in text.steering for r in line.defines()):
        return
    for old, new in (("lo", "hi"), ("hi", "lo")):
        if line.base in ("mul", "mad") and old in line.parts:
            yield _replace_part(line, old, new)
    if line.base in ("shr", "div", "rem", "bfe", "min", "max", "cvt", "redux") and line.parts[-1] in ("s32", "u32"):
        parts = list(line.parts)
        parts[-1] = "u32" if parts[-1] == "s32" else "s32"
        yield ".".join(parts), list(line.operands), None
    swaps = {"add": "sub", "sub": "add", "mul": "add", "and": "or", "or": "xor", "xor": "and"}
    if line.base in swaps and "pred" not in line.parts and line.parts[-1] not in ("b64", "s64", "u64"):
        if not (line.base == "mul" and "wide" in line.parts):
            new = swaps[line.base]
            parts = [new] + [p for p in line.parts[1:] if not (new == "add" and p in ("lo", "hi"))]
            yield ".".join(parts), list(line.operands), None


def seed(line, text):
    """Zero seeds of floating-point chains."""
    if line.base != "mov" or len(line.operands) != 2 or line.operands[1] not in ("0", "0f00000000", "0f80000000"):
        return
    target = line.operands[0]
    if target in text.steering:
        return
    near = [o for o in text.instructions if target in o.uses()]
    if any(o.base in ("mma", "wgmma", "fma", "add", "mov", "ld") for o in near):
        for bits in (0x3F800000, 0x00000001, 0x80000000):
            value = f"0f{bits:08X}" if line.operands[1].startswith("0f") else str(bits - (1 << 32) if bits >> 31 else bits)
            yield _with(line, 1, value)


def trip_count(line, text):
    """Bounds and steps of loops, in the direction that still ends."""
    guards = {b.guard for b in text.branches()}
    if line.base == "setp" and line.operands[0] in guards and line.operands[0] in text.steering:
        if line.parts[1] in ("lt", "le", "gt", "ge") and INTEGER.match(line.operands[2]):
            bound = _number(line.operands[2])
            for new in {bound // 2, bound - 1, bound + 1, bound - 64 if bound > 64 else bound + 2}:
                if new != bound:
                    yield _with(line, 2, str(new))
        if line.parts[1] == "lt":
            yield _replace_part(line, "lt", "le")
        if line.parts[1] == "gt":
            yield _replace_part(line, "gt", "ge")
    ends = {b for setp in text.instructions if setp.base == "setp" and setp.parts[1] in ("lt", "le", "gt", "ge")
            for b in setp.uses()}
    if line.base == "add" and len(line.operands) == 3 and line.operands[0] in ends and text.in_loop(line):
        if INTEGER.match(line.operands[2]) and _number(line.operands[2]) > 0 and line.operands[0] in text.steering:
            yield _with(line, 2, str(2 * _number(line.operands[2])))


def shuffle(line, text):
    if line.base == "shfl":
        for position, operand in enumerate(line.operands):
            if position == 2 and INTEGER.match(operand):
                value = _number(operand)
                for new in {value ^ 1, value >> 1, value ^ 16} - {value}:
                    yield _with(line, position, str(new))
            if position == 3 and INTEGER.match(operand):
                for new in {_number(operand) ^ 16, _number(operand) ^ 0x1800} - {_number(operand)}:
                    yield _with(line, position, str(new))
        for old, new in (("bfly", "down"), ("down", "bfly"), ("up", "down"), ("idx", "bfly")):
            if old in line.parts:
                yield _replace_part(line, old, new)
    if line.base == "redux" and "add" in line.parts:
        yield _replace_part(line, "add", "max")
    if line.base == "vote":
        for old, new in (("any", "all"), ("all", "any")):
            if old in line.parts:
                yield _replace_part(line, old, new)


def barrier(line, text):
    if line.base in ("bar", "barrier") and "sync" in line.parts and line.parts[1] != "warp" and not line.guard:
        yield DROP


def wait(line, text):
    if "wait_group" in line.parts and INTEGER.match(line.operands[0]):
        yield _with(line, 0, str(_number(line.operands[0]) + 1))
        yield _with(line, 0, str(_number(line.operands[0]) + 3))
        yield DROP
    if "commit_group" in line.parts:
        yield DROP


def swizzle(line, text):
    """Layout bits of wgmma descriptors: 64-bit constants with the layout in bits 62 and 63, strides in 32 to 45."""
    if line.base not in ("or", "add", "mov") or line.parts[-1] not in ("b64", "s64", "u64"):
        return
    if any(r in text.steering for r in line.defines()):
        return
    for position, operand in enumerate(line.operands[1:], 1):
        if INTEGER.match(operand) and abs(_number(operand)) >> 40:
            value = _number(operand) % (1 << 64)
            for bit in (62, 63, 32, 38, 16, 49):
                new = value ^ (1 << bit)
                yield _with(line, position, str(new - (1 << 64) if new >> 63 else new))


def registers(line, text):
    """One source register replaced by a neighbour's: the same operand of the next instructions with the same opcode."""
    if line.base in ("bra", "bar", "setp", "cvta", "call", "ret") or any(r in text.steering for r in line.defines()):
        return
    if line.parts[-1] in ("b64", "s64", "u64") and line.base not in ("wgmma",):
        return
    here = text.instructions.index(line)
    for other in text.instructions[here + 1:here + 6]:
        if other.op == line.op and len(other.operands) == len(line.operands):
            for position in range(1 if line.defines() else 0, len(line.operands)):
                mine, theirs = line.operands[position], other.operands[position]
                if mine != theirs and REGISTER.fullmatch(mine) and REGISTER.fullmatch(theirs):
                    if not mine.startswith("%rd") and theirs not in line.defines():
                        yield _with(line, position, theirs)
            return


def vector(line, text):
    """Two elements of a vector operand exchanged: lanes of a load or store, fragments of a matrix step."""
    for position, operand in enumerate(line.operands):
        if operand.startswith("{") and operand.count(",") >= 1:
            items = [i.strip() for i in operand.strip("{} ").split(",")]
            for a, b in ((0, 1), (len(items) - 2, len(items) - 1), (0, len(items) // 2)):
                if a != b and items[a] != items[b]:
                    new = list(items)
                    new[a], new[b] = new[b], new[a]
                    yield _with(line, position, "{" + ", ".join(new) + "}")


def matrix(line, text):
    if line.base in ("mma", "wgmma"):
        for old, new in (("f16", "bf16"), ("bf16", "f16"), ("e4m3", "e5m2"), ("e5m2", "e4m3")):
            types = [i for i, p in enumerate(line.parts) if p == old]
            if len(types) >= 2 and types[-1] == len(line.parts) - 1:  # wgmma: d.a.b
                parts = list(line.parts)
                parts[-1] = parts[-2] = new
                yield ".".join(parts), list(line.operands), None
            elif len(types) == 2 and line.base == "mma":  # mma: d.a.b.c
                parts = list(line.parts)
                for i in types:
                    parts[i] = new
                yield ".".join(parts), list(line.operands), None
    if line.base == "wgmma" and "mma_async" in line.parts:
        for position in range(4, len(line.operands)):
            if line.operands[position] in ("0", "1"):
                is_sign = position < 6
                new = "-1" if is_sign and line.operands[position] == "1" else str(1 - int(line.operands[position]))
                yield _with(line, position, new)
    if line.base in ("ldmatrix", "stmatrix"):
        parts = list(line.parts)
        if "trans" in parts:
            parts.remove("trans")
        else:
            parts.insert(parts.index("shared"), "trans")
        yield ".".join(parts), list(line.operands), None


def dropped(line, text):
    if line.base in ("st", "cp", "stmatrix") and "wait_group" not in line.parts and "commit_group" not in line.parts:
        yield DROP
    if line.base in ("add", "mul", "max", "min", "sub") and line.parts[-1] == "f32" and len(line.operands) == 3:
        if REGISTER.fullmatch(line.operands[1]):
            yield "mov.b32", line.operands[:2], None
    if line.base == "fma" and line.parts[-1] == "f32" and REGISTER.fullmatch(line.operands[3]):
        yield "mov.b32", [line.operands[0], line.operands[3]], None


def special(line, text):
    """Another special register or another parameter."""
    if line.base == "mov" and len(line.operands) == 2 and line.operands[0] not in text.steering:
        for old, new in (("%ctaid.x", "%ctaid.y"), ("%ctaid.y", "%ctaid.x"), ("%tid.x", "%tid.y"), ("%tid.y", "%tid.x")):
            if line.operands[1] == old:
                yield _with(line, 1, new)
    if line.base == "ld" and "param" in line.parts and line.parts[-1] in ("b64", "u64"):
        match = re.match(r"^\[(\w+_param_)(\d+)\]$", line.operands[1])
        if match:
            number = int(match[2])
            yield _with(line, 1, f"[{match[1]}{number - 1 if number else 1}]")


OPERATORS = {f.__name__: f for f in (operand_order, immediate, offset, predicate, modifier, seed, trip_count, shuffle, barrier,
                                     wait, swizzle, registers, vector, matrix, dropped, special)}


def mutations(text):
    """All (kind, line index, new line) of a text. An empty new line drops the instruction."""
    for line in text.instructions:
        for kind, operator in OPERATORS.items():
            for result in operator(line, text):
                if result == DROP:
                    yield kind, line.index, ""
                    continue
                op, operands, guard = result
                if guard is None:
                    guard = ("!" if line.negated else "") + line.guard if line.guard else ""
                yield kind, line.index, "\t" + (f"@{guard} " if guard else "") + f"{op} \t{', '.join(operands)};"
