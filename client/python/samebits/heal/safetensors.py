"""Writes BF16 tensors as a safetensors file."""

import json
import os
import pathlib
from typing import Callable, Dict, Tuple

import numpy as np

from samebits.heal.errors import HealError


def round_to_bf16(values: np.ndarray, what: str) -> np.ndarray:
    """FP64 values as BF16 patterns: rounded once, to nearest, ties to even. `what` names them in errors."""
    values = np.ascontiguousarray(values, np.float64)
    if not np.isfinite(values).all():
        raise HealError(f"{what} has values that are not finite")
    # Round FP64 to 8 significand bits in place of its 53; BF16's subnormals have fewer, so below its normal range the
    # kept bits are multiples of 2^-133.
    exponent = np.maximum(np.frexp(values)[1], -125)
    rounded = np.ldexp(np.rint(np.ldexp(values, 8 - exponent)), exponent - 8)
    with np.errstate(over="ignore"):  # refused below
        patterns = rounded.astype(np.float32).view(np.uint32) >> 16
    if (patterns & 0x7FFF >= 0x7F80).any():
        raise HealError(f"{what} has values beyond the range of BF16")
    return patterns.astype(np.uint16)


def write(path: pathlib.Path, tensors: Dict[str, Tuple[Tuple[int, ...], Callable[[], np.ndarray]]]) -> None:
    """tensors: name to shape and what makes its BF16 patterns, which is called in order, one tensor in memory at once.
    The file appears under its name only when it is whole."""
    header, offset = {}, 0
    for name, (shape, _) in tensors.items():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for name, (shape, make) in tensors.items():
                patterns = make()
                if patterns.shape != tuple(shape) or patterns.dtype != np.uint16:
                    raise ValueError(f"{name}: {patterns.dtype} {patterns.shape}, declared {shape}")
                file.write(patterns.astype("<u2").tobytes())
        os.replace(part, path)
    except OSError as error:
        raise HealError(f"{path} cannot be written: {error}; {offset >> 20} MiB are needed") from error
    finally:
        part.unlink(missing_ok=True)
