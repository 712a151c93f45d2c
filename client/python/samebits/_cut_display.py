"""How a GEMM descriptor cuts K and merges the parts, as SVG elements: strips of K by level, and below them sums as lines
that take their terms from above, one after the other."""

from samebits._cuts import segments
from samebits._display import class_colour, text_element
from samebits._sums import lower_name, order_text, tree, type_of
from samebits.v1 import gemm_pb2

_LEFT, _WIDTH, _STRIP, _PITCH = 24, 720, 20, 44
_MOST_SEGMENTS = 128  # above: a prefix of K is drawn
_SHOWN_SEGMENTS = 48
_LEAF, _ROW = 46, 44
_CAPTION = "White: products of one instruction. Coloured: parts of K, by number. A line adds what meets it, one after the other."
_INK = ' stroke="currentColor" fill="none"'


def _strip(x, y, width, look, title, height=_STRIP):
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" {look}><title>{title}</title></rect>'


def _strips(cuts, runs, drawn, summed_k):
    """A strip of K for each level."""
    body = []

    def x(element):
        return _LEFT + _WIDTH * element / drawn

    for level, cut in enumerate(cuts):
        y = 44 + level * _PITCH
        layout = lower_name(gemm_pb2.GemmDesc.Cut.Layout, cut.layout)
        what = f"{layout} cut: {cut.count} parts, spans of {cut.span}, added {order_text(cut)}"
        body.append(text_element(_LEFT, y - 5, what if level == 0 else f"each part again by a {what}"))
        first = 0
        while first < len(runs):
            last = first
            while last + 1 < len(runs) and runs[last + 1][2][: level + 1] == runs[first][2][: level + 1]:
                last += 1
            start, end, path = runs[first][0], runs[last][1], runs[first][2]
            width = x(end) - x(start)
            body.append(_strip(x(start), y, max(0.5, width - min(1, width / 3)), f'fill="{class_colour(path[level])}"',
                               f"part {path[level]}: elements {start} to {end - 1}"))
            if width > 8 + 7 * len(str(path[level])):
                body.append(f'<text x="{x(start) + width / 2:.1f}" y="{y + 14}" font-family="sans-serif" font-size="11" '
                            f'text-anchor="middle" fill="#fff">{path[level]}</text>')
            first = last + 1
    if not cuts:
        body.append(text_element(_LEFT, 39, "K is not cut"))
        body.append(_strip(_LEFT, 44, _WIDTH, f'fill="{class_colour(0)}"', f"elements 0 to {drawn - 1}"))
    bottom = 44 + max(0, len(cuts) - 1) * _PITCH + _STRIP
    if summed_k < drawn:
        body.append(_strip(x(summed_k), 44, max(2, x(drawn) - x(summed_k)), 'fill="#fff" stroke="#e00000" stroke-dasharray="3 2"',
                           f"elements from {summed_k} on are not summed", bottom - 44))
    body.append(text_element(_LEFT, bottom + 15, "0"))
    body.append(text_element(_LEFT + _WIDTH, bottom + 15, drawn, ' text-anchor="end"'))
    return body, bottom + 24


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
            self.body.append(f'<circle cx="{out_x:.1f}" cy="{y}" r="7" fill="#fff" stroke="#333"/>'
                             f'<path d="M{out_x - 4:.1f} {y}h8m-4 -4v8" stroke="#333"/>')
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
            self.body.append(f'<path d="M{last:.1f} {y + 7}v8" stroke="currentColor"/>'
                             f'<rect x="{last - half:.1f}" y="{y + 15}" width="{2 * half:.1f}" height="18" rx="4" '
                             f'fill="{node.colour or "none"}" fill-opacity="0.75" stroke="currentColor"/>')
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
    return [*steps, f"rounded to {type_of(desc.output_type)}", "D"]


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
    width, x, bottom = drawing.draw(tree(desc, cuts, summed), _LEFT, y + 24)
    drawing.body.append(f'<path d="M{x:.1f} {bottom}v20" stroke="currentColor"/>')
    bottom += 6
    at, right = _LEFT, _LEFT
    drawing.body.append(f'<path d="M{x:.1f} {bottom + 14}H{_LEFT + 10}v10"{_INK}/>')
    for number, step in enumerate(_steps(desc)):
        size = 14 + 6.6 * len(step)
        drawing.body.append(f'<rect x="{at:.1f}" y="{bottom + 24}" width="{size:.1f}" height="22" rx="4"{_INK}/>')
        drawing.body.append(text_element(f"{at + 7:.1f}", bottom + 39, step))
        if number:
            drawing.body.append(f'<path d="M{at - 12:.1f} {bottom + 35}h12"{_INK}/>')
        right = at + size
        at = right + 12
    title = [text_element(_LEFT, 18, head, ' font-weight="bold"')]
    return title + strips + drawing.body, max(_LEFT + _WIDTH, _LEFT + width, right) + 24, bottom + 56
