"""`jt.fit`: fit a model to data, with errors from exact derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import optree

from jittape.core.user_calls import as_function
from jittape.errors import ShapeError
from jittape.fits.engine_calls import EngineCall
from jittape.fits.fit_covariance import covariance_at
from jittape.fits.fit_engines import ENGINES
from jittape.fits.fit_problem import LOSSES, Constraint, FitProblem, Observations
from jittape.fits.fit_result import FitResult
from jittape.fits.parameter_layout import ParameterLayout, host_array

__all__ = ["fit"]

_Array = np.ndarray[Any, Any]


def fit(
    model: Callable[..., Any],
    data: Any,
    start: Any,
    *,
    sigma: Any = None,
    loss: Literal["least_squares", "poisson", "nll"] = "least_squares",
    bounds: Any = None,
    fixed: Iterable[str] | str = (),
    constraints: Sequence[Any] = (),
    engine: str = "scipy",
    algorithm: str | None = None,
    options: Mapping[str, Any] | None = None,
    covariance: Literal["hessian", "gauss_newton"] = "hessian",
) -> FitResult:
    """Fit a model to data, with standard errors.

    The engine gets exact derivatives. The covariance matrix is the inverse of the exact Hessian of the negative log
    likelihood at the minimum, or its Gauss-Newton approximation.

    Parameters
    ----------
    model : callable
        ``model(params, x)`` returns the prediction for each observation; for ``loss="nll"``, ``model(params, *data)``
        returns the negative log likelihood, a scalar. `params` has the structure of `start`, with float64 tensors. The
        model is recorded at each evaluation and runs as compiled code.
    data : tuple
        ``(x, y)``: what the model gets, an array or a nested structure of arrays; and the observations, of any shape.
        For ``loss="nll"``, the arguments of the model. Floats become float64.
    start : mapping or array-like
        Start values: numbers and arrays by name, also in nested mappings; or one array.
    sigma : float, array of the shape of `y`, or covariance matrix, optional
        Standard deviations of the observations, or their covariance matrix of shape ``(n, n)`` for `y` of shape
        ``(n,)``. Without it, all are equal and estimated from the residuals, as ``chi2 / dof``.
    loss : {"least_squares", "poisson", "nll"}
        What is minimized: half the sum of the squared residuals; half the deviance of counts `y` whose means the model
        predicts; or the value of the model.
    bounds : mapping or pair, optional
        ``(low, high)`` by name, None for no bound; a pair if `start` is an array.
    fixed : str or iterable of str
        Names of parameters, such as ``"a"``, or of elements, such as ``"w[2]"``, that keep their start values.
    constraints : sequence of tuple
        ``(function, low, high)`` each: ``low <= function(params) <= high``, None for no bound, equal bounds for an
        equation.
    engine : {"scipy", "iminuit", "lmfit", "nlopt", "ipopt", "optimagic"}
        Library that minimizes. All but SciPy must be installed. iminuit and lmfit take no constraints.
    algorithm : str, optional
        The engine's name of an algorithm: ``"lm"`` or ``"SLSQP"``, ``"simplex"``, ``"leastsq"``, ``"LD_MMA"``,
        ``"scipy_ls_lm"``.
    options : mapping, optional
        Options of the algorithm, by the engine's names.
    covariance : {"hessian", "gauss_newton"}
        ``"gauss_newton"`` leaves out the second derivatives of the model; only for least squares.

    Returns
    -------
    FitResult
        Parameters, errors, covariance, profiles and intervals. Printed, it is a table.

    Raises
    ------
    ValueError
        If an argument is unknown or not finite, a name is not one of the parameters, the cost is not finite at the
        start, or the engine refuses the algorithm, its options, bounds or constraints.
    ShapeError
        If the prediction does not have the shape of `y`, or `sigma` does not fit.
    ImportError
        If the engine is not installed.

    Warns
    -----
    UserWarning
        If the engine does not converge, violates a bound or constraint, or stops more than 0.05 standard errors from
        the minimum although it ran again from there; or if the Hessian is not positive definite: errors are nan.

    Notes
    -----
    With constraints, the covariance is that of the tangent space of the constraints that hold with equality, with the
    Hessian of the Lagrange function. Errors of parameters at a bound are nan.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> t = np.linspace(0.0, 4.0, 9)
    >>> y = 3.0 * np.exp(-t / 1.5) + 0.01 * np.cos(9.0 * t)
    >>> def decay(p, t):
    ...     return p["height"] * jt.exp(-t / p["life"])
    >>> jt.fit(decay, (t, y), {"height": 1.0, "life": 1.0}, sigma=0.01)
    fit converged: chi2 4.12... for 7 degrees of freedom, ... evaluations
      parameter      value    error
      height     3.005...  0.00868
      life       1.496...  0.00745
    """
    as_function("model", model)
    layout = ParameterLayout(start)
    record = ENGINES.get(engine)
    if record is None:
        raise ValueError(f"[fit] engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if loss not in LOSSES:
        raise ValueError(f"[fit] loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    if covariance not in ("hessian", "gauss_newton"):
        raise ValueError(f"[fit] covariance must be 'hessian' or 'gauss_newton', got {covariance!r}")
    if covariance == "gauss_newton" and loss != "least_squares":
        raise ValueError(
            f"[fit] covariance='gauss_newton' is for least squares: use 'hessian' for loss={loss!r}"
        )
    if constraints and not record.takes_constraints:
        able = ", ".join(name for name, other in ENGINES.items() if other.takes_constraints)
        raise ValueError(f"[fit] engine {engine!r} takes no constraints: use one of {able}")
    observations = _observations(data, sigma, loss)
    problem = FitProblem(
        model, observations, loss, layout, layout.bounds(bounds), [_constraint(c) for c in constraints],
        layout.start, layout.positions(fixed, "fixed"),
    )  # fmt: skip
    _check_start(problem)
    call = EngineCall(engine, algorithm, dict(options or {}), covariance)
    problem.evaluations = 0
    outcome = call(problem)
    evaluations = problem.evaluations
    found = covariance_at(problem, outcome.x, covariance)
    if not outcome.success:
        warnings.warn(f"[fit] {engine} did not converge: {outcome.message}", UserWarning, stacklevel=2)
    elif found.warning:
        warnings.warn(f"[fit] {found.warning}", UserWarning, stacklevel=2)
    return FitResult(problem, outcome, found, call, evaluations)


def _constraint(given: Any) -> Constraint:
    try:
        function, low, high = given
    except (TypeError, ValueError):
        raise ValueError(f"[fit] a constraint must be (function, low, high), got {given!r}") from None
    if not callable(function):
        raise TypeError(f"[fit] a constraint must start with a function of the parameters, got {function!r}")
    return Constraint(function, low, high)


def _check_start(problem: FitProblem) -> None:
    """Raise unless the start is inside the bounds and has a finite cost."""
    if not problem.names:
        raise ValueError("[fit] all parameters are fixed: leave at least one free")
    for name, value, low, high in zip(
        problem.names, problem.start, problem.lower, problem.upper, strict=True
    ):
        if not low <= value <= high:
            raise ValueError(
                f"[fit] the start of {name} is {value:.6g}, outside its bounds ({low:.6g}, {high:.6g})"
            )
    cost, gradient = problem.value_and_gradient(problem.start)
    wrong = np.flatnonzero(~np.isfinite(gradient))
    if not np.isfinite(cost):
        raise ValueError(f"[fit] the cost is {cost} at the start: choose other start values or bounds")
    if wrong.size:
        raise ValueError(
            f"[fit] the derivative with respect to {problem.names[wrong[0]]} is {gradient[wrong[0]]} at the start: "
            "choose other start values"
        )


# ---- data ------------------------------------------------------------------------------------------------------------


def _observations(data: Any, sigma: Any, loss: str) -> Observations:
    if loss == "nll":
        if sigma is not None:
            raise ValueError(
                "[fit] sigma is for least squares: with loss='nll', the model computes the likelihood"
            )
        arguments = data if isinstance(data, tuple) else () if data is None else (data,)
        return Observations(tuple([optree.tree_map(_input, each) for each in arguments]), None, None)
    try:
        x, given = data
    except (TypeError, ValueError):
        raise ValueError(
            f"[fit] data must be a pair (x, y) for loss={loss!r}, got {type(data).__name__}"
        ) from None
    y = _observed(given)
    if loss == "poisson" and sigma is not None:
        raise ValueError("[fit] sigma is for least squares: counts have their own errors")
    if loss == "poisson" and (y < 0.0).any():
        raise ValueError("[fit] counts must not be negative for loss='poisson'")
    return Observations(optree.tree_map(_input, x), y, None if sigma is None else _deviations(sigma, y))


def _input(value: Any) -> Any:
    """Return an input of the model as an array, floats as float64."""
    array = host_array(value)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _observed(given: Any) -> _Array:
    y = host_array(given)
    if y.dtype.kind not in "fiub":
        raise TypeError(f"[fit] observations must be real numbers, got {y.dtype}")
    y = y.astype(np.float64)
    if not y.size:
        raise ValueError("[fit] there are no observations: y is empty")
    bad = int(np.sum(~np.isfinite(y)))
    if bad:
        raise ValueError(f"[fit] {bad} of {y.size} observations are nan or infinite: leave them out")
    return y


def _deviations(sigma: Any, y: _Array) -> _Array:
    """Return standard deviations, or the lower Cholesky factor of a covariance matrix."""
    array = host_array(sigma).astype(np.float64)
    if y.ndim == 1 and array.shape == (y.size, y.size):
        try:
            return np.linalg.cholesky(array)
        except np.linalg.LinAlgError:
            raise ValueError("[fit] the covariance matrix sigma is not positive definite") from None
    if array.shape not in ((), y.shape):
        raise ShapeError(
            f"[fit] sigma must have shape () or {y.shape}, or be a covariance matrix, got {array.shape}"
        )
    if not (np.isfinite(array) & (array > 0.0)).all():
        raise ValueError("[fit] standard deviations must be finite and positive")
    return array
