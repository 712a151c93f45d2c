"""Descriptors, profiles and batch invariance for people: text, HTML and SVG."""

import math

from samebits._cut_display import cuts_svg_body
from samebits._display import OUTSIDE, class_colour, escape, svg_document, table, text_element

_MOST_ROWS = 100
_MOST_DRAWN = 20
_AXIS_LEFT, _AXIS_WIDTH = 24, 640


def profile_html(profile):
    return f"<b>{escape(profile.name)}</b>" + table([
        ("device", f"{profile.device}, sm_{profile.architecture}, {profile.multiprocessors} SMs"),
        ("library", f"{profile.library} {profile.library_version}"), ("driver", profile.driver),
        ("workspace", f"{profile.workspace_bytes >> 20} MiB"),
        ("shapes explained", f"{profile.explained_shapes} of {profile.shapes}"), ("kinds of answers with rules", profile.rule_kinds)])


def _basis(d):
    if d.studied:
        return "this very shape was studied"
    return f"a rule that {d.rule_shapes} shapes confirmed"


def description_html(d):
    dropped = f"elements {d.summed_k} to {d.k - 1} of K are not summed" if d.drops_tail else ""
    return f"<b>{d.m} x {d.n} x {d.k}</b> {escape(d.types)} {escape(d.layout)}" + table([
        ("", d.description), ("defect", dropped), ("known from", _basis(d)), ("answer of the cost model", d.algorithm),
        ("descriptor", d.text)]) + description_svg(d)


def description_svg(d):
    body, width, height = cuts_svg_body(d.desc, d.k, d.summed_k)
    return svg_document(width, height, f"{d.m} x {d.n} x {d.k}: {d.description}", body)


def recovered_html(r):
    head = f"<b>{escape(r.state.value)}</b> {r.m} x {r.n} x {r.k} {escape(r.types)} {escape(r.layout)}"
    dropped = f"elements {r.summed_k} to {r.k - 1} of K are not summed" if r.desc is not None and r.summed_k < r.k else ""
    tested = f"{r.outputs} outputs of fresh draws compared, {r.launches} calls of the library" if r.launches else ""
    return head + table([("", r.description), ("reason", r.reason), ("defect", dropped), ("tested", tested),
                         ("answer of the cost model", r.algorithm), ("descriptor", r.text)]) + r.svg()


def recovered_all_html(result):
    head = table([("device", result.device), ("library", f"{result.library} {result.library_version}"), ("driver", result.driver)])
    more = f"<p>and {len(result.gemms) - _MOST_DRAWN} more</p>" if len(result.gemms) > _MOST_DRAWN else ""
    return head + "<hr>".join(recovered_html(gemm) for gemm in result.gemms[:_MOST_DRAWN]) + more


def _range_text(run):
    return f"m = {run.first_m}" if run.first_m == run.last_m else f"m from {run.first_m} to {run.last_m}"


def _run_text(run, k):
    if run.bits is None:
        return f"{_range_text(run)}: not known: {run.why}"
    changed = f", changed: {'; '.join(run.changes)}" if run.changes else ""
    dropped = f"; elements from {run.summed_k} on are not summed" if run.summed_k < k else ""
    return f"{_range_text(run)}: bits {run.bits}{changed}{dropped}"


def _verdict_text(b):
    if b.invariant:
        return "a row gives the same bits at every m"
    unknown = f", {b.unknown_m} values of m not known" if b.unknown_m else ""
    return f"{b.kinds_of_bits} kinds of bits{unknown}"


def invariance_text(b):
    lines = [f"n {b.n}, k {b.k}, {b.types} {b.layout}: {_verdict_text(b)}"]
    return "\n".join(lines + [f"  {_run_text(run, b.k)}" for run in b.runs])


def invariance_svg(b):
    """A box for each run; runs of one colour owe a row the same bits, what is not known is a thin line."""
    body = [text_element(_AXIS_LEFT, 18, f"n {b.n}, k {b.k}, {b.types} {b.layout}: {_verdict_text(b)}", ' font-weight="bold"')]
    if not b.runs:
        return svg_document(_AXIS_LEFT + _AXIS_WIDTH + 24, 40, "no batch sizes", body)
    first, last = b.runs[0].first_m, b.runs[-1].last_m
    span = math.log((last + 1) / first)

    def place(m):
        return _AXIS_LEFT + _AXIS_WIDTH * math.log(m / first) / span

    top = 32
    for run in b.runs:
        left, right = place(run.first_m), place(run.last_m + 1)
        y, height, colour = (top, 24, class_colour(run.bits)) if run.bits is not None else (top + 11, 2, OUTSIDE)
        body.append(f'<rect x="{left:.1f}" y="{y}" width="{max(0.5, right - left - min(1, (right - left) / 3)):.1f}" '
                    f'height="{height}" fill="{colour}"><title>{escape(_run_text(run, b.k))}</title></rect>')
    free, m = -1.0, 1
    while m <= last:
        if m >= first and place(m) - 3.5 * len(str(m)) > free:
            body.append(f'<path d="M{place(m):.1f} {top + 26}v4" stroke="currentColor"/>')
            body.append(text_element(f"{place(m):.1f}", top + 44, m, ' text-anchor="middle"'))
            free = place(m) + 3.5 * len(str(m)) + 8
        m *= 2
    body.append(text_element(_AXIS_LEFT, top + 62, "m: rows of the batch. One colour: a row gives the same bits."))
    x = _AXIS_LEFT
    for number in range(min(b.kinds_of_bits, 8)):
        body.append(f'<rect x="{x}" y="{top + 72}" width="12" height="12" fill="{class_colour(number)}"/>')
        body.append(text_element(x + 17, top + 82, f"bits {number}"))
        x += 72
    if b.unknown_m:
        body.append(f'<rect x="{x}" y="{top + 77}" width="12" height="2" fill="{OUTSIDE}"/>')
        body.append(text_element(x + 17, top + 82, "not known"))
    return svg_document(_AXIS_LEFT + _AXIS_WIDTH + 24, top + 92, f"bits of a row by batch size: {_verdict_text(b)}", body)


def comparison_html(c):
    cells = "".join(
        f"<tr><td>{escape(_range_text(d))}, n = {d.n}, k = {d.k}</td><td>{escape(d.types)} {escape(d.layout)}</td>"
        f"<td style=\"text-align:left\">{escape('; '.join(d.changes))}</td></tr>"
        for d in c.differences[:_MOST_ROWS])
    more = f"<p>and {len(c.differences) - _MOST_ROWS} more</p>" if len(c.differences) > _MOST_ROWS else ""
    return table([("changed", "; ".join(c.identity_changes)), ("shapes with the same bits", str(c.same)),
                 ("with other bits", str(c.changed)), ("not known", str(c.unknown))]) + f"<table>{cells}</table>" + more
