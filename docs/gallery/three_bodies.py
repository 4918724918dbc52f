"""
Forces from an energy
=====================

Write the energy, and let the tape compute the forces. Three bodies with equal masses follow each
other on a figure eight.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt


def energy(positions):
    total = 0.0
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        total -= 1 / jt.norm(positions[i] - positions[j])
    return total


force = jt.grad(lambda positions: -energy(positions))


@jt.function
def step(positions, velocities, dt):
    velocities = velocities + dt / 2 * force(positions)
    positions = positions + dt * velocities
    return positions, velocities + dt / 2 * force(positions)


positions = np.array([[0.97000436, -0.24308753], [-0.97000436, 0.24308753], [0.0, 0.0]])
velocities = np.array([[0.466203685, 0.43236573]] * 2 + [[-0.93240737, -0.86473146]])
paths = [positions]
for _ in range(700):
    positions, velocities = step(positions, velocities, 0.01)
    paths.append(positions.numpy())

fig, ax = plt.subplots(figsize=(7, 3))
for i, path in enumerate(np.array(paths).transpose(1, 2, 0)):
    ax.plot(*path, color=f"C{i}", alpha=0.5)
    ax.plot(*path[:, -1], "o", color=f"C{i}", markersize=10)
ax.set_aspect("equal")
