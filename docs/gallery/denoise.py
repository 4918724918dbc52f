"""
Remove noise from an image
==========================

The pixels are the parameters. The loss keeps the image near the data and its differences between
neighbors small.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import jittape as jt

clean = load_sample_image("flower.jpg")[80:330:2, 150:470:2].mean(axis=2) / 255
noisy = clean + np.random.default_rng(0).normal(scale=0.15, size=clean.shape)

image = jt.Variable(noisy)
optimizer = jt.optimizers.Adam(learning_rate=0.02)
for _ in range(200):
    with jt.GradientTape() as tape:
        right = image[:, 1:] - image[:, :-1]
        down = image[1:] - image[:-1]
        rough = jt.reduce_sum(jt.sqrt(right**2 + 1e-4)) + jt.reduce_sum(
            jt.sqrt(down**2 + 1e-4)
        )
        loss = jt.reduce_sum(jt.square(image - noisy)) + 0.2 * rough
    optimizer.apply_gradients([(tape.gradient(loss, image), image)])

fig, axes = plt.subplots(1, 3, figsize=(9, 2.8))
for ax, title, pixels in zip(
    axes, ["clean", "noisy", "restored"], [clean, noisy, image.numpy()], strict=True
):
    error = np.sqrt(np.mean((pixels - clean) ** 2))
    ax.imshow(pixels, cmap="gray", vmin=0, vmax=1)
    ax.set_title(f"{title} (error {error:.3f})")
    ax.set_axis_off()
