"""HTML and SVG for notebooks. Everything that comes from kernels is escaped."""

import html

_GOOD, _OPEN, _BAD = "#2e7d32", "#b26a00", "#b3261e"
_COLOURS = {**dict.fromkeys(("EQUIVALENT", "OK", "CONSISTENT", "SUCCEEDED"), _GOOD),
            **dict.fromkeys(("UNKNOWN", "NOT_TESTED", "QUEUED", "RUNNING"), _OPEN)}
_CLASS_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#bab0ac")
OUTSIDE = "#d0d0d0"


def escape(text):
    """For HTML and XML, which no control character may enter."""
    return html.escape("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in str(text)))


def class_colour(index):
    return _CLASS_COLOURS[index % len(_CLASS_COLOURS)]


def text_element(x, y, text, more=""):
    return f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="12" fill="currentColor"{more}>{escape(text)}</text>'


def svg_document(width, height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'role="img"><title>{escape(title)}</title>{"".join(body)}</svg>')


def badge(word):
    colour = _COLOURS.get(word, _BAD)
    return f'<b style="color:{colour}">{escape(word)}</b>'


def table(pairs):
    cells = "".join(
        f'<tr><td style="text-align:left"><i>{escape(name)}</i></td>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in pairs if value)
    return f"<table>{cells}</table>"


def signature_html(signature):
    return badge(signature.status.value) + table([
        ("signature", signature.digest), ("reason", signature.reason), ("place", str(signature.place)),
        ("assuming", "; ".join(signature.assumptions))])


def comparison_html(comparison):
    """Verdict and drawing; without the native library both expressions as text."""
    head = badge(comparison.verdict.value)
    rows = [("reason", comparison.reason), ("assuming", "; ".join(sorted({*comparison.a.assumptions, *comparison.b.assumptions})))]
    difference = comparison.difference
    if difference is None:
        return head + table(rows)
    rows[:0] = [("", difference.summary), ("first at", f"{difference.buffer}, byte {difference.byte_offset}")]
    try:
        return head + table(rows) + comparison.svg()
    except Exception:  # a notebook shows what it can
        sides = "".join(
            f'<td style="text-align:left;vertical-align:top"><pre>{escape(side.tree)}\n{escape(str(side.place))}</pre></td>'
            for side in (difference.a, difference.b))
        return head + table(rows) + f"<table><tr>{sides}</tr></table>"


def _blocks(partition):
    for index, same in enumerate(partition.classes):
        marked = partition.reference_id in same.ids
        yield f"class {index + 1}" + (" (reference)" if marked else ""), same.ids, class_colour(index)
    for name, ids in (("nondeterministic", partition.nondeterministic_ids), ("unknown", partition.unknown_ids), ("error", partition.error_ids)):
        if ids:
            yield name, ids, OUTSIDE


def partition_svg(partition, columns=24):
    """A row of squares a class, a square a launch; each names its launch when pointed at."""
    size, gap, left, y, body = 14, 3, 170, 8, []
    for name, ids, colour in _blocks(partition):
        body.append(text_element(8, y + 11, f"{name}: {len(ids)}"))
        for i, item_id in enumerate(ids):
            x = left + (i % columns) * (size + gap)
            edge = ' stroke="currentColor" stroke-width="2"' if item_id == partition.reference_id else ""
            body.append(f'<rect x="{x}" y="{y + i // columns * (size + gap)}" width="{size}" height="{size}" rx="2" fill="{colour}"{edge}>'
                        f"<title>{escape(item_id)}</title></rect>")
        y += (max(len(ids) - 1, 0) // columns + 1) * (size + gap) + 6
    return svg_document(left + columns * (size + gap) + 8, y + 4, "classes of equal bits", body)
