"""Call of an engine: its errors in words of `jt.fit`, and a check of its result, which may start it once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jittape.fits import fit_problem
from jittape.fits.fit_engines import ENGINES, Outcome
from jittape.fits.fit_problem import FitProblem
from jittape.fits.minimum_check import FAR, remainder_at

__all__ = ["EngineCall"]

_TOLERANCE = 1e-3
"""Distance from a bound, relative to the value or 1, beyond which it counts as violated."""
_SURE = 1e-3
"""Distance from the minimum, in standard errors, below which a fit has converged whatever the engine says."""
_RUNS = 3
"""Maximum number of times that an engine runs, each time from where it stopped."""


class EngineCall(NamedTuple):
    """An engine with an algorithm and options, called with a problem.

    `method` is the one of `covariance_at`, for the check of the minimum.
    """

    engine: str
    algorithm: str | None
    options: Mapping[str, Any]
    method: str

    def __call__(self, problem: FitProblem) -> Outcome:
        """Return where the engine stops. It converged if exact derivatives say that this is a minimum.

        Engines compare values of the cost, and some stop far from the minimum. They run again from there.
        """
        outcome = self._run(problem)
        for _ in range(_RUNS - 1):
            checked = self._checked(problem, outcome)
            if not outcome.success or checked.success:
                return checked
            problem.start = outcome.x
            outcome = self._run(problem)
        return self._checked(problem, outcome)

    def _checked(self, problem: FitProblem, outcome: Outcome) -> Outcome:
        """Return an outcome whose `success` is that of exact derivatives, bounds and constraints."""
        violated = _violated(problem, outcome.x)
        if violated:
            return outcome._replace(success=False, message=_joined(outcome.message, violated))
        distance, reason = remainder_at(problem, outcome.x, self.method)
        if reason:
            return outcome._replace(success=False, message=_joined(outcome.message, reason))
        return outcome._replace(success=distance <= (FAR if outcome.success else _SURE))

    def _run(self, problem: FitProblem) -> Outcome:
        """Return where one run of the engine stops; errors of the model are raised as they are.

        Raises
        ------
        ValueError
            If the engine refuses the algorithm, its options, bounds or constraints.
        """
        try:
            return ENGINES[self.engine].run(problem, self.algorithm, self.options)
        except ImportError:
            raise
        except Exception as error:
            own = _error_of_model(error)
            if own is not None:
                raise own from None
            raise ValueError(self._refusal(problem, error)) from error

    def _refusal(self, problem: FitProblem, error: Exception) -> str:
        algorithm = "" if self.algorithm is None else f" refuses algorithm {self.algorithm!r}"
        given = [
            *([f"options {sorted(self.options)}"] if self.options else []),
            *(["bounds"] if problem.has_bounds else []),
            *(["constraints"] if problem.constraints else []),
        ]
        what = f"{algorithm or ' failed'}{f' with {_listed(given)}' if given else ''}"
        said = str(error).strip().partition("\n")[0]
        reason = (
            said if said and type(error) is ValueError else f"{type(error).__name__}: {said}".rstrip(": ")
        )
        return f"[fit] engine {self.engine!r}{what}: {reason}"


def _joined(*sentences: str) -> str:
    return "; ".join(filter(None, sentences))


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _error_of_model(error: BaseException) -> BaseException | None:
    """Return the error of a function of the user among an error and its causes, which some engines wrap."""
    seen: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in seen:
        if any(file == fit_problem.__file__ for file in _files(at)):
            return at
        seen.append(at)
        at = at.__cause__ or at.__context__
    return None


def _files(error: BaseException) -> Iterator[str]:
    """Yield the files of the calls in which an error occurred."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code.co_filename
        trace = trace.tb_next


def _violated(problem: FitProblem, x: np.ndarray[Any, Any]) -> str:
    """Return which bound or constraint does not hold; an empty text if all hold."""
    for name, value, low, high in zip(problem.names, x, problem.lower, problem.upper, strict=True):
        if _is_outside(value, low, high):
            return f"{name} = {value:.6g} is outside its bounds ({low:.6g}, {high:.6g})"
    if not problem.constraints:
        return ""
    values = problem.constraint_values(x)
    rows = zip(
        problem.constraint_numbers, values, problem.constraint_lower, problem.constraint_upper, strict=True
    )
    for number, value, low, high in rows:
        if _is_outside(value, low, high):
            return f"constraint {number} is {value:.6g}, outside its bounds ({low:.6g}, {high:.6g})"
    return ""


def _is_outside(value: float, low: float, high: float) -> bool:
    slack = _TOLERANCE * max(1.0, abs(value))
    return not low - slack <= value <= high + slack
