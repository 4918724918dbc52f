"""
A classifier of two moons
=========================

A small network of jt.nn layers, trained with Adam. The color is the probability of the second
class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import jittape as jt

points, labels = make_moons(300, noise=0.2, random_state=0)
points = points.astype(np.float32)

jt.random.set_seed(0)
model = jt.nn.Sequential(
    [
        jt.nn.Dense(32, activation=jt.nn.relu),
        jt.nn.Dense(32, activation=jt.nn.relu),
        jt.nn.Dense(2),
    ]
)
optimizer = jt.optimizers.Adam(learning_rate=0.01)
for _ in range(300):
    with jt.GradientTape() as tape:
        losses = jt.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=model(points)
        )
        loss = jt.reduce_mean(losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

x, y = np.meshgrid(np.linspace(-1.7, 2.7, 200), np.linspace(-1.2, 1.7, 150))
grid = np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32)
probability = jt.nn.softmax(model(grid)).numpy()[:, 1].reshape(x.shape)
fig, ax = plt.subplots(figsize=(7, 4))
ax.contourf(x, y, probability, levels=20, cmap="coolwarm", alpha=0.7)
ax.scatter(*points.T, c=labels, cmap="coolwarm", edgecolor="k", s=18)
