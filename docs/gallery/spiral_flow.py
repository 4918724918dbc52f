"""
Learn a vector field
====================

A network learns the velocity of a spiral from noisy samples. The arrows show the field that it
learned.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(0)
points = rng.uniform(-2, 2, size=(600, 2)).astype(np.float32)
radius2 = (points**2).sum(1, keepdims=True)
velocities = points[:, ::-1] * [-1, 1] + points * (1 - radius2)
velocities = (velocities + rng.normal(scale=0.2, size=velocities.shape)).astype(np.float32)

jt.random.set_seed(1)
model = jt.nn.Sequential(
    [
        jt.nn.Dense(64, activation=jt.tanh),
        jt.nn.Dense(64, activation=jt.tanh),
        jt.nn.Dense(2),
    ]
)
optimizer = jt.optimizers.Adam(learning_rate=0.005)
for _ in range(500):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(model(points) - velocities))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

x, y = np.meshgrid(np.linspace(-2, 2, 40), np.linspace(-2, 2, 40))
grid = np.stack([x.ravel(), y.ravel()], 1).astype(np.float32)
u, v = model(grid).numpy().T.reshape(2, 40, 40)
fig, ax = plt.subplots(figsize=(5.5, 5))
ax.streamplot(x, y, u, v, color=np.hypot(u, v), cmap="viridis", density=1.4)
circle = np.linspace(0, 2 * np.pi, 100)
ax.plot(np.cos(circle), np.sin(circle), "r--", label="limit cycle of the truth")
ax.set_aspect("equal")
ax.legend(loc="upper right")
