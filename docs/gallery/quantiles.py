"""
Quantile regression
===================

The pinball loss gives quantiles instead of the mean: here five curves for data whose spread grows.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 1, 500))
y = np.sin(4 * x) + (0.1 + 0.5 * x) * rng.normal(size=500)
levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
features = np.stack([x**k for k in range(5)], axis=1)

weights = jt.Variable(np.zeros((5, 5)))
optimizer = jt.optimizers.Adam(learning_rate=0.05)
for _ in range(2000):
    with jt.GradientTape() as tape:
        error = y[:, None] - features @ weights
        loss = jt.reduce_mean(jt.maximum(levels * error, (levels - 1) * error))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])

fig, ax = plt.subplots()
ax.plot(x, y, ".", color="lightgray")
for level, curve in zip(levels, (features @ weights.numpy()).T, strict=True):
    ax.plot(x, curve, label=f"{level:.0%} ({np.mean(y < curve):.0%} below)")
ax.legend()
