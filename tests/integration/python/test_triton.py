"""keep_equivalent, on an explicit target."""

import warnings

import pytest
import samebits
import samebits.triton
import triton
import triton_kernels as kernels
from samebits import Verdict
from samebits.triton import Buffer, EquivalenceError, KeepEquivalent, batch, binding, compiling, drafts
from triton.backends.compiler import GPUTarget

TARGET = GPUTarget("cuda", 90, 32)
SUM_CONFIGS = [triton.Config({"B": b}, num_warps=w) for b in (128, 512) for w in (1, 4)]

stops_at_ptx = pytest.mark.skipif(triton.__version__ not in binding.TESTED, reason="each is compiled by itself with this Triton")


def sum_args(n=4096):
    return dict(x=Buffer("fp32"), o=Buffer("fp32"), n=n)


def prune(kernel, configs, named, reference="first", grid=(8,), **options):
    options.setdefault("cache", None)
    keep = KeepEquivalent(reference, kernel=kernel, target=TARGET, workers=2, **options)
    return keep(configs, named, grid=grid), keep.report()


def test_keeps_what_is_equal_and_says_why_not():
    kept, report = prune(kernels.row_sum, SUM_CONFIGS, sum_args())
    assert kept == SUM_CONFIGS[:1]
    assert [row.verdict for row in report.rows] == [Verdict.EQUIVALENT] + [Verdict.DISTINCT] * 3
    assert all("other bits" in row.reason for row in report.dropped) and report.kernel == "row_sum"
    assert "1 of 4 configurations kept" in str(report) and "dropped" in report._repr_html_()


def test_one_class_is_kept_whole():
    configs = [triton.Config({"B": b}, num_warps=w) for b in (64, 256) for w in (1, 2)]
    named = dict(x=Buffer("fp32"), o=Buffer("fp32"), scale=1.5, n=1000)
    kept, _ = prune(kernels.scaled, configs, named, grid=lambda meta: (triton.cdiv(1000, meta["B"]),))
    assert kept == configs


def test_is_called_by_the_autotuner_of_triton(tmp_path):
    keep = samebits.triton.keep_equivalent(target=TARGET, cache=tmp_path, workers=2)
    tuner = triton.autotune(SUM_CONFIGS, key=["n"], prune_configs_by={"early_config_prune": keep})(kernels.row_sum)
    tuner.nargs = sum_args()
    assert tuner.prune_configs({"grid": (8,), "warmup": False}) == SUM_CONFIGS[:1]
    assert keep.report().kernel == "row_sum" and keep.report().cached == 0
    assert tuner.prune_configs({"grid": (8,), "warmup": False}) == SUM_CONFIGS[:1]
    assert keep.report().cached == 4


def test_the_cache_tells_launches_apart(tmp_path):
    for n, cached in ((4096, 0), (4096, 4), (8192, 0)):
        assert prune(kernels.row_sum, SUM_CONFIGS, sum_args(n), cache=tmp_path)[1].cached == cached
    assert prune(kernels.row_sum, SUM_CONFIGS, sum_args(), cache=tmp_path, grid=(9,))[1].cached == 0
    assert prune(kernels.row_sum, SUM_CONFIGS, sum_args(), cache=tmp_path, ignore_signed_zero=True)[1].cached == 0
    for file in tmp_path.rglob("*.json"):
        file.write_text("{")
    assert prune(kernels.row_sum, SUM_CONFIGS, sum_args(), cache=tmp_path)[1].cached == 0


def test_compiles_the_longest_first():
    bounds = [binding.bind(kernels.row_sum, TARGET, sum_args(), {"grid": (8,), **config.all_kwargs()}) for config in SUM_CONFIGS]
    assert compiling.Compilers(bounds, 1)._ordered(range(4)) == [2, 0, 3, 1]  # 512 by 1 warp, 128 by 1 and 512 by 4, 128 by 4
    assert compiling.Compilers(bounds, 1, exact=[1])._ordered(range(4)) == [1, 2, 0, 3]


def test_references():
    _, report = prune(kernels.row_sum, SUM_CONFIGS, sum_args())
    third = report.rows[2].signature.digest
    for reference in ({"B": 512, "num_warps": 1}, SUM_CONFIGS[2], third):
        assert prune(kernels.row_sum, SUM_CONFIGS, sum_args(), reference)[0] == [SUM_CONFIGS[2]]
    twice = SUM_CONFIGS + [triton.Config({"B": 512}, num_warps=1, num_stages=2)]
    kept, report = prune(kernels.row_sum, twice, sum_args(), "largest")
    assert kept == [twice[2], twice[4]] and report.reference == "the largest class"
    with pytest.raises(ValueError, match="2 configurations match"):
        prune(kernels.row_sum, SUM_CONFIGS, sum_args(), {"B": 512})
    with pytest.raises(ValueError, match="reference"):
        prune(kernels.row_sum, SUM_CONFIGS, sum_args(), "fastest")
    with pytest.raises(EquivalenceError, match="0 of 4"):
        prune(kernels.row_sum, SUM_CONFIGS, sum_args(), "0" * 32)


def test_an_undecided_reference_is_kept_alone_with_a_warning():
    configs = [triton.Config({"B": 128}, num_warps=w) for w in (1, 2)]
    named = dict(x=Buffer("fp32"), o=Buffer("fp32"))
    with pytest.warns(RuntimeWarning, match="only the reference"):
        kept, report = prune(kernels.racing, configs, named)
    assert kept == configs[:1] and report.rows[0].verdict is Verdict.NONDETERMINISTIC
    with pytest.raises(EquivalenceError):
        prune(kernels.racing, configs, named, "largest")


def test_what_does_not_compile_is_dropped():
    configs = [triton.Config({"B": b}, num_warps=1) for b in (128, 256)]
    kept, report = prune(kernels.broken, configs, dict(x=Buffer("fp32"), o=Buffer("fp32")))
    assert kept == configs[:1] and "does not compile" in report.rows[1].reason and report.rows[1].verdict is None
    with pytest.raises(EquivalenceError):
        prune(kernels.broken, configs[1:], dict(x=Buffer("fp32"), o=Buffer("fp32")))


def test_heuristics_are_applied():
    configs = [triton.Config({"B": b}, num_warps=1) for b in (32, 64)]
    kept, report = prune(kernels.padded, configs, dict(x=Buffer("fp32"), o=Buffer("fp32"), n=96), grid=lambda meta: (triton.cdiv(96, meta["B"]),))
    assert kept == configs and report.kernel == "padded"


class Tensor(Buffer):
    """A tensor with a place in memory."""

    def __init__(self, pointer, count):
        super().__init__("fp32")
        self.pointer, self.shape = pointer, (count,)

    def data_ptr(self):
        return self.pointer

    def stride(self):
        return (1,)

    def element_size(self):
        return 4


def test_memory_in_common():
    from samebits.triton.binding import Unsupported, _buffer_names

    class Plain:
        def __init__(self, pointer, count):
            self.__dict__.update(Tensor(pointer, count).__dict__)

        data_ptr, stride, element_size = Tensor.data_ptr, Tensor.stride, Tensor.element_size

    assert _buffer_names({"a": Plain(1024, 64), "b": Plain(1280, 64)}) == {"a": "a", "b": "b"}
    assert _buffer_names({"a": Plain(1024, 64), "b": Plain(1024, 64)}) == {"a": "a", "b": "a"}
    with pytest.raises(Unsupported, match="overlap"):
        _buffer_names({"a": Plain(1024, 64), "b": Plain(1152, 64)})


def test_clusters_are_not_kept():
    configs = [triton.Config({"B": 128}, num_warps=1), triton.Config({"B": 128}, num_warps=1, num_ctas=2)]
    kept, report = prune(kernels.row_sum, configs, sum_args())
    assert kept == configs[:1] and "clusters" in report.rows[1].reason


def test_another_pre_hook_is_not_kept():
    configs = [triton.Config({"B": 128}, num_warps=1), triton.Config({"B": 128}, num_warps=1, num_stages=2, pre_hook=lambda args: None)]
    kept, report = prune(kernels.row_sum, configs, sum_args())
    assert kept == configs[:1] and "pre_hook" in report.rows[1].reason


def test_falls_back_where_the_server_is_away(monkeypatch):
    monkeypatch.setenv("SAMEBITS_SERVER", "127.0.0.1:1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept, report = prune(kernels.row_sum, SUM_CONFIGS[:2], sum_args())
    assert kept == SUM_CONFIGS[:1] and report.checked_by == "local"


def test_compilers_are_forked_only_where_grpc_leaves_forks_alone(monkeypatch):
    pytest.importorskip("grpc")
    assert compiling._may_fork()
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "1")
    assert not compiling._may_fork()


def test_without_any_checker_only_the_reference_is_kept(monkeypatch):
    monkeypatch.setattr(samebits.local, "_library", None)
    monkeypatch.setattr(samebits.local, "native_library", lambda: None)
    with pytest.warns(RuntimeWarning, match="no answer from local"):
        kept, report = prune(kernels.row_sum, SUM_CONFIGS, sum_args())
    assert kept == SUM_CONFIGS[:1] and all(not row.kept for row in report.rows[1:])


def test_asks_a_server(monkeypatch, real_server_address):
    here = prune(kernels.row_sum, SUM_CONFIGS, sum_args())[1]
    monkeypatch.setenv("SAMEBITS_SERVER", real_server_address)
    kept, report = prune(kernels.row_sum, SUM_CONFIGS, sum_args())
    assert report.checked_by == f"server {real_server_address}" and kept == SUM_CONFIGS[:1]
    assert [row.signature.digest for row in report.rows] == [row.signature.digest for row in here.rows]


def test_a_server_that_answers_with_errors_proves_nothing(server_address):
    """The test's server finds no entry in any text."""
    with samebits.Client(server_address, timeout=20) as client, pytest.warns(RuntimeWarning, match="only the reference"):
        kept, report = prune(kernels.row_sum, SUM_CONFIGS, sum_args(), client=client)
    assert report.checked_by == "client" and kept == SUM_CONFIGS[:1] and "no entry" in report.rows[1].reason


@stops_at_ptx
def test_kept_are_in_the_cache_of_triton_as_it_would_make_them(tmp_path, monkeypatch):
    """Numbers of stages make no difference to this kernel, so one text serves all three; Triton finds the rest done."""
    configs = [triton.Config({"B": 128}, num_warps=w, num_stages=s) for w, s in ((1, 1), (1, 2), (1, 3), (4, 3))]
    bounds = [binding.bind(kernels.row_sum, TARGET, sum_args(), {"grid": (8,), **config.all_kwargs()}) for config in configs]

    def stored(folder):
        return [{p.suffix: p.read_bytes() for p in (folder / name).iterdir() if p.suffix in (".ptx", ".cubin", ".json", ".llir")}
                for name in sorted(p.name for p in folder.iterdir()) if list((folder / name).glob("*.cubin"))]

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kept"))
    with compiling.Compilers(bounds, 2) as compilers:
        texts = dict(compilers.texts())
        assert sum(bool(text.ptx) for text in texts.values()) == 2 and not stored(tmp_path / "kept")
        compilers.finish([0, 1])
        compilers.finish([1, 2])
        compilers.finished()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "plain"))
    assert all(compiling.compile_one(bound).finished for bound in bounds[:3])
    assert len(stored(tmp_path / "kept")) == 3 and stored(tmp_path / "kept") == stored(tmp_path / "plain")


@stops_at_ptx
@pytest.mark.parametrize("kernel, named, kept", [
    (kernels.row_sum, sum_args(), 1), (kernels.scaled, dict(x=Buffer("fp32"), o=Buffer("fp32"), scale=1.5, n=1000), 4)])
@pytest.mark.parametrize("reference", ["first", "largest"])
def test_drafts_drop_but_never_keep(tmp_path, monkeypatch, kernel, named, kept, reference):
    real = {row.config: row.signature.digest for row in prune(kernel, SUM_CONFIGS, named, reference)[1].rows}
    monkeypatch.setattr(drafts, "_BULKY", 0)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    for cached in (0, 4):
        found, report = prune(kernel, SUM_CONFIGS, named, reference, cache=tmp_path)
        assert found == SUM_CONFIGS[:kept] and report.cached == cached
        assert {row.config: row.signature.digest for row in report.rows} == real
        assert [row.reason.endswith("of a draft") for row in report.rows] == [False] * kept + [True] * (4 - kept)
    assert len(list((tmp_path / "triton").rglob("*.cubin"))) == kept  # as it will run, not the draft


@stops_at_ptx
def test_a_draft_alone_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(drafts, "_BULKY", 0)
    monkeypatch.setattr(batch.Batch, "undecided_drafts", lambda *_: [])
    named = dict(x=Buffer("fp32"), o=Buffer("fp32"), scale=1.5, n=1000)
    found, report = prune(kernels.scaled, SUM_CONFIGS, named)
    assert found == SUM_CONFIGS[:1] and {row.verdict for row in report.dropped} == {Verdict.UNKNOWN}


def test_where_no_draft_can_be_made_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(drafts, "_BULKY", 0)
    monkeypatch.setattr(drafts.Draft, "__enter__", lambda self: 1 / 0)
    _, report = prune(kernels.row_sum, SUM_CONFIGS, sum_args())
    assert len(report.kept) == 1 and not any("draft" in row.reason for row in report.rows)


def test_the_key_that_comes_from_elsewhere_is_the_one(tmp_path, monkeypatch):
    triton_key = pytest.importorskip("triton.runtime.cache").triton_key
    monkeypatch.setattr(compiling.KeyAhead, "_known", None)
    triton_key.cache_clear()
    key = compiling.KeyAhead()
    assert key.get() == key.get() == triton_key()
    monkeypatch.setattr(compiling.KeyAhead, "_known", None)
    assert compiling.KeyAhead().get() is None  # this process has it


def test_an_unknown_triton_compiles_each_by_itself(monkeypatch):
    monkeypatch.setattr(compiling, "TESTED", ())
    bounds = [binding.bind(kernels.row_sum, TARGET, sum_args(), {"grid": (8,), "B": 128, "num_stages": s}) for s in (1, 2)]
    with compiling.Compilers(bounds, 2) as compilers:
        assert all(text.ptx and text.finished for _, text in compilers.texts())
