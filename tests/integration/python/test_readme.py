"""The examples of the package's README run as written."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

README = os.environ.get("SAMEBITS_README") or pathlib.Path(__file__).resolve().parents[3] / "client" / "python" / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", pathlib.Path(README).read_text(), re.S | re.M)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, tmp_path):
    (tmp_path / "example.py").write_text(EXAMPLES[number])
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_examples():
    assert len(EXAMPLES) >= 3
