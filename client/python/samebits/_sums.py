"""Sums of a GEMM descriptor as trees that can be drawn: terms that are left out or alike are not spelled out."""

from samebits._cuts import part_count, part_length
from samebits._display import class_colour
from samebits.v1 import gemm_pb2

_MOST_CHILDREN = 6


def lower_name(enum, number):
    return enum.Name(number).lower()


def type_of(number):
    return lower_name(gemm_pb2.GemmDesc.Type, number)


def lane_sums(cut):
    """Sums that a lane keeps; 0 for orders without lanes."""
    return {"lanes": 2, "lanes4": 4, "lanes8": 8}.get(lower_name(gemm_pb2.GemmDesc.Cut.Order, cut.order), 0)


def order_text(cut):
    sums = lane_sums(cut)
    order = lower_name(gemm_pb2.GemmDesc.Cut.Order, cut.order)
    return f"by 32 lanes of {sums} sums" if sums else f"in {order} order"


class Sum:
    """Terms that are added one after the other. `terms`: what is drawn of them, None for those left out; a leaf has
    none."""

    def __init__(self, label, terms=(), note="", descending=False, colour=None):
        self.label, self.terms, self.note = label, terms, note
        self.descending, self.colour = descending, colour


def _shown(count):
    """Numbers of the terms drawn; None stands for those between."""
    if count <= _MOST_CHILDREN:
        return list(range(count))
    return [*range(_MOST_CHILDREN - 2), None, count - 1]


def _terms(count, make):
    """Terms of a sum: `make(number, below)` draws what the first one consists of too, and the others alone."""
    return [None if number is None else make(number, number == 0) for number in _shown(count)]


def _products(desc, elements, first):
    """Number of instructions over `elements`, and what makes the drawing of each: its products. The first `first`
    elements are a turn of their own."""
    step = desc.instruction_k
    before = -(-first // step)

    def make(number, _):
        left = first - number * step if number < before else elements - first - (number - before) * step
        return Sum(f"{min(step, left)}")

    return before + -(-(elements - first) // step), make


def _accumulator(desc, length, label, colour):
    """The accumulator of an innermost part."""
    kind, step = type_of(desc.accumulate_type), desc.instruction_k
    instruction = f"{lower_name(gemm_pb2.GemmDesc.Instruction, desc.instruction)}: {step} product{'s' * (step > 1)} at once"
    if desc.use_fast_accum:
        short = desc.short_turn == gemm_pb2.GemmDesc.ShortTurn.Value("FIRST") and desc.k_loop_step > 0
        count, make = _products(desc, length, length % desc.k_loop_step if short else 0)
        return Sum(label, _terms(count, make), f"{instruction}, {kind}", colour=colour)
    interval = desc.promotion_interval or step

    def promoted(number, below):
        elements = min(interval, length - number * interval)
        if not below:
            return Sum(f"{elements}")
        count, make = _products(desc, elements, 0)
        return Sum(f"{elements}", _terms(count, make), instruction)

    note = f"second accumulator, every {interval} elements, {kind}"
    return Sum(label, _terms(-(-length // interval), promoted), note, colour=colour)


def _lanes(count, sums, make, note):
    """Parts added by 32 lanes, as a nest of sums by digits of their numbers."""
    folds = sums.bit_length() - 1  # of a lane's own sums, pairwise
    bases = 2 + folds

    def digits(part):
        return (part % 4, part // 4 % 8, *(part // 32 >> fold & 1 for fold in range(folds)))

    groups = {}
    for part in range(min(count, 1024)):
        groups.setdefault(digits(part), []).append(part)

    def nest(prefix, below):
        level = len(prefix)
        inner = [key for key in groups if key[:level] == prefix]
        parts = [part for key in inner for part in groups[key]]
        if len(parts) == 1:
            return make(parts[0], below)
        if not below:
            return Sum(f"{len(parts)} parts")
        if level == bases:
            return Sum(str(parts[0]), _terms(len(parts), lambda i, b: make(parts[i], b)), "one sum of a lane")
        digit = sorted({key[level] for key in inner})
        if len(digit) == 1:
            return nest((*prefix, digit[0]), below)
        terms = _terms(len(digit), lambda i, b: nest((*prefix, digit[i]), b))
        return Sum("", terms, note if level == 0 else "")

    return nest((), True)


def tree(desc, cuts, k, level=0, path=(), expand=True):
    """The sum of a part of K that has k elements; `path` leads to it."""
    label, colour = (str(path[-1]), class_colour(path[-1])) if path else ("", None)
    if not expand:
        return Sum(label, colour=colour)
    if level == len(cuts):
        return _accumulator(desc, k, label, colour)
    cut = cuts[level]
    parts = part_count(cut, k)

    def make(part, below):
        return tree(desc, cuts, part_length(cut, part, k), level + 1, (*path, part), below)

    if parts == 1:
        return make(0, True)
    kind = type_of(desc.merge_type if level == 0 else desc.accumulate_type)
    rounds = level == 0 and desc.partial_type != desc.accumulate_type
    rounded = f", parts rounded to {type_of(desc.partial_type)}" if rounds else ""
    note = f"{parts} parts {order_text(cut)}, {kind}{rounded}"
    if lane_sums(cut):
        return _lanes(parts, lane_sums(cut), make, note)
    return Sum(label, _terms(parts, make), note, cut.order == gemm_pb2.GemmDesc.Cut.Order.Value("DESCENDING"), colour)
