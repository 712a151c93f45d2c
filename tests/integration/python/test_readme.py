"""The examples of the package's README run as written, those of the section about a server with one and a worker."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
README = pathlib.Path(os.environ.get("SAMEBITS_README") or ROOT / "client" / "python" / "README.md")
SECTIONS = re.split(r"^## ", README.read_text(), flags=re.M)
EXAMPLES = [(section.startswith("With a server"), example) for section in SECTIONS
            for example in re.findall(r"^```python\n(.*?)^```", section, re.S | re.M)]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, tmp_path, request):
    asks_server, example = EXAMPLES[number]
    environment = {name: value for name, value in os.environ.items() if name != "SAMEBITS_SERVER"}
    if asks_server:
        environment["SAMEBITS_SERVER"] = request.getfixturevalue("fleet_of_module").address
    (tmp_path / "example.py").write_text(example)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_examples():
    assert len(EXAMPLES) >= 5 and sum(asks_server for asks_server, _ in EXAMPLES) == 1
