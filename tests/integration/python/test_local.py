"""The checker in this process."""

import threading
import xml.etree.ElementTree

import pytest
import samebits
from conftest import ADD, MULTIPLY, SWAPPED, element_kernel, element_launch
from samebits import Code, Status, Verdict


def test_compares():
    answer = samebits.compare(element_launch(ADD), element_launch(SWAPPED))
    assert answer and answer.verdict is Verdict.EQUIVALENT
    assert answer.a.digest == answer.b.digest and len(answer.a.digest) == 32
    assert any("overlap" in assumption for assumption in answer.a.assumptions)
    other = samebits.compare(element_launch(ADD), element_launch(MULTIPLY))
    assert not other and other.verdict is Verdict.DISTINCT and other.difference is None


def test_explains_and_draws():
    answer = samebits.explain(element_launch(ADD), element_launch(MULTIPLY))
    assert "add" in answer.difference.a.node and "mul" in answer.difference.b.node
    assert answer.difference.buffer == "o" and answer.difference.a.place.line > 0
    assert xml.etree.ElementTree.fromstring(answer.svg()).tag.endswith("svg")
    assert "DIFFERENT" in answer._repr_html_() and "<svg" in answer._repr_html_()


def test_unknown_is_an_answer_and_equals_nothing():
    answer = samebits.compare(element_launch("frobnicate.f32 %f3, %f1;"), element_launch("frobnicate.f32 %f3, %f1;"))
    assert answer.verdict is Verdict.UNKNOWN and answer.a.status is Status.UNKNOWN
    assert answer.a.reason_code and answer.a.digest == ""
    assert "UNKNOWN" in answer.a._repr_html_()


def test_partitions_with_progress():
    items = [(f"add{i}", element_launch(ADD if i % 2 else SWAPPED)) for i in range(6)]
    items += [("mul", element_launch(MULTIPLY)), ("odd", element_launch("frobnicate.f32 %f3, %f1;")),
              ("bad", samebits.launch(text="no text", block=(1,)))]
    seen = []
    partition = samebits.partition(items, reference_id="add0", on_result=seen.append)
    assert [c.ids for c in partition.classes] == [tuple(f"add{i}" for i in range(6)), ("mul",)]
    assert partition.unknown_ids == ("odd",) and partition.error_ids == ("bad",) and "bad" in partition.errors
    assert partition.verdict("add3") and partition.verdict("mul") is Verdict.DISTINCT
    assert partition.verdict("odd") is Verdict.UNKNOWN and partition.class_of("mul").ids == ("mul",)
    assert sorted(p.item_id for p in seen) == sorted(i for i, _ in items) and seen[-1].done == seen[-1].total == 9
    squares = xml.etree.ElementTree.fromstring(partition.svg()).findall("{http://www.w3.org/2000/svg}rect")
    assert len(squares) == 9


def test_escapes_names_in_drawings():
    partition = samebits.partition([("<a&b>", element_launch(ADD))])
    assert "<a&b>" not in partition._repr_svg_() and xml.etree.ElementTree.fromstring(partition.svg()) is not None


def test_errors_are_exceptions_of_their_own():
    with pytest.raises(samebits.PtxSyntaxError) as syntax:
        samebits.compute_signature(samebits.launch(text=".version 8.0\nwhat", block=(1,)))
    assert syntax.value.line == 2 and syntax.value.code is Code.INVALID_ARGUMENT and syntax.value.reason == "PTX_SYNTAX"
    with pytest.raises(samebits.AmdgcnSyntaxError) as syntax:
        samebits.compute_signature(samebits.launch(text='\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nk:\n\ts_add_u32 s0', block=(1,)))
    assert syntax.value.line == 3 and syntax.value.reason == "AMDGCN_SYNTAX"
    with pytest.raises(samebits.LaunchError):
        samebits.compute_signature(element_launch(ADD, args=[samebits.pointer()]))
    with pytest.raises(samebits.LaunchError, match="float"):
        samebits.compute_signature(element_launch(ADD, args=[samebits.pointer(), samebits.pointer(), samebits.f64(1.0)]))
    with pytest.raises(samebits.LaunchError, match="its text"):
        samebits.compute_signature(samebits.launch(kernel="kernels/" + "0" * 64, block=(1,)))
    with pytest.raises(samebits.SamebitsError, match="reference"):
        samebits.partition([("a", element_launch(ADD))], reference_id="b")
    with pytest.raises(ValueError, match="twice"):
        samebits.partition([("a", element_launch(ADD)), ("a", element_launch(ADD))])


def test_describes():
    kernel = samebits.Local().describe_kernel(element_kernel(ADD))
    assert kernel.entries[0].name == "k" and [p.type for p in kernel.entries[0].parameters] == ["u64", "u64", "f32"]


def test_threads_agree():
    digests = []
    threads = [threading.Thread(target=lambda: digests.append(samebits.compute_signature(element_launch(ADD)).digest)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(digests) == 8 and len(set(digests)) == 1


def test_says_how_to_get_the_library(monkeypatch, tmp_path):
    monkeypatch.setattr(samebits.local, "_library", None)
    monkeypatch.setenv("SAMEBITS_LIBRARY", str(tmp_path / "none.so"))
    with pytest.raises(samebits.NativeLibraryError, match="none.so"):
        samebits.Local()
    monkeypatch.delenv("SAMEBITS_LIBRARY")
    monkeypatch.setattr(samebits.local, "native_library", lambda: None)
    with pytest.raises(samebits.NativeLibraryError, match="SAMEBITS_LIBRARY"):
        samebits.Local()


def test_is_typed():
    import pathlib

    package = pathlib.Path(samebits.__file__).parent
    assert (package / "py.typed").exists() and (package / "v1" / "signature_pb2.pyi").exists()
