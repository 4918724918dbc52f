"""Parts of the records of decompositions: checks of operands, stacks with nan, and reciprocals of gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import BLAS, float64, is_differentiable
from jittape.core.program import Aval
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import as_symbol, cast_to
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import less_equal, where
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.reduce.reductions import reduce_max

__all__ = [
    "decompose_stack",
    "float_matrix",
    "reciprocal_of_gap",
    "require_lapack",
    "require_matrices",
    "rounding_error",
]


def float_matrix(x: Any) -> tuple[Any, ...]:
    """Promote the operand of a decomposition: integers and bools become float64."""
    x = as_symbol(x)
    return (x if is_differentiable(x.dtype) else cast_to(x, float64),)


def require_matrices(op: str, argument: str, x: Aval, square: bool = False) -> None:
    """Raise `ShapeError` unless the last two dimensions of `x` are matrices, square ones if `square`."""
    if x.ndim < 2:
        raise ShapeError(
            f"[{op}] {argument} must have at least 2 dimensions, got shape {x.shape}; expand_dims adds one"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"[{op}] {argument} must be square in its last two dimensions, got shape {x.shape}")


def require_lapack(op: str, argument: str, x: Aval) -> None:
    """Raise `DTypeError` unless LAPACK has routines for the dtype of `x`."""
    if x.dtype not in BLAS:
        raise DTypeError(
            f"[{op}] {argument} is {x.dtype.name}, for which LAPACK has no routine; cast it to float32"
        )


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
    numpy.linalg.LinAlgError
        If LAPACK does not converge. The message contains the index of the first such matrix.
    """
    finite = np.isfinite(x).all((-2, -1))
    if not finite.all():
        x = np.where(finite[..., None, None], x, 0)
    try:
        out = decompose(x)
    except np.linalg.LinAlgError:
        index = _first_failure(decompose, x)
        culprit = f"the matrix at index {index}" if index else "a matrix"
        raise np.linalg.LinAlgError(
            f"[{op}] LAPACK did not converge for {culprit} of shape {x.shape}"
        ) from None
    if not finite.all():
        out[~finite] = np.nan
    return out


def _first_failure(decompose: Callable[[Any], Any], x: Any) -> tuple[int, ...]:
    for index in np.ndindex(x.shape[:-2]):
        try:
            decompose(x[index])
        except np.linalg.LinAlgError:
            return index
    return ()


def rounding_error(values: Any, size: int) -> Any:
    """Return the rounding error of eigenvalues or singular values, which are in the last dimension (kept, length 1).

    It is ``size * eps`` times the greatest absolute value. Values that differ by less are regarded as equal.
    """
    eps = float(np.finfo(values.dtype).eps)
    return multiply(reduce_max(absolute(values), -1, keepdims=True), size * eps)


def reciprocal_of_gap(gap: Any, limit: Any) -> Any:
    """Return ``1 / gap``, or 0 where the absolute value of `gap` is at most `limit`."""
    return where(less_equal(absolute(gap), limit), 0.0, reciprocal(gap))
