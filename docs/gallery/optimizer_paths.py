"""
Paths of four optimizers
========================

Each optimizer starts at the same point of Rosenbrock's function. The minimum is at the star.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt


def rosenbrock(x, y):
    return (1 - x) ** 2 + 10 * (y - x**2) ** 2


def path(optimizer, steps=300):
    point = jt.Variable([-1.5, 1.0])
    points = [point.numpy().copy()]
    for _ in range(steps):
        with jt.GradientTape() as tape:
            height = rosenbrock(point[0], point[1])
        optimizer.apply_gradients([(tape.gradient(height, point), point)])
        points.append(point.numpy().copy())
    return np.array(points)


optimizers = {
    "SGD": jt.optimizers.SGD(0.005),
    "SGD, momentum": jt.optimizers.SGD(0.005, momentum=0.9),
    "RMSprop": jt.optimizers.RMSprop(0.02),
    "Adam": jt.optimizers.Adam(0.05),
}
x, y = np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-1, 3, 200))
fig, ax = plt.subplots(figsize=(7, 4.5))
ax.contour(x, y, rosenbrock(x, y), levels=np.logspace(-1, 2.5, 12), cmap="Greys")
for name, optimizer in optimizers.items():
    ax.plot(*path(optimizer).T, label=name)
ax.plot(1, 1, "k*", markersize=12)
ax.legend(loc="lower right")
