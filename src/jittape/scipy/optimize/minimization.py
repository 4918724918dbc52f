"""Minimization: SciPy's methods with derivatives of one recorded function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import float64, int64
from jittape.functions.signature import TensorSpec
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.optimize.implicit_function import Problem, start_vector
from jittape.transforms.gradients import grad, value_and_grad
from jittape.transforms.jacobians import hessian, hvp, jacobian

__all__ = [
    "WITH_HESSIAN",
    "WITH_PRODUCTS",
    "free_components",
    "minimize",
    "number",
    "number_valued",
    "value_alone",
]

WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
WITH_HESSIAN = {"dogleg", "trust-exact"}
COUNTS = (TensorSpec((), bool), *(TensorSpec((), int64),) * 3)
NAMES = ("success", "status", "nit", "nfev")


def number(value: Any) -> Any:
    """Return the value of a function as a float; other shapes are SciPy's business."""
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return float(array) if array.size == 1 else array


def value_alone(fun: Callable[..., Any], *derivatives: Any) -> Callable[..., Any]:
    """Return `fun`, or its first result if one of SciPy's arguments for derivatives is True."""
    if not any(given is True for given in derivatives):
        return fun

    @functools.wraps(fun)
    def value_of(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)[0]

    return value_of


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimize a recorded function by SciPy's methods, with exact derivatives.

    The result is differentiable in everything that `fun` reads, by the implicit function theorem: its gradient solves
    one linear system with the Hessian. Components at a bound do not move.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns a real number, by jittape's operations.
    x0 : tensor-like of shape (n,)
        Start; no gradient flows to it.
    args : tuple
        Parameters of `fun`. Within a `jt.function`, all tensors that `fun` uses must be here.
    method : str, optional
        One of SciPy's names. Gradient, Hessian-vector products or the Hessian are given to methods that use them.
    jac, hess, hessp
        Not used, because jittape differentiates `fun`. With ``jac=True``, the first result of `fun` is its value.
    bounds, constraints, tol, callback, options
        As in `scipy.optimize.minimize`; functions among the constraints get arrays.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `x`, a float64 tensor; `fun`, a tensor; and SciPy's other entries. Within a `jt.function`, the other entries
        are tensors: `success`, `status`, `nit` and `nfev`.

    Raises
    ------
    NoGradientError
        If the gradient of a result with constraints, or of a result that is no minimum, is asked for. Within a
        `jt.function`, the latter gradient is nan.
    ShapeError
        If `x0` has more than one dimension.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> a = jt.Variable(3.0, dtype=jt.float64)
    >>> with jt.GradientTape() as tape:
    ...     found = optimize.minimize(lambda x, a: jt.reduce_sum((x - a) ** 2 + x**2), [0.0], args=(a,))
    ...     x = found.x[0]
    >>> round(float(x), 4), round(float(tape.gradient(x, a)), 4)
    (1.5, 0.5)
    """
    start = start_vector("minimize", x0)
    fun = number_valued(value_alone(fun, jac))
    problem = Problem("minimize", grad(fun), args)
    no_constraints = isinstance(constraints, (tuple, list)) and not constraints
    if not no_constraints:
        problem.refusal = (
            "a solution with constraints has no gradient here; add a penalty to the function, or use bounds"
        )
    kept: list[Any] = []

    def run(x0: Any, *args: Any) -> tuple[Any, ...]:
        from scipy.optimize import minimize as scipy_minimize

        more = _derivatives(fun, args, (method or "").lower())
        found = scipy_minimize(
            x0=x0, method=method, bounds=bounds, constraints=constraints, tol=tol, callback=callback,
            options=options, **more,
        )  # fmt: skip
        kept[:] = [found]
        free = free_components(found.x, *_limits(bounds), grad(fun), args)
        return found.x, free, *[int(found.get(name, 0)) for name in NAMES]

    x, *counts = problem.solution(run, start, COUNTS)
    from scipy.optimize import OptimizeResult

    result = OptimizeResult(dict(kept[0]) if kept else dict(zip(NAMES, counts, strict=True)))
    result.update(x=x, fun=fun(x, *problem.args))
    return result


def _derivatives(fun: Callable[..., Any], args: tuple[Any, ...], method: str) -> dict[str, Any]:
    """Return the function and the derivatives that a method uses, as functions of arrays."""
    if method in WITHOUT_GRADIENT:
        return {"fun": lambda x: number(fun(x, *args))}
    both = value_and_grad(fun)

    def value_and_gradient(x: Any) -> tuple[Any, Any]:
        value, gradient = both(x, *args)
        return number(value), np.asarray(gradient, np.float64)

    more: dict[str, Any] = {"fun": value_and_gradient, "jac": True}
    if method in WITH_PRODUCTS:
        product = hvp(fun)
        more["hessp"] = lambda x, v: np.asarray(product(x, np.asarray(v, np.float64), *args))
    if method in WITH_HESSIAN:
        second = hessian(fun)
        more["hess"] = lambda x: np.asarray(second(x, *args))
    return more


def number_valued(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose value may be an array of one number as one that returns a number."""

    @functools.wraps(fun)
    def number_of(*args: Any) -> Any:
        value = fun(*args)
        shape = getattr(value, "shape", ())
        return reshape(value, ()) if len(shape) and np.prod(tuple(shape)) == 1 else value

    return number_of


def _limits(bounds: Any) -> tuple[Any, Any]:
    """Return the lower and the upper bounds."""
    if bounds is None:
        return -np.inf, np.inf
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    low, high = (np.array(side, float64) for side in zip(*pairs, strict=True))
    return low, high


def free_components(x: Any, low: Any, high: Any, gradient: Callable[..., Any], args: Any) -> Any:
    """Return which components of a minimum no bound holds.

    Some methods stop before a bound, or a little behind it. A bound holds a component, too, if a step of Newton's
    method in this component alone would reach it.
    """
    size = np.maximum(1.0, np.abs(x))
    down, up = x - low, high - x
    held = (np.abs(down) <= 1e-10 * size) | (np.abs(up) <= 1e-10 * size)
    near = ~held & (np.minimum(np.abs(down), np.abs(up)) < 1e-2 * size)
    if near.any():
        point = convert_to_tensor(np.asarray(x, float64))
        slope = np.asarray(gradient(point, *args), float64)
        bend = np.asarray(jacobian(gradient)(point, *args), float64).diagonal()
        distance = np.abs(np.where(slope > 0, down, up))
        held |= near & (distance * np.maximum(bend, 0.0) < np.abs(slope))
    return ~held
