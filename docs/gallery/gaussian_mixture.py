"""
A mixture of Gaussians
======================

Three Gaussians are fitted by gradient descent on the likelihood. The contours show the density.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(4)
centers = np.array([[0, 0], [4, 1], [1, 4]])
points = centers[rng.integers(0, 3, 600)] + rng.normal(size=(600, 2)) * [0.9, 0.6]

means = jt.Variable(np.array([[1.0, 0.0], [3.0, 2.0], [0.0, 3.0]]))
log_spreads = jt.Variable(np.zeros((3, 2)))
logits = jt.Variable(np.zeros(3))
variables = [means, log_spreads, logits]


def log_density(points):
    z = (points[:, None, :] - means) / jt.exp(log_spreads)
    parts = -0.5 * jt.reduce_sum(z**2, axis=2) - jt.reduce_sum(log_spreads, axis=1)
    return jt.reduce_logsumexp(parts + jt.nn.log_softmax(logits), axis=1) - np.log(
        2 * np.pi
    )


optimizer = jt.optimizers.Adam(learning_rate=0.05)
for _ in range(300):
    with jt.GradientTape() as tape:
        loss = -jt.reduce_mean(log_density(points))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

x, y = np.meshgrid(np.linspace(-3, 7, 120), np.linspace(-2.5, 6.5, 100))
density = np.exp(log_density(np.stack([x.ravel(), y.ravel()], 1)).numpy()).reshape(x.shape)
fig, ax = plt.subplots(figsize=(7, 4.5))
ax.plot(*points.T, ".", color="lightgray")
ax.contour(x, y, density, levels=8)
ax.plot(*means.numpy().T, "k+", markersize=14)
