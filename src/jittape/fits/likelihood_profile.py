"""Profile likelihoods: the best cost for given values of one parameter, and the intervals that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jittape.fits.engine_calls import EngineCall
from jittape.fits.fit_problem import FitProblem

__all__ = ["LikelihoodProfile", "ProfileRun"]

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LikelihoodProfile:
    """Profile likelihood of one parameter.

    Attributes
    ----------
    name : str
        Name of the parameter.
    values : ndarray of shape (k,)
        Values at which the parameter was held.
    difference : ndarray of shape (k,)
        Twice the increase of the negative log likelihood over its minimum; 1 at the ends of the 68.3 % interval of a
        single parameter. For least squares without `sigma`, divided by the estimated variance.
    parameters : ndarray of shape (k, n)
        All parameters at each of these points, in the order of `FitResult.names`.

    Examples
    --------
    >>> import jittape as jt
    >>> found = jt.fit(lambda p, x: p["a"] * x, ([1.0, 2.0], [2.0, 4.0]), {"a": 1.0}, sigma=0.1)
    >>> found.profile("a", [2.0, 2.1])
    LikelihoodProfile(name='a', values=array([2. , 2.1]), difference=array([0., 5.]), parameters=array([[2. ],
           [2.1]]))
    """

    name: str
    values: _Array
    difference: _Array
    parameters: _Array


class ProfileRun:
    """Repeated fits with one parameter held, each started from its neighbor."""

    def __init__(
        self, problem: FitProblem, position: int, best: _Array, cost: float, scale: float, call: EngineCall
    ) -> None:
        self._held = problem.fixing(position, best[position])
        self._position, self._best, self._cost, self._scale = position, best, cost, scale
        self._call = call
        self._name = problem.layout.names[position]

    def at(self, value: float, start: _Array) -> tuple[float, _Array]:
        """Return the difference and all parameters for one value, from a start vector of all parameters."""
        held = self._held
        held.values[held.is_free] = start[held.is_free]
        held.values[self._position] = value
        held.start = start[held.is_free]
        if held.names:
            outcome = self._call(held)
            if not outcome.success:
                raise RuntimeError(
                    f"[fit] the profile at {self._name} = {value:.6g} failed: {outcome.message}"
                )
            free = outcome.x
        else:
            free = held.start
        return 2.0 * (held.value(free) - self._cost) / self._scale, held.whole(free)

    def scan(self, values: _Array) -> LikelihoodProfile:
        """Return the profile at some values, from the middle outwards."""
        best = self._best[self._position]
        difference, found = np.empty(len(values)), np.empty((len(values), len(self._best)))
        above = [int(i) for i in np.argsort(values) if values[i] >= best]
        below = [int(i) for i in np.argsort(-values) if values[i] < best]
        for side in (above, below):
            start = self._best
            for i in side:
                difference[i], found[i] = self.at(float(values[i]), start)
                start = found[i]
        return LikelihoodProfile(self._name, values, difference, found)

    def crossing(self, level: float, step: float, limit: float) -> float:
        """Return where the difference reaches a level, in the direction of `step`; `limit` is the parameter's bound."""
        start, low = self._best, float(self._best[self._position])
        reached = low
        for _ in range(60):
            reached = min(low + step, limit) if step > 0 else max(low + step, limit)
            difference, found = self.at(reached, start)
            if difference >= level:
                return self._root(level, low, reached, found)
            if reached == limit:
                return limit
            start, low, step = found, reached, 1.5 * step
        raise RuntimeError(
            f"[fit] the profile of {self._name} does not reach {level:.3g} up to {reached:.6g}: the data do not limit "
            "it on this side"
        )

    def _root(self, level: float, low: float, high: float, start: _Array) -> float:
        from scipy.optimize import brentq

        tolerance = 1e-10 * max(abs(low), abs(high), 1e-30)
        return float(
            brentq(lambda value: self.at(value, start)[0] - level, low, high, xtol=tolerance, rtol=1e-10)
        )
