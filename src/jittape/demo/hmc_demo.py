"""Demo: sample from a banana-shaped density with Hamiltonian Monte Carlo, many chains at once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jittape as jt
from jittape.demo.demo_output import finish, progress_bar

__all__ = ["run"]

Array = np.ndarray[Any, Any]

CHAINS, STEPS, LEAPS, STEP = 100, 2000, 10, 0.25


def log_density(q: jt.Tensor) -> jt.Tensor:
    """Return the log density of each row."""
    return -0.5 * (q[:, 0] ** 2 / 4 + 4 * (q[:, 1] - 0.25 * q[:, 0] ** 2) ** 2)


def slope(q: jt.Tensor) -> jt.Tensor:
    """Return the gradient of the log density of each row."""
    with jt.GradientTape() as tape:
        tape.watch(q)
        total = jt.reduce_sum(log_density(q))
    return tape.gradient(total, q)


@jt.function
def transition(q: jt.Tensor, p: jt.Tensor, threshold: jt.Tensor) -> tuple[jt.Tensor, jt.Tensor]:
    """Return the next position of each chain, and which chains moved."""
    position, momentum = q, p + STEP / 2 * slope(q)
    for i in range(LEAPS):
        position = position + STEP * momentum
        momentum = momentum + (STEP if i < LEAPS - 1 else STEP / 2) * slope(position)
    kinetic = 0.5 * jt.reduce_sum(p**2 - momentum**2, axis=1)
    moved = threshold < log_density(position) - log_density(q) + kinetic
    return jt.where(moved[:, None], position, q), moved


def run(output: Path) -> None:
    """Sample, draw the picture to `output` and print the results."""
    rng = np.random.default_rng(0)
    q: Any = jt.constant(rng.normal(size=(CHAINS, 2)))
    samples: list[Array] = []
    moves: list[float] = []
    begin = time.perf_counter()
    for _ in progress_bar(STEPS, "sampling"):
        q, moved = transition(q, rng.normal(size=(CHAINS, 2)), np.log(rng.uniform(size=CHAINS)))
        samples.append(q.numpy())
        moves.append(float(np.mean(moved.numpy())))
    seconds = time.perf_counter() - begin

    chains = np.array(samples[STEPS // 10 :])
    points = chains.reshape(-1, 2)
    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hexbin(*points.T, gridsize=70, cmap="Blues", mincnt=1)
    left.plot(*chains[:40, 0].T, "o-", color="tab:orange", markersize=3, linewidth=0.8)
    left.set(title=f"{len(points):,} samples, and 40 steps of one chain", xlabel="x", ylabel="y")
    right.hist(points[:, 0], bins=80, density=True, alpha=0.5, label="samples of x")
    grid = np.linspace(-7, 7, 300)
    right.plot(grid, np.exp(-(grid**2) / 8) / np.sqrt(8 * np.pi), "k--", label="exact density of x")
    right.legend()
    results = {
        "gradients of log densities": f"{CHAINS * STEPS * (2 * LEAPS) // 2 / seconds:,.0f} per second",
        "accepted": f"{np.mean(moves):.0%}",
        "standard deviation of x": f"{points[:, 0].std():.3f}   (exact: 2)",
    }
    finish(figure, output, results, "jittape demo ode, or change log_density in jittape/demo/hmc_demo.py")
