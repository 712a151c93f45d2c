"""Descriptors of matrix products, profiles and batch invariance."""

import hashlib
import math
import pathlib
import random
import subprocess
import sys
import xml.etree.ElementTree

import numpy
import pytest
import samebits
from samebits import Code, _cuts, inputs
from samebits.gemm import described, description_from, invariance_from, shape_message
from samebits.gemm_jobs import recovered_from
from samebits.v1 import arch_profile_service_pb2, gemm_jobs_pb2, gemm_pb2

TYPES = "f16,f16,f32,f16"
DESC = gemm_pb2.GemmDesc
RECORD = pathlib.Path(__file__).resolve().parents[2] / "device" / "records" / "gemm-h200-cublaslt-13.1.profile"


@pytest.fixture(scope="module")
def client(fleet_of_module):
    with samebits.Client(fleet_of_module.address, timeout=30) as client:
        yield client


@pytest.fixture(params=["server", "process"])
def asked(request):
    """Who answers: a server, and the library in this process."""
    return request.getfixturevalue("client") if request.param == "server" else samebits.Local()


@pytest.fixture(scope="module")
def studied(client):
    return client.reconstruct_profile("simulated", [TYPES], random_shapes=24, most_k=1000, models=False, seed=3).result(timeout=60)


def descriptor(**fields):
    return DESC(**{**dict(a_type="F16", b_type="F16", accumulate_type="F32", output_type="F32", family="PLAIN", instruction="MMA",
                          instruction_k=16, use_fast_accum=True, short_turn="LAST", partial_type="F32", merge_type="F32"), **fields})


def test_a_study_is_a_job_whose_result_is_a_profile(client, studied):
    assert studied.library == "simulated" and studied.shapes == 24 and studied.name.startswith("archProfiles/")
    assert client.profile(studied.name) == studied and studied in client.profiles()
    text = client.export_profile(studied)
    assert client.import_profile(text) == studied
    other = client.reconstruct_profile("simulated-2", [(TYPES, "TN")], random_shapes=24, most_k=1000, models=False, seed=3).result(timeout=60)
    compared = client.compare_profiles(studied, other)
    assert compared.same + compared.changed + compared.unknown == 24 and compared.identity_changes
    assert "library version" in compared._repr_html_() and studied.name in studied._repr_html_()
    client.delete_profile(other)
    with pytest.raises(samebits.NotFoundError):
        client.profile(other.name)


def test_describes_and_emulates(client, studied):
    line = next(line for line in client.export_profile(studied).split("\n") if line.startswith("shape "))
    m, n, k = map(int, line.split()[1:4])
    described = client.describe_gemm(studied, TYPES.split(","), m, n, k)
    assert described.studied and described.summed_k == k and not described.drops_tail
    assert described.text.startswith("gemm/1 types=" + TYPES) and described.architecture == studied.architecture
    assert described == client.describe_gemm(studied.name, TYPES, m, n, k)
    # Products and sums of small integers are exact, in any order.
    rng = numpy.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (rows, k)).astype(numpy.float16) for rows in (m, n))
    out = client.emulate_gemm(described, a, b)
    assert out.dtype == numpy.float16 and out.shape == (m, n)
    assert (out == (a.astype(numpy.float64) @ b.T.astype(numpy.float64)).astype(numpy.float16)).all()
    raw = client.emulate_gemm(described.desc, a.tobytes(), b.tobytes(), m=m, n=n, k=k, architecture=90)
    assert raw == out.tobytes()
    with pytest.raises(samebits.NotFoundError):
        client.describe_gemm(studied, TYPES, 8191, 8191, 7777)


def test_the_order_of_sums_shows_in_emulated_bits(asked):
    a = numpy.array([[1.0, 2.0**-24, 2.0**-24, 2.0**-24]], numpy.float32)
    one = numpy.ones((1, 4), numpy.float32)
    scalar = dict(a_type="F32", b_type="F32", instruction="FMA", instruction_k=1)
    ascending = descriptor(**scalar)
    split = descriptor(**scalar, family="SPLIT_K", k_cuts=[DESC.Cut(layout="CONTIGUOUS", span=2, count=2, order="ASCENDING")])
    assert asked.emulate_gemm(ascending, a, one, architecture=90)[0, 0] == 1.0  # each addition rounds to even
    assert asked.emulate_gemm(split, a, one, architecture=90)[0, 0] == 1.0 + 2.0**-23
    scaled = descriptor(**scalar, epilogue=DESC.Epilogue(multiply_alpha=True, beta="BETA_FUSED", add_bias=True))
    out = asked.emulate_gemm(scaled, 4 * one, one, c=numpy.full((1, 1), 3, numpy.float32), bias=numpy.array([5], numpy.float32),
                              alpha=0.5, beta=2.0, architecture=90)
    assert out[0, 0] == 0.5 * 16 + 2 * 3 + 5


def test_workers_recover_descriptors_and_emulate_products(client):
    job = client.recover_gemms("simulated", TYPES, [(8, 8, 64), (3, 5, 500)], seed=2)
    found = job.result(timeout=60)
    assert client.job(job.name).result() == found and found.library == "simulated"
    assert [(gemm.m, gemm.n, gemm.k) for gemm in found.gemms] == [(8, 8, 64), (3, 5, 500)]
    known = found.gemms[1]
    assert known and known.state is samebits.RecoveryState.EXPLAINED and known.text.startswith("gemm/1 types=" + TYPES)
    assert known.launches > 0 and known.outputs > 0 and known.summed_k == 500 and known.evidence
    assert "EXPLAINED" in known._repr_html_() and known.description in str(found) and "<svg" in found._repr_html_()
    draw = {"dtype": "f16", "elements": 1500}, {"dtype": "f16", "elements": 2500}
    a, b = (inputs.buffer_bytes("s", name, spec, 1).view(numpy.float16).reshape(-1, 500) for name, spec in zip("ab", draw))
    here = client.emulate_gemm(known, a, b)
    made = [samebits.Generated("s", "normal"), samebits.Generated("s", "normal")]
    there = client.emulate_gemm_on_worker(known, *made, m=3, n=5, k=500).result(timeout=60)
    assert there.d == here.tobytes() and there.outputs == 15 and there.sha256 == hashlib.sha256(there.d).hexdigest()
    assert sum(block.outputs for block in there.blocks) == 15
    some = client.emulate_gemm_on_worker(known, a, made[1], n=5, outputs=[(2, 4), (0, 1)]).result(timeout=60)
    assert some.d == here[2, 4].tobytes() + here[0, 1].tobytes()
    digests = client.emulate_gemm_on_worker(known, a, b, digests_only=True).result(timeout=60)
    assert digests.d == b"" and digests.sha256 == there.sha256


def test_what_is_not_recovered_says_why():
    answer = gemm_jobs_pb2.RecoverGemmsResponse(device="d", library="cublas", architecture=90)
    answer.gemms.add(shape=shape_message(TYPES, 1, 2, 3, "TN"), state="UNSUPPORTED", reason="no <algorithm>")
    answer.gemms.add(shape=shape_message(TYPES, 1, 2, 30, "TN"), state="UNEXPLAINED", reason="none fits", desc=descriptor(),
                     summed_k=30, mismatch=dict(row=0, column=1, expected=2, library=3))
    nothing, closest = recovered_from(answer).gemms
    assert not nothing and nothing.desc is None and nothing.svg() == "" and "<algorithm>" not in nothing._repr_html_()
    assert not closest and closest.mismatch == samebits.Mismatch(0, 1, 2, 3) and "none fits" in closest._repr_html_()
    with pytest.raises(ValueError, match="no descriptor"):
        described(nothing, None)


def test_operands_are_checked(asked):
    desc, a = descriptor(), numpy.zeros((2, 16), numpy.float16)
    with pytest.raises(TypeError, match="float32.*nothing is rounded"):
        asked.emulate_gemm(desc, a.astype(numpy.float32), a, architecture=90)
    with pytest.raises(ValueError, match=r"b has shape \(2, 8\)"):
        asked.emulate_gemm(desc, a, a[:, :8], architecture=90)
    with pytest.raises(ValueError, match="give m, n and k"):
        asked.emulate_gemm(desc, a.tobytes(), a.tobytes(), architecture=90)
    with pytest.raises(ValueError, match="has 64 bytes, expected 96"):
        asked.emulate_gemm(desc, a.tobytes(), a.tobytes(), architecture=90, m=3, n=2, k=16)
    with pytest.raises(ValueError, match="architecture"):
        asked.emulate_gemm(desc, a, a)
    with pytest.raises(samebits.SamebitsError) as failure:
        asked.emulate_gemm(desc, a, a, architecture=12)
    assert failure.value.code is Code.UNIMPLEMENTED
    bf16 = asked.emulate_gemm(descriptor(a_type="BF16", b_type="BF16", output_type="BF16"), numpy.full((1, 16), 0x3F80, numpy.uint16),
                               numpy.full((1, 16), 0x3F80, numpy.uint16), architecture=90)
    assert bf16.dtype == numpy.uint16 and bf16[0, 0] == 0x4180  # 16
    swapped = numpy.ones((1, 16), ">f2")
    assert asked.emulate_gemm(desc, swapped, swapped, architecture=90)[0, 0] == 16


def test_needs_no_numpy_for_bytes(fleet_of_module):
    code = f"""
import sys
sys.modules["numpy"] = None
import samebits
from samebits.v1 import gemm_pb2
desc = gemm_pb2.GemmDesc.FromString({descriptor().SerializeToString()!r})
with samebits.Client({fleet_of_module.address!r}) as client:
    one = bytes.fromhex("003c") * 16
    print(client.emulate_gemm(desc, one, one, architecture=90, m=1, n=1, k=16).hex())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "00008041", done.stderr


def test_tells_where_a_batch_size_changes_bits(asked):
    if not RECORD.exists():
        pytest.skip(f"{RECORD} is not there")
    profile = asked.import_profile(RECORD)
    assert profile.device == "NVIDIA H200" and profile.architecture == 90
    changing = asked.batch_invariance(profile, "bf16,bf16,f32,bf16", 4096, 4096)
    assert not changing and changing.kinds_of_bits == 2 and changing.unknown_m == 0
    assert changing.run_of(1).bits == changing.run_of(48).bits != changing.run_of(49).bits and changing.run_of(9000) is None
    boxes = xml.etree.ElementTree.fromstring(changing.svg()).findall("{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(changing.runs) + 2
    assert "m = 48: bits 0" in str(changing)
    assert asked.batch_invariance(profile, "bf16,bf16,f32,bf16", 4096, 4096, first_m=64)
    described = asked.describe_gemm(profile, "bf16,bf16,f32,bf16", 16, 4096, 4096)
    assert described.desc.k_cuts[0].span == 2048 and "2048" in described.svg()


def test_this_process_keeps_profiles_as_a_server_does(client, studied):
    text, local = client.export_profile(studied), samebits.Local()
    kept = local.import_profile(text)
    assert kept == studied and local.profiles() == [kept] and local.profile(kept.name) == kept and local.export_profile(kept) == text
    m, n, k = map(int, next(line for line in text.split("\n") if line.startswith("shape ")).split()[1:4])
    assert local.describe_gemm(kept, TYPES, m, n, k) == client.describe_gemm(studied, TYPES, m, n, k)
    with pytest.raises(samebits.NotFoundError):
        local.describe_gemm(kept, TYPES, 8191, 8191, 7777)
    with pytest.raises(samebits.LaunchError, match="types"):
        local.describe_gemm(kept, "f16,f16", m, n, k)
    local.delete_profile(kept)
    with pytest.raises(samebits.NotFoundError, match="import_profile"):
        local.describe_gemm(kept, TYPES, m, n, k)
    for bad in ("nowhere.txt", "no\nprofile"):
        with pytest.raises(samebits.SamebitsError):
            local.import_profile(bad)


def test_runs_that_are_not_known_are_drawn_as_such():
    answer = arch_profile_service_pb2.ReportBatchInvarianceResponse(kinds_of_bits=1, unknown_m=3)
    answer.runs.add(first_m=1, last_m=3, why="no <answer>")
    answer.runs.add(first_m=4, last_m=9, text="gemm/1", summed_k=8)
    drawn = invariance_from(shape_message(TYPES, 1, 4, 8, "TN"), answer)
    assert drawn.runs[0].bits is None and drawn.runs[1].bits == 0 and not drawn
    assert "3 values of m not known" in str(drawn) and "<answer>" not in drawn.svg()
    assert xml.etree.ElementTree.fromstring(drawn.svg()) is not None


def elements_of_parts(cut, elements):
    """Parts of a cut as core/gemm states them, element by element."""
    tiles = [elements[i : i + cut.span] for i in range(0, len(elements), cut.span)]
    runs = min(cut.count, max(1, len(tiles)))
    parts = [[] for _ in range(runs)]
    if cut.layout == DESC.Cut.Layout.Value("BALANCED"):
        owners = [part for part in range(runs) for _ in range(len(tiles) // runs + (part < len(tiles) % runs))]
    elif cut.layout == DESC.Cut.Layout.Value("STRIDED"):
        owners = [tile % runs for tile in range(len(tiles))]
    else:
        owners = range(len(tiles))
    for owner, tile in zip(owners, tiles):
        parts[owner] += tile
    return parts


def test_drawn_cuts_are_those_of_the_descriptor():
    draw = random.Random(7)
    for _ in range(200):
        k, cuts = draw.randrange(1, 400), []
        for _ in range(draw.randrange(1, 4)):
            layout, span = draw.choice(["CONTIGUOUS", "STRIDED", "BALANCED"]), draw.randrange(1, 60)
            count = math.ceil(k / span) + draw.randrange(2) if layout == "CONTIGUOUS" else draw.randrange(1, 9)
            cuts.append(DESC.Cut(layout=layout, span=span, count=count, order="ASCENDING"))
        paths = {}

        def walk(elements, level, path):
            if level == len(cuts):
                paths.update((element, path) for element in elements)
                return
            for number, part in enumerate(elements_of_parts(cuts[level], elements)):
                walk(part, level + 1, (*path, number))

        walk(list(range(k)), 0, ())
        drawn = {element: path for first, end, path in _cuts.segments(cuts, k, 10**6) for element in range(first, end)}
        assert drawn == paths, (k, cuts)


@pytest.mark.parametrize("fields", [
    {}, {"k_loop_step": 64, "short_turn": "FIRST"}, {"use_fast_accum": False, "promotion_interval": 128},
    {"k_cuts": [DESC.Cut(layout="CONTIGUOUS", span=500, count=2, order="DESCENDING")], "partial_type": "F16", "merge_type": "F16"},
    {"k_cuts": [DESC.Cut(layout="STRIDED", span=8, count=96, order="LANES")]},
    {"k_cuts": [DESC.Cut(layout="STRIDED", span=3, count=300, order="LANES8"), DESC.Cut(layout="BALANCED", span=1, count=2, order="ASCENDING")]},
    {"epilogue": DESC.Epilogue(multiply_alpha=True, beta="BETA_MULTIPLY_ADD", add_bias=True, activation="RELU")},
])
def test_every_descriptor_can_be_drawn(fields):
    shape = shape_message(TYPES, 4, 4, 1000, "TN")
    answer = arch_profile_service_pb2.DescribeGemmResponse(desc=descriptor(**fields), text="t", description="<d>", summed_k=990)
    described = description_from(shape, 90, answer)
    drawing = described.svg()
    assert xml.etree.ElementTree.fromstring(drawing).get("width") and "not summed" in drawing and described.drops_tail
    assert len(drawing) < 60_000 and "<d>" not in described._repr_html_() and "are not summed" in described._repr_html_()
