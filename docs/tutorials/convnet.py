"""
A convolutional network
=======================

A convolution slides a small filter over an image and computes the same sum at every place. This tutorial starts with one
filter, trains a network that learns its own filters, and then shows which pixels the network uses.
"""

# %%
# One filter
# ----------
#
# The handwritten digits of scikit-learn have 8 by 8 pixels. The filter below compares the pixels above with those below. The
# results are large at upper edges:

# sphinx_gallery_thumbnail_number = 4

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import jittape as jt

digits = load_digits()
images = (digits.images / 16).astype(np.float32)[..., None]
labels = digits.target
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1437], order[1437:]
print(images.shape)

edge = np.array([[-1, -1, -1], [0, 0, 0], [1, 1, 1]], np.float32)[:, :, None, None]
answers = jt.nn.conv2d(images[:5], edge, strides=1, padding="SAME")

fig, axes = plt.subplots(2, 5, figsize=(8, 3.4))
for i in range(5):
    axes[0, i].imshow(images[i, :, :, 0], cmap="gray_r")
    axes[1, i].imshow(answers[i, :, :, 0].numpy(), cmap="RdBu", vmin=-3, vmax=3)
for ax in axes.flat:
    ax.set_axis_off()

# %%
# Images are arrays of shape (count, height, width, channels), filters of shape (height, width, channels in, channels out).
#
# The network
# -----------
#
# The network has two convolutions with 16 and 32 filters. After each of them, a pooling halves the image and keeps the
# largest values. A dense layer computes the ten scores. The image shrinks from 8 × 8 to 2 × 2 pixels, and its channels grow
# from 1 to 32:

layers = jt.keras.layers
jt.random.set_seed(0)
model = jt.keras.Sequential(
    [
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(10),
    ]
)
for variable in model.trainable_variables:
    print(variable.shape)

# %%
# Training
# --------
#
# Each training image is moved at random by up to one pixel in each direction. Every image thus has nine versions, and the
# network learns that the exact position does not matter:

optimizer = jt.optimizers.Adam(learning_rate=0.005)
rng = np.random.default_rng(1)


def moved(batch):
    padded = np.pad(batch, ((0, 0), (1, 1), (1, 1), (0, 0)))
    corners = rng.integers(0, 3, (len(batch), 2))
    return np.stack(
        [image[i : i + 8, j : j + 8] for image, (i, j) in zip(padded, corners, strict=True)]
    )


@jt.function
def train_step(batch, targets):
    with jt.GradientTape() as tape:
        scores = model(batch, training=True)
        loss = jt.reduce_mean(
            jt.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=scores)
        )
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def accuracy(rows):
    return np.mean(model(images[rows]).numpy().argmax(axis=1) == labels[rows])


losses, accuracies = [], []
for _ in range(15):
    shuffled = rng.permutation(train)
    for i in range(0, len(shuffled) - 63, 64):
        rows = shuffled[i : i + 64]
        losses.append(float(train_step(moved(images[rows]), labels[rows])))
    accuracies.append(accuracy(test))

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
left.semilogy(losses, linewidth=0.8)
left.set_xlabel("step")
left.set_title("loss of a batch")
right.plot(range(1, 16), accuracies, "o-", markersize=3)
right.set_xlabel("epoch")
right.set_title("accuracy on 360 other digits")
print(f"accuracy {accuracies[-1]:.3f}")

# %%
# The mistakes
# ------------
#
# These are the six test digits with the lowest probability of the right label:

scores = jt.nn.softmax(model(images[test])).numpy()
certainty = scores[np.arange(len(test)), labels[test]]
worst = np.argsort(certainty)[:6]
fig, axes = plt.subplots(1, 6, figsize=(9, 1.9))
for ax, i in zip(axes, worst, strict=True):
    ax.imshow(images[test[i], :, :, 0], cmap="gray_r")
    ax.set_title(f"{labels[test[i]]}, read as {scores[i].argmax()}", fontsize=9)
    ax.set_axis_off()

# %%
# The learned filters
# -------------------
#
# The 16 filters of the first layer began as noise. After training they respond to edges and lines of several
# directions:

filters = model.layers[0].kernel.numpy()[:, :, 0]
answers = model.layers[0](images[test[:1]]).numpy()[0]
fig, axes = plt.subplots(2, 16, figsize=(10, 1.6))
for i in range(16):
    axes[0, i].imshow(filters[:, :, i], cmap="RdBu", vmin=-0.8, vmax=0.8)
    axes[1, i].imshow(answers[:, :, i], cmap="gray_r")
    axes[0, i].set_axis_off()
    axes[1, i].set_axis_off()

# %%
# The upper row shows the filters, the lower row their results for one digit.
#
# Which pixels matter
# -------------------
#
# The gradient of a score with respect to the *image* shows which pixels matter. More ink in a red pixel raises the score of
# the digit, and more ink in a blue pixel lowers it:

chosen = [test[np.flatnonzero(labels[test] == digit)[0]] for digit in (0, 3, 5, 8)]
batch = jt.constant(images[chosen])
with jt.GradientTape() as tape:
    tape.watch(batch)
    own = jt.reduce_sum(model(batch) * np.eye(10, dtype=np.float32)[labels[chosen]])
evidence = tape.gradient(own, batch).numpy()

fig, axes = plt.subplots(2, 4, figsize=(7, 3.6))
for i in range(4):
    axes[0, i].imshow(batch[i, :, :, 0].numpy(), cmap="gray_r")
    limit = np.abs(evidence[i]).max()
    axes[1, i].imshow(evidence[i, :, :, 0], cmap="RdBu_r", vmin=-limit, vmax=limit)
    axes[0, i].set_axis_off()
    axes[1, i].set_axis_off()

# %%
# A digit that fools the network
# ------------------------------
#
# The same gradient can change an image. A few small steps toward "8" make the network read a 3 as an 8:

image = jt.Variable(images[chosen[1]][None])
confidence = []
for _ in range(12):
    with jt.GradientTape() as tape:
        probability = jt.nn.softmax(model(image))[0, 8]
        goal = jt.math.log(probability)
    image.assign(
        jt.clip_by_value(image + 0.03 * jt.sign(tape.gradient(goal, image)), 0.0, 1.0)
    )
    confidence.append(float(probability))

fig, axes = plt.subplots(1, 3, figsize=(8, 2.6))
axes[0].imshow(images[chosen[1], :, :, 0], cmap="gray_r")
axes[0].set_title("a 3")
axes[1].imshow(image[0, :, :, 0].numpy(), cmap="gray_r")
axes[1].set_title(f"read as {model(image).numpy().argmax()}")
axes[2].plot(confidence)
axes[2].set_xlabel("step")
axes[2].set_title("probability of 8")
for ax in axes[:2]:
    ax.set_axis_off()

# %%
# What to try next
# ----------------
#
# - Remove the random moves. Which curve changes, the loss or the accuracy?
# - Move the test images by two pixels. How much does the accuracy fall, and why does it fall at all?
# - Train on images that the last loop has changed, too. How many steps does it then take to fool the network?
#
# :doc:`/guides/networks` has recurrent networks and ``fit``, and :doc:`/how-to/checkpoints` saves the weights.
