"""Launches in manifests."""

import json

import pytest
import samebits
from conftest import ADD, SWAPPED, element_kernel

ROW = {"id": "a", "path": "a.ptx", "block": [32, 1, 1], "grid": [4], "shared": 0, "outputs": ["o"], "config": {"any": 1},
       "args": [{"ptr": "x"}, {"ptr": "o"}, {"f32": 1.5}],
       "buffers": {"x": {"dtype": "f32", "elements": 128, "role": "in"}, "o": {"dtype": "f32", "elements": 128, "role": "out"}}}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.ptx").write_text(element_kernel(ADD))
    (tmp_path / "b.ptx").write_text(element_kernel(SWAPPED))
    return tmp_path


def write(folder, *rows):
    path = folder / "m.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_reads_launches_and_buffers(folder):
    read = samebits.read_manifest(write(folder, ROW, "", {**ROW, "id": "b", "path": "b.ptx"}))
    assert [launch_id for launch_id, _ in read.launches] == ["a", "b"]
    kernel = read.launches[0][1]
    assert kernel == samebits.launch(text=element_kernel(ADD), block=(32,), grid=(4,), outputs=["o"],
                                     args=[samebits.pointer("x"), samebits.pointer("o"), samebits.f32(1.5)])
    assert read.buffers == [samebits.buffer("x", "f32", 128, role="in"), samebits.buffer("o", "f32", 128, role="out")]


def test_reads_every_kind_of_argument(folder):
    args = [{"ptr": None}, {"scratch": True}, None, {"i32": -1}, {"u32": "0xffffffff"}, {"i32": "0xffffffff"}, {"u64": 2**64 - 1},
            {"f32": "0x7fc00000"}, {"f64": "-inf"}, {"bytes": "00ff"}]
    read = samebits.read_manifest(write(folder, {**ROW, "args": args}))
    assert list(read.launches[0][1].launch.args.arguments) == [
        samebits.pointer(), samebits.scratch(), samebits.unknown(), samebits.integer(-1), samebits.integer(2**32 - 1),
        samebits.integer(-1), samebits.integer(2**64 - 1), samebits.launches.launch_pb2.Argument(float32_bits=0x7FC00000),
        samebits.f64(float("-inf")), samebits.aggregate(b"\x00\xff")]


@pytest.mark.parametrize("changed, said", [
    ({"blok": [1]}, "did you mean 'block'"),
    ({"path": "none.ptx"}, "none.ptx"),
    ({"path": None}, "string"),
    ({"block": [0]}, "block: write"),
    ({"args": [{"i32": 2**31}]}, r"args\[0\].*out of range"),
    ({"args": [{"f32": "x"}]}, "no number"),
    ({"args": [{"f32": float("nan")}]}, "which NaN"),
    ({"args": [{"bits": "0x1"}]}, "without a type"),
    ({"args": [{"ptr": 1}]}, "no argument"),
    ({"args": [{"bytes": "0"}]}, "hexadecimal"),
    ({"outputs": []}, "outputs"),
    ({"shared": -1}, "shared"),
    ({"buffers": {"x": {"dtype": "f32", "elements": 0}}}, "buffers.x"),
    ({"buffers": {"x": {"dtype": "f32", "elements": 1, "role": "output"}}}, "role"),
])
def test_a_bad_row_is_named(folder, changed, said):
    with pytest.raises(samebits.SamebitsError, match=said) as failure:
        samebits.read_manifest(write(folder, ROW, {**ROW, "id": "b", **changed}))
    assert "m.jsonl:2" in str(failure.value) or "none.ptx" in str(failure.value)


def test_a_bad_file_is_named(folder):
    for rows, said in (([""], "no rows"), (["{"], "m.jsonl:1: not JSON"), (["[" * 100000], "not JSON"), ([ROW, ROW], "that of line 1"),
                       ([ROW, {**ROW, "id": "b", "buffers": {"x": {"elements": 9}}}], "otherwise")):
        with pytest.raises(samebits.SamebitsError, match=said):
            samebits.read_manifest(write(folder, *rows))
    with pytest.raises(samebits.NotFoundError, match="nowhere"):
        samebits.read_manifest(folder / "nowhere")


def test_verifies_a_manifest(fleet_of_module, folder):
    path = write(folder, ROW, {**ROW, "id": "b", "path": "b.ptx"})
    with samebits.Client(fleet_of_module.address) as client:
        answer = client.verify(manifest=path, distributions=["uniform"]).result(timeout=60)
        assert answer.same_bytes is True and answer.launch_ids == ("a", "b")
