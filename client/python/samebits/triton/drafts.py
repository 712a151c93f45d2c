"""Drafts: a kernel without the part of LLVM's optimizer that takes time out of all proportion.

Where a thread holds hundreds of elements, LLVM's vectorizer of straight-line code (SLP) takes seconds, with the square of
their number, and finds nothing that changes what is added to what. A draft leaves it out. It is another text than what
will run, so it proves nothing equal; but where its signature is not the wanted one, the real text need not be made.
"""

import re
from typing import Any, Optional

_BULKY = 4000  # values that one thread computes, by the Triton GPU IR
_TRIPLE = "nvptx64-nvidia-cuda"


def bulky(ttgir: str, options: Any) -> bool:
    """Whether a draft takes much less time than the kernel."""
    results = re.findall(r"tensor<((?:\d+x)+)[^>]*>(?:, #[^>]*>)?(?: loc\(.*\))?$", ttgir, re.M)
    values = 0
    for shape in results:
        size = 1
        for extent in shape[:-1].split("x"):
            size *= int(extent)
        values += size
    return values > _BULKY * 32 * options.num_warps


class Draft:
    """While entered, LLVM optimizes without that vectorizer. `fuse`: of the options, enable_fp_fusion."""

    def __init__(self, fuse: bool):
        from triton._C.libtriton import ir, llvm

        self._ir, self._llvm, self._fuse = ir, llvm, fuse
        self._to_module, self._attach, self._optimize = llvm.to_module, llvm.attach_datalayout, llvm.optimize_module
        self._processor: Optional[str] = None
        self._has_switch = "disable_slp_vectorizer" in (llvm.optimize_module.__doc__ or "")

    def __enter__(self) -> None:
        if self._has_switch:
            self._llvm.optimize_module = self._without
            return
        self._llvm.to_module, self._llvm.attach_datalayout = self._named, self._noted
        self._llvm.optimize_module = self._for_target

    def __exit__(self, *_: object) -> None:
        self._llvm.to_module, self._llvm.attach_datalayout = self._to_module, self._attach
        self._llvm.optimize_module = self._optimize

    def _without(self, *given: Any, **named: Any) -> None:
        self._optimize(*given, **{**named, "disable_slp_vectorizer": True})

    # Without the switch: told the target, the vectorizer knows that it has no vectors, and gives up at once.

    def _named(self, module: Any, context: Any) -> Any:
        module.set_attr("llvm.target_triple", self._ir.builder(module.context).get_string_attr(_TRIPLE))
        return self._to_module(module, context)

    def _noted(self, module: Any, triple: str, processor: str, *more: Any) -> None:
        self._processor = processor if triple == _TRIPLE else None
        self._attach(module, triple, processor, *more)

    def _for_target(self, module: Any, level: Any) -> None:
        if self._processor is None or f'target triple = "{_TRIPLE}"' not in str(module):
            raise RuntimeError("this Triton's module cannot be given a target")
        self._optimize(module, level, self._processor, "", [], self._fuse)
