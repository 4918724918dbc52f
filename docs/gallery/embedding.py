"""
A map from distances
====================

Only the distances between 12 cities are known, with errors. Gradient descent finds positions that
have these distances.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(8)
cities = rng.uniform(0, 10, size=(12, 2))
distances = np.linalg.norm(cities[:, None] - cities, axis=-1)
distances *= rng.normal(1, 0.02, size=distances.shape)

positions = jt.Variable(rng.normal(size=(12, 2)))
optimizer = jt.optimizers.Adam(learning_rate=0.2)
losses = []
for _ in range(400):
    with jt.GradientTape() as tape:
        difference = positions[:, None, :] - positions[None, :, :]
        found = jt.sqrt(jt.reduce_sum(difference**2, axis=2) + 1e-9)
        loss = jt.reduce_mean(jt.square(found - distances))
    optimizer.apply_gradients([(tape.gradient(loss, positions), positions)])
    losses.append(float(loss))

# Rotate the map onto the cities, to compare them.
a, b = positions.numpy() - positions.numpy().mean(0), cities - cities.mean(0)
u, _, v = np.linalg.svd(a.T @ b)
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8))
left.plot(*b.T, "o", markersize=10, alpha=0.4, label="cities")
left.plot(*(a @ u @ v).T, "kx", label="found")
left.legend()
right.semilogy(losses)
right.set_xlabel("step")
right.set_ylabel("mean squared error of the distances")
