"""Demo: a Wasserstein GAN with gradient penalty learns a ring of Gaussians."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jittape as jt
from jittape.demo.demo_output import finish, progress_bar

__all__ = ["run"]

Array = np.ndarray[Any, Any]

BATCH, STEPS, CRITIC_STEPS, PENALTY, NOISE = 128, 1500, 4, 1.0, 4


def ring(rng: np.random.Generator, size: int) -> Array:
    """Return points near eight centers on a circle."""
    angles = rng.integers(0, 8, size) * np.pi / 4
    centers = 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return (centers + 0.1 * rng.normal(size=(size, 2))).astype(np.float32)


def network(inputs: int, outputs: int) -> jt.nn.Sequential:
    """Return a network with two hidden layers."""
    return jt.nn.Sequential(
        [
            jt.nn.Dense(64, activation=jt.nn.relu, input_dim=inputs),
            jt.nn.Dense(64, activation=jt.nn.relu, input_dim=64),
            jt.nn.Dense(outputs, input_dim=64),
        ]
    )


def run(output: Path) -> None:
    """Train, draw the picture to `output` and print the results."""
    rng = np.random.default_rng(0)
    jt.random.set_seed(0)
    generator, critic = network(NOISE, 2), network(2, 1)
    generator_optimizer = jt.optimizers.Adam(learning_rate=1e-3, beta_1=0.5, beta_2=0.9)
    critic_optimizer = jt.optimizers.Adam(learning_rate=1e-3, beta_1=0.5, beta_2=0.9)

    @jt.function
    def train_critic(real: jt.Tensor, noise: jt.Tensor, mix: jt.Tensor) -> jt.Tensor:
        """Return the critic's estimate of the distance between real and generated points."""
        fake = generator(noise)
        with jt.GradientTape() as tape:
            between = mix * real + (1 - mix) * fake
            with jt.GradientTape() as inner:
                inner.watch(between)
                score = jt.reduce_sum(critic(between))
            slope = jt.sqrt(jt.reduce_sum(inner.gradient(score, between) ** 2, axis=1) + 1e-12)
            distance = jt.reduce_mean(critic(real)) - jt.reduce_mean(critic(fake))
            loss = PENALTY * jt.reduce_mean((slope - 1) ** 2) - distance
        weights = critic.trainable_variables
        critic_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return distance

    @jt.function
    def train_generator(noise: jt.Tensor) -> jt.Tensor:
        with jt.GradientTape() as tape:
            loss = -jt.reduce_mean(critic(generator(noise)))
        weights = generator.trainable_variables
        generator_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    def draw_noise(size: int) -> Array:
        return rng.normal(size=(size, NOISE)).astype(np.float32)

    distances: list[float] = []
    pictures: dict[int, Array] = {}
    fixed = draw_noise(1000)
    for step in progress_bar(STEPS, "training"):
        if step in (0, STEPS // 6):
            pictures[step] = generator(fixed).numpy()
        for _ in range(CRITIC_STEPS):
            mix = rng.uniform(size=(BATCH, 1)).astype(np.float32)
            distance = train_critic(ring(rng, BATCH), draw_noise(BATCH), mix)
        train_generator(draw_noise(BATCH))
        distances.append(float(distance))
    pictures[STEPS] = points = generator(fixed).numpy()

    angles = np.arange(8) * np.pi / 4
    centers = 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    gaps = np.linalg.norm(points[:, None] - centers, axis=2)
    found = len(np.unique(gaps.argmin(axis=1)[gaps.min(axis=1) < 0.5]))
    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplot_mosaic([["0", "1", "2"], ["distance"] * 3], height_ratios=(2, 1))
    for name, (step, drawn) in zip("012", pictures.items(), strict=True):
        axes[name].plot(*ring(rng, 1000).T, ".", color="lightgray")
        axes[name].plot(*drawn.T, ".", color="tab:orange", markersize=3)
        axes[name].set(title=f"after {step} steps", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    axes["distance"].plot(distances)
    axes["distance"].set(xlabel="step", ylabel="distance", title="distance that the critic finds")
    results = {
        "centers that were found": f"{found} of 8",
        "points near a center": f"{np.mean(gaps.min(axis=1) < 0.5):.0%}",
        "distance": f"{max(distances):.2f} at most, {np.mean(distances[-50:]):.3f} at the end",
    }
    finish(figure, output, results, "jittape demo digits, or change ring in jittape/demo/wgan_demo.py")
