"""
Newton's method in the complex plane
====================================

Each starting point of a grid follows Newton's method for z³ = 1. The derivative comes from the
tape. The color shows which root each point reaches.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

x, y = np.meshgrid(np.linspace(-1.6, 1.6, 400), np.linspace(-1.1, 1.1, 275))
z = jt.constant(x + 1j * y)

for _ in range(25):
    with jt.GradientTape() as tape:
        tape.watch(z)
        f = z**3 - 1
    # The gradient of a complex function is the conjugate of its derivative.
    z = z - f / jt.math.conj(tape.gradient(f, z))

roots = np.exp(2j * np.pi * np.arange(3) / 3)
nearest = np.abs(z.numpy()[..., None] - roots).argmin(axis=-1)
fig, ax = plt.subplots(figsize=(7, 4.8))
ax.imshow(nearest, cmap="viridis", extent=(-1.6, 1.6, -1.1, 1.1), origin="lower")
ax.plot(roots.real, roots.imag, "w*", markersize=12)
