"""The table of adversarial pairs, for programs in Python: kernels.jsonl, pairs.jsonl and the texts they name."""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def load(name):
    return [json.loads(line) for line in open(HERE / name) if line.strip()]


def edited(text, edits, where):
    """Edits in order: [find, replace] must match once, [find, replace, "all"] at least once."""
    for find, replace, *how in edits:
        count = text.count(find)
        if count == 0 or (count > 1 and how != ["all"]):
            raise ValueError(f"{where}: '{find}' occurs {count} times")
        text = text.replace(find, replace)
    return text


def sides():
    """(pair, [(text, launch row) of a, of b]) for every pair."""
    kernels = {k["name"]: k for k in load("kernels.jsonl")}
    for pair in load("pairs.jsonl"):
        out = []
        for side in (pair["a"], pair["b"]):
            kernel = kernels[side["kernel"]]
            text = edited((HERE / kernel["path"]).read_text(), side.get("edits", []), pair["name"])
            out.append((text, {"shared": 0, "outputs": None, **kernel, **side.get("launch", {})}))
        yield pair, out
