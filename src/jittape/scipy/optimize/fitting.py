"""Nonlinear least squares and curve fits, differentiable in the data and in other parameters."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import float64, int64
from jittape.core.primitive import active_recorder
from jittape.functions.signature import TensorSpec
from jittape.primitives.elementwise.arithmetic import square
from jittape.primitives.elementwise.comparison import less_equal, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.exponential import log1p, sqrt
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.elementwise.trigonometric import atan
from jittape.primitives.linalg.cholesky import cholesky
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.solve import inv
from jittape.primitives.linalg.triangular import triangular_solve
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import expand_dims, reshape, squeeze, transpose
from jittape.primitives.spectra.pseudoinverse import pinv
from jittape.recording.convert import convert_to_tensor
from jittape.recording.trace import Trace
from jittape.scipy.optimize.implicit_function import Problem, start_vector
from jittape.scipy.optimize.minimization import free_components
from jittape.scipy.scipy_operands import array_valued, floating_operand
from jittape.scipy.scipy_parameters import in_scipys_order
from jittape.transforms.gradients import grad
from jittape.transforms.jacobians import jacobian

__all__ = ["curve_fit", "least_squares"]

LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (sqrt(1.0 + z) - 1.0),
    "huber": lambda z: where(less_equal(z, 1.0), z, 2.0 * sqrt(z) - 1.0),
    "cauchy": log1p,
    "arctan": atan,
}
"""Loss of a squared residual: SciPy's definitions."""


@in_scipys_order(
    "fun x0 jac bounds method ftol xtol gtol x_scale loss f_scale diff_step tr_solver tr_options jac_sparsity max_nfev "
    "verbose args kwargs callback workers",
    hint="; the Jacobian is exact, and args= has the parameters",
    ignored="diff_step jac_sparsity workers",
    callback=None,
)  # fmt: skip
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = None,
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = 1.0,
    loss: str = "linear",
    f_scale: float = 1.0,
    tr_solver: str | None = None,
    tr_options: dict[str, Any] | None = None,
    max_nfev: int | None = None,
    verbose: int = 0,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Minimize the sum of ``loss(fun(x, *args)**2)`` by SciPy's methods, with the exact Jacobian.

    The solution is differentiable in everything that `fun` reads, by the implicit function theorem, with the exact
    Hessian of the sum. Components at a bound do not move.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns a vector of residuals, by jittape's operations.
    x0 : tensor-like of shape (n,)
        Start; no gradient flows to it.
    jac
        Not used, because jittape differentiates `fun`.
    bounds, method, ftol, xtol, gtol, x_scale, loss, f_scale, tr_solver, tr_options, max_nfev, verbose
        As in `scipy.optimize.least_squares`; `loss` must be a name.
    args : tuple
        Parameters of `fun`. Within a `jt.function`, all tensors that `fun` uses must be here.
    kwargs : dict, optional
        Keyword arguments of `fun`.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `x`, a float64 tensor, `fun`, the residuals, `cost`, and SciPy's other entries; within a `jt.function` only
        `success`, `status` and `nfev`.

    Raises
    ------
    ValueError
        For an unknown loss.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> y = jt.constant([1.0, 3.0], dtype=jt.float64)
    >>> found = optimize.least_squares(lambda x, y: x[0] - y, [0.0], args=(y,))
    >>> round(float(found.x[0]), 6)
    2.0
    """
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(f"[least_squares] loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    fun, start = (
        array_valued(functools.partial(fun, **kwargs) if kwargs else fun),
        start_vector("least_squares", x0),
    )

    def cost(x: Any, *args: Any) -> Any:
        scaled = square(reshape(fun(x, *args), (-1,)) / f_scale)
        return 0.5 * f_scale**2 * reduce_sum(LOSSES[loss](scaled))

    problem = Problem("least_squares", grad(cost), args)
    kept: list[Any] = []

    def run(x0: Any, *args: Any) -> tuple[Any, ...]:
        from scipy.optimize import least_squares as scipy_least_squares

        exact = jacobian(fun)
        found = scipy_least_squares(
            lambda x: np.asarray(convert_to_tensor(fun(convert_to_tensor(x), *args)).numpy(), np.float64), x0,
            jac=lambda x: np.asarray(exact(x, *args), np.float64), bounds=bounds, method=method, ftol=ftol, xtol=xtol,
            gtol=gtol, x_scale=x_scale, loss=loss, f_scale=f_scale, tr_solver=tr_solver, tr_options=tr_options or {},
            max_nfev=max_nfev, verbose=verbose,
        )  # fmt: skip
        kept[:] = [found]
        low, high = _sides(bounds)
        free = free_components(found.x, np.asarray(low, float64), np.asarray(high, float64), grad(cost), args)
        return found.x, free, bool(found.success), int(found.status), int(found.nfev)

    specs = (TensorSpec((), bool), TensorSpec((), int64), TensorSpec((), int64))
    x, success, status, nfev = problem.solution(run, start, specs)
    from scipy.optimize import OptimizeResult

    result = OptimizeResult(dict(kept[0]) if kept else {"success": success, "status": status, "nfev": nfev})
    result.update(x=x, fun=fun(x, *problem.args), cost=cost(x, *problem.args))
    return result


@in_scipys_order(
    "f xdata ydata p0 sigma absolute_sigma check_finite bounds method jac",
    hint="; the Jacobian is exact",
    ignored="check_finite jac",
    full_output=False, nan_policy=None,
)  # fmt: skip
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Fit ``f(xdata, *parameters)`` to `ydata`; the parameters are differentiable in the data and in `sigma`.

    Parameters
    ----------
    f : callable
        ``f(x, a, b, ...)`` by jittape's operations.
    xdata, ydata : tensor-like
        Data; `ydata` has one dimension.
    p0 : sequence of float, optional
        Start; by default ones, or numbers within the bounds.
    sigma : tensor-like, optional
        Standard deviation of `ydata`, one number or one for each element, or its covariance matrix.
    absolute_sigma : bool
        Take `sigma` as known, not up to a factor.
    bounds, method
        As in `least_squares`. The method is ``"lm"`` without bounds.
    **kwargs
        Other arguments of `least_squares`; `maxfev` is another name of `max_nfev`.

    Returns
    -------
    popt : Tensor
        Parameters.
    pcov : Tensor
        Covariance of the parameters, differentiable too. If the data do not determine all parameters, a warning says
        so, and the elements are infinite, or those of the pseudoinverse for ``"trf"`` and ``"dogbox"``, as in SciPy.

    Raises
    ------
    ValueError
        If the number of parameters cannot be read from the signature of `f` and `p0` is missing, and for a `sigma` of
        another shape.
    RuntimeError
        If the fit fails.

    Examples
    --------
    >>> from jittape.scipy import optimize
    >>> popt, pcov = optimize.curve_fit(lambda x, a, b: a * x + b, [0.0, 1.0, 2.0], [1.0, 3.0, 5.1])
    >>> popt.numpy().round(4)
    array([2.05  , 0.9833])
    """
    if p0 is None:
        kinds = [p for p in inspect.signature(f).parameters.values() if p.kind is not p.VAR_POSITIONAL]
        if len(kinds) < 2:
            raise ValueError("[curve_fit] the number of parameters is unknown: give p0=")
        p0 = _start_within(bounds, len(kinds) - 1)
    x, y = floating_operand(xdata), convert_to_tensor(floating_operand(ydata))
    weights = None if sigma is None else _deviations(convert_to_tensor(floating_operand(sigma)), y)
    factor = cholesky(weights) if weights is not None and len(weights.shape) == 2 else None

    def residuals(p: Any, x: Any, y: Any, s: Any) -> Any:
        difference = f(x, *[p[i] for i in range(p.shape[0])]) - y
        if s is None:
            return difference
        return (
            difference / s
            if len(s.shape) < 2
            else squeeze(triangular_solve(s, expand_dims(difference, -1)), -1)
        )

    low, high = _sides(bounds)
    unbounded = np.all(np.isneginf(low)) and np.all(np.isposinf(high))
    method = method or ("lm" if unbounded else "trf")
    arguments = (x, y, weights if factor is None else factor)
    if "maxfev" in kwargs:
        kwargs["max_nfev"] = kwargs.pop("maxfev")
    found = least_squares(residuals, p0, bounds=bounds, method=method, args=arguments, **kwargs)
    if getattr(found, "message", None) is not None and not found.success:
        raise RuntimeError(f"[curve_fit] the optimal parameters were not found: {found.message}")
    slopes = jacobian(residuals)(found.x, *arguments)
    if kwargs.get("loss", "linear") != "linear":
        slopes = _robust_slopes(slopes, found.fun / kwargs.get("f_scale", 1.0), LOSSES[kwargs["loss"]])
    covariance = _covariance(slopes, method)
    if not absolute_sigma:
        free = y.shape[0] - found.x.shape[0]
        covariance = covariance * (2.0 * found.cost / free) if free > 0 else np.full(covariance.shape, np.inf)
    return found.x, cast(convert_to_tensor(covariance), float64)


def _sides(bounds: Any) -> Any:
    return (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds


def _start_within(bounds: Any, n: int) -> Any:
    """Return SciPy's start: the middle, one from the only finite bound, or one."""
    low, high = (np.broadcast_to(np.asarray(side, float64), (n,)) for side in _sides(bounds))
    start = np.ones(n)
    from_low, from_high = np.isfinite(low), np.isfinite(high)
    both = from_low & from_high
    start[from_low] = low[from_low] + 1.0
    start[from_high] = high[from_high] - 1.0
    start[both] = 0.5 * (low[both] + high[both])
    return start


def _deviations(sigma: Any, y: Any) -> Any:
    """Return `sigma` as a number, a vector or a matrix."""
    shape, n = tuple(sigma.shape), y.shape[0]
    if all(size == 1 for size in shape):
        return reshape(sigma, ())
    if shape not in ((n,), (n, n)):
        raise ValueError(
            f"[curve_fit] sigma must be a number or of shape ({n},) or ({n}, {n}) for {n} data, got shape {shape}"
        )
    return sigma


def _robust_slopes(slopes: Any, scaled: Any, loss: Callable[[Any], Any]) -> Any:
    """Return the Jacobian of residuals whose squares have the second derivatives of the loss, as in SciPy."""

    def first(z: Any) -> Any:
        return grad(lambda z: reduce_sum(loss(z)))(z)

    z = square(scaled)
    second = grad(lambda z: reduce_sum(first(z)))(z)
    factor = maximum(first(z) + 2.0 * second * z, np.finfo(float).eps)
    return slopes * expand_dims(sqrt(factor), -1)


def _covariance(slopes: Any, method: str) -> Any:
    """Return the inverse of ``J^T J``; as SciPy does if J has no full rank, which is not checked in a trace."""
    n = slopes.shape[1]
    if type(active_recorder()) is Trace:
        sizes = np.linalg.svd(slopes.numpy(), compute_uv=False)
        if len(sizes) < n or not sizes[-1] > np.finfo(float).eps * max(slopes.shape) * sizes[0]:
            if method != "lm":
                inverse = pinv(slopes)
                return matmul(inverse, transpose(inverse))
            from scipy.optimize import OptimizeWarning

            message = (
                "[curve_fit] the covariance of the parameters could not be estimated: J has no full rank"
            )
            warnings.warn(message, OptimizeWarning, stacklevel=4)
            return convert_to_tensor(np.full((n, n), np.inf))
    return inv(matmul(transpose(slopes), slopes))
