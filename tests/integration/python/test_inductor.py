"""The Inductor hook on stand-ins of its objects: PyTorch is not installed here. tests/device/run_inductor.py has the real ones."""

import sys
import types

import pytest
import samebits.inductor
import triton
import triton_kernels as kernels
from samebits.triton import Buffer
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SIGNATURE = {"x": "*fp32", "o": "*fp32", "n": "i32", "B": "constexpr"}


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    compat = types.SimpleNamespace(ASTSource=ASTSource, GPUTarget=GPUTarget, cc_warp_size=lambda cc: 32)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="1.13.1+cu117"))
    monkeypatch.setitem(sys.modules, "torch._inductor.runtime.triton_compat", compat)


class Autotuner:
    """Has of CachingAutotuner what the hook uses."""

    def __init__(self, configs):
        self.fn, self.timed, self.kept = kernels.row_sum, [], None
        self.compile_results = [self._precompile_config(config) for config in configs]
        self.launchers = [types.SimpleNamespace(config=config) for config in configs]

    def _create_compile_meta(self, config):
        return {"signature": SIGNATURE, "constants": dict(config.kwargs), "configs": [{}], "device_type": "cuda", "cc": 90}

    def _create_compile_options(self, config, meta):
        return {"num_warps": config.num_warps, "num_stages": config.num_stages}

    def _precompile_config(self, config):
        source = ASTSource(self.fn, SIGNATURE, dict(config.kwargs), {})
        options = self._create_compile_options(config, None)
        return types.SimpleNamespace(config=config, kernel=triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options))

    def _interpret_args_grid(self, args, config):
        return args, (8, 1, 1)

    def bench(self, launcher, *args, **keywords):
        self.timed.append(launcher.config)
        return 1.0


def config(block, warps, stages=2):
    return triton.Config({"B": block}, num_warps=warps, num_stages=stages)


def arguments():
    return Buffer("fp32"), Buffer("fp32"), 4096


def original(autotuner, *args, **keywords):
    autotuner.kept = [launcher.config for launcher in autotuner.launchers]


def test_only_equal_configurations_are_timed():
    configs = [config(128, 1), config(512, 4), config(128, 1, 3), config(128, 4)]
    hook, autotuner = samebits.inductor.keep_equivalent(cache=None), Autotuner(configs)
    hook._tune(original, autotuner, *arguments())
    assert autotuner.kept == [configs[0], configs[2]]
    assert hook.reports[0].kernel == "row_sum" and "other bits" in hook.report()


def test_one_that_is_left_needs_no_timing():
    autotuner = Autotuner([config(128, 1), config(512, 4)])
    samebits.inductor.keep_equivalent(cache=None)._tune(original, autotuner, *arguments())
    assert autotuner.kept is None and len(autotuner.launchers) == 1


def test_what_is_not_decided_leaves_the_reference_alone():
    autotuner = Autotuner([config(128, 1), config(128, 1, 3)])
    for result in autotuner.compile_results:
        result.kernel = types.SimpleNamespace(asm={})
    with pytest.warns(RuntimeWarning, match="only the reference"):
        samebits.inductor.keep_equivalent(cache=None)._tune(original, autotuner, *arguments())
    assert [launcher.config.num_stages for launcher in autotuner.launchers] == [2] and autotuner.kept is None


def test_coordinate_descent_times_equal_candidates():
    hook, start = samebits.inductor.keep_equivalent(cache=None), config(128, 1)
    autotuner = Autotuner([start])
    candidates = [config(128, 1, 3), config(512, 1), config(128, 2)]
    times = {}

    def descent(autotuner, launcher, *args, **keywords):
        for candidate in candidates:
            result = autotuner._precompile_config(candidate)
            times[candidate] = autotuner.bench(types.SimpleNamespace(config=result.config), *args)
        return launcher

    hook._descend(descent, autotuner, autotuner.launchers[0], *arguments())
    assert autotuner.timed == candidates[:1] and times[candidates[1]] == times[candidates[2]] == float("inf")
    assert [row.kept for row in hook.reports[0].rows] == [True, False, False]
    assert autotuner.bench.__func__ is Autotuner.bench


def test_other_versions_are_refused():
    with pytest.raises(samebits.inductor.UntestedVersion, match="tested with PyTorch 2.11.0, this is 1.13.1"):
        samebits.inductor.keep_equivalent().__enter__()
    with pytest.raises(ValueError, match="reference"):
        samebits.inductor.keep_equivalent("fastest")
