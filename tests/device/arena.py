"""The memory that a group's kernels run in: its buffers with guard zones, restored from an image before each launch.

One allocation holds, in the middle, the buffers in manifest order, each between guard zones. Wrong addresses near a
buffer meet a guard, addresses further off meet the rest of the allocation, and only wild ones fault.
"""
import ctypes
import hashlib

import numpy as np

import inputs

GUARD = 256 * 1024
GUARD_BYTE = 0xC3
POISON = 0x5A
ALIGN = 4096
ALLOCATION = 768 << 20
MARGIN = 256 << 20
SCRATCH = 1 << 20

SCALARS = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float}
FALLBACK_ELEMENTS = 4 << 20


def buffers_of(row):
    """The row's buffers; for rows that do not describe them, every pointer becomes a large in-and-out buffer."""
    if "buffers" in row:
        return row["buffers"]
    names = [arg["ptr"] for arg in row["args"] if "ptr" in arg]
    return {name: {"dtype": "raw", "elements": FALLBACK_ELEMENTS, "role": "inout"} for name in names}


def bytes_of(buffer):
    return buffer["elements"] * inputs.ITEM_BYTES[buffer["dtype"]]


def layout(buffers):
    """Offsets of the buffers, each between guard zones, of the scratch area behind them, and the size of all."""
    offsets, end = {}, GUARD
    for name, buffer in buffers.items():
        offsets[name] = end
        end += -(-bytes_of(buffer) // ALIGN) * ALIGN + GUARD
    return offsets, end, end + SCRATCH + GUARD


def parameters(args, base, offsets, scratch_offset):
    """Kernel parameters as ctypes scalars."""
    out = []
    for arg in args:
        (kind, value), = arg.items()
        if kind == "ptr":
            out.append(ctypes.c_uint64(base + offsets[value]))
        elif kind == "scratch":
            out.append(ctypes.c_uint64(base + scratch_offset))
        else:
            out.append(SCALARS[kind](value))
    return out


class Arena:
    """Buffers of one group on the device. `draws` images of the whole region are kept there as well."""

    def __init__(self, driver, base, group, buffers, outputs, fills=()):
        """base: address of an allocation of ALLOCATION bytes that this arena may use. fills: draws besides those of
        inputs.py, each a map from buffer to the 32-bit pattern that fills it; buffers not named hold zeros."""
        self.driver, self.group, self.buffers, self.fills = driver, group, buffers, fills
        self.draws = draws = inputs.DRAWS + len(fills)
        self.outputs = list(outputs) if outputs else [n for n, b in buffers.items() if b["role"] != "in"]
        self.offsets, self.scratch_offset, self.size = layout(buffers)
        if self.size > ALLOCATION - 2 * MARGIN:
            raise ValueError(f"{group}: buffers of {self.size} bytes do not fit")
        self.base = base + MARGIN
        self.images = driver.allocate(self.size * draws)
        self._mask = np.ones(self.size, bool)  # bytes that no kernel may change
        for name in buffers:
            if buffers[name]["role"] != "in":
                self._mask[self.offsets[name]:self.offsets[name] + self.bytes_of(name)] = False
        self._mask[self.scratch_offset:self.scratch_offset + SCRATCH] = False
        for draw in range(draws):
            image = self._image(draw)
            driver.upload(self.images + draw * self.size, image)
            if draw == 0:
                self._pristine = image[self._mask]
        self._back = np.empty(self.size, np.uint8)

    def release(self):
        self.driver.free(self.images)

    def bytes_of(self, name):
        return bytes_of(self.buffers[name])

    def _image(self, draw):
        image = np.full(self.size, GUARD_BYTE, np.uint8)
        image[self.scratch_offset:self.scratch_offset + SCRATCH] = 0
        for name, buffer in self.buffers.items():
            at = slice(self.offsets[name], self.offsets[name] + self.bytes_of(name))
            if buffer["role"] == "out":
                image[at] = POISON
            elif draw < inputs.DRAWS:
                image[at] = inputs.buffer_bytes(self.group, name, buffer, draw)
            else:
                pattern = self.fills[draw - inputs.DRAWS].get(name, 0)
                image[at] = np.resize(np.array([pattern], np.uint32).view(np.uint8), self.bytes_of(name))
        return image

    def values(self, args):
        return parameters(args, self.base, self.offsets, self.scratch_offset)

    def run(self, function, row, values, draw):
        """Restores the draw's image, launches, and returns the digest of the outputs."""
        self.driver.copy(self.base, self.images + draw * self.size, self.size)
        self.driver.launch(function, row["grid"], row["block"], row["shared"], values)
        digest = hashlib.sha256()
        for name in self.outputs:
            back = self._back[:self.bytes_of(name)]
            self.driver.download(back, self.base + self.offsets[name])
            digest.update(back)
        return digest.hexdigest()[:16]

    def guards_intact(self):
        """Whether the last launch, which must have been on draw 0, left inputs and guard zones as they were."""
        self.driver.download(self._back, self.base)
        return bool(np.array_equal(self._back[self._mask], self._pristine))


def run_kernel(driver, arena, row, image):
    """All draws twice: {digests, stable, guards}. Draw 0 runs last so that the guards can be compared."""
    module, function = driver.load(image, row["entry"], row["shared"])
    values = arena.values(row["args"])
    digests = [arena.run(function, row, values, draw) for draw in range(arena.draws)]
    again = [arena.run(function, row, values, draw) for draw in reversed(range(arena.draws))]
    intact = arena.guards_intact()
    driver.unload(module)
    return {"digests": digests, "stable": again[::-1] == digests, "guards": intact}
