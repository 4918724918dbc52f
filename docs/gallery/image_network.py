"""
A network that is an image
==========================

The network maps a position to a gray value. Waves of several frequencies as inputs help it to learn
details.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import jittape as jt

image = (load_sample_image("flower.jpg")[100:340:4, 180:420:4].mean(axis=2) / 255).astype(
    np.float32
)
y, x = np.meshgrid(*[np.linspace(0, 1, n) for n in image.shape], indexing="ij")
position = np.stack([x.ravel(), y.ravel()], axis=1)
waves = position @ np.random.default_rng(0).normal(scale=4, size=(2, 32)) * 2 * np.pi
inputs = {
    "positions": position,
    "waves": np.concatenate([np.sin(waves), np.cos(waves)], axis=1),
}

fig, axes = plt.subplots(1, 3, figsize=(9, 3.2))
axes[0].imshow(image, cmap="gray", vmin=0, vmax=1)
axes[0].set_title("image")
for ax, (name, features) in zip(axes[1:], inputs.items(), strict=True):
    features = features.astype(np.float32)
    jt.random.set_seed(0)
    model = jt.nn.Sequential([jt.nn.Dense(64, activation=jt.nn.relu), jt.nn.Dense(1)])
    optimizer = jt.optimizers.Adam(learning_rate=0.01)
    for _ in range(300):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(model(features)[:, 0] - image.ravel()))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    ax.imshow(model(features).numpy().reshape(image.shape), cmap="gray", vmin=0, vmax=1)
    ax.set_title(f"from {name}: error {float(loss) ** 0.5:.3f}")
for ax in axes:
    ax.set_axis_off()
