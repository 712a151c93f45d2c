"""Messages that describe launches."""

import struct

from samebits.v1 import launch_pb2


def pointer(buffer=""):
    """Device buffer. Equal names are the same buffer; without a name its position counts."""
    return launch_pb2.Argument(pointer=launch_pb2.Argument.Pointer(buffer=buffer))


def integer(value):
    """Integer of any width up to 64, signed or unsigned."""
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"{value} does not fit 64 bits")
    return launch_pb2.Argument(integer=value if value < 2**63 else value - 2**64)


def f32(value):
    return launch_pb2.Argument(float32_bits=struct.unpack("<I", struct.pack("<f", value))[0])


def f64(value):
    return launch_pb2.Argument(float64_bits=struct.unpack("<Q", struct.pack("<d", value))[0])


def scratch():
    """Pointer to memory whose contents are not compared."""
    return launch_pb2.Argument(scratch=launch_pb2.Argument.Scratch())


def aggregate(data):
    """By-value struct, as laid out in memory."""
    return launch_pb2.Argument(aggregate=data)


def unknown():
    """An argument of any value."""
    return launch_pb2.Argument()


def _dim(dim):
    x, y, z = (tuple(dim) + (1, 1))[:3]
    return launch_pb2.Dim3(x=x, y=y, z=z)


def launch(*, kernel=None, text=None, block, grid=None, entry="", shared_bytes=0, args=None, outputs=()):
    """A registered kernel (its resource name) or a text (str or bytes), and how it is launched.

    `block` and `grid` are tuples of up to three numbers; without a grid the answer is for every grid. `args` is a list
    made with the functions above; without it all arguments are unknown.
    """
    if (kernel is None) == (text is None):
        raise ValueError("give either kernel or text")
    message = launch_pb2.Launch(entry=entry, block=_dim(block), shared_bytes=shared_bytes, outputs=outputs)
    if grid is not None:
        message.grid.CopyFrom(_dim(grid))
    if args is not None:
        message.args.SetInParent()
        message.args.arguments.extend(args)
    if kernel is not None:
        return launch_pb2.KernelLaunch(kernel=kernel, launch=message)
    return launch_pb2.KernelLaunch(text=text.encode() if isinstance(text, str) else text, launch=message)
