"""Roots and logarithms of matrices, complex ones for real matrices without real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import complex_of
from jittape.core.primitive import active_recorder
from jittape.primitives.elementwise.complex_numbers import cast, real
from jittape.primitives.spectra import matrix_functions
from jittape.recording.trace import Trace
from jittape.scipy.linalg.matrix_arguments import square_argument
from jittape.scipy.linalg.scipy_options import with_scipy_options

__all__ = ["logm", "sqrtm"]


def _complex_if_needed(function: Callable[[Any], Any], a: Any) -> Any:
    """Return a function of matrices; computed with complex numbers if a result of real ones is nan."""
    result = function(a)
    if a.dtype.kind == "c" or type(active_recorder()) is not Trace:
        return result
    if not np.isnan(result.numpy()).any() or not np.isfinite(a.numpy()).all():
        return result
    result = function(cast(a, complex_of(a.aval.dtype)))
    return result if np.nan_to_num(result.numpy()).imag.any() else real(result)


@with_scipy_options
def sqrtm(A: Any) -> Any:
    """Return the principal square root, which is complex if a real matrix has no real one.

    The dtype depends on the values, which are therefore read. Inside a `jt.function` or a loop, where they are unknown,
    the result for a real matrix is real, and nan if there is no real root: make the matrix complex there.

    Parameters
    ----------
    A : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions, or is not square in its last two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy()
    array([[2., 0.],
           [0., 3.]])
    """
    return _complex_if_needed(matrix_functions.sqrtm, square_argument("sqrtm", "A", A))


@with_scipy_options
def logm(A: Any) -> Any:
    """Return the principal logarithm, which is complex if a real matrix has no real one.

    The dtype depends on the values, as that of `sqrtm`. A singular matrix gives nan.

    Parameters
    ----------
    A : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions, or is not square in its last two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.logm([[1.0, 0.0], [0.0, 1.0]]).numpy()
    array([[0., 0.],
           [0., 0.]])
    """
    return _complex_if_needed(matrix_functions.logm, square_argument("logm", "A", A))
