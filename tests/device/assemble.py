"""PTX to cubins with ptxas, many at once."""
import concurrent.futures
import os
import pathlib
import re
import subprocess


def target_of(text):
    """What ptxas assembles a text for so that it runs on a compute capability 9.0 device."""
    match = re.search(r"^\s*\.target\s+(sm_\w+)", text, re.M)
    return "sm_90a" if match and match.group(1) == "sm_90a" else "sm_90"


def assemble(text, path, contract=True):
    """Writes the cubin; returns an error text, or None. contract: whether products may be fused into sums."""
    source = path.with_suffix(".ptx")
    source.write_text(text)
    done = subprocess.run(["ptxas", "-arch=" + target_of(text), "-fmad=" + ("true" if contract else "false"), str(source),
                           "-o", str(path)], capture_output=True,
                          text=True, timeout=120, check=False)
    source.unlink()
    return None if done.returncode == 0 else (done.stderr or "ptxas failed").strip()[:300]


def assemble_all(texts, folder, jobs=None):
    """texts: iterable of (key, PTX). Returns {key: (cubin path, None) or (None, error)}."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def one(item):
        index, (key, text) = item
        path = folder / f"{index}.cubin"
        try:
            error = assemble(text, path)
        except subprocess.TimeoutExpired:
            error = "ptxas ran out of time"
        return key, ((path, None) if error is None else (None, error))

    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return dict(pool.map(one, enumerate(texts)))
