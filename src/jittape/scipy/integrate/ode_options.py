"""Options of `solve_ivp` for the steps, and its result with the counts of evaluations, under SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.recording.tensor import any_recorded
from jittape.scipy.integrate.ode_loop import State, Steps
from jittape.scipy.integrate.ode_methods import Method

__all__ = ["counts_of", "solver_result", "step_limits", "tolerance_of"]


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


def tolerance_of(function: str, atol: Any, size: int) -> Any:
    """Return the absolute tolerance, one number or one for each component."""
    found = np.asarray(atol, np.float64)
    if found.shape not in ((), (size,)):
        raise ValueError(f"[{function}] atol must be a number or {size} numbers, got shape {found.shape}")
    if not (found >= 0).all():
        raise ValueError(f"[{function}] atol must not be negative, got {atol}")
    return found if found.shape else float(found)


def step_limits(t_span: Any, first_step: Any, max_step: Any) -> tuple[float | None, float]:
    """Return the sizes of the first and of the largest step."""
    if not float(max_step) > 0:
        raise ValueError(f"[solve_ivp] max_step must be positive, got {max_step}")
    if first_step is None:
        return None, float(max_step)
    if not float(first_step) > 0:
        raise ValueError(f"[solve_ivp] first_step must be positive, got {first_step}")
    if not any_recorded(*t_span) and float(first_step) > abs(float(t_span[1]) - float(t_span[0])):
        raise ValueError(f"[solve_ivp] first_step={first_step} is longer than the interval {tuple(t_span)}")
    return float(first_step), float(max_step)
