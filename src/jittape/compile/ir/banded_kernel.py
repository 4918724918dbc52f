"""The kernel that solves systems with triangular matrices that have few diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.core.dtypes import info_of
from jittape.core.locks import cached_property
from jittape.value_classes import value_class

__all__ = ["BandedSubstitution"]


@value_class
class BandedSubstitution(Kernel):
    """A kernel that solves a stack of triangular systems by substitution.

    Its operands are the diagonals as rows, the right-hand sides and the result. Its sizes are the number of systems,
    that of a task, the rows and columns of the right-hand sides, and the number of diagonals.

    Attributes
    ----------
    dtype : dtype
    lower, adjoint : bool
        Parameters of the op: the triangle, and whether the conjugate transpose is solved with.
    """

    dtype: np.dtype[Any]
    lower: bool
    adjoint: bool

    @cached_property
    def text(self) -> str:
        triangle = "lower" if self.lower else "upper"
        adjoint = ", adjoint" if self.adjoint else ""
        return f"({info_of(self.dtype).llvm})\n  solves banded systems, {triangle}{adjoint}"

    @property
    def loops(self) -> int:
        """The loops over the systems, the elements, the rows, the diagonals and, twice, the columns."""
        return 6
