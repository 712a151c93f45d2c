"""keep_equivalent: of an autotuner's configurations those that return the reference's bits."""

import sys
import time
import warnings
from typing import Any, Dict, List, Sequence

from samebits.results import Verdict
from samebits.triton.batch import Batch, Reference, named_reference
from samebits.triton.binding import unwrap
from samebits.triton.compiling import KeyAhead
from samebits.triton.deciding import Decider
from samebits.triton.report import EquivalenceError, Report, Row

__all__ = ["EquivalenceError", "KeepEquivalent", "Report", "Row", "keep_equivalent"]


def keep_equivalent(reference: Reference = "first", **options: Any) -> "KeepEquivalent":
    """For triton.autotune(prune_configs_by={"early_config_prune": keep_equivalent(...)}).

    reference: "first": the first configuration; "largest": the largest class; a triton.Config, or a dict of the values
    that single it out; the 32 hexadecimal digits of a signature that was stored earlier for the same launch. Options are
    those of KeepEquivalent.
    """
    return KeepEquivalent(reference, **options)


class KeepEquivalent(Decider):
    """Callable as Triton calls an `early_config_prune`. Not thread-safe.

    A configuration is kept only where its signature is the reference's. Where the reference itself has none (or nothing
    answers), the reference alone is kept, with a RuntimeWarning; where there is no such configuration,
    EquivalenceError is raised.

    kernel: what is tuned; default: the autotuner that calls. target: a GPUTarget; default: the current device's.
    symbolic: for all sizes, so that one answer serves every shape; more stays unknown. Further options are Decider's.
    """

    def __init__(self, reference: Reference = "first", *, kernel: Any = None, target: Any = None, symbolic: bool = False,
                 **options: Any):
        super().__init__(reference, **options)
        self._kernel, self._target, self._symbolic = kernel, target, symbolic

    def __call__(self, configs: Sequence[Any], named_args: Dict[str, Any], **keywords: Any) -> List[Any]:
        begin = time.perf_counter()
        key = KeyAhead()
        kernel = self._kernel or _calling_autotuner()
        target = self._target or _current_target()
        batch = Batch(list(configs), named_reference(self._reference, configs))
        batch.bind(kernel, target, named_args, keywords, self._symbolic)
        return self._kept(self.decide(batch, unwrap(kernel)[0].__name__, begin, key=key))

    def _kept(self, rows: List[Row]) -> List[Any]:
        kept = [row for row in rows if row.kept]
        if not kept:
            raise EquivalenceError(f"no configuration is proved to return the reference's bits\n{self.report()}")
        if len(kept) == 1 and kept[0].verdict is not Verdict.EQUIVALENT:
            warnings.warn(f"samebits: only the reference ({self.report().reference}) is kept: {kept[0].reason}", RuntimeWarning,
                          stacklevel=4)
        return [row.config for row in kept]


def _calling_autotuner() -> Any:
    """The autotuner that calls this pruner: Triton does not hand it over."""
    from triton.runtime.autotuner import Autotuner

    frame = sys._getframe(2)
    while frame is not None:
        candidate = frame.f_locals.get("self")
        if isinstance(candidate, Autotuner):
            return candidate
        frame = frame.f_back
    raise TypeError("called by no triton.autotune: name the kernel with keep_equivalent(kernel=...)")


def _current_target() -> Any:
    from triton.runtime import driver

    return driver.active.get_current_target()
