"""Facts about the processor and the BLAS that decide how matrix products are scheduled.

The scheduler takes them as data and imports neither LLVM nor the BLAS. `compile/llvm/blas.py` finds out those of
this process.
"""

from __future__ import annotations

from collections.abc import Callable

from jittape.value_classes import NamedTuple

__all__ = ["Target", "TargetFacts"]


class TargetFacts(NamedTuple):
    """Inputs of scheduling besides the program and the thresholds.

    Attributes
    ----------
    wide_registers : bool
        Whether the processor has 32 vector registers of 64 bytes.
    unpacked : bool
        Whether the BLAS multiplies small matrices without packing them first.
    divisible : bool
        Whether tasks may divide a product of the BLAS, which then has no threads of its own.
    """

    wide_registers: bool
    unpacked: bool
    divisible: bool


Target = Callable[[], TargetFacts]
"""Finds out the facts. Only programs with matrix products call it, so that others do not load the BLAS."""
