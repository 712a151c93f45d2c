"""Generates the Python modules of samebits.v1 from the interface definitions of this repository."""

import pathlib
import sys

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"


def generate(out):
    """Writes samebits/v1/*_pb2.py and *_pb2_grpc.py below the folder `out`. Needs grpcio-tools."""
    import grpc_tools
    from grpc_tools import protoc

    files = sorted(str(path.relative_to(PROTO)) for path in (PROTO / "samebits" / "v1").glob("*.proto"))
    if not files:
        raise RuntimeError(f"no interface definitions in {PROTO}; install from a checkout of the repository")
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    well_known = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{PROTO}", f"-I{well_known}", f"--python_out={out}", f"--grpc_python_out={out}", *files]
    if protoc.main(arguments) != 0:
        raise RuntimeError("protoc failed")


if __name__ == "__main__":
    generate(sys.argv[1])
