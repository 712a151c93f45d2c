"""HTML and SVG for notebooks. Everything that comes from kernels is escaped."""

import html

_COLOURS = {"EQUIVALENT": "#2e7d32", "OK": "#2e7d32", "UNKNOWN": "#b26a00"}
_CLASS_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#bab0ac")
_OUTSIDE = "#d0d0d0"


def _badge(word):
    colour = _COLOURS.get(word, "#b3261e")
    return f'<b style="color:{colour}">{html.escape(word)}</b>'


def _rows(pairs):
    cells = "".join(
        f'<tr><td style="text-align:left"><i>{html.escape(name)}</i></td>'
        f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
        for name, value in pairs if value)
    return f"<table>{cells}</table>"


def signature_html(signature):
    return _badge(signature.status.value) + _rows([
        ("signature", signature.digest), ("reason", signature.reason), ("place", str(signature.place)),
        ("assuming", "; ".join(signature.assumptions))])


def comparison_html(comparison):
    """Verdict and drawing; without the native library both expressions as text."""
    head = _badge(comparison.verdict.value)
    rows = [("reason", comparison.reason), ("assuming", "; ".join(sorted({*comparison.a.assumptions, *comparison.b.assumptions})))]
    difference = comparison.difference
    if difference is None:
        return head + _rows(rows)
    rows[:0] = [("", difference.summary), ("first at", f"{difference.buffer}, byte {difference.byte_offset}")]
    try:
        return head + _rows(rows) + comparison.svg()
    except Exception:  # a notebook shows what it can
        sides = "".join(
            f'<td style="text-align:left;vertical-align:top"><pre>{html.escape(side.tree)}\n{html.escape(str(side.place))}</pre></td>'
            for side in (difference.a, difference.b))
        return head + _rows(rows) + f"<table><tr>{sides}</tr></table>"


def _blocks(partition):
    for index, same in enumerate(partition.classes):
        marked = partition.reference_id in same.ids
        yield f"class {index + 1}" + (" (reference)" if marked else ""), same.ids, _CLASS_COLOURS[index % len(_CLASS_COLOURS)]
    for name, ids in (("nondeterministic", partition.nondeterministic_ids), ("unknown", partition.unknown_ids), ("error", partition.error_ids)):
        if ids:
            yield name, ids, _OUTSIDE


def partition_svg(partition, columns=24):
    """A row of squares a class, a square a launch; each names its launch when pointed at."""
    size, gap, left, y, body = 14, 3, 170, 8, []
    for name, ids, colour in _blocks(partition):
        body.append(f'<text x="8" y="{y + 11}" font-family="sans-serif" font-size="12" fill="currentColor">{html.escape(name)}: {len(ids)}</text>')
        for i, item_id in enumerate(ids):
            x = left + (i % columns) * (size + gap)
            edge = ' stroke="currentColor" stroke-width="2"' if item_id == partition.reference_id else ""
            body.append(f'<rect x="{x}" y="{y + i // columns * (size + gap)}" width="{size}" height="{size}" rx="2" fill="{colour}"{edge}>'
                        f"<title>{html.escape(item_id)}</title></rect>")
        y += (max(len(ids) - 1, 0) // columns + 1) * (size + gap) + 6
    width = left + columns * (size + gap) + 8
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 4}" viewBox="0 0 {width} {y + 4}">{"".join(body)}</svg>'
