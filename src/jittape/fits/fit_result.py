"""The result of a fit: parameters with their errors, profiles, intervals, and a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.fits.engine_calls import EngineCall
from jittape.fits.fit_covariance import Covariance
from jittape.fits.fit_engines import Outcome
from jittape.fits.fit_problem import FitProblem
from jittape.fits.likelihood_profile import LikelihoodProfile, ProfileRun
from jittape.html_report import html_table
from jittape.recording.convert import convert_to_tensor
from jittape.transforms.jacobians import jacobian

__all__ = ["FitResult"]

_Array = np.ndarray[Any, Any]


class FitResult:
    """Result of `jt.fit`: parameters, errors, profiles.

    Attributes
    ----------
    params, errors
        Best parameters and their standard errors, in the structure of `start`. The error of a fixed parameter is 0,
        that of a parameter at its bound is nan.
    names : list of str
        Names of all elements, such as ``"w[2]"``.
    values : ndarray of shape (n,)
        All parameters as one vector.
    covariance : ndarray of shape (n, n)
        Covariance matrix, with zeros for fixed parameters and nan for those at a bound.
    cost : float
        Negative log likelihood at the minimum: half the sum of squared residuals, half the deviance, or the value of
        the model.
    chi2 : float
        Twice the cost.
    dof : int or None
        Number of observations less the number of free parameters, plus the number of independent constraints with equal
        bounds; None for ``loss="nll"``.
    success : bool
        Whether the parameters keep to bounds and constraints and are at a minimum, by exact derivatives.
    message : str
        What the engine says, and what is wrong with the errors.
    evaluations : int
        Number of evaluations of the model by the engine.
    details : object
        The engine's own result, such as a `scipy.optimize.OptimizeResult` or an ``iminuit.Minuit``.

    Examples
    --------
    >>> import jittape as jt
    >>> found = jt.fit(lambda p, x: p["a"] * x, ([1.0, 2.0], [2.0, 4.0]), {"a": 1.0}, sigma=0.1)
    >>> round(found.params["a"], 6), round(found.errors["a"], 4), found.dof
    (2.0, 0.0447, 1)
    """

    def __init__(
        self,
        problem: FitProblem,
        outcome: Outcome,
        covariance: Covariance,
        call: EngineCall,
        evaluations: int,
    ) -> None:
        self.evaluations = evaluations
        self._problem, self._scale, self._call = problem, covariance.scale, call
        layout = problem.layout
        self.names = list(layout.names)
        self.values = problem.whole(outcome.x)
        self.cost = problem.value(outcome.x)
        self.covariance = covariance.matrix
        with np.errstate(invalid="ignore"):
            self._errors = np.sqrt(np.diag(covariance.matrix))
        self.params, self.errors = layout.unpack(self.values), layout.unpack(self._errors)
        self.chi2 = 2.0 * self.cost
        self.dof = covariance.dof
        self.success, self.details = outcome.success, outcome.details
        self._remarks = [*covariance.remarks, *([covariance.warning] if covariance.warning else [])]
        self.message = "; ".join([outcome.message, *self._remarks])

    @property
    def correlation(self) -> _Array:
        """Correlation matrix, of shape (n, n); nan where an error is 0 or nan."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.covariance / np.outer(self._errors, self._errors)

    def propagate(self, function: Callable[[Any], Any]) -> tuple[_Array, _Array]:
        """Return the value of a function of the parameters and its standard error.

        The error follows from the covariance and the exact Jacobian of the function, to first order.

        Parameters
        ----------
        function : callable
            Function of the parameters, in the structure of `start`, that returns one tensor.

        Returns
        -------
        value, error : ndarray
            Value and standard error of each element.

        Examples
        --------
        >>> import numpy as np
        >>> import jittape as jt
        >>> found = jt.fit(lambda p, x: p["a"] * x, ([1.0, 2.0], [2.0, 4.0]), {"a": 1.0}, sigma=0.1)
        >>> value, error = found.propagate(lambda p: p["a"] ** 2)
        >>> float(value.round(3)), float(error.round(3))
        (4.0, 0.179)
        """
        layout = self._problem.layout

        def of_vector(vector: Any) -> Any:
            return convert_to_tensor(function(layout.unpack(convert_to_tensor(vector))))

        value = np.array(of_vector(self.values), np.float64)
        slopes = jacobian(of_vector)(self.values)
        if slopes is None:
            return value, np.zeros(value.shape)
        rows = np.array(slopes, np.float64).reshape(value.size, len(self.values))
        used = np.any(rows != 0.0, 0)
        covariance = self.covariance[np.ix_(used, used)]
        # Rounding makes the variance of what a constraint holds fixed slightly negative.
        variance = np.einsum("ij,jk,ik->i", rows[:, used], covariance, rows[:, used])
        return value, np.sqrt(np.maximum(variance, 0.0)).reshape(value.shape)

    def profile(self, name: str, values: Any = None, points: int = 21) -> LikelihoodProfile:
        """Return the profile likelihood of a parameter: the best fit for each of several values of it.

        Parameters
        ----------
        name : str
            Name of one element, such as ``"a"`` or ``"w[2]"``.
        values : array-like, optional
            Values to hold the parameter at. By default, `points` values within three standard errors and the bounds.
        points : int
            Number of values.

        Returns
        -------
        LikelihoodProfile
            Values, differences of the likelihood, and the other parameters.

        Raises
        ------
        ValueError
            If the name is unknown, names several elements, or the parameter is fixed; or if its error is unknown and
            `values` is missing.
        RuntimeError
            If one of the fits fails.

        Examples
        --------
        >>> import jittape as jt
        >>> found = jt.fit(lambda p, x: p["a"] * x, ([1.0, 2.0], [2.0, 4.0]), {"a": 1.0}, sigma=0.1)
        >>> found.profile("a", [1.9, 2.0, 2.1]).difference.round(3)
        array([5., 0., 5.])
        """
        position, error = self._varied(name)
        low, high = (side[position] for side in self._problem.all_bounds)
        if values is None:
            if not error > 0.0:
                raise ValueError(f"[fit] the error of {name} is {error}: give values= for its profile")
            best = self.values[position]
            values = np.linspace(max(best - 3 * error, low), min(best + 3 * error, high), points)
        at = np.asarray(values, np.float64).reshape(-1)
        outside = at[(at < low) | (at > high)]
        if outside.size:
            raise ValueError(f"[fit] {name} = {outside[0]:.6g} is outside its bounds ({low:.6g}, {high:.6g})")
        return self._profile_run(position).scan(at)

    def interval(self, name: str, level: float = 0.6827) -> tuple[float, float]:
        """Return the confidence interval of a parameter by its profile likelihood.

        Its ends are where twice the negative log likelihood has increased by the quantile `level` of the chi-squared
        distribution with one degree of freedom, or a bound of the parameter.

        Parameters
        ----------
        name : str
            Name of one element, such as ``"a"`` or ``"w[2]"``.
        level : float
            Confidence, between 0 and 1.

        Returns
        -------
        low, high : float

        Raises
        ------
        ValueError
            If the name or the level is wrong, or the parameter is fixed.
        RuntimeError
            If one of the fits fails, or the data do not limit the parameter.

        Examples
        --------
        >>> import jittape as jt
        >>> found = jt.fit(lambda p, x: p["a"] * x, ([1.0, 2.0], [2.0, 4.0]), {"a": 1.0}, sigma=0.1)
        >>> low, high = found.interval("a", 0.95)
        >>> round(low, 3), round(high, 3)
        (1.912, 2.088)
        """
        from scipy.stats import chi2

        if not 0.0 < level < 1.0:
            raise ValueError(f"[fit] level must be between 0 and 1, got {level}")
        position, error = self._varied(name)
        step = error if error > 0.0 else 0.1 * max(abs(self.values[position]), 1.0)
        threshold = float(chi2.ppf(level, 1))
        low, high = (float(side[position]) for side in self._problem.all_bounds)
        run = self._profile_run(position)
        return run.crossing(threshold, -step, low), run.crossing(threshold, step, high)

    def _varied(self, name: str) -> tuple[int, float]:
        """Return the place and the error of one free parameter."""
        places = self._problem.layout.positions(name, "name")
        if len(places) != 1:
            raise ValueError(
                f"[fit] {name!r} has {len(places)} elements: name one, such as {self.names[places[0]]!r}"
            )
        if not self._problem.is_free[places[0]]:
            raise ValueError(f"[fit] {name!r} is fixed: its profile is one point")
        return places[0], float(self._errors[places[0]])

    def _profile_run(self, position: int) -> ProfileRun:
        return ProfileRun(self._problem, position, self.values, self.cost, self._scale, self._call)

    # ---- printing ----------------------------------------------------------------------------------------------------

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for i, name in enumerate(self.names):
            error = "fixed" if not self._problem.is_free[i] else f"{self._errors[i]:.3g}"
            rows.append((name, f"{self.values[i]:.8g}", error))
        return rows

    def _heading(self) -> str:
        state = "converged" if self.success else "NOT converged"
        dof = "" if self.dof is None else f" for {self.dof} degrees of freedom"
        goodness = f"cost {self.cost:.6g}" if self.dof is None else f"chi2 {self.chi2:.6g}{dof}"
        return f"fit {state}: {goodness}, {self.evaluations} evaluations"

    def __repr__(self) -> str:
        rows = [("parameter", "value", "error"), *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = [
            f"  {name:<{widths[0]}}  {value:>{widths[1]}}  {error:>{widths[2]}}"
            for name, value, error in rows
        ]
        remarks = [f"  {remark}" for remark in self._remarks]
        return "\n".join([self._heading(), *lines, *remarks])

    def _repr_html_(self) -> str:
        return html_table(self._heading(), self._rows(), ("parameter", "value", "error"))
