"""
A line through data with outliers
=================================

Least squares follows outliers; the Huber loss does not. Both fits use the same loop with different
losses.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(1)
x = np.linspace(0, 10, 60)
y = 1.5 * x + 2 + rng.normal(size=60)
y[::9] += 25


def huber(error):
    size = jt.abs(error)
    return jt.where(size < 1.0, 0.5 * size**2, size - 0.5)


def fit(loss_of):
    line = jt.Variable(np.zeros(2))
    optimizer = jt.optimizers.Adam(learning_rate=0.1)
    for _ in range(500):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(loss_of(line[0] * x + line[1] - y))
        optimizer.apply_gradients([(tape.gradient(loss, line), line)])
    return line.numpy()


fig, ax = plt.subplots()
ax.plot(x, y, ".", color="gray")
for name, loss_of in [("squared error", jt.square), ("Huber loss", huber)]:
    slope, offset = fit(loss_of)
    ax.plot(x, slope * x + offset, label=f"{name}: {slope:.2f} x + {offset:.2f}")
ax.legend()
