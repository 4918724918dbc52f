"""The kernel that exchanges elements of rows one after another."""

from __future__ import annotations

from jittape.compile.ir.kernel import Kernel
from jittape.core.locks import cached_property
from jittape.value_classes import value_class

__all__ = ["Exchanges"]


@value_class
class Exchanges(Kernel):
    """A kernel that exchanges elements 0, 1, ... of each row of numbers 0, 1, ... with the elements at its targets.

    Its sizes are the number of rows, their length, the first element that is exchanged, and the step to the next one.
    """

    @cached_property
    def text(self) -> str:
        return "()\n  int64: exchanges each element of 0, 1, ... with that at its target, one after another"

    @property
    def loops(self) -> int:
        """The loops over rows, over the numbers and over the exchanges."""
        return 3
