"""What the GPU returns for approximate functions: one-instruction kernels, made as they are asked for.

A function is spelled as the evaluator does: name and attributes of the expression node ("ex2.approx.ftz.f32",
"fdiv.full.f32"). The instruction is the same without the leading f of floating-point arithmetic.
"""
import concurrent.futures
import ctypes
import pathlib
import re

import numpy as np

import assemble

BLOCK = 256
REGISTERS = {"f32": ("%w", "b32"), "f64": ("%d", "b64"), "f16": ("%h", "b16"), "bf16": ("%h", "b16")}
INSTRUCTION = re.compile(r"(?:ex2|lg2|sin|cos|tanh|rcp|sqrt|rsqrt|div)(?:\.(?:approx|full|ftz))*\.(f32|f64|f16|bf16)$")


def instruction_of(name):
    """(PTX spelling, type)."""
    spelling = name[1:] if re.match(r"f(?:div|rcp|sqrt|rsqrt)\b", name) else name
    match = INSTRUCTION.match(spelling)
    if not match:
        raise ValueError(f"no approximate function: {name}")
    if spelling.startswith(("ex2", "lg2", "sin", "cos", "tanh", "rsqrt")) and ".approx" not in spelling:
        head, _, rest = spelling.partition(".")
        spelling = f"{head}.approx.{rest}"
    return spelling, match.group(1)


def kernel_of(name, operands):
    """PTX that maps records of `operands` 64-bit words to one 64-bit word each."""
    spelling, kind = instruction_of(name)
    register, bits = REGISTERS[kind]
    narrow = "mov.b64 {0}, %x;" if kind == "f64" else f"cvt.u{bits[1:]}.u64 {{0}}, %x;"
    widen = "mov.b64 %x, {0};" if kind == "f64" else f"cvt.u64.u{bits[1:]} %x, {{0}};"
    loads = "\n".join(f"  ld.global.b64 %x, [%p + {8 * i}];\n  " + narrow.format(f"{register}{i + 1}") for i in range(operands))
    sources = ", ".join(f"{register}{i + 1}" for i in range(operands))
    return f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry ask(.param .u64 from, .param .u64 to, .param .u32 count)
{{
  .reg .pred %q;
  .reg .b16 %h<4>;
  .reg .b32 %w<4>, %i, %n, %b, %t;
  .reg .b64 %d<4>, %x, %p, %o, %a;
  mov.u32 %b, %ctaid.x;
  mov.u32 %t, %tid.x;
  mad.lo.u32 %i, %b, {BLOCK}, %t;
  ld.param.u32 %n, [count];
  setp.ge.u32 %q, %i, %n;
  @%q ret;
  ld.param.u64 %p, [from];
  ld.param.u64 %o, [to];
  mul.wide.u32 %a, %i, {8 * operands};
  add.u64 %p, %p, %a;
  mul.wide.u32 %a, %i, 8;
  add.u64 %o, %o, %a;
{loads}
  {spelling} {register}0, {sources};
  {widen.format(register + "0")}
  st.global.b64 [%o], %x;
  ret;
}}
"""


class Asker:
    """Owns a context, in a thread of its own; may be called from any thread."""

    def __init__(self, scratch):
        self._scratch = pathlib.Path(scratch)
        self._scratch.mkdir(parents=True, exist_ok=True)
        self._thread = concurrent.futures.ThreadPoolExecutor(1)
        self._functions, self._driver, self.asked = {}, None, 0

    def on_device(self, work):
        """work(driver), in the context's thread."""
        return self._thread.submit(lambda: work(self._start())).result()

    def _start(self):
        if self._driver is None:
            from cuda_driver import Driver
            self._driver = Driver()
        return self._driver

    def answers(self, name, questions):
        """The result's pattern for each record of `questions`, an array of 64-bit words of shape (records, operands)."""
        return self.on_device(lambda driver: self._run(driver, name, np.ascontiguousarray(questions, np.uint64)))

    def _run(self, driver, name, questions):
        count, operands = questions.shape
        results = np.empty(count, np.uint64)
        if count == 0:
            return results
        function = self._function(driver, name, operands)
        source, target = driver.allocate(questions.nbytes), driver.allocate(results.nbytes)
        driver.upload(source, questions)
        driver.launch(function, (-(-count // BLOCK), 1, 1), (BLOCK, 1, 1), 0,
                      [ctypes.c_uint64(source), ctypes.c_uint64(target), ctypes.c_uint32(count)])
        driver.download(results, target)
        driver.free(source)
        driver.free(target)
        self.asked += count
        return results

    def _function(self, driver, name, operands):
        key = name, operands
        if key not in self._functions:
            path = self._scratch / f"{name}.{operands}.cubin"
            error = assemble.assemble(kernel_of(name, operands), path)
            if error:
                raise ValueError(f"{name}: {error}")
            self._functions[key] = driver.load(path.read_bytes(), "ask", 0)
        return self._functions[key][1]


class Oracle:
    """Recorded answers: by function, records of operands and result, ascending. File form: oracle_table.h."""

    def __init__(self):
        self.tables = {}

    def add(self, name, questions, results):
        rows = np.column_stack([questions, results]).astype(np.uint64)
        if name in self.tables:
            rows = np.vstack([self.tables[name], rows])
        order = np.lexsort(tuple(rows[:, c] for c in reversed(range(rows.shape[1] - 1))))
        self.tables[name] = rows[order]

    def size(self):
        return sum(len(rows) for rows in self.tables.values())

    def write(self, path):
        write_sections(path, self.tables)


def write_sections(path, tables):
    with open(path, "wb") as out:
        for name, rows in tables.items():
            out.write(f"{name} {rows.shape[1]} {rows.shape[0]}\n".encode())
            out.write(np.ascontiguousarray(rows, "<u8").tobytes())


def read_sections(path):
    """{function: array of records}."""
    data, at, tables = pathlib.Path(path).read_bytes(), 0, {}
    while at < len(data):
        end = data.index(b"\n", at)
        name, words, records = data[at:end].decode().split()
        count = int(words) * int(records)
        tables[name] = np.frombuffer(data, "<u8", count, end + 1).reshape(int(records), int(words))
        at = end + 1 + 8 * count
    return tables
