"""Reads GGUF files, versions 2 and 3, little-endian: metadata and tensors, dequantised exactly."""

import math
import mmap
import os
import pathlib
import struct
from typing import Any, Dict, List, NamedTuple, Tuple, Union

import numpy as np

from samebits.heal.errors import HealError

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MOST_DIMENSIONS = 4


class Format(NamedTuple):
    """How a tensor is stored: `block_values` values in `block_bytes` bytes."""

    name: str
    block_values: int
    block_bytes: int


FORMATS = {
    0: Format("F32", 1, 4), 1: Format("F16", 1, 2), 2: Format("Q4_0", 32, 18), 3: Format("Q4_1", 32, 20),
    8: Format("Q8_0", 32, 34), 30: Format("BF16", 1, 2),
}


class TensorInfo(NamedTuple):
    shape: Tuple[int, ...]  # row-major: the fastest dimension last
    format: Format
    offset: int  # in the file
    size: int  # bytes


class GgufFile:
    """metadata: keys as in the file; tensors: name to TensorInfo."""

    def __init__(self, path: Union[str, os.PathLike]):
        self.path = pathlib.Path(path)
        try:
            with open(self.path, "rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file
            raise HealError(f"{self.path} cannot be read: {error}") from error
        self._at = 0
        self.metadata: Dict[str, Any] = {}
        self.tensors: Dict[str, TensorInfo] = {}
        self._read_header()

    def __enter__(self) -> "GgufFile":
        return self

    def __exit__(self, *_: Any) -> None:
        self._data.close()

    def get(self, key: str, kind: type) -> Any:
        """The value of `key`, which must be a `kind`."""
        value = self.metadata.get(key)
        if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
            found = "is missing" if value is None else f"is a {type(value).__name__}"
            raise HealError(f"{self.path}: metadata {key} {found}; a {kind.__name__} is needed")
        return value

    def values(self, name: str) -> np.ndarray:
        """The tensor's values as FP64, each exactly what the file says."""
        info = self.tensors.get(name)
        if info is None:
            raise HealError(f"{self.path} has no tensor {name}")
        raw = np.frombuffer(self._data, np.uint8, info.size, info.offset)
        return _DECODERS[info.format.name](raw.reshape(-1, info.format.block_bytes)).reshape(info.shape)

    def _fail(self, what: str) -> HealError:
        return HealError(f"{self.path}: {what} at byte {self._at}")

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise self._fail("the file ends early")
        self._at += size
        return self._data[self._at - size:self._at]

    def _scalar(self, code: str) -> Any:
        return struct.unpack(code, self._take(struct.calcsize(code)))[0]

    def _string(self) -> str:
        try:
            return self._take(self._scalar("<Q")).decode()
        except UnicodeDecodeError as error:
            raise self._fail("a string is not UTF-8") from error

    def _value(self, kind: int, inside_array: bool = False) -> Any:
        if kind in _SCALARS:
            return self._scalar(_SCALARS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY or inside_array:
            raise self._fail(f"type {kind} of a value is not known")
        element, count = self._scalar("<I"), self._scalar("<Q")
        if count > len(self._data) - self._at:  # an element is at least a byte
            raise self._fail(f"an array of {count} elements is longer than the file")
        return [self._value(element, True) for _ in range(count)]

    def _read_header(self) -> None:
        if self._take(4) != b"GGUF":
            raise HealError(f"{self.path} is no GGUF file")
        version = self._scalar("<I")
        if version not in (2, 3):
            raise HealError(f"{self.path}: GGUF version {version} is not supported (2 and 3 are)")
        tensors, keys = self._scalar("<Q"), self._scalar("<Q")
        if max(tensors, keys) > len(self._data):
            raise self._fail(f"{tensors} tensors and {keys} keys are more than the file can hold")
        for _ in range(keys):
            key = self._string()
            self.metadata[key] = self._value(self._scalar("<I"))
        infos = [self._tensor_info() for _ in range(tensors)]
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
            raise HealError(f"{self.path}: general.alignment {alignment!r} is not a size")
        start = -(-self._at // alignment) * alignment
        for name, info in infos:
            if start + info.offset + info.size > len(self._data):
                raise HealError(f"{self.path} is truncated: tensor {name} ends at byte {start + info.offset + info.size} "
                                f"of {len(self._data)}")
            self.tensors[name] = info._replace(offset=start + info.offset)

    def _tensor_info(self) -> Tuple[str, TensorInfo]:
        name, dimensions = self._string(), self._scalar("<I")
        if not 1 <= dimensions <= _MOST_DIMENSIONS:
            raise self._fail(f"tensor {name} has {dimensions} dimensions")
        extents: List[int] = [self._scalar("<Q") for _ in range(dimensions)]
        kind, offset = self._scalar("<I"), self._scalar("<Q")
        if kind not in FORMATS:
            known = ", ".join(f.name for f in FORMATS.values())
            raise HealError(f"{self.path}: tensor {name} is of type {kind}; these are read: {known}")
        chosen = FORMATS[kind]
        if extents[0] % chosen.block_values:
            raise HealError(f"{self.path}: rows of {extents[0]} values of tensor {name} are no whole blocks of {chosen.name}")
        size = math.prod(extents) // chosen.block_values * chosen.block_bytes
        return name, TensorInfo(tuple(reversed(extents)), chosen, offset, size)


def _f16(blocks: np.ndarray, at: int) -> np.ndarray:
    """The FP16 number at byte `at` of every block, as a column."""
    return np.ascontiguousarray(blocks[:, at:at + 2]).view("<f2").astype(np.float64)


def _nibbles(blocks: np.ndarray, at: int) -> np.ndarray:
    """16 bytes hold 32 numbers: first all low halves, then all high ones."""
    packed = blocks[:, at:at + 16]
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float64)


# Products of an FP16 scale and a small integer, and sums of two of their size, are exact in FP64.
_DECODERS = {
    "F32": lambda blocks: blocks.view("<f4").astype(np.float64),
    "F16": lambda blocks: blocks.view("<f2").astype(np.float64),
    "BF16": lambda blocks: (blocks.view("<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64),
    "Q4_0": lambda blocks: _f16(blocks, 0) * (_nibbles(blocks, 2) - 8),
    "Q4_1": lambda blocks: _f16(blocks, 0) * _nibbles(blocks, 4) + _f16(blocks, 2),
    "Q8_0": lambda blocks: _f16(blocks, 0) * np.ascontiguousarray(blocks[:, 2:]).view(np.int8),
}
