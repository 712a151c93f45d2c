"""Contents of buffers that anyone can make again (docs/inputs.md); core/inputs makes the same bytes in C++.

A buffer's bytes depend on seed, buffer name, type, length and distribution only. The source of randomness is Philox
4x64 keyed with the first 16 bytes of SHA-256 of "<seed>/<buffer>/<number of the distribution>", of which raw 64-bit
words are used; everything after that is exact arithmetic, so no library version can change it. Needs numpy.
"""
import hashlib

import numpy as np

# The position is the number of the distribution.
DISTRIBUTIONS = ("uniform", "normal", "scales", "unit", "integers", "sparse", "wide", "cancelling", "subnormals", "special",
                 "varied", "vanishing", "zeros", "ones")
SUBNORMALS, SPECIAL, VARIED, VANISHING, ZEROS, ONES = 8, 9, 10, 11, 12, 13
ITEM_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "f64": 8, "i32": 4, "i8": 1, "raw": 4}
# Bits of exponent and fraction.
FIELDS = {"f32": (8, 23), "f16": (5, 10), "bf16": (8, 7), "e4m3": (4, 3), "e5m2": (5, 2), "f64": (11, 52)}
SCALES = {"f32": (-12, 11), "bf16": (-12, 11), "f16": (-6, 5), "e4m3": (-4, 3), "e5m2": (-6, 5), "f64": (-12, 11)}
WIDE = {"f32": (-148, 20), "bf16": (-132, 20), "f16": (-24, 8), "e4m3": (-9, 7), "e5m2": (-16, 10), "f64": (-1074, 60)}
VARIED_RANGE = (-8, 1)
VANISHING_RANGE = {"f32": (-76, -62), "bf16": (-76, -62), "f16": (-13, -6), "e4m3": (-5, -2), "e5m2": (-8, -6), "f64": (-540, -510)}


def _fp8_values(exponent_bits, mantissa_bits):
    """Non-negative finite values below the largest exponent, ascending; position = bit pattern."""
    bias = (1 << (exponent_bits - 1)) - 1
    top = (1 << (exponent_bits + mantissa_bits)) - (1 << mantissa_bits)
    code = np.arange(top)
    exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    normal = np.ldexp(mantissa + float(1 << mantissa_bits), exponent - bias - mantissa_bits)
    return np.where(exponent == 0, np.ldexp(mantissa.astype(float), 1 - bias - mantissa_bits), normal)


FP8 = {"e4m3": _fp8_values(4, 3), "e5m2": _fp8_values(5, 2)}


def _words(seed, name, draw, count):
    key = int.from_bytes(hashlib.sha256(f"{seed}/{name}/{draw}".encode()).digest()[:16], "little")
    return np.random.Philox(key=key).random_raw(count)


def _powers(words, u, limits):
    """s (1 + u) 2^e with e from bits 1 to 15 of the word."""
    low, high = limits
    exponent = low + ((words >> np.uint64(1)) & np.uint64(0x7FFF)).astype(np.int64) % (high - low + 1)
    return np.ldexp(np.where(words & np.uint64(1), -1.0, 1.0) * (1.0 + u), exponent)


def _reals(words, dtype, draw, values):
    u = (words >> np.uint64(40)).astype(np.float64) / (1 << 24)
    v = ((words >> np.uint64(16)) & np.uint64(0xFFFFFF)).astype(np.float64) / (1 << 24)
    if values == "unit" or draw == 3:
        return u
    if draw in (0, SUBNORMALS, SPECIAL):
        return 2.0 * u - 1.0
    if draw == 1:
        parts = [((words >> np.uint64(shift)) & np.uint64(0xFFF)).astype(np.float64) for shift in (52, 40, 28, 16)]
        return sum(parts) / 4096.0 - 2.0
    if draw == 2:
        return _powers(words, u, SCALES[dtype])
    if draw == 4:
        return np.floor(u * 17.0) - 8.0
    if draw == 5:
        zero = np.where(words & np.uint64(1), -0.0, 0.0)
        return np.where(v < 0.75, zero, 8.0 * u - 4.0)
    if draw == 6:
        return _powers(words, u, WIDE[dtype])
    if draw == VARIED:
        return _powers(words, u, VARIED_RANGE)
    if draw == VANISHING:
        return _powers(words, u, VANISHING_RANGE[dtype])
    if draw == ZEROS:
        return np.where(v < 1 / 1024, 0.0, -0.0)
    if draw == ONES:
        return np.where(words & np.uint64(1), -1.0, 1.0) * (1.0 + (2.0 * u - 1.0) / 64.0)
    return 3.0 + u / 16.0


def _patterns(words, dtype, draw, encoded):
    """Replaces elements of the distributions that are made of bits."""
    exponent_bits, fraction = FIELDS[dtype]
    one = np.uint64(1)
    sign = (words & one) << np.uint64(exponent_bits + fraction)
    if draw == SUBNORMALS:
        return (sign | words >> np.uint64(64 - fraction)).astype(encoded.dtype)
    top, bias = ((1 << exponent_bits) - 1) << fraction, (1 << (exponent_bits - 1)) - 1
    magnitudes = np.array([0, 1, (1 << fraction) - 1, 1 << fraction, bias << fraction, top - 1, top,
                           top | 1 << (fraction - 1), top | 1], np.uint64)
    special = sign | magnitudes[(words >> one) % np.uint64(len(magnitudes))]
    chosen = ((words >> np.uint64(16)) & np.uint64(0xFFFFFF)) < (1 << 23)
    return np.where(chosen, special, encoded).astype(encoded.dtype)


def _encode(reals, dtype):
    if dtype == "f64":
        return reals
    if dtype == "f32":
        return reals.astype(np.float32)
    if dtype == "f16":
        return reals.astype(np.float16)
    if dtype == "bf16":
        bits = reals.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    table = FP8[dtype]
    code = np.clip(np.searchsorted(table, np.abs(reals), side="right") - 1, 0, len(table) - 1)
    return (code | np.where(np.signbit(reals), 128, 0)).astype(np.uint8)


def buffer_bytes(seed, name, buffer, draw):
    """Contents of one buffer as an array of bytes.

    buffer: dtype, elements; for integers low and high (below which values lie), default 0 and 100; for floats values,
    "unit" for values in [0, 1) on every distribution. draw: number of the distribution.
    """
    dtype, count = buffer["dtype"], buffer["elements"]
    words = _words(seed, name, draw, count)
    if dtype in ("i32", "i8"):
        low, high = buffer.get("low", 0), buffer.get("high", 100)
        values = (words % np.uint64(high - low)).astype(np.int64) + low
        return values.astype(np.int32 if dtype == "i32" else np.int8).view(np.uint8)
    if dtype == "raw":  # valid as f16 pairs, as bf16 pairs and as small f32 alike: each half in +-[0.25, 2)
        halves = (words[:, None] >> np.array([0, 16], np.uint64)).astype(np.uint16)
        return (0x3400 + halves % 0x0C00 + (halves >> 15 << 15)).astype(np.uint16).reshape(-1).view(np.uint8)
    values = buffer.get("values", "any")
    encoded = _encode(_reals(words, dtype, draw, values), dtype)
    if draw in (SUBNORMALS, SPECIAL) and values != "unit":
        return _patterns(words, dtype, draw, encoded.view(f"u{ITEM_BYTES[dtype]}")).view(np.uint8)
    return encoded.view(np.uint8)
