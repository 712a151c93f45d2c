import pathlib
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from generate import generate  # noqa: E402


class BuildWithProtos(build_py):
    def run(self):
        super().run()
        generate(self.build_lib)


setup(packages=["samebits", "samebits.v1"], cmdclass={"build_py": BuildWithProtos})
