"""How the cuts of a GEMM descriptor part the contracted axis (core/gemm/gemm_desc.h states it)."""

from samebits.v1 import gemm_pb2

_LAYOUTS = gemm_pb2.GemmDesc.Cut.Layout


def part_count(cut, length):
    """Parts of an axis of `length` elements that hold some."""
    return max(1, min(cut.count, -(-length // cut.span)))


def part_length(cut, part, length):
    """Elements of a part."""
    tiles, parts = -(-length // cut.span), part_count(cut, length)
    if cut.layout == _LAYOUTS.Value("STRIDED"):
        own = tiles // parts + (part < tiles % parts)
        return own * cut.span - (tiles * cut.span - length if (tiles - 1) % parts == part else 0)
    if cut.layout == _LAYOUTS.Value("BALANCED"):
        return min(length - _balanced_begin(cut, part, length), (tiles // parts + (part < tiles % parts)) * cut.span)
    return min(cut.span, length - part * cut.span)


def _balanced_begin(cut, part, length):
    tiles, parts = -(-length // cut.span), part_count(cut, length)
    return (part * (tiles // parts) + min(part, tiles % parts)) * cut.span


def locate(cut, position, length):
    """Part that holds `position` of an axis of `length` elements, position in the part, and how many elements follow,
    this one included, before another part begins."""
    tile, inside = divmod(position, cut.span)
    parts = part_count(cut, length)
    if cut.layout == _LAYOUTS.Value("STRIDED"):
        return tile % parts, tile // parts * cut.span + inside, min(cut.span - inside, length - position)
    if cut.layout == _LAYOUTS.Value("BALANCED"):
        each, longer = divmod(-(-length // cut.span), parts)
        part = tile // (each + 1) if tile < longer * (each + 1) else longer + (tile - longer * (each + 1)) // each
        at = position - _balanced_begin(cut, part, length)
        return part, at, part_length(cut, part, length) - at
    return tile, inside, min(cut.span - inside, length - position)


def segments(cuts, k, most):
    """Up to `most` runs of elements that have one path of parts: (first, last + 1, path)."""
    runs, at = [], 0
    while at < k and len(runs) < most:
        path, position, length, left = [], at, k, k - at
        for cut in cuts:
            part, inside, run = locate(cut, position, length)
            position, length = inside, part_length(cut, part, length)
            path.append(part)
            left = min(left, run)
        runs.append((at, at + left, tuple(path)))
        at += left
    return runs
