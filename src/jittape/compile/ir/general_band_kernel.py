"""The kernel that solves systems with matrices that have several diagonals, with exchanges of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.core.dtypes import info_of
from jittape.core.locks import cached_property
from jittape.value_classes import value_class

__all__ = ["GeneralBandSolve"]


@value_class
class GeneralBandSolve(Kernel):
    """A kernel that solves a stack of banded systems with partial pivoting.

    Its operands are the diagonals as rows, the right-hand sides, the two results in the order of their ops, and scratch
    memory for the factors of one matrix for each task. Its sizes are the number of systems, that of a task, the rows
    and columns of the right-hand sides, and the number of diagonals below and above the main one.

    Attributes
    ----------
    dtype : dtype
    solution, flags : int
        The number of the operand for the solutions, and of that which says whether a matrix is singular.
    """

    dtype: np.dtype[Any]
    solution: int
    flags: int

    @cached_property
    def text(self) -> str:
        return (
            f"({info_of(self.dtype).llvm})\n"
            f"  solves banded systems with pivots: r{self.solution}, singular: r{self.flags}"
        )

    @property
    def loops(self) -> int:
        """The loops over the systems, the elements, the pivots, the candidates, the rows below and the columns."""
        return 13
