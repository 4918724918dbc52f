"""
The shape of a hanging net
==========================

Springs connect a grid of points. Gradient descent on the energy finds the shape in which the net
hangs.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

size = 16
x, y = np.meshgrid(np.linspace(0, 1, size), np.linspace(0, 1, size))
net = jt.Variable(np.stack([x, y, np.zeros_like(x)], axis=-1))
free = np.ones((size, size, 1))
free[0, 0] = free[0, -1] = free[-1, 0] = free[-1, -1] = 0  # the corners are fixed
rest = 0.9 / (size - 1)


def energy(p):
    springs = 0.0
    for difference in (p[1:] - p[:-1], p[:, 1:] - p[:, :-1]):
        length = jt.sqrt(jt.reduce_sum(difference**2, axis=-1) + 1e-12)
        springs += 200 * jt.reduce_sum((length - rest) ** 2)
    return springs + 0.05 * jt.reduce_sum(p[..., 2])


optimizer = jt.optimizers.Adam(learning_rate=0.01)
for _ in range(1500):
    with jt.GradientTape() as tape:
        total = energy(net)
    optimizer.apply_gradients([(free * tape.gradient(total, net), net)])

fig = plt.figure(figsize=(7, 4.5))
ax = fig.add_subplot(projection="3d")
ax.plot_wireframe(*net.numpy().transpose(2, 0, 1), linewidth=0.8)
ax.set_zlim(-0.6, 0.1)
