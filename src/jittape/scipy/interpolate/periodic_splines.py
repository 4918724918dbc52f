"""The slopes of periodic cubic splines: a cyclic system with three diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.linalg.tridiagonal import tridiagonal_solve
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.scipy_operands import known_values

__all__ = ["nan_without_period", "periodic_slopes", "require_period"]

_ROUNDING = 1e-15


def require_period(y: Any, axis: int, function: str = "CubicSpline") -> None:
    """Raise `ValueError` if the first and the last value along `axis` are known and differ."""
    known = known_values(y)
    if known is None:
        return
    first, last = (np.take(known, place, axis) for place in (0, -1))
    if not np.allclose(first, last, rtol=_ROUNDING, atol=_ROUNDING):
        raise ValueError(
            f"[{function}] the first and last y must be equal for bc_type='periodic', got {first} and {last}"
        )


def nan_without_period(slopes: Any, y: Any) -> Any:
    """Return the slopes, but nan where the first and the last of the values, which may be unknown, differ."""
    apart = absolute(y[:1] - y[-1:]) > _ROUNDING * (1.0 + absolute(y[-1:]))
    return where(apart, np.nan, slopes)


def periodic_slopes(h: Any, m: Any) -> Any:
    """Return the slopes at all knots from the widths and the slopes of the chords, both with the intervals first."""
    n = h.shape[0]
    if n == 1:
        return concat([m, m], 0)
    if n == 2:
        slope = reduce_sum(m / h, 0, keepdims=True) / reduce_sum(1.0 / h, 0, keepdims=True)
        return concat([slope, slope, slope], 0)
    before, chord_before = (concat([v[-1:], v[:-1]], 0) for v in (h, m))
    rhs = 3.0 * (h * chord_before + before * m)
    left, right, main = (reshape(v, (-1,)) for v in (h, before, 2.0 * (h + before)))
    # By Sherman and Morrison, the corners left[0] and right[-1] are a matrix of rank one.
    corner = -main[:1]
    ratio = left[:1] / corner
    diagonal = concat([main[:1] - corner, main[1:-1], main[-1:] - right[-1:] * ratio], 0)
    zero = 0.0 * corner
    diagonals = stack([concat([right[:-1], zero], 0), diagonal, concat([zero, left[1:]], 0)])
    column = concat([corner, 0.0 * main[1:-1], right[-1:]], 0)
    solved = tridiagonal_solve(
        cast(diagonals, rhs.dtype), concat([rhs, cast(reshape(column, (-1, 1)), rhs.dtype)], 1)
    )
    y, q = solved[:, :-1], solved[:, -1:]
    factor = (y[:1] + ratio * y[-1:]) / (1.0 + q[:1] + ratio * q[-1:])
    slopes = y - q * factor
    return concat([slopes, slopes[:1]], 0)
