"""
The pattern of a Jacobian
=========================

The Jacobian shows which outputs depend on which inputs. Here the function is one time step of a
diffusion with a reaction.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt


def diffuse(u):
    grid = jt.reshape(u, [8, 8])
    padded = jt.pad(grid, [[1, 1], [1, 1]])
    neighbors = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    return jt.reshape(grid + 0.1 * (neighbors - 4 * grid) + 0.05 * grid * (1 - grid), [64])


u = np.random.default_rng(0).uniform(size=64)
once = jt.jacobian(diffuse)(u)
twice = jt.jacobian(lambda u: diffuse(diffuse(u)))(u)

fig, axes = plt.subplots(1, 2, figsize=(8, 4))
for ax, matrix, title in zip(axes, [once, twice], ["one step", "two steps"], strict=True):
    picture = ax.imshow(np.where(matrix == 0, np.nan, matrix), cmap="viridis")
    ax.set_title(f"{title}: {np.mean(matrix != 0):.0%} are not zero")
    ax.set_xlabel("input")
    ax.set_ylabel("output")
    fig.colorbar(picture, ax=ax, shrink=0.8)
