"""Jobs and verifications for people: text, HTML and SVG. Everything that comes from kernels and users is escaped."""

from samebits._display import OUTSIDE, badge, class_colour, escape, svg_document, table, text_element

_MOST_ROWS = 64
_SIZE, _GAP, _TOP = 14, 4, 30
_MISSING = "no bytes"
_CAPTION = "Circles of one colour: one signature. Squares of one colour: the same bytes."


def _bar(status):
    colour = {"SUCCEEDED": "#2e7d32", "FAILED": "#b3261e", "CANCELLED": "#8a8a8a"}.get(status.state.value, "#4c78a8")
    return ('<div style="width:240px;height:10px;border:1px solid #8888;border-radius:3px;overflow:hidden">'
            f'<div style="width:{100 * status.progress:.0f}%;height:100%;background:{colour}"></div></div>')


def progress_html(status, text):
    return (f'<div style="display:flex;gap:8px;align-items:center">{_bar(status)}<span>{escape(text)}</span>'
            f"<code>{escape(status.name)}</code></div>")


def job_html(status):
    out = badge(status.state.value) + f" <code>{escape(status.name)}</code> {escape(status.method)}" + _bar(status)
    since = f"{status.created:%Y-%m-%d %H:%M:%S} UTC" if status.created else ""
    out += table([("error", status.error), ("by", status.principal), ("since", since)])
    cells = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in (
            task.target, task.state.value, task.worker, task.steps_total and f"{task.steps_done} of {task.steps_total} steps" or "",
            "; ".join(f"retried: {what}" for what in task.attempt_errors))) + "</tr>"
        for task in status.tasks[:_MOST_ROWS])
    return out + (f"<table>{cells}</table>" if cells else "")


def _device_text(result):
    return f"{result.target} on {result.worker}: {result.device}" if result.worker else result.target


def verification_text(v):
    lines = [f"{v.agreement.value}  {len(v.launch_ids)} launches, {len(v.devices)} devices, inputs: {' '.join(v.distributions)}"]
    for at, device in enumerate(v.devices):
        if device.error:
            lines.append(f"  {device.target}: no result: {device.error.message}")
            continue
        lines.append(f"  {_device_text(device)}")
        for number, same in enumerate(v.classes, 1):
            if same.launch_ids(at):
                lines.append(f"    bytes {number}: {' '.join(same.launch_ids(at))}")
        for outcome in device.outcomes.values():
            if outcome.error:
                lines.append(f"    {_MISSING}: {outcome.launch_id}: {outcome.error.message}")
            elif not outcome.stable:
                lines.append(f"    does not repeat: {outcome.launch_id}")
    lines.append(f"  pairs with one signature: {v.certified_pairs} of {v.pairs}")
    lines.extend(f"  contradiction: {contradiction}" for contradiction in v.contradictions)
    return "\n".join(lines)


def _signature_classes(v):
    """Number of each launch's signature among those seen, by id; launches without one are left out."""
    numbers, found = {}, {}
    for launch_id in v.launch_ids:
        digest = v.signatures[launch_id].digest
        if digest:
            found[launch_id] = numbers.setdefault(digest, len(numbers))
    return found


def _square(x, y, colour, title, mark="", radius=2):
    return (f'<rect x="{x}" y="{y}" width="{_SIZE}" height="{_SIZE}" rx="{radius}" fill="{colour}"{mark}>'
            f"<title>{escape(title)}</title></rect>")


def _cross(x, y):
    return f'<path d="M{x + 3} {y + 3}l8 8m0 -8l-8 8" stroke="#ffffff" stroke-width="2" fill="none"/>'


def _cell(v, at, launch_id, contradicted, x, y):
    """A launch on a device."""
    device, absent = v.devices[at], ' stroke="#b0b0b0"'
    outcome = device.outcomes.get(launch_id)
    where = f"{launch_id} on {device.label}"
    mark = ' stroke="#e00000" stroke-width="2.5"' if (at, launch_id) in contradicted else ""
    if device.error or outcome is None:
        why = f": {device.error.message}" if device.error else ""
        return _square(x, y, "none", f"{where}: {_MISSING}{why}", absent)
    if outcome.error:
        return _square(x, y, "none", f"{where}: {_MISSING}: {outcome.error.message}", absent)
    if not outcome.stable:
        return _square(x, y, "#8a8a8a", f"{where}: does not repeat its bytes", mark) + _cross(x, y)
    number = next(i for i, same in enumerate(v.classes) if (at, launch_id) in same)
    return _square(x, y, class_colour(number), f"{where}: bytes {number + 1}", mark)


def verification_svg(v):
    """Launches downwards; across, the class of the signature and then each device. One colour: equal signatures, or equal
    bytes on all inputs. Outlined in red: what contradicts a certificate. Crossed: bytes that do not repeat."""
    signatures = _signature_classes(v)
    contradicted = {(c.device, launch_id) for c in v.contradictions for launch_id in (c.a, c.b) if launch_id}
    shown = v.launch_ids[:_MOST_ROWS]
    pitch, left = _SIZE + _GAP, 18 + 7 * min(40, max((len(i) for i in shown), default=0))
    columns = ["signature"] + [device.label for device in v.devices]
    top = _TOP + 16 * len(columns)
    body = []
    for column, name in enumerate(columns):
        x = left + column * 2 * pitch + _SIZE / 2
        y = _TOP + 16 * column - 4
        body.append(f'<path d="M{x} {y + 4}V{top - 4}" stroke="#b0b0b0" fill="none"/>' + text_element(x - 4, y, name))
    for row, launch_id in enumerate(shown):
        y = top + row * pitch
        label = launch_id if len(launch_id) <= 40 else launch_id[:39] + "…"
        body.append(text_element(8, y + 11, label))
        signature, number = v.signatures[launch_id], signatures.get(launch_id)
        what = f"no signature: {signature.reason}" if number is None else f"signature {signature.digest}"
        colour = OUTSIDE if number is None else class_colour(number)
        body.append(_square(left, y, colour, f"{launch_id}: {what}", radius=_SIZE // 2))
        for at in range(len(v.devices)):
            body.append(_cell(v, at, launch_id, contradicted, left + (at + 1) * 2 * pitch, y))
    height = top + len(shown) * pitch + 8
    if len(v.launch_ids) > len(shown):
        body.append(text_element(8, height + 8, f"and {len(v.launch_ids) - len(shown)} more"))
        height += 16
    body.append(text_element(8, height + 8, _CAPTION))
    height += 16
    names = max(2 * pitch * i + 7 * len(name) for i, name in enumerate(columns))
    width = max(left + len(columns) * 2 * pitch, left + names, 7 * len(_CAPTION)) + 16
    title = f"{v.agreement.value}: {len(v.launch_ids)} launches on {len(v.devices)} devices"
    return svg_document(width, height, title, body)


def verification_html(v):
    contradictions = "".join(f"<li>{escape(c)}</li>" for c in v.contradictions[:_MOST_ROWS])
    failed = "".join(f"<li>{escape(what)}</li>" for what in v.errors[:_MOST_ROWS])
    out = badge(v.agreement.value) + table([
        ("inputs", " ".join(v.distributions)), ("devices", "; ".join(_device_text(device) for device in v.devices)),
        ("classes of bytes", len(v.classes)), ("pairs with one signature", f"{v.certified_pairs} of {v.pairs}")])
    if contradictions:
        out += f"<b>contradictions</b><ul>{contradictions}</ul>"
    if failed:
        out += f"<b>{_MISSING}</b><ul>{failed}</ul>"
    return out + verification_svg(v)
