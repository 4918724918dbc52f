"""Demo: fit the rates of a predator-prey equation to noisy data, through 300 Runge-Kutta steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jittape as jt
from jittape.demo.demo_output import finish, progress_bar

__all__ = ["run"]

STEP, COUNT, EPOCHS = 0.1, 300, 600
TRUTH = np.array([1.1, 0.4, 0.1, 0.4])
GUESS = np.array([0.9, 0.35, 0.12, 0.45])


def velocity(state: jt.Tensor, rates: jt.Tensor) -> jt.Tensor:
    """Return the derivative of prey and predators with respect to the time."""
    prey, predators = state[0], state[1]
    return jt.stack(
        [
            rates[0] * prey - rates[1] * prey * predators,
            rates[2] * prey * predators - rates[3] * predators,
        ]
    )


def simulate(rates: jt.Tensor) -> jt.Tensor:
    """Return the states at all times, by the fourth-order Runge-Kutta method."""

    def step(state: jt.Tensor, _: jt.Tensor) -> jt.Tensor:
        k1 = velocity(state, rates)
        k2 = velocity(state + STEP / 2 * k1, rates)
        k3 = velocity(state + STEP / 2 * k2, rates)
        k4 = velocity(state + STEP * k3, rates)
        return state + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return jt.scan(step, np.zeros(COUNT), initializer=jt.constant([10.0, 5.0], dtype=jt.float64))


def run(output: Path) -> None:
    """Fit, draw the picture to `output` and print the results."""
    rng = np.random.default_rng(0)
    exact = simulate(jt.constant(TRUTH)).numpy()
    data = exact * np.exp(rng.normal(scale=0.1, size=exact.shape))
    logs = jt.Variable(np.log(GUESS))
    optimizer = jt.optimizers.Adam(learning_rate=0.03)

    @jt.function
    def train_step() -> jt.Tensor:
        with jt.GradientTape() as tape:
            error = jt.math.log(simulate(jt.exp(logs))) - np.log(data)
            loss = jt.reduce_mean(jt.square(error))
        optimizer.apply_gradients([(tape.gradient(loss, logs), logs)])
        return loss

    path, losses = [GUESS], []
    for _ in progress_bar(EPOCHS, "fit"):
        losses.append(float(train_step()))
        path.append(np.exp(logs.numpy()))

    time = STEP * np.arange(1, COUNT + 1)
    fitted: Any = simulate(jt.exp(logs)).numpy()
    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplot_mosaic([["fit", "fit"], ["rates", "loss"]])
    for i, name in enumerate(("prey", "predators")):
        axes["fit"].plot(time, data[:, i], ".", color=f"C{i}", alpha=0.4, label=f"{name}, data")
        axes["fit"].plot(time, fitted[:, i], color=f"C{i}", label=f"{name}, fit")
    axes["fit"].set_xlabel("time")
    axes["fit"].legend(ncols=2)
    for i, values in enumerate(np.array(path).T):
        axes["rates"].plot(values, color=f"C{i}")
        axes["rates"].axhline(TRUTH[i], color=f"C{i}", linestyle="--", linewidth=0.8)
    axes["rates"].set(title="rates; dashed: truth", xlabel="step")
    axes["loss"].semilogy(losses)
    axes["loss"].set(title="loss", xlabel="step")
    results = {
        "rates of the fit": str(path[-1].round(3)),
        "truth": str(TRUTH),
        "loss": f"{losses[0]:.3f} to {losses[-1]:.4f}",
    }
    finish(
        figure, output, results, "jittape demo wgan, or fit the start values too in jittape/demo/ode_demo.py"
    )
