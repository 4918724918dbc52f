"""The nonlinear equations of implicit methods: Newton's iterations, and gradients by the implicit function theorem.

The iterations are not recorded for gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jittape.autodiff.custom_gradient import custom_gradient
from jittape.autodiff.tape import GradientTape
from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.tuning import tuning
from jittape.errors import NoGradientError
from jittape.flow.loops import while_loop
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import logical_and, logical_not, logical_or, where
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.identity import identity
from jittape.primitives.linalg.lu import lu_solve
from jittape.primitives.linalg.solve import solve
from jittape.primitives.shape.reshaping import reshape, transpose
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.integrate.ode_methods import SAFETY, Field, root_mean_square

__all__ = ["Solution", "differentiable_once", "newton", "safety_after", "with_gradient"]


class Solution(NamedTuple):
    """Unknowns, the number of Newton iterations as a float, and whether they converged."""

    z: Any
    count: Any
    converged: Any


def newton(right: Callable[[Any], Any], factors: Any, start: Any, scale: Any) -> Solution:
    """Solve ``z = right(z)`` by simplified Newton iterations.

    The iterations stop as those of Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8.

    Parameters
    ----------
    right : callable
    factors : LU decomposition
        Of the matrix of the linearized equations.
    start : tensor
        First guess.
    scale : tensor
        Tolerances of the components of `z`.
    """
    size, shape = start.size, tuple(start.shape)
    limit, tolerance = tuning.newton_iterations_limit, tuning.newton_tolerance

    def going(z: Any, norm: Any, k: Any, converged: Any, failed: Any) -> Any:
        return logical_and(k < limit, logical_not(logical_or(converged, failed)))

    def iteration(z: Any, norm: Any, k: Any, converged: Any, failed: Any) -> Any:
        change = reshape(lu_solve(factors.lu, factors.p, reshape(right(z) - z, (size, 1))), shape)
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
    z, _, count, converged, _ = while_loop(going, iteration, (start, zero + 1.0, zero, no, no))
    return Solution(z, count, converged)


def safety_after(count: Any) -> Any:
    """Return the safety factor of a step that took `count` Newton iterations."""
    twice = 2 * tuning.newton_iterations_limit
    return SAFETY * (twice + 1) / (twice + count)


def with_gradient(
    field: Field,
    right: Callable[..., Any],
    matrix: Callable[..., Any],
    sources: tuple[Any, ...],
    z: Any,
    once: Callable[[Any], Any],
) -> Any:
    """Return the solution `z` of ``z = right(z, *sources)`` as a function of `sources` and of all that `field` reads.

    Parameters
    ----------
    matrix : callable
        ``matrix(z, *sources)`` is the Jacobian of ``z - right(z, *sources)`` with respect to `z`.
    once : callable
        See `differentiable_once`.
    """

    def attached(z: Any, *operands: Any) -> Any:
        def gradient(upstream: Any) -> list[Any]:
            found, *values = [once(x) for x in (z, *sources)]
            weights = solve(transpose(matrix(found, *values)), reshape(upstream, (z.size, 1)))
            watched = [*values, *field.read]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(watched)
                value = right(found, *values)
            return [None, *tape.gradient(value, watched, reshape(weights, z.shape), "zero")]

        return identity(z), gradient

    return custom_gradient(attached)(z, *sources, *field.read)


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
