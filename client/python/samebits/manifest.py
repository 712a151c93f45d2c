"""Launches in a file of JSON lines, the manifest of the command line (docs/cli.md)."""

import dataclasses
import difflib
import json
import os
import pathlib
from typing import Any, Dict, List, Tuple, Union

from samebits import launches
from samebits.errors import Code, make_error
from samebits.v1 import launch_pb2, verification_pb2

_ROW_KEYS = ("id", "path", "entry", "block", "grid", "shared", "args", "outputs", "buffers")
_INTEGERS = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "i64": (-(2**63), 2**63 - 1), "u64": (0, 2**64 - 1)}
_MOST_BYTES = 1 << 30


@dataclasses.dataclass(frozen=True)
class Manifest:
    """launches: pairs (id, launch), in the file's order. buffers: what the rows say of the buffers, each name once."""

    launches: List[Tuple[str, launch_pb2.KernelLaunch]]
    buffers: List[verification_pb2.BufferSpec]


def _bad(place: str, what: str) -> Exception:
    return make_error(Code.INVALID_ARGUMENT, f"{place}: {what}")


def _pattern(text: Any, width: int, place: str) -> Any:
    """The bits of "0x..."; None where it is none."""
    if not isinstance(text, str) or not text.lower().startswith("0x"):
        return None
    try:
        bits = int(text, 16)
    except ValueError:
        raise _bad(place, f"{text!r} is no pattern; write 0x and hexadecimal digits") from None
    if bits >> width:
        raise _bad(place, f"{text} has more than {width} bits")
    return bits


def _integer(kind: str, value: Any, place: str) -> launch_pb2.Argument:
    width = int(kind[1:])
    bits = _pattern(value, width, place)
    try:
        number = int(value) if bits is None else bits
    except ValueError:
        raise _bad(place, f"{value!r} is no integer") from None
    low, high = _INTEGERS[kind]
    if bits is not None and kind[0] == "i" and bits > high:
        number = bits - 2**width
    if not low <= number <= high or (isinstance(value, float) and value != number):
        raise _bad(place, f"{value!r} is out of range of {kind}")
    return launches.integer(number)


def _float(kind: str, value: Any, place: str) -> launch_pb2.Argument:
    bits = _pattern(value, int(kind[1:]), place)
    if bits is not None:
        return launch_pb2.Argument(**{f"float{kind[1:]}_bits": bits})
    try:
        number = float(value)
        if number != number:
            raise _bad(place, "which NaN? write its pattern, such as \"0x7fc00000\"")
        return launches.f32(number) if kind == "f32" else launches.f64(number)
    except (ValueError, OverflowError):
        raise _bad(place, f"{value!r} is no number that {kind} holds") from None


def _argument(value: Any, place: str) -> launch_pb2.Argument:
    if value is None:
        return launches.unknown()
    if not isinstance(value, dict) or len(value) != 1:
        raise _bad(place, "null, or an object with one of ptr, scratch, i32, u32, i64, u64, f32, f64, bytes is expected")
    (kind, content), = value.items()
    if kind == "ptr" and (content is None or isinstance(content, str)):
        return launches.pointer(content or "")
    if kind == "scratch" and content is True:
        return launches.scratch()
    if isinstance(content, (str, int, float)) and not isinstance(content, bool):
        if kind in _INTEGERS:
            return _integer(kind, content, place)
        if kind in ("f32", "f64"):
            return _float(kind, content, place)
        if kind == "bytes" and isinstance(content, str):
            try:
                return launches.aggregate(bytes.fromhex(content))
            except ValueError:
                raise _bad(place, f"{content[:80]!r} is not two hexadecimal digits a byte") from None
    if kind == "bits":
        raise _bad(place, "a pattern without a type: write {\"f32\": \"0x...\"} or {\"i32\": \"0x...\"}")
    raise _bad(place, f"{json.dumps(value)[:80]} is no argument")


def _launch(row: Dict[str, Any], text: bytes, place: str) -> launch_pb2.KernelLaunch:
    args = row.get("args")
    if args is not None and not isinstance(args, list):
        raise _bad(f"{place}: args", "an array is expected")
    shared = row.get("shared") or 0
    if not isinstance(shared, int) or not 0 <= shared < 2**32:
        raise _bad(f"{place}: shared", "a number of bytes below 2^32 is expected")
    dims: Dict[str, Any] = {}
    for key in ("block", "grid"):
        value = row.get(key)
        value = [value] if isinstance(value, int) else value
        fits = isinstance(value, list) and 1 <= len(value) <= 3 and all(isinstance(x, int) and 0 < x < 2**32 for x in value)
        if not fits and not (key == "grid" and value is None):
            raise _bad(f"{place}: {key}", "write [X, Y, Z]")
        dims[key] = value
    outputs = row.get("outputs")
    named = isinstance(outputs, list) and outputs and all(isinstance(o, str) for o in outputs)
    if outputs is not None and not named:
        raise _bad(f"{place}: outputs", "an array of buffer names, or null for all, is expected")
    return launches.launch(
        text=text, block=dims["block"], grid=dims["grid"], entry=row.get("entry") or "", shared_bytes=shared,
        args=None if args is None else [_argument(value, f"{place}: args[{i}]") for i, value in enumerate(args)],
        outputs=outputs or ())


def _row(line: str, place: str) -> Dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _bad(place, f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise _bad(place, "a JSON object is expected")
    for key in row:
        near = difflib.get_close_matches(key.lower(), _ROW_KEYS, 1, 0.75)
        if key not in _ROW_KEYS and near:
            raise _bad(place, f"unknown key {key!r}; did you mean {near[0]!r}?")
    for key in ("id", "path", "entry"):
        if not isinstance(row.get(key, ""), str):
            raise _bad(f"{place}: {key}", "a string is expected")
    if not row.get("path"):
        raise _bad(place, "no \"path\"; name the kernel's text")
    return row


def _read(path: pathlib.Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _bad(str(path), f"larger than {_MOST_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        code = Code.NOT_FOUND if isinstance(error, FileNotFoundError) else Code.INVALID_ARGUMENT
        raise make_error(code, f"{path}: {error.strerror}") from None


def read_manifest(path: Union[str, "os.PathLike[str]"]) -> Manifest:
    """Reads a manifest and the texts that it names, relative to its own folder.

    A row is a JSON object with path, and id (default: the path), entry, block, grid, shared, args, outputs, buffers as
    docs/cli.md says. SamebitsError that names the line of the first row that cannot be used.
    """
    path = pathlib.Path(path)
    pairs: List[Tuple[str, launch_pb2.KernelLaunch]] = []
    specs: Dict[str, verification_pb2.BufferSpec] = {}
    seen: Dict[str, int] = {}
    for number, line in enumerate(_read(path).decode(errors="replace").split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        row = _row(line, place)
        launch_id = row.get("id") or row["path"]
        if launch_id in seen:
            raise _bad(place, f"id {launch_id!r} is that of line {seen[launch_id]}; ids must differ")
        seen[launch_id] = number
        pairs.append((launch_id, _launch(row, _read(path.parent / row["path"]), place)))
        for spec in launches.buffer_specs(row.get("buffers") or {}, f"{place}: buffers"):
            if specs.setdefault(spec.name, spec) != spec:
                raise _bad(place, f"buffer {spec.name!r} is described otherwise by an earlier row")
    if not pairs:
        raise _bad(str(path), "the manifest has no rows")
    return Manifest(pairs, list(specs.values()))
