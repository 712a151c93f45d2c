"""verify, and handles of jobs, against a server and a worker."""

import io
import sys
import threading
import types
import xml.etree.ElementTree

import pytest
import samebits
from conftest import ADD, MULTIPLY, SWAPPED, Fleet, element_launch, the_program
from samebits import Agreement, Code, JobState, progress
from samebits.jobs import status_from
from samebits.v1 import operations_pb2, verification_pb2
from samebits.verification import verification_from

BUFFERS = [samebits.buffer("x", "f32", 128, role="in"), samebits.buffer("o", "f32", 128, role="out")]


def launch(body):
    return element_launch(body, args=[samebits.pointer("x"), samebits.pointer("o"), samebits.f32(1.5)])


@pytest.fixture(scope="module")
def client(fleet_of_module):
    with samebits.Client(fleet_of_module.address, timeout=20) as client:
        yield client


@pytest.fixture
def drained(fleet_of_module):
    """What is submitted waits."""
    fleet_of_module.run("fleet", "w", "--drain")
    yield fleet_of_module
    fleet_of_module.run("fleet", "w", "--undrain")


def test_verify_compares_bytes(client):
    launches = {"sum": launch(ADD), "swapped": launch(SWAPPED), "product": launch(MULTIPLY)}
    job = client.verify(launches, buffers=BUFFERS, devices="cpu", distributions=["uniform", "wide"], seed="s")
    seen = []
    answer = job.result(timeout=60, progress=seen.append)
    assert job.state is JobState.SUCCEEDED and job.progress == 1.0 and seen[-1].state.ended
    assert answer.agreement is Agreement.CONSISTENT and answer.launch_ids == ("sum", "swapped", "product")
    assert answer.class_of("sum").launch_ids(0) == ("sum", "swapped") and answer.class_of("product").launch_ids(0) == ("product",)
    assert (answer.pairs, answer.certified_pairs) == (3, 1) and answer.same_bytes is False and not answer.errors
    outcomes = answer.devices[0].outcomes
    assert outcomes["sum"].digests == outcomes["swapped"].digests != outcomes["product"].digests
    assert list(outcomes["sum"].digests) == ["uniform", "wide"] and outcomes["sum"].stable
    assert answer.signatures["sum"].digest == client.compute_signature(launch(ADD)).digest
    equal = client.verify([("a", launch(ADD)), ("b", launch(SWAPPED))], buffers=BUFFERS, distributions="wide").result(timeout=60)
    assert equal.same_bytes is True
    assert "CONSISTENT" in str(answer) and "bytes 2: product" in str(answer)


def test_what_does_not_run_is_told(client):
    answer = client.verify({"sine": launch("sin.approx.f32 %f3, %f1;")}, buffers=BUFFERS).result(timeout=60)
    assert answer.same_bytes is None and answer.agreement is Agreement.NOT_TESTED
    outcome = answer.devices[0].outcomes["sine"]
    assert outcome.error.code is Code.UNIMPLEMENTED and outcome.stable is None and outcome.digests == {}
    assert "approximate" in answer.errors[0] and "no bytes" in answer._repr_html_()


def test_jobs_are_found_cancelled_and_deleted(client, drained):
    job = client.verify({"sum": launch(ADD)}, buffers=BUFFERS, priority=7, deadline=600, request_id="once")
    assert client.verify({"sum": launch(ADD)}, buffers=BUFFERS, priority=7, deadline=600, request_id="once").name == job.name
    assert job.state is JobState.QUEUED and not job.ended and job.status.priority == 7
    assert (job.status.deadline - job.status.created).total_seconds() == pytest.approx(600, abs=1)
    assert job.name in [found.name for found in client.jobs(open_only=True)]
    assert client.job(job.name.split("/")[1]).state is JobState.QUEUED
    with pytest.raises(samebits.SamebitsError) as failure:
        job.delete()
    assert failure.value.reason == "NOT_ENDED" and "cancel" in failure.value.remedy
    with pytest.raises(samebits.DeadlineError, match="has not ended after 0.2 s"):
        job.wait(timeout=0.2, progress=False)
    assert job.cancel().state is JobState.CANCELLED
    with pytest.raises(samebits.JobError) as failure:
        job.result()
    assert failure.value.code is Code.CANCELLED and failure.value.name == job.name and failure.value.remedy in str(failure.value)
    assert job.name not in [found.name for found in client.jobs(open_only=True)]
    job.delete()
    with pytest.raises(samebits.NotFoundError):
        client.job(job.name)


def test_a_job_past_its_deadline_says_what_to_do(client, drained):
    job = client.verify({"sum": launch(ADD)}, buffers=BUFFERS, deadline=0.3)
    with pytest.raises(samebits.JobError) as failure:
        job.result(timeout=20)
    assert failure.value.code is Code.DEADLINE_EXCEEDED and "longer deadline" in failure.value.remedy


def test_a_job_is_followed_over_a_restart_of_the_server(client, drained):
    job = client.verify({"sum": launch(ADD)}, buffers=BUFFERS)
    watching, seen = threading.Event(), []

    def follow():
        for status in job.watch(timeout=60):
            seen.append(status.state)
            watching.set()

    follower = threading.Thread(target=follow)
    follower.start()
    assert watching.wait(20)
    drained.stop_server()
    drained.start_server()
    drained.run("fleet", "w", "--undrain")
    follower.join(60)
    assert seen[0] is JobState.QUEUED and seen[-1] is JobState.SUCCEEDED
    assert job.result().agreement is Agreement.CONSISTENT


def test_a_server_that_stays_away_is_given_up(tmp_path):
    fleet = Fleet(the_program(), tmp_path)
    fleet.start_server()
    fleet.start_worker()
    fleet.run("fleet", "w", "--drain")
    with samebits.Client(fleet.address, timeout=1) as client:
        job = client.verify({"sum": launch(ADD)}, buffers=BUFFERS)
        fleet.stop_server()
        with pytest.raises(samebits.UnavailableError, match="the job goes on"):
            job.wait(progress=False)
    fleet.stop()


def test_bad_requests_are_errors(client, monkeypatch, tmp_path):
    with pytest.raises(samebits.SamebitsError) as failure:
        client.verify({"sum": launch(ADD)}, devices=["cuda/sm_90"])
    assert failure.value.reason == "NO_DEVICE" and "samebits-worker" in failure.value.remedy
    with pytest.raises(samebits.LaunchError):
        client.verify({"sum": launch(ADD)}, distributions=["nosuch"])
    for launches in ([launch(ADD)], launch(ADD), {"sum": ADD}):
        with pytest.raises(TypeError, match="launches are a dict"):
            client.verify(launches)
    with pytest.raises(TypeError, match="samebits.buffer"):
        client.verify({"sum": launch(ADD)}, buffers=[("x", "f32", 1)])
    with pytest.raises(TypeError, match="no option 'strict'; options are ignore_signed_zero, strict_contraction"):
        client.verify({"sum": launch(ADD)}, strict=True)
    with pytest.raises(ValueError, match="either"):
        client.verify()
    with pytest.raises(ValueError, match="role"):
        samebits.buffer("x", "f32", 1, role="output")
    with pytest.raises(samebits.SamebitsError, match="buffers.x: unknown key 'type'"):
        client.verify({"sum": launch(ADD)}, buffers={"x": {"type": "f32", "elements": 1}})
    monkeypatch.setattr(samebits, "_default", None)
    monkeypatch.delenv("SAMEBITS_SERVER", raising=False)
    with pytest.raises(samebits.ServerNeededError, match="SAMEBITS_SERVER"):
        samebits.verify({"sum": launch(ADD)})


def contradicted():
    """What a server would say of a wrong certificate and of a launch that does not repeat; ids hold markup."""
    device = verification_pb2.DeviceVerification(target="cuda", worker="workers/g")
    device.device.backend, device.device.name, device.device.architecture = "cuda", "H<200>", "sm_90"
    for i, stable in enumerate((True, True, False)):
        device.outcomes.add(id=f"<k{i}>", stable=stable, digests=[bytes([i] * 32)])
    broken = verification_pb2.DeviceVerification(target="cpu")
    broken.error.code, broken.error.message = Code.UNAVAILABLE, "gone & lost"
    message = verification_pb2.VerifyKernelsResponse(
        launch_ids=["<k0>", "<k1>", "<k2>"], distributions=["uniform"], devices=[device, broken],
        classes=[{"devices": [0], "launches": [0]}, {"devices": [0], "launches": [1]}], agreement="CONTRADICTED", pairs=1,
        certified_pairs=1)
    for digest in ("a", "a", ""):
        message.signatures.add(status="OK" if digest else "UNKNOWN", digest=digest)
    message.contradictions.add(kind="PAIR_DIFFERS", a="<k0>", b="<k1>", distribution="uniform", reproducer="reproducers/r",
                               assumptions=["no overlap"])
    return verification_from(message)


def test_contradictions_show():
    answer = contradicted()
    assert answer.same_bytes is False and answer.unstable == ((0, "<k2>"),) and answer.errors == ("cpu: gone & lost",)
    assert str(answer.contradictions[0]) == "<k0> and <k1> differ on uniform, kept as reproducers/r; certified assuming no overlap"
    drawing = xml.etree.ElementTree.fromstring(answer.svg())
    squares = drawing.findall("{http://www.w3.org/2000/svg}rect")
    assert len(squares) == 9  # three launches: signature and two devices
    assert sum(square.get("stroke") == "#e00000" for square in squares) == 2
    page = answer._repr_html_()
    assert "<k0>" not in page and "&lt;k0&gt;" in page and "CONTRADICTED" in page and "does not repeat" in str(answer)


def running(done):
    operation = operations_pb2.Operation(name="operations/o", method="VerifyKernels", state="RUNNING")
    operation.tasks.add(target="cpu", state="RUNNING", done=done, total=40)
    return status_from(operation)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_in_a_terminal_and_nowhere_else():
    terminal, file = Terminal(), io.StringIO()
    with progress.progress_display(None, terminal) as show:
        show(running(10))
    assert "[######                  ] 10 of 40 steps" in terminal.getvalue() and terminal.getvalue().endswith("\r\033[K")
    with progress.progress_display(None, file) as show:
        show(running(10))
    assert file.getvalue() == ""
    with progress.progress_display(True, file) as show:
        show(running(10))
        show(running(11))
    assert file.getvalue().startswith("samebits: operations/o: 10 of 40 steps") and file.getvalue().count("\n") == 1
    with progress.progress_display(False, terminal) as show:
        show(running(20))
    assert "20 of 40" not in terminal.getvalue()


def test_progress_in_a_notebook_is_updated_in_place(monkeypatch):
    shown = []

    class Handle:
        def update(self, drawn):
            shown.append(drawn)

    def display(drawn, display_id):
        shown.append(drawn)
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(HTML=str, display=display))
    monkeypatch.setattr(progress, "_REDRAW", 0.0)
    with progress.progress_display(None, io.StringIO()) as show:
        show(running(10))
        show(running(30))
    assert len(shown) == 2 and "width:25%" in shown[0] and "width:75%" in shown[1] and "30 of 40 steps" in shown[1]
