"""Results of `solve_ivp` and its counts of evaluations, under SciPy's names."""

from __future__ import annotations

from typing import Any

from jittape.scipy.integrate.ode_loop import State, Steps
from jittape.scipy.integrate.ode_methods import Method

__all__ = ["counts_of", "solver_result"]


def solver_result(method: Method, attempts: Any, calls: Any, **fields: Any) -> Any:
    """Return SciPy's result; ``steps`` are the attempted ones."""
    from scipy.optimize import OptimizeResult

    jacobians, factorizations = method.implicit or method.factorizations > 0, method.factorizations
    counts = {
        "nfev": calls,
        "njev": jacobians * attempts,
        "nlu": factorizations * attempts,
        "steps": attempts,
    }
    return OptimizeResult({"sol": None, "t_events": None, "y_events": None, **counts, **fields})


def counts_of(last: State | Steps, method: Method, interpolated: int) -> tuple[int, int]:
    """Return the numbers of attempted steps and of calls of the right-hand side, with those of `interpolated` steps."""
    return int(last.attempts.numpy()), int(last.calls.numpy()) + interpolated * method.polynomial_calls
