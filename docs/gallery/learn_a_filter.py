"""
Learn a convolution filter
==========================

Given an image and a second image that shows its edges, gradient descent finds the filter that turns
the first into the second.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import jittape as jt

photo = load_sample_image("china.jpg")[::2, ::2].mean(axis=2) / 255
image = photo.astype(np.float32)[None, :, :, None]
sobel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], np.float32)[:, :, None, None]
edges = jt.nn.conv2d(image, sobel, strides=1, padding="VALID").numpy()

learned = jt.Variable(np.zeros_like(sobel))
optimizer = jt.optimizers.Adam(learning_rate=0.1)
for _ in range(150):
    with jt.GradientTape() as tape:
        found = jt.nn.conv2d(image, learned, strides=1, padding="VALID")
        loss = jt.reduce_mean(jt.square(found - edges))
    optimizer.apply_gradients([(tape.gradient(loss, learned), learned)])

fig, axes = plt.subplots(1, 3, figsize=(9, 2.6), width_ratios=(3, 3, 2))
axes[0].imshow(photo, cmap="gray")
axes[1].imshow(found.numpy()[0, :, :, 0], cmap="gray")
axes[2].imshow(learned.numpy()[:, :, 0, 0], cmap="coolwarm")
for ax, title in zip(axes, ["image", "edges", "learned filter"], strict=True):
    ax.set_title(title)
    ax.set_axis_off()
for (i, j), value in np.ndenumerate(learned.numpy()[:, :, 0, 0]):
    axes[2].text(j, i, f"{value:.1f}", ha="center", va="center")
