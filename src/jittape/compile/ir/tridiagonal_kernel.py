"""The kernel that solves tridiagonal systems with exchanges of rows."""

from __future__ import annotations

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.core.dtypes import info_of
from jittape.core.locks import cached_property
from jittape.value_classes import value_class

__all__ = ["TridiagonalSolve"]


@value_class
class TridiagonalSolve(Kernel):
    """A kernel that solves a stack of tridiagonal systems with partial pivoting.

    Its operands are the diagonals, the right-hand sides, the two results in the order of their ops, and scratch memory
    of the size of the diagonals. Its sizes are the number of systems, that of a task, the rows and the columns.

    Attributes
    ----------
    dtype : dtype
    solution, flags : int
        The number of the operand for the solutions, and of that which says whether a matrix is singular.
    """

    dtype: np.dtype[np.floating]
    solution: int
    flags: int

    @cached_property
    def text(self) -> str:
        return (
            f"({info_of(self.dtype).llvm})\n"
            f"  solves tridiagonal systems with pivots: r{self.solution}, singular: r{self.flags}"
        )

    @property
    def loops(self) -> int:
        """The loops over the systems, the rows and, four times, the columns."""
        return 7
