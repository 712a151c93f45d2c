"""Generates the Python modules of samebits.v1, with their type stubs, from the interface definitions."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parents[1] / "proto"


def generate(out):
    """Writes samebits/v1/*_pb2.py, *_pb2.pyi and *_pb2_grpc.py below the folder `out`. Needs grpcio-tools."""
    import grpc_tools
    from grpc_tools import protoc

    files = sorted(str(path.relative_to(PROTO)) for path in (PROTO / "samebits" / "v1").glob("*.proto"))
    if not files:
        raise RuntimeError(f"no interface definitions in {PROTO}; install from a checkout of the repository")
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    well_known = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{PROTO}", f"-I{well_known}", f"--python_out={out}", f"--pyi_out={out}",
                 f"--grpc_python_out={out}", *files]
    if protoc.main(arguments) != 0:
        raise RuntimeError("protoc failed")


if __name__ == "__main__":
    generate(sys.argv[1])
