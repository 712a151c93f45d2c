"""Autotune Triton kernels without changing their bits.

    @triton.autotune(configs, key=["n"], prune_configs_by={"early_config_prune": samebits.triton.keep_equivalent()})
    @triton.jit
    def kernel(...): ...

Before configurations are timed, all are compiled and compared, and those that are proved to return the reference's bits
are kept. samebits.triton.ops has reductions whose bits no configuration changes.
"""

from samebits.triton.binding import Buffer, Unsupported
from samebits.triton.pruning import EquivalenceError, KeepEquivalent, Report, Row, keep_equivalent

__all__ = ["Buffer", "EquivalenceError", "KeepEquivalent", "Report", "Row", "Unsupported", "keep_equivalent"]
