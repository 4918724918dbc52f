"""Libraries that minimize the cost of a fit: one record each in `ENGINES`.

An engine gets a `FitProblem`, the name of an algorithm or None, and the user's options. It returns where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jittape.fits.fit_problem import FitProblem
from jittape.fits.scaled_problem import ScaledProblem, start_variance, step_sizes
from jittape.interop.optional_library import imported
from jittape.scipy.optimize.minimization import WITH_HESSIAN, WITH_PRODUCTS
from jittape.sparse.sparse_derivatives import sparse_hessian, sparse_jacobian

__all__ = ["ENGINES", "Engine", "Outcome"]

_Array = np.ndarray[Any, Any]


class Outcome(NamedTuple):
    """End of a minimization."""

    x: _Array
    success: bool
    message: str
    details: Any
    """The library's own result."""


class Engine(NamedTuple):
    """A library: how to run it, and whether it takes constraints."""

    run: Callable[[FitProblem, str | None, Mapping[str, Any]], Outcome]
    takes_constraints: bool


class _Rows:
    """Some constraints in normal form: ``sign * (values - bound)`` is at most 0, or equal to 0."""

    def __init__(self, problem: FitProblem | ScaledProblem, rows: _Array, sign: float, bound: _Array) -> None:
        self._problem, self._rows, self._sign, self._bound = problem, rows, sign, bound[rows]
        self.zeros = np.zeros(int(rows.sum()))

    def values(self, x: _Array) -> _Array:
        return self._sign * (self._problem.constraint_values(x)[self._rows] - self._bound)

    def jacobian(self, x: _Array) -> _Array:
        return self._sign * self._problem.constraint_jacobian(x)[self._rows]

    def hessian(self, x: _Array, weights: _Array) -> _Array:
        """Return the Hessian of ``weights @ values``."""
        every = np.zeros(len(self._rows))
        every[self._rows] = self._sign * np.asarray(weights)
        return self._problem.constraint_hessian(x, every)


def _equations(problem: FitProblem | ScaledProblem) -> list[_Rows]:
    """Return the constraints with equal bounds, as a list of one or none."""
    equal = problem.constraint_lower == problem.constraint_upper
    return [_Rows(problem, equal, 1.0, problem.constraint_lower)] if equal.any() else []


def _inequalities(problem: FitProblem | ScaledProblem) -> list[_Rows]:
    """Return the finite lower and upper bounds of constraints, as a list of at most two."""
    lower, upper = problem.constraint_lower, problem.constraint_upper
    sides = [
        (np.isfinite(lower) & (lower != upper), -1.0, lower),
        (np.isfinite(upper) & (lower != upper), 1.0, upper),
    ]
    return [_Rows(problem, rows, sign, bound) for rows, sign, bound in sides if rows.any()]


# ---- SciPy -----------------------------------------------------------------------------------------------------------


def _run_scipy(problem: FitProblem, algorithm: str | None, options: Mapping[str, Any]) -> Outcome:
    least_squares = ("trf", "dogbox", "lm")
    if problem.is_least_squares and not problem.constraints and algorithm in (None, *least_squares):
        return _run_scipy_least_squares(problem, algorithm, options)
    from scipy.optimize import Bounds, NonlinearConstraint, minimize

    if algorithm in least_squares:
        raise ValueError(f"{algorithm} is for least squares without constraints")
    if algorithm is None:
        algorithm = "SLSQP" if problem.constraints else "L-BFGS-B" if problem.has_bounds else "trust-exact"
    for given, able in ((problem.constraints, _WITH_CONSTRAINTS), (problem.has_bounds, _WITH_BOUNDS)):
        if given and algorithm.lower() not in able:  # SciPy would only warn, and leave them out
            raise ValueError(f"use one of {', '.join(able)}")
    more: dict[str, Any] = {"options": {"maxiter": 1000, **_PRECISE.get(algorithm.lower(), {}), **options}}
    scaled = ScaledProblem(problem)
    if problem.has_bounds:
        more["bounds"] = Bounds(scaled.lower, scaled.upper)
    uses_hessian = algorithm.lower() in WITH_PRODUCTS | WITH_HESSIAN
    if uses_hessian:
        more["hess"] = scaled.hessian
    if problem.constraints:

        def constraint(rows: _Rows, least: float) -> Any:
            second = {"hess": rows.hessian} if uses_hessian else {}
            return NonlinearConstraint(rows.values, least, 0.0, jac=rows.jacobian, **second)

        more["constraints"] = [
            *[constraint(rows, 0.0) for rows in _equations(scaled)],
            *[constraint(rows, -np.inf) for rows in _inequalities(scaled)],
        ]
    cost = _FiniteCost(scaled) if algorithm.lower() == "l-bfgs-b" else scaled.value_and_gradient
    found = minimize(cost, scaled.start, jac=True, method=algorithm, **more)
    found.x = scaled.whole(found.x)
    return Outcome(found.x, bool(found.success), str(found.message), found)


class _FiniteCost:
    """The cost for line searches that give up where it is not finite, as for a standard deviation at its bound, zero.

    There, the cost rises from the last finite one, so steeply that the next step is about a tenth as long.
    """

    def __init__(self, problem: FitProblem | ScaledProblem) -> None:
        self._problem = problem
        self._last: tuple[_Array, float, _Array] | None = None

    def __call__(self, x: _Array) -> tuple[float, _Array]:
        value, gradient = self._problem.value_and_gradient(x)
        if np.isfinite(value) and np.isfinite(gradient).all():
            self._last = x.copy(), value, gradient
        elif self._last is not None:
            start, cost, slope = self._last
            step = x - start
            size = float(abs(slope @ step))
            value, gradient = cost + 5.0 * size, 15.0 * size * step / max(float(step @ step), 1e-300)
        return value, gradient


_WITH_CONSTRAINTS = ("slsqp", "trust-constr", "cobyla", "cobyqa")
_WITH_BOUNDS = (*_WITH_CONSTRAINTS, "l-bfgs-b", "tnc", "nelder-mead", "powell")
_PRECISE: dict[str, dict[str, float]] = {
    **{name: {"gtol": 1e-8} for name in ("bfgs", "cg")},
    "slsqp": {"ftol": 1e-14},
    "l-bfgs-b": {"ftol": 1e-14, "gtol": 1e-8, "maxfun": 100_000},
    "trust-exact": {"gtol": 1e-8},
    "trust-constr": {"gtol": 1e-10, "xtol": 1e-12, "barrier_tol": 1e-10},
}
"""Tolerances of SciPy's methods, finer than its own: errors of parameters hold only at the minimum."""


def _run_scipy_least_squares(
    problem: FitProblem, algorithm: str | None, options: Mapping[str, Any]
) -> Outcome:
    from scipy.optimize import least_squares

    enough = problem.observations.y.size >= len(problem.start)
    method = algorithm or ("lm" if enough and not problem.has_bounds else "trf")
    tolerances = {"ftol": 1e-12, "xtol": 1e-12, "gtol": 1e-12}
    found = least_squares(
        problem.residuals, problem.start, jac=problem.jacobian, bounds=(problem.lower, problem.upper), method=method,
        **(tolerances | dict(options)),
    )  # fmt: skip
    return Outcome(found.x, bool(found.success), str(found.message), found)


# ---- iminuit ---------------------------------------------------------------------------------------------------------


def _run_iminuit(problem: FitProblem, algorithm: str | None, options: Mapping[str, Any]) -> Outcome:
    library = imported("iminuit", "fit")
    minuit = library.Minuit(problem.value, problem.start, grad=problem.gradient, name=problem.names)
    minuit.errordef = library.Minuit.LIKELIHOOD
    minuit.limits = list(zip(problem.lower, problem.upper, strict=True))
    minuit.tol = 1e-4
    algorithm = algorithm or "migrad"
    if algorithm not in ("migrad", "simplex", "scan", "scipy"):
        raise ValueError("use one of migrad, simplex, scan, scipy")
    getattr(minuit, algorithm)(**options)
    message = "converged" if minuit.valid else f"MINUIT: {_reason_of_minuit(minuit.fmin)}"
    return Outcome(np.array(minuit.values), bool(minuit.valid), message, minuit)


def _reason_of_minuit(end: Any) -> str:
    """Return why the end of a minimization is not valid."""
    if end is None or end.has_reached_call_limit:
        return "stopped by the call limit"
    return f"the estimated distance to the minimum is {end.edm:.2g}, in units of the cost"


# ---- lmfit -----------------------------------------------------------------------------------------------------------


def _run_lmfit(problem: FitProblem, algorithm: str | None, options: Mapping[str, Any]) -> Outcome:
    library = imported("lmfit", "fit")
    method = algorithm or ("leastsq" if problem.is_least_squares else "lbfgsb")
    known = (*_LMFIT_METHODS, *library.minimizer.SCALAR_METHODS)
    if method not in known:  # lmfit would use Nelder-Mead
        raise ValueError(f"use one of {', '.join(known)}")
    is_scalar = method not in ("leastsq", "least_squares")
    scaled = ScaledProblem(problem)
    parameters = library.Parameters()
    # Its names must be identifiers, which "w[0]" is not.
    keys = [f"p{i}" for i in range(len(problem.start))]
    for key, value, low, high in zip(keys, _off_bounds(scaled), scaled.lower, scaled.upper, strict=True):
        parameters.add(key, value=value, min=low, max=high)

    def vector(given: Any) -> _Array:
        return np.array([given[key].value for key in keys])

    minimizer = library.Minimizer(
        lambda given: (scaled.value if is_scalar else scaled.residuals)(vector(given)), parameters
    )
    derivative = scaled.gradient if is_scalar else scaled.jacobian
    name = {"leastsq": "Dfun"}.get(method, "jac")
    takes = method not in ("nelder", "powell", "cobyla", "differential_evolution", "brute")
    more: dict[str, Any] = {name: lambda given, *unused: derivative(vector(given))} if takes else {}
    if method == "leastsq":
        more |= {"ftol": 1e-12, "xtol": 1e-12, "gtol": 1e-12}
    found = minimizer.minimize(method=method, **(more | dict(options)))
    return Outcome(scaled.whole(vector(found.params)), bool(found.success), str(found.message), found)


def _off_bounds(problem: ScaledProblem) -> _Array:
    """Return the start, moved off the bounds by a standard error, or a tenth of the interval if that is less.

    lmfit replaces a bounded parameter by a function whose derivative is zero at the bound, where the fit would stay.
    """
    start, low, high = problem.start, problem.lower, problem.upper
    at_low, at_high = start == low, start == high
    return np.asarray(start + (at_low * 1.0 - at_high * 1.0) * np.minimum(1.0, 0.1 * (high - low)))


_LMFIT_METHODS = ("leastsq", "least_squares", "brute", "basinhopping", "ampgo", "shgo", "dual_annealing")


# ---- NLopt -----------------------------------------------------------------------------------------------------------


def _run_nlopt(problem: FitProblem, algorithm: str | None, options: Mapping[str, Any]) -> Outcome:
    library = imported("nlopt", "fit")
    solver = library.opt(getattr(library, algorithm or "LD_SLSQP"), len(problem.start))
    scaled = ScaledProblem(problem)
    solver.set_lower_bounds(scaled.lower)
    solver.set_upper_bounds(scaled.upper)
    settings = {"xtol_rel": 1e-10, "ftol_rel": 1e-14, "maxeval": 10_000, **options}
    for name, value in settings.items():
        getattr(solver, f"set_{name}")(value)

    last = scaled.start.copy()

    def objective(x: _Array, gradient: _Array) -> float:
        last[:] = x
        value, slope = scaled.value_and_gradient(x)
        if gradient.size:
            gradient[:] = slope
        return value

    solver.set_min_objective(objective)
    for rows in _equations(scaled):
        solver.add_equality_mconstraint(_nlopt_constraint(rows), rows.zeros + 1e-10)
    for rows in _inequalities(scaled):
        solver.add_inequality_mconstraint(_nlopt_constraint(rows), rows.zeros + 1e-10)
    try:
        x = solver.optimize(scaled.start)
    except library.RoundoffLimited:  # no step changes the cost: the last point is as good as the best
        return Outcome(scaled.whole(last), True, "NLopt: limited by rounding errors", solver)
    except library.runtime_error as error:  # NLopt's FAILURE, such as constraints that contradict each other
        return Outcome(scaled.whole(last), False, f"NLopt: failed {error}".rstrip(), solver)
    code = solver.last_optimize_result()
    limits = {library.MAXEVAL_REACHED: "maxeval", library.MAXTIME_REACHED: "maxtime"}
    message = f"stopped by {limits[code]}" if code in limits else "converged"
    return Outcome(scaled.whole(x), code > 0 and code not in limits, f"NLopt: {message}", solver)


def _nlopt_constraint(rows: _Rows) -> Callable[[_Array, _Array, _Array], None]:
    def values(result: _Array, x: _Array, gradient: _Array) -> None:
        if gradient.size:
            gradient[:] = rows.jacobian(x)
        result[:] = rows.values(x)

    return values


# ---- IPOPT -----------------------------------------------------------------------------------------------------------


class _IpoptProblem:
    """The functions that cyipopt calls; Jacobian and Hessian are sparse."""

    def __init__(self, problem: FitProblem) -> None:
        self._problem = problem
        self._jacobian = sparse_jacobian(lambda x: problem.constraint_vector(x, problem.fixed), format="coo")
        self._hessian = sparse_hessian(problem.lagrangian, format="coo")
        found = self._hessian(problem.start, 1.0, np.ones(problem.constraint_lower.size))
        self._kept = found.row >= found.col
        self._places = (found.row[self._kept], found.col[self._kept])

    def objective(self, x: _Array) -> float:
        return self._problem.value(x)

    def gradient(self, x: _Array) -> _Array:
        return self._problem.gradient(x)

    def constraints(self, x: _Array) -> _Array:
        return self._problem.constraint_values(x) if self._problem.constraints else np.zeros(0)

    def jacobianstructure(self) -> tuple[_Array, _Array]:
        if not self._problem.constraints:
            return np.zeros(0, int), np.zeros(0, int)
        found = self._jacobian(self._problem.start)
        return found.row, found.col

    def jacobian(self, x: _Array) -> _Array:
        return self._jacobian(x).data if self._problem.constraints else np.zeros(0)

    def hessianstructure(self) -> tuple[_Array, _Array]:
        return self._places

    def hessian(self, x: _Array, multipliers: _Array, factor: float) -> _Array:
        return self._hessian(x, factor, np.asarray(multipliers)).data[self._kept]


def _run_ipopt(problem: FitProblem, algorithm: str | None, options: Mapping[str, Any]) -> Outcome:
    library = imported("cyipopt", "fit", "cyipopt-wheels")
    if algorithm is not None:
        raise ValueError("it has one algorithm: leave out algorithm=")
    solver = library.Problem(
        n=len(problem.start), m=problem.constraint_lower.size, problem_obj=_IpoptProblem(problem),
        lb=problem.lower, ub=problem.upper, cl=problem.constraint_lower, cu=problem.constraint_upper,
    )  # fmt: skip
    units = 1.0 / start_variance(problem), 1.0 / step_sizes(problem), np.ones(problem.constraint_lower.size)
    solver.set_problem_scaling(*units)
    scaling = {"nlp_scaling_method": "user-scaling"}
    for name, value in {"print_level": 0, "sb": "yes", "tol": 1e-10, **scaling, **options}.items():
        solver.add_option(name, value)
    x, info = solver.solve(problem.start)
    message = info["status_msg"]
    text = message.decode() if isinstance(message, bytes) else message
    return Outcome(np.array(x), info["status"] in (0, 1), text, info)


# ---- optimagic -------------------------------------------------------------------------------------------------------


def _run_optimagic(problem: FitProblem, algorithm: str | None, options: Mapping[str, Any]) -> Outcome:
    library = imported("optimagic", "fit")
    name = algorithm or ("scipy_slsqp" if problem.constraints else "scipy_lbfgsb")
    scaled = ScaledProblem(problem)
    more: dict[str, Any] = {}
    if problem.has_bounds:
        record = getattr(library.algos, name, None)
        if record is not None and not record.algo_info.supports_bounds:  # optimagic would leave them out
            raise ValueError(f"{name} takes no bounds")
        more["bounds"] = library.Bounds(scaled.lower, scaled.upper)
    if problem.constraints:
        more["constraints"] = [
            *[_optimagic_constraint(library, rows, 1.0, value=rows.zeros) for rows in _equations(scaled)],
            # An upper bound alone is taken as an equation by optimagic 0.5, so the sign is changed.
            *[
                _optimagic_constraint(library, rows, -1.0, lower_bound=rows.zeros)
                for rows in _inequalities(scaled)
            ],
        ]
    if name.startswith("scipy_ls"):
        mark = library.mark.least_squares
        functions = {"fun": mark(scaled.residuals), "jac": mark(scaled.jacobian)}
    elif name == "scipy_lbfgsb":
        cost = _FiniteCost(scaled)
        functions = {"fun": lambda x: cost(x)[0], "jac": lambda x: cost(x)[1]}
    else:
        functions = {"fun": scaled.value, "jac": scaled.gradient}
    found = library.minimize(
        params=scaled.start, algorithm=name, algo_options={**_PRECISE_OPTIMAGIC.get(name, {}), **options},
        **functions, **more,
    )  # fmt: skip
    x = scaled.whole(np.array(found.params))
    return Outcome(x, bool(found.success), str(found.message), found)


_PRECISE_OPTIMAGIC = {
    "scipy_lbfgsb": {"convergence_ftol_rel": 1e-14, "convergence_gtol_abs": 1e-8},
    "scipy_slsqp": {"convergence_ftol_abs": 1e-14},
}
"""Tolerances as in `_PRECISE`."""


def _optimagic_constraint(library: Any, rows: _Rows, sign: float, **bound: Any) -> Any:
    return library.NonlinearConstraint(
        func=lambda x: sign * rows.values(x), derivative=lambda x: sign * rows.jacobian(x), **bound
    )


ENGINES: dict[str, Engine] = {
    "scipy": Engine(_run_scipy, takes_constraints=True),
    "iminuit": Engine(_run_iminuit, takes_constraints=False),
    "lmfit": Engine(_run_lmfit, takes_constraints=False),
    "nlopt": Engine(_run_nlopt, takes_constraints=True),
    "ipopt": Engine(_run_ipopt, takes_constraints=True),
    "optimagic": Engine(_run_optimagic, takes_constraints=True),
}
"""The engines by the names that ``jt.fit(..., engine=)`` takes."""
