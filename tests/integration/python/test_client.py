import hashlib

import pytest

import samebits
from samebits import Code, Status, Verdict

OK = Status.OK


@pytest.fixture
def client(server_address):
    with samebits.Client(server_address, timeout=20) as client:
        yield client


def text(words):
    return samebits.launch(text=words, block=(128,))


def test_registers_lists_gets_and_deletes(client):
    names = set()
    for i in range(5):
        kernel = client.register_kernel(f"kernel{i}")
        assert kernel.name == "kernels/" + hashlib.sha256(f"kernel{i}".encode()).hexdigest()
        names.add(kernel.name)
    assert {kernel.name for kernel in client.list_kernels(page_size=2)} == names
    name = sorted(names)[0]
    assert client.get_kernel(name).text == b""
    assert client.get_kernel(name, with_text=True).text.startswith(b"kernel")
    client.delete_kernel(name)
    with pytest.raises(samebits.SamebitsError) as failure:
        client.get_kernel(name)
    assert failure.value.code == Code.NOT_FOUND
    assert failure.value.reason == "KERNEL_NOT_FOUND"
    assert failure.value.metadata["name"] == name


def test_compares_and_explains(client):
    assert client.compare(text("a one"), text("a two")).verdict is Verdict.EQUIVALENT
    by_name = samebits.launch(kernel=client.register_kernel("b").name, block=(128, 1, 1), grid=(96,))
    assert client.compare(text("a one"), by_name).verdict is Verdict.DISTINCT
    comparison = client.explain(text("a one"), by_name)
    assert comparison.difference.summary == "the sums part"
    assert client.compute_signature(text("a one")).status == OK
    plain = client.compute_signature(text("a one"))
    assert plain.digest != client.compute_signature(text("a one"), ignore_signed_zero=True).digest


def test_reports_line_and_column(client):
    with pytest.raises(samebits.SamebitsError) as failure:
        client.register_kernel(b"invalid \xff")
    assert failure.value.code == Code.INVALID_ARGUMENT
    assert failure.value.reason == "PTX_SYNTAX"
    assert (failure.value.metadata["line"], failure.value.metadata["column"]) == ("2", "5")


def test_checks_the_width_of_floats(client):
    def call(x, y):
        args = [samebits.pointer("p"), x, y]
        return client.compute_signature(samebits.launch(text="a", block=(1,), args=args))

    assert call(samebits.f32(1.0), samebits.f64(1.0)).status == OK
    with pytest.raises(samebits.SamebitsError) as failure:
        call(samebits.f64(1.0), samebits.f64(1.0))
    assert failure.value.reason == "INVALID_LAUNCH"


def test_partitions(client):
    results = []
    items = [(f"item{i}", text(f"class{i % 3} text {i}")) for i in range(60)]
    items += [("unknown", text("unknown")), ("invalid", text("invalid"))]
    partition = client.partition(iter(items), reference_id="item0", on_result=results.append)
    assert len(results) == 62
    assert sorted(len(c.ids) for c in partition.classes) == [20, 20, 20]
    assert list(partition.unknown_ids) == ["unknown"]
    assert list(partition.error_ids) == ["invalid"]
    assert partition.verdict("item3") is Verdict.EQUIVALENT and partition.verdict("item4") is Verdict.DISTINCT
    assert partition.verdict("unknown") is Verdict.UNKNOWN and partition.verdict("invalid") is Verdict.UNKNOWN
    with pytest.raises(samebits.SamebitsError) as failure:
        client.partition(iter(items), reference_id="none")
    assert failure.value.metadata["field"] == "config.reference_id"


def test_gives_up_at_the_deadline(server_address):
    with samebits.Client(server_address, timeout=0.2) as client:
        with pytest.raises(samebits.SamebitsError) as failure:
            client.compare(text("a wait"), text("b"))
    assert failure.value.code == Code.DEADLINE_EXCEEDED


def test_reports_that_no_server_answers():
    with samebits.Client("127.0.0.1:1", timeout=5, max_attempts=2) as client:
        with pytest.raises(samebits.SamebitsError) as failure:
            client.register_kernel("a")
    assert failure.value.code == Code.UNAVAILABLE


def test_builds_launches():
    launch = samebits.launch(text=b"\xff", block=(1, 2), args=[samebits.integer(2**64 - 1), samebits.unknown()])
    assert launch.text == b"\xff"
    assert (launch.launch.block.x, launch.launch.block.y, launch.launch.block.z) == (1, 2, 1)
    assert not launch.launch.HasField("grid")
    assert launch.launch.args.arguments[0].integer == -1
    assert launch.launch.args.arguments[1].WhichOneof("value") is None
    assert samebits.launch(text="a", block=(1,), args=[]).launch.HasField("args")
    assert not samebits.launch(text="a", block=(1,)).launch.HasField("args")
    assert samebits.f32(1.0).float32_bits == 0x3F800000
    assert samebits.f64(-0.0).float64_bits == 1 << 63
    with pytest.raises(ValueError):
        samebits.integer(2**64)
    with pytest.raises(ValueError):
        samebits.launch(block=(1,))
