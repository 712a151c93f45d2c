"""A PTX text as lines, of which some are single instructions; enough to change one of them and know what it steers."""
import dataclasses
import re

INSTRUCTION = re.compile(r"^(?P<head>\s*)(?:@(?P<neg>!?)(?P<guard>%\w+)\s+)?(?P<op>[a-z][\w.:]*)\s*(?P<args>[^;]*);\s*$")
LABEL = re.compile(r"^\s*(\$?[A-Za-z_][\w$]*):\s*$")
REGISTER = re.compile(r"%[a-z]+\d+\b")
NOT_CODE = (".reg", ".loc", ".file", ".param", ".local", ".shared", ".pragma", ".section", ".const", ".global")


@dataclasses.dataclass
class Line:
    """One instruction. `operands` are split at top-level commas; the first is the destination where there is one."""
    index: int
    guard: str
    negated: bool
    op: str
    operands: list

    @property
    def base(self):
        return self.op.split(".")[0]

    @property
    def parts(self):
        return self.op.split(".")

    def defines(self):
        """Registers written."""
        if self.base in ("st", "bra", "bar", "ret", "cp", "red", "membar", "fence", "call", "stmatrix"):
            return []
        return REGISTER.findall(self.operands[0]) if self.operands else []

    def uses(self):
        first = 0 if not self.defines() else 1
        used = [r for operand in self.operands[first:] for r in REGISTER.findall(operand)]
        return used + ([self.guard] if self.guard else [])


def split_operands(text):
    out, depth, current = [], 0, ""
    for char in text:
        depth += (char in "{[(") - (char in "}])")
        if char == "," and depth == 0:
            out.append(current.strip())
            current = ""
        else:
            current += char
    return out + [current.strip()] if current.strip() else out


class Text:
    """Lines, instructions by line number (0-based) and what a mutation must not touch."""

    def __init__(self, source):
        self.lines = source.split("\n")
        self.instructions, self.labels = [], {}
        for index, raw in enumerate(self.lines):
            code = raw.split("//")[0].rstrip()
            label = LABEL.match(code)
            if label:
                self.labels[label.group(1)] = index
            match = INSTRUCTION.match(code)
            if match and not code.strip().startswith(NOT_CODE):
                self.instructions.append(Line(index, match["guard"], bool(match["neg"]), match["op"],
                                              split_operands(match["args"])))
        self.loops = [(self.labels[line.operands[0]], line.index) for line in self.branches()
                      if self.labels.get(line.operands[0], line.index) < line.index]
        self.steering = self._steering()

    def branches(self):
        return [line for line in self.instructions if line.base == "bra" and line.operands]

    def _steering(self):
        """Registers that decide whether a loop goes on: changing them freely makes kernels that never end."""
        defined = {}
        for line in self.instructions:
            for register in line.defines():
                defined.setdefault(register, []).append(line)
        closing = {end for _, end in self.loops}
        pending = [line.guard for line in self.branches() if line.index in closing and line.guard]
        for first, last in self.loops:  # a loop may also be left from its middle
            pending += [line.guard for line in self.branches() if first <= line.index <= last and line.guard]
        seen = set()
        while pending:
            register = pending.pop()
            if register in seen:
                continue
            seen.add(register)
            for line in defined.get(register, []):
                if line.base not in ("ld", "shfl", "mma", "wgmma"):
                    pending += line.uses()
        return seen

    def in_loop(self, line):
        return any(first <= line.index <= last for first, last in self.loops)

    def spans_barrier(self, line):
        """Whether a forward branch jumps over a barrier or a warp-wide instruction."""
        target = self.labels.get(line.operands[0], line.index)
        wide = ("bar", "barrier", "mma", "wgmma", "ldmatrix", "stmatrix", "shfl", "vote", "redux", "wmma", "call", "ret")
        return any(line.index < other.index < target and other.base in wide for other in self.instructions)
