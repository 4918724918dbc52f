"""The implicit Runge-Kutta method Radau IIA of order 5, with the exact Jacobian.

Newton's method solves the equations of a step (Hairer and Wanner, Solving Ordinary Differential Equations II, section
IV.8). Its iterations are not recorded: the gradient of a step is that of the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from jittape.autodiff.custom_gradient import custom_gradient
from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import float64
from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.tuning import tuning
from jittape.errors import NoGradientError
from jittape.flow.loops import while_loop
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import logical_and, logical_not, logical_or, where
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.identity import identity, stop_gradient
from jittape.primitives.linalg.lu import lu, lu_solve
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.solve import solve
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import expand_dims, reshape, transpose
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.integrate.ode_methods import (
    SAFETY,
    Field,
    Method,
    Point,
    Scale,
    Trial,
    power_sum,
    root_mean_square,
)

__all__ = ["differentiable_once", "radau_method"]

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


def differentiable_once(name: str, message: str) -> Callable[[Any], Any]:
    """Return an identity for the values that a gradient uses; its own gradient raises a `NoGradientError`."""

    def refused(g: Any, out: Any, x: Any) -> Any:
        raise NoGradientError(message)

    op = Primitive(
        name,
        abstract_eval=lambda x: x,
        impl=lambda x: x,
        vjp=(refused,),
        lowering=Map(lambda m, x: x),
        simplified=lambda op, producers: op.args[0],
    )
    return lambda x: apply(op, (x,))


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


def _solved(field: Field, at: Point, h: Any, z: Any, factors: Any, scale: Any) -> tuple[Any, Any, Any]:
    """Return the increments of the stages by simplified Newton iterations, their number, and the convergence."""
    n = at.y.shape[0]
    limit, tolerance = tuning.newton_iterations_limit, tuning.newton_tolerance

    def going(z: Any, norm: Any, k: Any, converged: Any, failed: Any) -> Any:
        return logical_and(k < limit, logical_not(logical_or(converged, failed)))

    def iteration(z: Any, norm: Any, k: Any, converged: Any, failed: Any) -> Any:
        residual = z - h * matmul(A, _values(field, at.t, at.y, h, z))
        change = reshape(lu_solve(factors.lu, factors.p, reshape(-residual, (3 * n, 1))), (3, n))
        new = root_mean_square(change / scale)
        rate = where(k > 0, new / norm, 0.0)
        rest = rate / (1.0 - rate) * new
        last = pow(rate, float(limit) - k) / (1.0 - rate) * new
        slow = logical_and(k > 0, logical_or(rate >= 1.0, last > tolerance))
        failed = logical_or(logical_not(is_finite(new)), slow)
        small = logical_or(new == 0.0, logical_and(k > 0, rest < tolerance))
        return where(failed, z, z + change), new, k + 1.0, logical_and(small, logical_not(failed)), failed

    no = convert_to_tensor(np.bool_(False))
    zero = convert_to_tensor(np.float64(0.0))
    z, _, count, converged, _ = while_loop(going, iteration, (z, zero + 1.0, zero, no, no))
    return z, count, converged


def _with_gradient(field: Field, t: Any, y: Any, h: Any, z: Any) -> Any:
    """Return `z` as a function of `t`, `y` and all that the right-hand side reads, by implicit differentiation."""
    n = y.shape[0]

    def attached(z: Any, t: Any, y: Any, *read: Any) -> Any:
        def gradient(upstream: Any) -> list[Any]:
            time, start, stages = _once(t), _once(y), _once(z)
            slopes = [field.slope(time + c * h, start + stages[i]) for i, c in enumerate(C)]
            weights = solve(transpose(_system(slopes, h)), reshape(upstream, (3 * n, 1)))
            sources = [time, start, *field.read]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(sources)
                right = h * matmul(A, _values(field, time, start, h, stages))
            return [None, *tape.gradient(right, sources, reshape(weights, (3, n)), "zero")]

        return identity(z), gradient

    return custom_gradient(attached)(z, t, y, *field.read)


def _radau_step(field: Field, at: Point, h: Any, scale: Scale) -> Trial:
    fixed = Point(*[stop_gradient(value) for value in at])
    n = at.y.shape[0]
    slope = stop_gradient(field.slope(fixed.t, fixed.y))
    factors = lu(_system([slope] * 3, h))
    times = (fixed.t + h * np.array(C) - fixed.old_t) / fixed.old_step
    before = matmul(POLYNOMIAL, fixed.old_rows)
    guess = power_sum(fixed.old_y, expand_dims(before, 0), times) - fixed.y
    z, count, converged = _solved(field, fixed, h, guess, factors, scale(fixed.y, fixed.y))
    z = _with_gradient(field, at.t, at.y, h, stop_gradient(z))
    new = at.y + z[2]

    filtered = lu(eye(n, dtype=float64) * (REAL_EIGENVALUE / h) - slope)
    rest = expand_dims(matmul(ERROR, stop_gradient(z))[0] / h, -1)
    error = lu_solve(filtered.lu, filtered.p, expand_dims(fixed.f, -1) + rest)
    units = expand_dims(scale(fixed.y, stop_gradient(new)), -1)
    again = expand_dims(field(fixed.t, fixed.y + error[:, 0]), -1)
    size = root_mean_square(error / units)
    size = where(size < 1.0, size, root_mean_square(lu_solve(filtered.lu, filtered.p, again + rest) / units))
    twice = 2 * tuning.newton_iterations_limit
    safety = SAFETY * (twice + 1) / (twice + count)
    return Trial(new, field(at.t + h, new), z, where(converged, size, np.nan), safety)


def _collocation_polynomial(field: Field, t: Any, y: Any, new: Any, f_new: Any, k: Any, h: Any) -> Any:
    return matmul(POLYNOMIAL, k)


@cache
def radau_method() -> Method:
    """Return the method."""
    return Method(_radau_step, _collocation_polynomial, power_sum, 3, 3, 3, implicit=True)
