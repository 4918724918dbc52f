"""Minima of functions of one number, by SciPy's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import bool_, float64
from jittape.functions.signature import TensorSpec
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.optimize.implicit_function import Problem
from jittape.scipy.optimize.minimization import free_components, number, number_valued
from jittape.transforms.gradients import grad

__all__ = ["fminbound", "minimize_scalar"]


def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: str | None = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimize a function of one number by SciPy's methods.

    The result is differentiable in everything that `fun` reads, by the implicit function theorem. A minimum at a bound
    does not move.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns a real number, by jittape's operations.
    bracket, bounds, method, tol, options
        As in `scipy.optimize.minimize_scalar`; numbers, not tensors of a trace.
    args : tuple
        Parameters of `fun`. Within a `jt.function`, all tensors that `fun` uses must be here.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `x`, a float64 tensor; `fun`, a tensor; and SciPy's other entries; within a `jt.function` only `success`.

    Raises
    ------
    NoGradientError
        If the gradient of a result that is no minimum is asked for. Within a `jt.function`, this gradient is nan.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> lowest = lambda a: optimize.minimize_scalar(lambda x, a: (x - a) ** 2 + x**4, args=(a,)).x
    >>> round(float(lowest(3.0)), 4), round(float(jt.grad(lowest)(3.0)), 4)
    (1.0, 0.1429)
    """
    fun = number_valued(fun)
    middle = (
        0.5 * (bounds[0] + bounds[1]) if bounds is not None else bracket[0] if bracket is not None else 0.5
    )
    problem = Problem("minimize_scalar", grad(fun), args)
    kept: list[Any] = []

    def run(x0: Any, *args: Any) -> tuple[Any, ...]:
        from scipy.optimize import minimize_scalar as scipy_minimize_scalar

        found = scipy_minimize_scalar(
            lambda x: number(fun(convert_to_tensor(np.float64(x)), *args)),
            bracket=bracket, bounds=bounds, method=method, tol=tol, options=options,
        )  # fmt: skip
        kept[:] = [found]
        low, high = (-np.inf, np.inf) if bounds is None else bounds

        def slope(x: Any, *args: Any) -> Any:
            return grad(fun)(x[0], *args)[None]

        free = free_components(np.array([found.x]), low, high, slope, args)
        return np.float64(found.x), free[0], bool(found.success)

    start = cast(convert_to_tensor(np.float64(middle)), float64)
    x, success = problem.solution(run, start, (TensorSpec((), bool_),))
    from scipy.optimize import OptimizeResult

    result = OptimizeResult(dict(kept[0]) if kept else {"success": success})
    result.update(x=x, fun=fun(x, *problem.args))
    return result


def fminbound(
    func: Callable[..., Any],
    x1: float,
    x2: float,
    args: Any = (),
    xtol: float = 1e-5,
    maxfun: int = 500,
    full_output: bool = False,
    disp: int = 1,
) -> Any:
    """Minimize a function of one number between two bounds; see `minimize_scalar`.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` returns a real number, by jittape's operations.
    x1, x2 : float
        Bounds; numbers, not tensors of a trace.
    args : tuple
        Parameters of `func`.
    xtol, maxfun, disp
        As in `scipy.optimize.fminbound`.
    full_output : bool
        Return also the value, whether the method failed, and the number of calls.

    Returns
    -------
    Tensor
        float64 number, differentiable in everything that `func` reads.

    Examples
    --------
    >>> from jittape.scipy import optimize
    >>> round(float(optimize.fminbound(lambda x: (x - 1.0) ** 2, 0.0, 3.0)), 4)
    1.0
    """
    options = {"xatol": xtol, "maxiter": maxfun, "disp": disp}
    found = minimize_scalar(func, bounds=(x1, x2), args=args, method="bounded", options=options)
    return (found.x, found.fun, found.status, found.nfev) if full_output else found.x
