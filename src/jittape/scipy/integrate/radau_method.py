"""The implicit Runge-Kutta method Radau IIA of order 5, with the exact Jacobian.

See Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.identity import stop_gradient
from jittape.primitives.linalg.lu import lu, lu_solve
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import expand_dims
from jittape.scipy.integrate.implicit_equations import (
    differentiable_once,
    newton,
    safety_after,
    with_gradient,
)
from jittape.scipy.integrate.ode_methods import (
    Field,
    Method,
    Point,
    Scale,
    Trial,
    power_sum,
    root_mean_square,
    size_factor,
)

__all__ = ["radau_method"]

ORDER = 3
"""Order of the error estimate."""
S6 = 6**0.5
C = ((4 - S6) / 10, (4 + S6) / 10, 1.0)
A = np.array(
    [
        [(88 - 7 * S6) / 360, (296 - 169 * S6) / 1800, (-2 + 3 * S6) / 225],
        [(296 + 169 * S6) / 1800, (88 + 7 * S6) / 360, (-2 - 3 * S6) / 225],
        [(16 - S6) / 36, (16 + S6) / 36, 1 / 9],
    ]
)
ERROR = np.array([[-13 - 7 * S6, -13 + 7 * S6, -1]]) / 3
REAL_EIGENVALUE = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)  # of the inverse of A
POLYNOMIAL = np.array(
    [
        [13 / 3 + 7 * S6 / 3, 13 / 3 - 7 * S6 / 3, 1 / 3],
        [-23 / 3 - 22 * S6 / 3, -23 / 3 + 22 * S6 / 3, -8 / 3],
        [10 / 3 + 5 * S6, 10 / 3 - 5 * S6, 10 / 3],
    ]
)


_once = differentiable_once(
    "radau_equations", "[solve_ivp] 'Radau' gives first derivatives; use 'Rodas4' for second ones"
)


def _values(field: Field, t: Any, y: Any, h: Any, z: Any) -> Any:
    """Return the right-hand side at the three stages, of shape (3, n)."""
    return stack([field(t + c * h, y + z[i]) for i, c in enumerate(C)])


def _system(slopes: list[Any], h: Any) -> Any:
    """Return the matrix of the linearized equations; `slopes` are the Jacobians at the stages."""
    n = slopes[0].shape[0]
    blocks = [concat([-h * float(a) * slope for a, slope in zip(row, slopes, strict=True)], 1) for row in A]
    return eye(3 * n, dtype=float64) + concat(blocks, 0)


def _radau_step(field: Field, at: Point, h: Any, scale: Scale) -> Trial:
    fixed = Point(*[stop_gradient(value) for value in at])
    n = at.y.shape[0]
    slope = stop_gradient(field.slope(fixed.t, fixed.y))
    factors = lu(_system([slope] * 3, h))
    times = (fixed.t + h * np.array(C) - fixed.old_t) / fixed.old_step
    before = matmul(POLYNOMIAL, fixed.old_rows)
    guess = power_sum(fixed.old_y, expand_dims(before, 0), times) - fixed.y

    def right(z: Any, t: Any, y: Any) -> Any:
        return h * matmul(A, _values(field, t, y, h, z))

    def matrix(z: Any, t: Any, y: Any) -> Any:
        return _system([field.slope(t + c * h, y + z[i]) for i, c in enumerate(C)], h)

    z, count, converged = newton(
        lambda z: right(z, fixed.t, fixed.y), factors, guess, scale(fixed.y, fixed.y)
    )
    z = with_gradient(field, right, matrix, (at.t, at.y), stop_gradient(z), _once)
    new = at.y + z[2]

    filtered = lu(eye(n, dtype=float64) * (REAL_EIGENVALUE / h) - slope)
    rest = expand_dims(matmul(ERROR, stop_gradient(z))[0] / h, -1)
    error = lu_solve(filtered.lu, filtered.p, expand_dims(fixed.f, -1) + rest)
    units = expand_dims(scale(fixed.y, stop_gradient(new)), -1)
    again = expand_dims(field(fixed.t, fixed.y + error[:, 0]), -1)
    size = root_mean_square(error / units)
    size = where(size < 1.0, size, root_mean_square(lu_solve(filtered.lu, filtered.p, again + rest) / units))
    factor = size_factor(size, ORDER, safety_after(count))
    return Trial(new, field(at.t + h, new), z, where(converged, size, np.nan), factor, 3.0 * count + 2.0)


def _collocation_polynomial(field: Field, t: Any, y: Any, new: Any, f_new: Any, k: Any, h: Any) -> Any:
    return matmul(POLYNOMIAL, k)


@cache
def radau_method() -> Method:
    """Return the method."""
    return Method(
        _radau_step, _collocation_polynomial, power_sum, ORDER, 3, 3, implicit=True, factorizations=2
    )
