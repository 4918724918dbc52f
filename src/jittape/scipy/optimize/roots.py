"""Roots and fixed points, differentiable in the parameters of the equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import float64, int64
from jittape.functions.signature import TensorSpec
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.optimize.implicit_function import Problem, start_vector
from jittape.scipy.optimize.minimization import number, value_alone
from jittape.scipy.scipy_operands import array_valued, float64_tensor
from jittape.transforms.gradients import grad
from jittape.transforms.jacobians import jacobian

__all__ = ["fixed_point", "root", "root_scalar"]


def _array(value: Any) -> Any:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value, np.float64)


def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Solve ``fun(x, *args) = 0`` by SciPy's methods, with the exact Jacobian for ``"hybr"`` and ``"lm"``.

    The solution is differentiable in everything that `fun` reads, by the implicit function theorem.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns a tensor of the shape of `x`, by jittape's operations.
    x0 : tensor-like of shape (n,)
        Start; no gradient flows to it.
    args : tuple
        Parameters of `fun`. Within a `jt.function`, all tensors that `fun` uses must be here.
    method, tol, callback, options
        As in `scipy.optimize.root`.
    jac
        Not used, because jittape differentiates `fun`. With ``jac=True``, the first result of `fun` is its value.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `x`, a float64 tensor, `fun`, a tensor, and SciPy's other entries; within a `jt.function` only `success` and
        `status`.

    Raises
    ------
    ShapeError
        If `fun` returns another shape.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> f = lambda a: optimize.root(lambda x, a: x**2 - a, [1.0], args=(a,)).x[0]
    >>> round(float(jt.grad(f)(4.0)), 4)
    0.25
    """
    fun, start = array_valued(value_alone(fun, jac)), start_vector("root", x0)
    problem = Problem("root", fun, args)
    kept: list[Any] = []

    def run(x0: Any, *args: Any) -> tuple[Any, ...]:
        from scipy.optimize import root as scipy_root

        exact = jacobian(fun)
        more = {"jac": lambda x: np.asarray(exact(x, *args))} if method in ("hybr", "lm") else {}
        found = scipy_root(
            lambda x: _array(fun(convert_to_tensor(x), *args)), x0, method=method, tol=tol, callback=callback,
            options=options, **more,
        )  # fmt: skip
        kept[:] = [found]
        return found.x, np.ones(found.x.shape, bool), bool(found.success), int(found.get("status", 0))

    x, success, status = problem.solution(run, start, (TensorSpec((), bool), TensorSpec((), int64)))
    from scipy.optimize import OptimizeResult

    result = OptimizeResult(dict(kept[0]) if kept else {"success": success, "status": status})
    result.update(x=x, fun=fun(x, *problem.args))
    return result


def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Find a root of a function of one number by SciPy's methods; Newton's and Halley's get exact derivatives.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns a number, by jittape's operations.
    args : tuple
        Parameters of `f`. Within a `jt.function`, all tensors that `f` uses must be here.
    method, bracket, x0, x1, xtol, rtol, maxiter, options
        As in `scipy.optimize.root_scalar`; numbers, not tensors of a trace.
    fprime, fprime2
        Not used, because jittape differentiates `f`. If one is True, the first result of `f` is its value.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `root`, a float64 tensor that is differentiable in everything that `f` reads, and SciPy's other entries; within
        a `jt.function` only `converged`.

    Raises
    ------
    ValueError
        If the signs of `f` at both ends of `bracket` are equal.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> f = lambda a: optimize.root_scalar(lambda x, a: x**3 - a, args=(a,), bracket=[0, 5]).root
    >>> round(float(jt.grad(f)(8.0)), 4)
    0.0833
    """
    f = value_alone(f, fprime, fprime2)
    chosen = method or ("brentq" if bracket is not None else "secant" if x1 is not None else "newton")
    guess = x0 if x0 is not None else 0.5 * (bracket[0] + bracket[1]) if bracket is not None else None
    if guess is None:
        raise ValueError("[root_scalar] needs bracket= or x0=")
    start = cast(convert_to_tensor(np.float64(guess)), float64)
    problem = Problem("root_scalar", f, args)
    kept: list[Any] = []

    def run(x0_: Any, *args: Any) -> tuple[Any, ...]:
        from scipy.optimize import root_scalar as scipy_root_scalar

        slope, curvature = grad(f), grad(grad(f))

        def of(g: Callable[..., Any]) -> Callable[[Any], Any]:
            return lambda x: number(g(convert_to_tensor(np.float64(x)), *args))

        more: dict[str, Any] = {}
        if chosen in ("newton", "halley"):
            more["fprime"] = of(slope)
        if chosen == "halley":
            more["fprime2"] = of(curvature)
        found = scipy_root_scalar(
            of(f), method=chosen, bracket=bracket, x0=x0, x1=x1, xtol=xtol, rtol=rtol, maxiter=maxiter,
            options=options, **more,
        )  # fmt: skip
        kept[:] = [found]
        return np.float64(found.root), np.True_, bool(found.converged)

    x, converged = problem.solution(run, start, (TensorSpec((), bool),))
    from scipy.optimize import OptimizeResult

    result = OptimizeResult(dict(kept[0]) if kept else {"converged": converged})
    result.update(root=x)
    return result


def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """Return a fixed point of ``func(x, *args)``, computed by SciPy.

    Parameters
    ----------
    func : callable
        Function of an array of the shape of `x0`, by jittape's operations, with a result of this shape.
    x0 : tensor-like
        Start; no gradient flows to it.
    args : tuple
        Parameters. Within a `jt.function`, all tensors that `func` uses must be here.
    xtol, maxiter, method
        As in `scipy.optimize.fixed_point`.

    Returns
    -------
    Tensor
        In the shape of `x0`, float64, differentiable in everything that `func` reads.

    Raises
    ------
    RuntimeError
        If the iteration does not converge.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> round(float(optimize.fixed_point(jt.cos, [1.0])[0]), 6)
    0.739085
    """
    x0 = float64_tensor("fixed_point", x0)
    shape, start = tuple(x0.shape), reshape(x0, (-1,))
    given = array_valued(func)

    def of_vector(x: Any, *args: Any) -> Any:
        return given(x, *args) if len(shape) == 1 else reshape(given(reshape(x, shape), *args), x.shape)

    problem = Problem("fixed_point", lambda x, *args: of_vector(x, *args) - x, args)

    def run(x0: Any, *args: Any) -> tuple[Any, ...]:
        from scipy.optimize import fixed_point as scipy_fixed_point

        x = scipy_fixed_point(
            lambda x: _array(of_vector(convert_to_tensor(np.asarray(x)), *args)), x0, xtol=xtol, maxiter=maxiter,
            method=method,
        )  # fmt: skip
        return x, np.ones(x.shape, bool)

    return reshape(problem.solution(run, start)[0], shape)
