"""The backward differentiation formulas of orders 1 to 5, with SciPy's choice of order and step size.

The steps are equidistant until the size changes; then the backward differences of the solution are those of the same
polynomial at the new distance (Byrne and Hindmarsh, ACM Trans. Math. Softw. 1, 1975; Shampine and Reichelt, The MATLAB
ODE Suite, SIAM J. Sci. Comput. 18, 1997). The Jacobian is exact.

The rows of a step are the differences of the solution at its end, then the order of the next step, and the number of
steps of equal size so far, each in a row of equal elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import float64, int64
from jittape.primitives.elementwise.comparison import logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import absolute, maximum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.identity import stop_gradient
from jittape.primitives.linalg.lu import lu
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.reduce.cumulative import cumprod, cumsum
from jittape.primitives.reduce.extremum_indices import argmax
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.creation import eye, zeros
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims
from jittape.recording.convert import convert_to_tensor
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
    root_mean_square,
    size_factor,
)

__all__ = ["bdf_method"]

ORDERS = 5
DIFFERENCES = ORDERS + 3
NUMBERS = np.arange(DIFFERENCES, dtype=np.float64)
EPS = float(np.finfo(np.float64).eps)
KAPPA = np.array([0, -0.1850, -1 / 9, -0.0823, -0.0415, 0])
GAMMA = np.cumsum(np.concatenate([[0.0], 1 / np.arange(1, ORDERS + 1)]))
ALPHA = (1 - KAPPA) * GAMMA
ERROR = KAPPA * GAMMA + 1 / np.arange(1, ORDERS + 2)

_once = differentiable_once(
    "bdf_equations", "[solve_ivp] 'BDF' gives first derivatives; use 'Rodas4' for second ones"
)


class History(NamedTuple):
    """Backward differences of the solution, one a row, for steps of one size; the order; number of such steps."""

    differences: Any
    order: Any
    count: Any


def _history(at: Point, h: Any) -> History:
    """Return the history for a step of size `h`."""
    order = cast(stop_gradient(at.old_rows[DIFFERENCES, 0]), int64)
    count = stop_gradient(at.old_rows[DIFFERENCES + 1, 0])
    begins = order == 0
    first = concat([stack([at.y, h * at.f]), zeros((DIFFERENCES - 2, *at.y.shape), dtype=float64)], 0)
    rounding = 4.0 * EPS * (absolute(at.t) + absolute(h))  # of the times, whose difference is the size
    equal = logical_or(begins, absolute(h - at.old_step) <= rounding)
    ratio = where(equal, 1.0, h / at.old_step)
    order = maximum(order, 1)
    known = where(begins, first, _rescaled(at.old_rows[:DIFFERENCES], order, ratio))
    return History(known, order, where(equal, count, 0.0))


def _rescaled(differences: Any, order: Any, ratio: Any) -> Any:
    """Return the differences, of the polynomial of this order, of points at `ratio` times the distance."""
    i, j = NUMBERS[1 : ORDERS + 1, None], NUMBERS[None, 1 : ORDERS + 1]
    change = matmul(cumprod((i - 1 - ratio * j) / i, axis=0), np.cumprod((i - 1 - j) / i, axis=0))
    rows, inside = differences[1 : ORDERS + 1], _up_to(order, NUMBERS[1 : ORDERS + 1])
    changed = where(inside > 0, matmul(change, rows * inside, transpose_a=True), rows)
    return concat([differences[:1], changed, differences[ORDERS + 1 :]], 0)


def _up_to(order: Any, numbers: Any) -> Any:
    """Return 1 in the rows of the differences up to `order`, 0 in the others."""
    return cast(expand_dims(numbers <= cast(order, float64), -1), float64)


def _bdf_step(field: Field, at: Point, h: Any, scale: Scale) -> Trial:
    history = _history(at, h)
    known, order = history.differences, history.order
    inside = _up_to(order, NUMBERS)
    alpha, constant = _entry(ALPHA, order), _entry(ERROR, order)
    guess = reduce_sum(known * inside, 0)
    past = matmul(GAMMA[None, 1:], (known * inside)[1 : ORDERS + 1])[0] / alpha
    c, new_t = h / alpha, at.t + h

    def right(z: Any, t: Any, guess: Any, past: Any) -> Any:
        return c * field(t, guess + z) - past

    def matrix(z: Any, t: Any, guess: Any, past: Any) -> Any:
        return eye(z.size, dtype=float64) - c * field.slope(t, guess + z)

    fixed = [stop_gradient(x) for x in (new_t, guess, past)]
    zero = fixed[1] * 0.0
    units = scale(fixed[1], fixed[1])
    solution = newton(lambda z: right(z, *fixed), lu(matrix(zero, *fixed)), zero, units)
    z = with_gradient(field, right, matrix, (new_t, guess, past), stop_gradient(solution.z), _once)
    new = guess + z

    units = scale(stop_gradient(new), stop_gradient(new))
    error = root_mean_square(constant * stop_gradient(z) / units)
    differences = _advanced(known, order, z)
    safety = safety_after(solution.count)
    next_order, grown = _next_order(differences, order, error, units, safety)
    count = history.count + 1.0
    changes = count >= cast(order, float64) + 1.0
    factor = where(error < 1.0, where(changes, grown, 1.0), size_factor(error, cast(order, float64), safety))
    numbers = [where(changes, next_order, cast(order, float64)), where(changes, 0.0, count)]
    rows = [differences, *[broadcast_to(x, (1, *new.shape)) for x in numbers]]
    error = where(solution.converged, error, np.nan)
    return Trial(new, field(new_t, new), concat(rows, 0), error, factor, solution.count + 1.0)


def _entry(table: Any, order: Any) -> Any:
    return convert_to_tensor(table)[order]


def _advanced(known: Any, order: Any, z: Any) -> Any:
    """Return the differences at the end of a step whose result differs from the prediction by `z`."""
    inside = _up_to(order, NUMBERS)
    sums = cumsum(known * inside, axis=0, reverse=True) + z
    numbers, last = expand_dims(NUMBERS, -1), cast(order, float64)
    beyond = z - reduce_sum(known * cast(numbers == last + 1.0, float64), 0)
    further = where(numbers == last + 1.0, z, where(numbers == last + 2.0, beyond, 0.0))
    return where(inside > 0, sums, further)


def _next_order(differences: Any, order: Any, error: Any, units: Any, safety: Any) -> tuple[Any, Any]:
    """Return the order, among this one and its neighbors, that allows the largest step, and the factor of its size."""
    sizes = stop_gradient(differences) / units
    last = cast(order, float64)
    errors = [
        where(last > 1.0, _entry(ERROR, maximum(order - 1, 0)) * root_mean_square(sizes[order]), np.inf),
        error,
        where(
            last < float(ORDERS),
            _entry(np.append(ERROR, 0.0), order + 1) * root_mean_square(sizes[order + 2]),
            np.inf,
        ),
    ]
    factors = pow(maximum(stack(errors), 1e-300), -1.0 / (last + np.arange(3.0)))
    best = argmax(factors)
    return last + cast(best, float64) - 1.0, safety * factors[best]


def _differences_of_order(field: Field, t: Any, y: Any, new: Any, f_new: Any, rows: Any, h: Any) -> Any:
    order = stop_gradient(rows[DIFFERENCES, 0])
    return rows[1 : ORDERS + 1] * _up_to(order, NUMBERS[1 : ORDERS + 1])


def _inside(y: Any, coefficients: Any, x: Any) -> Any:
    """Return the value of Newton's interpolation polynomial; its first two differences are known at both ends."""
    x = expand_dims(x, -1)
    value, basis = y + coefficients[..., 0, :] * x, x - 1.0
    for i in range(1, ORDERS):
        basis = basis * (x + (i - 1.0)) / (i + 1.0)
        value = value + coefficients[..., i, :] * basis
    return value


@cache
def bdf_method() -> Method:
    """Return the method."""
    return Method(_bdf_step, _differences_of_order, _inside, 1, DIFFERENCES + 2, ORDERS, True, 1)
