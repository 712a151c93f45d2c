"""The project's generator of inputs (client/python/samebits/inputs.py) under the names that these programs use.

A group is a seed. Draws 0 to 7 are the first eight distributions.
"""
import importlib.util
import pathlib

_PATH = pathlib.Path(__file__).resolve().parents[2] / "client" / "python" / "samebits" / "inputs.py"
_spec = importlib.util.spec_from_file_location("samebits_inputs", _PATH)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

DRAWS = 8
ITEM_BYTES = _module.ITEM_BYTES
DISTRIBUTIONS = _module.DISTRIBUTIONS
buffer_bytes = _module.buffer_bytes
