"""How a GEMM descriptor cuts K and merges the parts, as SVG elements: strips of K by level, and below them sums as lines
that take their terms from above, one after the other."""

from samebits._display import class_colour, text_element
from samebits.v1 import gemm_pb2

_LEFT, _WIDTH, _STRIP, _PITCH = 24, 720, 20, 44
_MOST_SEGMENTS = 128  # above: a prefix of K is drawn
_SHOWN_SEGMENTS = 48
_MOST_CHILDREN = 6
_LEAF, _ROW = 46, 44
_CAPTION = "White: products of one instruction. Coloured: parts of K, by number. A line adds what meets it, one after the other."
_INK = ' stroke="currentColor" fill="none"'


def _name(enum, number):
    return enum.Name(number).lower()


def _type(number):
    return _name(gemm_pb2.GemmDesc.Type, number)


def _lane_sums(cut):
    """Sums that a lane keeps; 0 for orders without lanes."""
    return {"lanes": 2, "lanes4": 4, "lanes8": 8}.get(_name(gemm_pb2.GemmDesc.Cut.Order, cut.order), 0)


def _order_text(cut):
    sums = _lane_sums(cut)
    order = _name(gemm_pb2.GemmDesc.Cut.Order, cut.order)
    return f"by 32 lanes of {sums} sums" if sums else f"in {order} order"


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


def _strips(cuts, runs, drawn, summed_k):
    """A strip of K for each level."""
    body = []

    def x(element):
        return _LEFT + _WIDTH * element / drawn

    for level, cut in enumerate(cuts):
        y = 44 + level * _PITCH
        what = f"{_name(gemm_pb2.GemmDesc.Cut.Layout, cut.layout)} cut: {cut.count} parts, spans of {cut.span}, added {_order_text(cut)}"
        body.append(text_element(_LEFT, y - 5, what if level == 0 else f"each part again by a {what}"))
        first = 0
        while first < len(runs):
            last = first
            while last + 1 < len(runs) and runs[last + 1][2][: level + 1] == runs[first][2][: level + 1]:
                last += 1
            start, end, path = runs[first][0], runs[last][1], runs[first][2]
            width = x(end) - x(start)
            body.append(f'<rect x="{x(start):.1f}" y="{y}" width="{max(0.5, width - min(1, width / 3)):.1f}" height="{_STRIP}" '
                        f'fill="{class_colour(path[level])}"><title>part {path[level]}: elements {start} to {end - 1}</title></rect>')
            if width > 8 + 7 * len(str(path[level])):
                body.append(f'<text x="{x(start) + width / 2:.1f}" y="{y + 14}" font-family="sans-serif" font-size="11" '
                            f'text-anchor="middle" fill="#fff">{path[level]}</text>')
            first = last + 1
    if not cuts:
        body.append(text_element(_LEFT, 39, "K is not cut"))
        body.append(f'<rect x="{_LEFT}" y="44" width="{_WIDTH}" height="{_STRIP}" fill="{class_colour(0)}"><title>elements 0 to {drawn - 1}</title></rect>')
    bottom = 44 + max(0, len(cuts) - 1) * _PITCH + _STRIP
    if summed_k < drawn:
        body.append(f'<rect x="{x(summed_k):.1f}" y="44" width="{max(2, x(drawn) - x(summed_k)):.1f}" height="{bottom - 44}" '
                    f'fill="#fff" stroke="#e00000" stroke-dasharray="3 2"><title>elements {summed_k} on are not summed</title></rect>')
    body.append(text_element(_LEFT, bottom + 15, "0"))
    body.append(text_element(_LEFT + _WIDTH, bottom + 15, drawn, ' text-anchor="end"'))
    return body, bottom + 24


class _Sum:
    """Terms that are added one after the other. `terms`: what is drawn of them, None for those left out; a leaf has
    none."""

    def __init__(self, label, terms=(), note="", descending=False, colour=None):
        self.label, self.terms, self.note, self.descending, self.colour = label, terms, note, descending, colour


def _shown(count):
    """Numbers of the terms drawn; None stands for those between."""
    if count <= _MOST_CHILDREN:
        return list(range(count))
    return [*range(_MOST_CHILDREN - 2), None, count - 1]


def _terms(count, make, first_only=True):
    """Terms of a sum; below the first one what it consists of, the others are alike."""
    return [None if number is None else make(number, number == 0 or not first_only) for number in _shown(count)]


def _products(desc, elements, first):
    """Number of instructions over `elements`, and what makes the drawing of each: its products. The first `first`
    elements are a turn of their own."""
    step = desc.instruction_k
    before = -(-first // step)

    def make(number, _):
        left = first - number * step if number < before else elements - first - (number - before) * step
        return _Sum(f"{min(step, left)}")

    return before + -(-(elements - first) // step), make


def _accumulator(desc, length, label, colour):
    """The accumulator of an innermost part."""
    kind, step = _type(desc.accumulate_type), desc.instruction_k
    instruction = f"{_name(gemm_pb2.GemmDesc.Instruction, desc.instruction)}: {step} product{'s' * (step > 1)} at once"
    if desc.use_fast_accum:
        short = desc.short_turn == gemm_pb2.GemmDesc.ShortTurn.Value("FIRST") and desc.k_loop_step > 0
        count, make = _products(desc, length, length % desc.k_loop_step if short else 0)
        return _Sum(label, _terms(count, make), f"{instruction}, {kind}", colour=colour)
    interval = desc.promotion_interval or step

    def promoted(number, below):
        elements = min(interval, length - number * interval)
        if not below:
            return _Sum(f"{elements}")
        count, make = _products(desc, elements, 0)
        return _Sum(f"{elements}", _terms(count, make), instruction)

    return _Sum(label, _terms(-(-length // interval), promoted), f"second accumulator, every {interval} elements, {kind}", colour=colour)


def _lanes(count, sums, make, note):
    """Parts added by 32 lanes, as a nest of sums by digits of their numbers."""
    bases = [4, 8, 2, *([2] if sums > 2 else []), *([2] if sums > 4 else [])]

    def digits(part):
        turn = part // 32
        return (part % 4, part // 4 % 8, turn % 2, *([turn // 2 % 2] if sums > 2 else []), *([turn // 4 % 2] if sums > 4 else []))

    groups = {}
    for part in range(min(count, 1024)):
        groups.setdefault(digits(part), []).append(part)

    def nest(prefix, below):
        level = len(prefix)
        inner = [key for key in groups if key[:level] == prefix]
        if level == len(bases):
            parts = groups[prefix]
            if len(parts) == 1:
                return make(parts[0], below)
            return _Sum(str(parts[0]), _terms(len(parts), lambda i, b: make(parts[i], below and b)) if below else (), "one sum of a lane")
        next_digits = sorted({key[level] for key in inner})
        if len(next_digits) == 1:
            return nest((*prefix, next_digits[0]), below)
        if not below:
            return _Sum(f"{sum(len(groups[key]) for key in inner)} parts")
        return _Sum("", _terms(len(next_digits), lambda i, b: nest((*prefix, next_digits[i]), b)), note if level == 0 else "")

    return nest((), True)


def _tree(desc, cuts, k, level=0, path=(), expand=True):
    """The sum of a part of K that has k elements; `path` leads to it."""
    label, colour = (str(path[-1]), class_colour(path[-1])) if path else ("", None)
    if not expand:
        return _Sum(label, colour=colour)
    if level == len(cuts):
        return _accumulator(desc, k, label, colour)
    cut = cuts[level]
    parts = part_count(cut, k)

    def make(part, below):
        return _tree(desc, cuts, part_length(cut, part, k), level + 1, (*path, part), below)

    if parts == 1:
        return make(0, True)
    kind = _type(desc.merge_type if level == 0 else desc.accumulate_type)
    rounded = f", parts rounded to {_type(desc.partial_type)}" if level == 0 and desc.partial_type != desc.accumulate_type else ""
    note = f"{parts} parts {_order_text(cut)}, {kind}{rounded}"
    if _lane_sums(cut):
        return _lanes(parts, _lane_sums(cut), make, note)
    return _Sum(label, _terms(parts, make), note, cut.order == gemm_pb2.GemmDesc.Cut.Order.Value("DESCENDING"), colour)


class _Drawing:
    def __init__(self):
        self.body = []

    def draw(self, node, left, top):
        """Draws a sum; returns the width taken, and where its result comes out."""
        if node is None:
            self.body.append(text_element(left + 8, top + 18, "…"))
            return _LEAF * 0.7, None, None
        if not node.terms:
            width = max(_LEAF, 12 + 7 * len(node.label)) - 6
            fill = f'fill="{node.colour}" fill-opacity="0.75"' if node.colour else 'fill="none"'
            self.body.append(f'<rect x="{left}" y="{top}" width="{width}" height="24" rx="4" {fill} stroke="currentColor"/>')
            self.body.append(text_element(left + width / 2, top + 16, node.label, ' text-anchor="middle"'))
            return width + 6, left + width / 2, top + 24
        x, outputs = left, []
        for term in node.terms:
            width, out_x, out_y = self.draw(term, x, top)
            if out_x is not None:
                outputs.append((out_x, out_y))
            x += width
        y = max(out_y for _, out_y in outputs) + _ROW - 16
        outputs.sort(reverse=node.descending)
        for number, (out_x, out_y) in enumerate(outputs):
            self.body.append(f'<path d="M{out_x:.1f} {out_y}V{y - (6 if number else 0)}"{_INK}/>')
            if number:
                self.body.append(f'<path d="M{outputs[number - 1][0]:.1f} {y}H{out_x:.1f}"{_INK}/>')
        for out_x, _ in outputs[1:]:
            self.body.append(f'<circle cx="{out_x:.1f}" cy="{y}" r="7" fill="#fff" stroke="#333"/><path d="M{out_x - 4:.1f} {y}h8m-4 -4v8" stroke="#333"/>')
        last = outputs[-1][0]
        width = x - left
        if node.note:
            size = 6.2 * len(node.note) + 12
            beside = node.descending or size > last - left
            at = max(out_x for out_x, _ in outputs) + 12 if beside else left
            self.body.append(text_element(f"{at:.1f}", y + (4 if beside else 18), node.note))
            width = max(width, at + size - left)
        if node.label:
            half = 5 + 3.5 * len(node.label)
            self.body.append(f'<path d="M{last:.1f} {y + 7}v8" stroke="currentColor"/><rect x="{last - half:.1f}" y="{y + 15}" width="{2 * half:.1f}" '
                             f'height="18" rx="4" fill="{node.colour or "none"}" fill-opacity="0.75" stroke="currentColor"/>')
            self.body.append(text_element(last, y + 28, node.label, ' text-anchor="middle"'))
            return width, last, y + 33
        return width, last, y + 7


def _steps(desc):
    """What follows the last addition."""
    epilogue = desc.epilogue
    steps = ["× alpha"] if epilogue.multiply_alpha else []
    beta = gemm_pb2.GemmDesc.Epilogue.Beta.Name(epilogue.beta)
    steps += {"BETA_FUSED": ["+ beta · C, one rounding"], "BETA_MULTIPLY_ADD": ["beta · C rounded, +"]}.get(beta, [])
    steps += ["+ bias"] if epilogue.add_bias else []
    steps += ["relu"] if epilogue.activation == gemm_pb2.GemmDesc.Epilogue.Activation.Value("RELU") else []
    return [*steps, f"rounded to {_type(desc.output_type)}", "D"]


def cuts_svg_body(desc, k, summed_k):
    """Elements, width and height of the drawing for K = k."""
    cuts = list(desc.k_cuts)
    summed = min(k, summed_k) or k
    runs = segments(cuts, summed, _MOST_SEGMENTS + 1) if cuts else []
    if len(runs) > _MOST_SEGMENTS:
        runs = runs[:_SHOWN_SEGMENTS]
    drawn = k if not runs or runs[-1][1] == summed else runs[-1][1]
    head = f"K = {k}" if drawn == k else f"K = {k}, of which the first {drawn} elements are drawn"
    head += f"; elements {summed} to {k - 1} are not summed" if summed < k else ""
    strips, y = _strips(cuts, runs, max(1, drawn), summed)
    drawing = _Drawing()
    drawing.body.append(text_element(_LEFT, y + 12, _CAPTION))
    width, x, bottom = drawing.draw(_tree(desc, cuts, summed), _LEFT, y + 24)
    drawing.body.append(f'<path d="M{x:.1f} {bottom}v20" stroke="currentColor"/>')
    bottom += 6
    at, right = _LEFT, _LEFT
    drawing.body.append(f'<path d="M{x:.1f} {bottom + 14}H{_LEFT + 10}v10"{_INK}/>')
    for number, step in enumerate(_steps(desc)):
        size = 14 + 6.6 * len(step)
        drawing.body.append(f'<rect x="{at:.1f}" y="{bottom + 24}" width="{size:.1f}" height="22" rx="4"{_INK}/>' + text_element(f"{at + 7:.1f}", bottom + 39, step))
        if number:
            drawing.body.append(f'<path d="M{at - 12:.1f} {bottom + 35}h12"{_INK}/>')
        right = at + size
        at = right + 12
    title = [text_element(_LEFT, 18, head, ' font-weight="bold"')]
    return title + strips + drawing.body, max(_LEFT + _WIDTH, _LEFT + width, right) + 24, bottom + 56
