"""Builds the wheel: generated modules, and libsamebits.so with the libraries that it needs where SAMEBITS_NATIVE_LIBRARY
names it at build time."""

import importlib.metadata
import os
import pathlib
import re
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bundle import copy_native  # noqa: E402
from generate import generate  # noqa: E402

NATIVE = os.environ.get("SAMEBITS_NATIVE_LIBRARY")
if NATIVE and not (os.path.isabs(NATIVE) and os.path.exists(NATIVE)):
    # pip builds in another folder, so a relative path would be looked for there.
    raise SystemExit(f"SAMEBITS_NATIVE_LIBRARY={NATIVE}: give the absolute path of a libsamebits.so that is there")


class BuildWithProtos(build_py):
    def run(self):
        super().run()
        generate(self.build_lib)
        if NATIVE:
            copy_native(NATIVE, pathlib.Path(self.build_lib) / "samebits" / "_native")


class MaybeBinary(Distribution):
    def has_ext_modules(self):
        return bool(NATIVE)


def dependencies():
    """Generated modules need at least the runtimes of the tools that generated them."""
    tools = importlib.metadata.version("grpcio-tools")
    protobuf = next(r for r in importlib.metadata.requires("grpcio-tools") if re.match(r"protobuf\b", r))
    return [f"grpcio>={tools}", protobuf, "googleapis-common-protos>=1.56"]


def options():
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:  # setuptools before 70.1
        from wheel.bdist_wheel import bdist_wheel

    class PlatformWheel(bdist_wheel):
        """The library is called through ctypes, so any Python 3 will do."""

        def get_tag(self):
            python, abi, platform = super().get_tag()
            return ("py3", "none", platform) if NATIVE else (python, abi, platform)

    return {"build_py": BuildWithProtos, "bdist_wheel": PlatformWheel}


setup(packages=["samebits", "samebits.heal", "samebits.v1", "samebits.triton"],
      package_data={"samebits": ["py.typed"], "samebits.heal": ["*.jsonl"]}, install_requires=dependencies(), distclass=MaybeBinary, cmdclass=options())
