"""Inputs of the corpus: what each buffer of a group holds on each draw, the same on every machine.

A buffer's bytes depend on (group, buffer name, draw) only. The source of randomness is Philox 4x64 keyed with the
first 16 bytes of SHA-256 of "<group>/<buffer>/<draw>", of which raw 64-bit words are used; everything after that is
exact arithmetic, so no library version can change it. Word i gives element i: u = its upper 24 bits / 2^24, v = the
next 24 bits / 2^24, s = sign from its lowest bit.

Draws of floating-point buffers:
  0 uniform   2u - 1
  1 bell      sum of four uniforms in [0, 1) minus 2 (12 bits each)
  2 scales    s (1 + u) 2^e, e uniform over a range of the type: sums lose low bits
  3 unit      u
  4 integers  -8 .. 8: sums are exact and every order agrees
  5 sparse    three quarters zeros of either sign, else 8u - 4
  6 wide      as scales over nearly the whole exponent range, subnormals included
  7 offset    3 + u / 16: equal leading bits, so differences cancel
Buffers with values "unit" hold u on every draw. Integer buffers hold low + word mod (high - low).
Values are rounded to the type: to nearest even for f16, bf16 and f32, toward zero for the 8-bit types.
"""
import hashlib

import numpy as np

DRAWS = 8
ITEM_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "i32": 4, "i8": 1, "raw": 4}
SCALES = {"f32": (-12, 11), "bf16": (-12, 11), "f16": (-6, 5), "e4m3": (-4, 3), "e5m2": (-6, 5)}
WIDE = {"f32": (-148, 20), "bf16": (-132, 20), "f16": (-24, 8), "e4m3": (-9, 7), "e5m2": (-16, 10)}


def _fp8_values(exponent_bits, mantissa_bits):
    """Non-negative finite values below the largest exponent, ascending; position = bit pattern."""
    bias = (1 << (exponent_bits - 1)) - 1
    top = (1 << (exponent_bits + mantissa_bits)) - (1 << mantissa_bits)
    code = np.arange(top)
    exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    normal = np.ldexp(mantissa + float(1 << mantissa_bits), exponent - bias - mantissa_bits)
    return np.where(exponent == 0, np.ldexp(mantissa.astype(float), 1 - bias - mantissa_bits), normal)


FP8 = {"e4m3": _fp8_values(4, 3), "e5m2": _fp8_values(5, 2)}


def _words(group, name, draw, count):
    key = int.from_bytes(hashlib.sha256(f"{group}/{name}/{draw}".encode()).digest()[:16], "little")
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
    if draw == 0:
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
    return 3.0 + u / 16.0


def _encode(reals, dtype):
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


def buffer_bytes(group, name, buffer, draw):
    """Contents of one buffer on one draw, as an array of bytes."""
    dtype, count = buffer["dtype"], buffer["elements"]
    words = _words(group, name, draw, count)
    if dtype in ("i32", "i8"):
        low, high = buffer.get("low", 0), buffer.get("high", 100)
        values = (words % np.uint64(high - low)).astype(np.int64) + low
        return values.astype(np.int32 if dtype == "i32" else np.int8).view(np.uint8)
    if dtype == "raw":  # valid as f16 pairs, as bf16 pairs and as small f32 alike: each half in +-[0.25, 2)
        halves = (words[:, None] >> np.array([0, 16], np.uint64)).astype(np.uint16)
        return (0x3400 + halves % 0x0C00 + (halves >> 15 << 15)).astype(np.uint16).reshape(-1).view(np.uint8)
    return _encode(_reals(words, dtype, draw, buffer.get("values", "any")), dtype).view(np.uint8)
