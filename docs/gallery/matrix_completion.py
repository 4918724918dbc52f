"""
Complete a matrix
=================

A matrix of rank 3 has 70 % of its entries missing. Two thin factors are fitted to the entries that
are known.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(0)
truth = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 80))
known = rng.uniform(size=truth.shape) < 0.3

left = jt.Variable(0.1 * rng.normal(size=(60, 3)))
right = jt.Variable(0.1 * rng.normal(size=(3, 80)))
optimizer = jt.optimizers.Adam(learning_rate=0.05)
for _ in range(600):
    with jt.GradientTape() as tape:
        loss = jt.reduce_sum(known * jt.square(left @ right - truth))
    optimizer.apply_gradients(
        zip(tape.gradient(loss, [left, right]), [left, right], strict=True)
    )

fig, axes = plt.subplots(1, 3, figsize=(9, 2.6))
shown = {
    "truth": truth,
    "known entries": np.where(known, truth, np.nan),
    "completed": (left @ right).numpy(),
}
for ax, (title, matrix) in zip(axes, shown.items(), strict=True):
    ax.imshow(matrix, cmap="RdBu", vmin=-4, vmax=4)
    ax.set_title(title)
    ax.set_axis_off()
print("largest error", np.abs(shown["completed"] - truth).max().round(3))
