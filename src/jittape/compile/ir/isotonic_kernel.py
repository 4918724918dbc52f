"""The kernel that finds the blocks of isotonic regressions."""

from __future__ import annotations

from jittape.compile.ir.kernel import Kernel
from jittape.core.locks import cached_property
from jittape.value_classes import value_class

__all__ = ["IsotonicBlocks"]


@value_class
class IsotonicBlocks(Kernel):
    """A kernel that pools elements of rows until the means of the blocks do not increase.

    Its operands are the rows of float64, the int32 numbers of their blocks, and scratch memory of a row for each task:
    the means of blocks and the numbers of their elements. Its sizes are the number of rows, that of a task, and their
    length.
    """

    @cached_property
    def text(self) -> str:
        return "()\n  int32: numbers the blocks of rows of float64 whose means do not increase"

    @property
    def loops(self) -> int:
        """The loops over rows, over elements, over blocks before an element, over blocks and over their elements."""
        return 5
