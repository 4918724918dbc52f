"""Convolution and correlation of matrices with a choice of the elements beyond the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast, conj
from jittape.primitives.indexing.gather import gather
from jittape.primitives.signal.direct_convolution import direct_convolution
from jittape.scipy.signal.convolutions import signal_operands, swapped_for, turned

__all__ = ["convolve2d", "correlate2d"]

BOUNDARIES = ("fill", "wrap", "symm")


def _extended(a: Any, margins: tuple[int, ...], boundary: str, fillvalue: Any) -> Any:
    """Return a matrix with `margins` more elements at each end of its dimensions."""
    inside = np.array(True)
    for axis, (n, m) in enumerate(zip(tuple(a.shape), margins, strict=True)):
        places = np.arange(-m, n + m)
        here = (places >= 0) & (places < n)
        if boundary == "wrap":
            places = places % n
        elif boundary == "symm":
            places = np.minimum(places % (2 * n), 2 * n - 1 - places % (2 * n))
        else:
            places = np.clip(places, 0, n - 1)
        a = gather(a, places, axis=axis)
        inside = np.logical_and.outer(inside, here) if axis else here
    return where(inside, a, cast(fillvalue, a.aval.dtype)) if boundary == "fill" else a


def _of_matrices(
    function: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, correlation: bool
) -> Any:
    a, b = signal_operands(function, in1, in2, mode)
    if len(a.shape) != 2:
        raise ShapeError(
            f"[{function}] both arrays must be matrices, got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    if boundary not in BOUNDARIES:
        raise ValueError(f"[{function}] boundary must be one of {', '.join(BOUNDARIES)}, got {boundary!r}")
    dtype = np.result_type(np.dtype(a.aval.dtype), np.dtype(b.aval.dtype))
    a, b = cast(a, dtype), cast(b, dtype)
    if correlation:
        b = turned(b)
    first, second = tuple(a.shape), tuple(b.shape)
    if mode == "valid":
        swapped = swapped_for(function, first, second, mode)
        found = direct_convolution(b, a, 2, mode) if swapped else direct_convolution(a, b, 2, mode)
        return conj(found) if swapped and correlation else found  # SciPy conjugates the smaller matrix
    margins = tuple([n - 1 for n in second])
    found = direct_convolution(_extended(a, margins, boundary, fillvalue), b, 2, "valid")
    if mode == "full":
        return found
    starts = [n // 2 if correlation else (n - 1) // 2 for n in second]  # as in SciPy
    return found[tuple([slice(s, s + n) for s, n in zip(starts, first, strict=True)])]


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Convolve two matrices by sums of products; differentiable in both.

    Parameters
    ----------
    in1, in2 : tensor-like of two dimensions
        Matrices.
    mode : {"full", "valid", "same"}
        The whole result, the part without padding, or the center in the shape of `in1`.
    boundary : {"fill", "wrap", "symm"}
        Elements beyond the boundary of `in1`: `fillvalue`, those of its periodic or those of its mirrored continuation.
    fillvalue : number or tensor
        Element beyond the boundary for ``"fill"``.

    Returns
    -------
    Tensor
        The convolution, in NumPy's common dtype of both matrices.

    Raises
    ------
    ShapeError
        If an operand is no matrix, or empty.
    ValueError
        For another mode or boundary, or shapes that do not fit ``"valid"``.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.convolve2d([[1, 2], [3, 4]], [[1, 1]], mode="same", boundary="wrap").numpy()
    array([[3, 3],
           [7, 7]])
    """
    return _of_matrices("convolve2d", in1, in2, mode, boundary, fillvalue, correlation=False)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Return the cross-correlation of two matrices by sums of products; differentiable in both.

    Parameters
    ----------
    in1, in2, mode, boundary, fillvalue
        As in `convolve2d`.

    Raises
    ------
    ShapeError
        If an operand is no matrix, or empty.
    ValueError
        For another mode or boundary, or shapes that do not fit ``"valid"``.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.correlate2d([[1, 2], [3, 4]], [[0, 1]], mode="valid").numpy()
    array([[2],
           [4]])
    """
    return _of_matrices("correlate2d", in1, in2, mode, boundary, fillvalue, correlation=True)
