"""One step of a method for ordinary differential equations, its error, and the values inside the step.

Explicit Runge-Kutta methods take their coefficients from SciPy's classes (Dormand and Prince, J. Comput. Appl. Math. 6,
1980; Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I). Rodas4 is a linearly implicit method of
order 4 for stiff systems (Hairer and Wanner, Solving Ordinary Differential Equations II, section VI.4). It needs the
Jacobian, which is exact, and no iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from jittape.core.dtypes import float64
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.linalg.solve import solve
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import expand_dims, squeeze
from jittape.transforms.gradients import jvp
from jittape.transforms.jacobians import jacobian

__all__ = ["METHODS", "Method", "root_mean_square"]

Field = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Method:
    """A method: functions of recorded values.

    Attributes
    ----------
    step : callable
        ``step(field, t, y, f, h)`` returns the new y, the new f and the stages.
    error : callable
        ``error(stages, h, scale)`` returns the norm of the error estimate in units of the tolerance.
    inside : callable
        ``inside(field, t, y, y_new, f_new, stages, h, x)`` returns y at the fraction x of the step.
    order : int
        Order of the error estimate.
    stages : int
        Number of rows of the array of stages.
    """

    step: Callable[..., Any]
    error: Callable[..., Any]
    inside: Callable[..., Any]
    order: int
    stages: int


def root_mean_square(x: Any) -> Any:
    """Return the norm in which errors are measured."""
    return sqrt(reduce_mean(x * x))


def _combined(weights: Any, rows: list[Any]) -> Any:
    """Return the sum of rows times weights, without the terms of weight 0."""
    terms = [float(w) * row for w, row in zip(weights, rows, strict=False) if w]
    return sum(terms[1:], terms[0]) if terms else rows[0] * 0.0


# ---- explicit Runge-Kutta methods ------------------------------------------------------------------------------------


def _explicit(name: str) -> Method:
    import scipy.integrate

    table = getattr(scipy.integrate, name)
    order, stages = table.error_estimator_order, table.n_stages + 1

    def step(field: Field, t: Any, y: Any, f: Any, h: Any) -> tuple[Any, Any, Any]:
        rows = [f]
        for a, c in zip(table.A[1:], table.C[1:], strict=True):
            rows.append(field(t + float(c) * h, y + h * _combined(a, rows)))
        new = y + h * _combined(table.B, rows)
        f_new = field(t + h, new)
        return new, f_new, stack([*rows, f_new])

    if name == "DOP853":
        return Method(step, _error_of_853(table), _inside_of_853(table), order, stages)

    def error(k: Any, h: Any, scale: Any) -> Any:
        return root_mean_square(h * _combined(table.E, list(_rows(k))) / scale)

    def inside(field: Field, t: Any, y: Any, new: Any, f_new: Any, k: Any, h: Any, x: Any) -> Any:
        rows = list(_rows(k))
        polynomials = [_combined(column, rows) for column in table.P.T]
        value = polynomials[-1] * x
        for q in reversed(polynomials[:-1]):
            value = (value + q) * x
        return y + h * value

    return Method(step, error, inside, order, stages)


def _rows(k: Any) -> Any:
    return [k[i] for i in range(k.shape[0])]


def _error_of_853(table: Any) -> Callable[..., Any]:
    def error(k: Any, h: Any, scale: Any) -> Any:
        rows = _rows(k)
        fifth = reduce_sum((_combined(table.E5, rows) / scale) ** 2)
        third = reduce_sum((_combined(table.E3, rows) / scale) ** 2)
        denominator = sqrt((fifth + 0.01 * third) * float(scale.shape[0]))
        return where(denominator > 0, absolute(h) * fifth / denominator, 0.0)

    return error


def _inside_of_853(table: Any) -> Callable[..., Any]:
    def inside(field: Field, t: Any, y: Any, new: Any, f_new: Any, k: Any, h: Any, x: Any) -> Any:
        rows = _rows(k)
        for a, c in zip(table.A_EXTRA, table.C_EXTRA, strict=True):
            rows.append(field(t + float(c) * h, y + h * _combined(a, rows)))
        change = new - y
        parts = [change, h * rows[0] - change, 2.0 * change - h * (f_new + rows[0])]
        parts += [h * _combined(d, rows) for d in table.D]
        value = parts[0] * 0.0
        for i, part in enumerate(reversed(parts)):
            value = (value + part) * (x if i % 2 == 0 else 1.0 - x)
        return y + value

    return inside


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


def _rodas_step(field: Field, t: Any, y: Any, f: Any, h: Any) -> tuple[Any, Any, Any]:
    slope = jacobian(lambda v: field(t, v))(y)
    _, in_time = jvp(lambda s: field(s, y), [t], [t * 0.0 + 1.0], unconnected_gradients="zero")
    matrix = eye(y.shape[0], dtype=float64) / (GAMMA * h) - slope
    rows: list[Any] = []
    for i in range(6):
        value = f if i == 0 else field(t + ALPHA[i] * h, y + (_combined(A[i], rows)))
        right = value + (GAMMAS[i] * h) * in_time
        if rows:
            right = right + _combined(C[i], rows) / h
        rows.append(squeeze(solve(matrix, expand_dims(right, -1)), -1))
    new = y + _combined((*LAST, 1.0, 1.0), rows)
    f_new = field(t + h, new)
    return new, f_new, stack([f, f_new, rows[5]])


def _rodas_error(k: Any, h: Any, scale: Any) -> Any:
    return root_mean_square(k[2] / scale)


def _hermite(field: Field, t: Any, y: Any, new: Any, f_new: Any, k: Any, h: Any, x: Any) -> Any:
    """Return the cubic polynomial with the values and slopes of both ends."""
    change = new - y
    curved = (1.0 - 2.0 * x) * change + (x - 1.0) * h * k[0] + x * h * f_new
    return y + x * change + x * (x - 1.0) * curved


@cache
def _method(name: str) -> Method:
    return Method(_rodas_step, _rodas_error, _hermite, 3, 3) if name == "Rodas4" else _explicit(name)


METHODS: dict[str, Callable[[], Method]] = {
    name: lambda name=name: _method(name)  # type: ignore[misc]
    for name in ("RK23", "RK45", "DOP853", "Rodas4")
}
"""Makers of the methods by name."""
