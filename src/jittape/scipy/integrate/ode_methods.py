"""One step of a method for ordinary differential equations, its error, and the polynomial inside the step.

Explicit Runge-Kutta methods take their coefficients from SciPy's classes (Dormand and Prince, J. Comput. Appl. Math. 6,
1980; Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I). Rodas4 is a linearly implicit method of
order 4 for stiff systems (Hairer and Wanner, Solving Ordinary Differential Equations II, section VI.4). It needs the
Jacobian, which is exact, and no iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from jittape.core.dtypes import float64
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import absolute, maximum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.linalg.solve import solve
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import expand_dims, squeeze
from jittape.transforms.gradients import jvp
from jittape.transforms.jacobians import jacobian

__all__ = [
    "RODAS4",
    "SAFETY",
    "Field",
    "Method",
    "Point",
    "Scale",
    "Trial",
    "explicit_method",
    "power_sum",
    "root_mean_square",
    "size_factor",
]

SAFETY = 0.9


class Field:
    """Right-hand side ``dy/dt = f(t, y)``.

    Attributes
    ----------
    read : list
        Tensors and Variables that `function` reads, as far as derivatives exist.
    """

    def __init__(self, function: Callable[[Any, Any], Any], read: Sequence[Any] = ()) -> None:
        self._function = function
        self.read = list(read)

    def __call__(self, t: Any, y: Any) -> Any:
        return self._function(t, y)

    def slope(self, t: Any, y: Any) -> Any:
        """Return the Jacobian with respect to `y`."""
        return jacobian(lambda v: self(t, v))(y)


class Point(NamedTuple):
    """Start of a step: time, values and right-hand side; and start, rows and size of the step before."""

    t: Any
    y: Any
    f: Any
    old_t: Any
    old_y: Any
    old_rows: Any
    old_step: Any


class Trial(NamedTuple):
    """Result of a trial step: values, right-hand side, rows for the polynomial, and the error in tolerances.

    An error of nan stands for a failed step. The next step, or the next trial, has `factor` times the size. The trial
    evaluated the right-hand side `calls` times.
    """

    y: Any
    f: Any
    rows: Any
    error: Any
    factor: Any
    calls: Any


Scale = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Method:
    """A method: functions of recorded values.

    Attributes
    ----------
    step : callable
        ``step(field, point, h, scale)`` returns a `Trial`; ``scale(y, new)`` are the tolerances of the components.
    polynomial : callable
        ``polynomial(field, t, y, new, f_new, rows, h)`` returns the coefficients of y inside an accepted step.
    inside : callable
        ``inside(y, coefficients, x)`` returns y at the fraction x of the step.
    order : int
        Order of the error estimate.
    rows : int
        Number of rows of `Trial.rows`.
    degree : int
        Number of rows of the coefficients.
    implicit : bool
        Whether a step solves nonlinear equations: its gradient needs the tensors that the right-hand side reads.
    factorizations : int
        Number of LU factorizations of a trial, which evaluates one Jacobian if there are any.
    polynomial_calls : int
        Number of evaluations of the right-hand side by `polynomial`.
    """

    step: Callable[[Field, Point, Any, Scale], Trial]
    polynomial: Callable[[Field, Any, Any, Any, Any, Any, Any], Any]
    inside: Callable[[Any, Any, Any], Any]
    order: int
    rows: int
    degree: int
    implicit: bool = False
    factorizations: int = 0
    polynomial_calls: int = 0


def root_mean_square(x: Any) -> Any:
    """Return the norm in which errors are measured."""
    return sqrt(reduce_mean(x * x))


def size_factor(error: Any, order: Any, safety: Any = SAFETY) -> Any:
    """Return the ratio of the size with the given error to that of the step, for an error estimate of this order."""
    return safety * pow(maximum(error, 1e-300), -1.0 / (order + 1))


def _combined(weights: Any, rows: list[Any]) -> Any:
    """Return the sum of rows times weights, without the terms of weight 0."""
    terms = [float(w) * row for w, row in zip(weights, rows, strict=False) if w]
    return sum(terms[1:], terms[0]) if terms else rows[0] * 0.0


# ---- explicit Runge-Kutta methods ------------------------------------------------------------------------------------


@cache
def explicit_method(name: str) -> Method:
    """Return the Runge-Kutta method of SciPy's class `name`."""
    import scipy.integrate

    table = getattr(scipy.integrate, name)
    order, count = table.error_estimator_order, table.n_stages + 1
    error = _error_of_853(table) if name == "DOP853" else _error_of_pair(table)

    def step(field: Field, at: Point, h: Any, scale: Scale) -> Trial:
        rows = [at.f]
        for a, c in zip(table.A[1:], table.C[1:], strict=True):
            rows.append(field(at.t + float(c) * h, at.y + h * _combined(a, rows)))
        new = at.y + h * _combined(table.B, rows)
        f_new = field(at.t + h, new)
        rows.append(f_new)
        size = error(rows, h, scale(at.y, new))
        return Trial(new, f_new, stack(rows), size, size_factor(size, order), count - 1)

    if name == "DOP853":
        extra = len(table.C_EXTRA)
        return Method(
            step, _polynomial_of_853(table), _inside_of_853, order, count, 7, polynomial_calls=extra
        )

    def polynomial(field: Field, t: Any, y: Any, new: Any, f_new: Any, k: Any, h: Any) -> Any:
        rows = _rows(k)
        return stack([h * _combined(column, rows) for column in table.P.T])

    return Method(step, polynomial, power_sum, order, count, table.P.shape[1])


def power_sum(y: Any, coefficients: Any, x: Any) -> Any:
    """Return ``y + c[0] x + c[1] x**2 + ...``; `x` is a number, or has the dimensions before those of `c`."""
    x = expand_dims(x, -1)
    value = coefficients[..., -1, :] * x
    for i in reversed(range(coefficients.shape[-2] - 1)):
        value = (value + coefficients[..., i, :]) * x
    return y + value


def _rows(k: Any) -> list[Any]:
    return [k[i] for i in range(k.shape[0])]


def _error_of_pair(table: Any) -> Callable[..., Any]:
    return lambda rows, h, scale: root_mean_square(h * _combined(table.E, rows) / scale)


def _error_of_853(table: Any) -> Callable[..., Any]:
    def error(rows: list[Any], h: Any, scale: Any) -> Any:
        fifth = reduce_sum((_combined(table.E5, rows) / scale) ** 2)
        third = reduce_sum((_combined(table.E3, rows) / scale) ** 2)
        denominator = sqrt((fifth + 0.01 * third) * float(scale.shape[0]))
        return where(denominator > 0, absolute(h) * fifth / denominator, 0.0)

    return error


def _polynomial_of_853(table: Any) -> Callable[..., Any]:
    def polynomial(field: Field, t: Any, y: Any, new: Any, f_new: Any, k: Any, h: Any) -> Any:
        rows = _rows(k)
        for a, c in zip(table.A_EXTRA, table.C_EXTRA, strict=True):
            rows.append(field(t + float(c) * h, y + h * _combined(a, rows)))
        change = new - y
        parts = [change, h * rows[0] - change, 2.0 * change - h * (f_new + rows[0])]
        return stack([*parts, *[h * _combined(d, rows) for d in table.D]])

    return polynomial


def _inside_of_853(y: Any, coefficients: Any, x: Any) -> Any:
    x = expand_dims(x, -1)
    value = coefficients[..., -1, :] * x
    for i in reversed(range(6)):
        value = (value + coefficients[..., i, :]) * (x if i % 2 == 0 else 1.0 - x)
    return y + value


# ---- Rodas4 ----------------------------------------------------------------------------------------------------------

GAMMA = 0.25
ALPHA = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
GAMMAS = (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)
LAST = (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950)
A = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    LAST,
    (*LAST, 1.0),
)
C = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)


def _rodas_step(field: Field, at: Point, h: Any, scale: Scale) -> Trial:
    slope = field.slope(at.t, at.y)
    _, in_time = jvp(lambda s: field(s, at.y), [at.t], [at.t * 0.0 + 1.0], unconnected_gradients="zero")
    matrix = eye(at.y.shape[0], dtype=float64) / (GAMMA * h) - slope
    rows: list[Any] = []
    for i in range(6):
        value = at.f if i == 0 else field(at.t + ALPHA[i] * h, at.y + (_combined(A[i], rows)))
        right = value + (GAMMAS[i] * h) * in_time
        if rows:
            right = right + _combined(C[i], rows) / h
        rows.append(squeeze(solve(matrix, expand_dims(right, -1)), -1))
    new = at.y + _combined((*LAST, 1.0, 1.0), rows)
    f_new = field(at.t + h, new)
    size = root_mean_square(rows[5] / scale(at.y, new))
    return Trial(new, f_new, expand_dims(at.f, 0), size, size_factor(size, RODAS4.order), 6)


def _hermite(field: Field, t: Any, y: Any, new: Any, f_new: Any, k: Any, h: Any) -> Any:
    """Return the cubic polynomial with the values and slopes of both ends."""
    change, first, last = new - y, h * k[0], h * f_new
    return stack([first, 3.0 * change - 2.0 * first - last, first + last - 2.0 * change])


RODAS4 = Method(_rodas_step, _hermite, power_sum, 3, 1, 3, factorizations=1)
