"""Parts of the records of decompositions: stacks with nan, and reciprocals of gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import less_equal, where
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.linalg.matrix_operands import raise_for_first
from jittape.primitives.reduce.reductions import reduce_max

__all__ = [
    "NOT_CONVERGENT",
    "decompose_stack",
    "reciprocal_of_gap",
    "rounding_error",
]

NOT_CONVERGENT = "a matrix does not converge in LAPACK"
"""Failure of a decomposition, for code that runs without the interpreter."""


def decompose_stack(op: str, decompose: Callable[[Any], Any], x: Any) -> Any:
    """Return ``decompose(x)`` for a stack of matrices; the results of matrices with inf or nan are nan.

    Parameters
    ----------
    op : str
        Name for error messages.
    decompose : callable
        Maps a stack of matrices to one array with the same leading dimensions.
    x : ndarray
        The stack.

    Raises
    ------
    LinAlgError
        If LAPACK does not converge. The message contains the index of the first such matrix.
    """
    finite = np.isfinite(x).all((-2, -1))
    if not finite.all():
        x = np.where(finite[..., None, None], x, 0)
    try:
        out = decompose(x)
    except np.linalg.LinAlgError:
        bad = np.array([_fails(decompose, x[index]) for index in np.ndindex(finite.shape)])
        raise_for_first(
            bad.reshape(finite.shape),
            f"[{op}] The decomposition was not successful.",
            "does not converge in LAPACK",
            "multiples of it, or a slightly different matrix, may converge",
        )
        raise
    if not finite.all():
        out[~finite] = np.nan
    return out


def _fails(decompose: Callable[[Any], Any], matrix: Any) -> bool:
    try:
        decompose(matrix)
    except np.linalg.LinAlgError:
        return True
    return False


def rounding_error(values: Any, size: int) -> Any:
    """Return the rounding error of eigenvalues or singular values, which are in the last dimension (kept, length 1).

    It is ``size * eps`` times the greatest absolute value. Values that differ by less are regarded as equal.
    """
    eps = float(np.finfo(values.dtype).eps)
    return multiply(reduce_max(absolute(values), -1, keepdims=True), size * eps)


def reciprocal_of_gap(gap: Any, limit: Any) -> Any:
    """Return ``1 / gap``, or 0 where the absolute value of `gap` is at most `limit`."""
    return where(less_equal(absolute(gap), limit), 0.0, reciprocal(gap))
