"""`Lapack`: factorizations and decompositions of matrices, and solutions of linear systems, as kernels.

A kernel runs on a stack of matrices. It calls LAPACK for each matrix, or its loops are unrolled for matrices of one
small order, with several matrices in the lanes of a vector.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jittape.compile.ir.instructions import Operand
from jittape.compile.ir.kernel import Kernel
from jittape.core.dtypes import bool_, info_of, int32
from jittape.core.locks import cached_property
from jittape.value_classes import value_class

__all__ = [
    "DECOMPOSITIONS",
    "EXPONENTIALS",
    "FACTORIZATIONS",
    "LAPACK_ROUTINES",
    "SCHUR_FUNCTIONS",
    "SOLVES",
    "Lapack",
    "lapack_kernel",
]

FACTORIZATIONS = ("potrf", "getrf")
"""Routines with one operand."""
SOLVES = ("trsm", "getrs")
"""Routines that also have right-hand sides."""
EXPONENTIALS = ("expm", "expm_derivative")
"""The exponential of a matrix, and its derivative in a direction, which stands to the right of the matrix."""
SCHUR_FUNCTIONS = ("sqrtm", "sqrtm_derivative", "logm", "logm_derivative")
"""The square root and the logarithm of a matrix by its Schur factors, and the same derivatives."""
DECOMPOSITIONS = (
    *("eigh", "eigvalsh", "eig", "svd", "svdvals", "qr", "complement"),
    *(*EXPONENTIALS, *SCHUR_FUNCTIONS),
)
"""Routines with one operand that need scratch memory; each but functions of matrices is a call or two of LAPACK."""
LAPACK_ROUTINES = (*FACTORIZATIONS, *SOLVES, "potri", *DECOMPOSITIONS)
"""Values of `Call.routine` that a `Lapack` kernel computes."""


@value_class
class Lapack(Kernel):
    """A stack of factorizations or decompositions, or of solutions of linear systems.

    The operands are the matrix `a0`, the right-hand sides `a1`, the result `r0`, and for a routine that may fail one
    truth value for each task, the last operand: whether one of its matrices failed. If the result takes the memory of
    the last matrix, both are `u0`. A decomposition has scratch memory for each task: `r1` for elements, and `r2` and
    `r3` for real numbers and integers if the routine needs them.

    Attributes
    ----------
    routine : str
        ``"potrf"`` is the lower Cholesky factor, ``"trsm"`` the solution of triangular systems, ``"getrf"`` the packed
        LU factorization and ``"getrs"`` the solution with it. ``"potri"`` is the pullback of a diagonal `a1` of the
        cotangent of a Cholesky factor: half of ``L^-T diag(p) L^-1`` with ``p = diag(L diag(a1))``. The operand `r1` is
        memory for a matrix in each task, which it needs if the signs of `p` differ. The other routines are named like
        the ops and have their results; ``"complement"`` completes orthonormal columns to a square matrix.
    dtype : dtype
        The dtype of all matrices.
    transposed : bool
        Whether the columns of the matrix are contiguous instead of the rows.
    lower, adjoint : bool
        Parameters of the op: the triangle that is read, and whether the conjugate transpose is solved with.
    order : int
        The order of the matrices for which the loops are unrolled; 0 for calls of LAPACK.
    """

    routine: str
    dtype: np.dtype[Any]
    transposed: bool
    lower: bool
    adjoint: bool
    order: int

    SYMBOLS: ClassVar[tuple[str, ...]] = (
        *("b0", "b1", "t0", "n", "k", "la", "oa", "x0", "x1"),
        *("m", "s1", "s2", "s3"),
    )
    """Extents of the two loops over the stack; matrices in a task; columns of a matrix and number of right-hand sides;
    leading dimension, offset and stack strides of `a0`; rows of a matrix; lengths of a task's scratch memory. For a
    decomposition, `k` is the number of computed vectors or values; for ``"potri"`` the maximum order for loops."""

    @property
    def result(self) -> int:
        """The number of the operand that is written or updated."""
        return next(i for i, o in enumerate(self.operands) if o.name in ("r0", "u0"))

    @property
    def in_place(self) -> bool:
        """Whether the result takes the memory of the last operand."""
        return self.operands[self.result].name == "u0"

    @property
    def may_fail(self) -> bool:
        """Whether the last operand has the failures."""
        return self.operands[-1].dtype == bool_

    @property
    def solves(self) -> bool:
        """Whether the kernel solves for right-hand sides."""
        return self.routine in SOLVES

    @cached_property
    def text(self) -> str:
        operands = ", ".join(f"{o.name}: {o.dtype.name}" for o in self.operands)
        flags = ("transposed", "lower", "adjoint")
        given = "".join(f", {name}" for name in flags if getattr(self, name))
        order = f" of order {self.order}" if self.order else ""
        return f"({operands}; {', '.join(self.SYMBOLS)})\n  {self.routine}{order}{given}"


def lapack_kernel(
    routine: str,
    dtype: np.dtype[Any],
    *,
    transposed: bool = False,
    lower: bool = False,
    adjoint: bool = False,
    order: int = 0,
    in_place: bool = False,
    may_fail: bool = False,
) -> Lapack:
    """Return the kernel of a routine, with its operands."""
    names = ["a0"] if routine in (*FACTORIZATIONS, *DECOMPOSITIONS) else ["a0", "a1"]
    names = [*names[:-1], "u0"] if in_place else [*names, "r0"]
    operands = [Operand(name, dtype) for name in names]
    real = info_of(dtype).real
    if routine in ("eigvalsh", "svdvals"):
        operands[-1] = Operand("r0", real)
    if routine == "eig":
        operands[-1] = Operand("r0", np.result_type(dtype, np.complex64))
    scratch = [dtype] if routine in ("potri", *DECOMPOSITIONS) else []
    if routine == "eig":
        scratch += [real]
    if routine in ("eigh", "eigvalsh", "svd", "svdvals", *EXPONENTIALS):
        scratch += [real, int32]
    written = [*scratch, bool_] if may_fail else scratch
    operands += [Operand(f"r{i}", kind) for i, kind in enumerate(written, 1)]
    return Lapack(tuple(operands), routine, dtype, transposed, lower, adjoint, order)
