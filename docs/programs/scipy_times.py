"""Times of `jittape.scipy` and of SciPy: ``python docs/programs/scipy_times.py``."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.stats

import jittape as jt
from jittape.scipy import integrate, optimize, stats

START, TIMES = np.array([2.0, 0.0]), np.linspace(0.0, 10.0, 50)
TIGHT = {"rtol": 1e-8, "atol": 1e-8}


def oscillator(t: Any, y: Any) -> list[Any]:
    """Return the right-hand side of van der Pol's equation."""
    return [y[1], (1 - y[0] ** 2) * y[1] - y[0]]


@jt.function
def trajectory(start: Any) -> Any:
    """Return the solution as a compiled loop."""
    return integrate.solve_ivp(oscillator, (0.0, 10.0), start, "DOP853", TIMES, **TIGHT).y


def last(start: Any, adjoint: bool = False) -> Any:
    """Return the last position."""
    ends = (0.0, 10.0)
    return integrate.solve_ivp(
        oscillator, ends, start, "DOP853", ends, adjoint=adjoint, **TIGHT
    ).y[0, -1]


by_steps = jt.function(jt.grad(last))
by_adjoint = jt.function(jt.grad(lambda start: last(start, adjoint=True)))


SAMPLES = np.random.default_rng(0).gamma(2.0, 1.5, 100_000)


@jt.function
def likelihood(shape: Any, scale: Any) -> Any:
    """Return the log-likelihood of a gamma distribution."""
    return jt.reduce_sum(stats.gamma.logpdf(SAMPLES, shape, scale=scale))


both = jt.function(jt.value_and_grad(likelihood, argnums=(0, 1)))


@jt.function
def rosenbrock(x: Any) -> Any:
    """Return Rosenbrock's function."""
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def least(function: Callable[[], Any], rounds: int = 15) -> float:
    """Return the least time of a call, in milliseconds."""
    times = []
    for _ in range(rounds):
        begin = perf_counter()
        function()
        times.append(perf_counter() - begin)
    return 1e3 * min(times)


ROWS: dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]] = {
    "solve_ivp, DOP853, 50 times": (
        lambda: trajectory(START).numpy(),
        lambda: scipy.integrate.solve_ivp(
            oscillator, (0, 10), START, "DOP853", TIMES, **TIGHT
        ),
    ),
    "its gradient through the steps": (lambda: by_steps(START).numpy(), None),
    "its gradient by the adjoint": (lambda: by_adjoint(START).numpy(), None),
    "gamma.logpdf, sum of 100,000": (
        lambda: likelihood(2.0, 1.5).numpy(),
        lambda: scipy.stats.gamma.logpdf(SAMPLES, 2.0, scale=1.5).sum(),
    ),
    "value and gradient": (lambda: both(2.0, 1.5)[0].numpy(), None),
    "minimize, BFGS, 10 variables": (
        lambda: optimize.minimize(rosenbrock, np.zeros(10)).x.numpy(),
        lambda: scipy.optimize.minimize(
            scipy.optimize.rosen, np.zeros(10), jac=scipy.optimize.rosen_der, method="BFGS"
        ),
    ),
}

if __name__ == "__main__":
    print(f"{'milliseconds':34} jittape   SciPy")
    for name, (ours, reference) in ROWS.items():
        for _ in range(3):
            ours()
        print(
            f"{name:34} {least(ours):7.2f}", f"{least(reference):7.2f}" if reference else ""
        )
