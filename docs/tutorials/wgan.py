"""
A WGAN with gradient penalty
============================

Two networks compete: a *generator* makes numbers from noise, and a *critic* tries to tell them from real
ones. In one dimension both can be drawn, so this tutorial learns a distribution on a line. The method is that of
Gulrajani et al. (2017), with their one-sided penalty. Its loss contains a gradient.
"""

# %%
# Real numbers
# ------------
#
# The distribution has two peaks of different heights. A generator that finds only one of them has not learned it.

# sphinx_gallery_thumbnail_number = -2

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(0)


def real_batch(size):
    left = rng.uniform(size=size) < 0.7
    return np.where(left, rng.normal(-1.5, 0.3, size), rng.normal(1.5, 0.5, size))[:, None]


bins = np.linspace(-4, 4, 81)
fig, ax = plt.subplots()
ax.hist(real_batch(20_000)[:, 0], bins=bins, density=True)
ax.set_title("real numbers")

# %%
# The distance that the critic measures
# -------------------------------------
#
# Suppose that the critic is a function whose slope is nowhere steeper than 1. The difference between its mean on real
# numbers and its mean on generated numbers is then at most the *Wasserstein distance*: how far, on average, generated numbers
# must be moved to become real ones. The best critic reaches this distance. Its slope tells the generator where to move.
#
# Both networks have two hidden layers, and the same function builds them:


def network(seed):
    generator = np.random.default_rng(seed)
    sizes = [(1, 32), (32, 32), (32, 1)]
    weights = []
    for before, after in sizes:
        weights.append(
            jt.Variable(generator.normal(scale=(2 / before) ** 0.5, size=(before, after)))
        )
        weights.append(jt.Variable(generator.normal(scale=0.3, size=after)))

    def apply(x):
        h = jt.nn.leaky_relu(x @ weights[0] + weights[1], 0.2)
        h = jt.nn.leaky_relu(h @ weights[2] + weights[3], 0.2)
        return h @ weights[4] + weights[5]

    return apply, weights


generate, generator_weights = network(1)
criticize, critic_weights = network(2)

# %%
# A penalty for slopes
# --------------------
#
# The slope of the critic is a gradient with respect to its *input*. An inner tape computes it at points between real and
# generated numbers. The penalty is zero where the slope is at most 1. It depends on the critic's weights, so the outer tape
# differentiates through the inner gradient:


def penalty(real, fake, mix):
    between = mix * real + (1 - mix) * fake
    with jt.GradientTape() as inner:
        inner.watch(between)
        score = criticize(between)
    slope = inner.gradient(score, between)
    return jt.reduce_mean(jt.square(jt.maximum(jt.abs(slope) - 1, 0.0)))


critic_optimizer = jt.optimizers.Adam(learning_rate=0.003, beta_1=0.5, beta_2=0.9)
generator_optimizer = jt.optimizers.Adam(learning_rate=0.001, beta_1=0.5, beta_2=0.9)


@jt.function
def train_critic(real, noise, mix):
    fake = generate(noise)
    with jt.GradientTape() as tape:
        distance = jt.reduce_mean(criticize(real)) - jt.reduce_mean(criticize(fake))
        loss = 10.0 * penalty(real, fake, mix) - distance
    gradients = tape.gradient(loss, critic_weights)
    critic_optimizer.apply_gradients(zip(gradients, critic_weights, strict=True))
    return distance


@jt.function
def train_generator(noise):
    with jt.GradientTape() as tape:
        loss = -jt.reduce_mean(criticize(generate(noise)))
    gradients = tape.gradient(loss, generator_weights)
    generator_optimizer.apply_gradients(zip(gradients, generator_weights, strict=True))


# %%
# Train the critic alone
# ----------------------
#
# Before both networks train, we train only the critic. Its estimate rises until it reaches the Wasserstein distance. In one
# dimension the true distance is easy to compute: sort both samples and take the mean absolute difference.

size = 256


def critic_step():
    return float(
        train_critic(
            real_batch(size), rng.normal(size=(size, 1)), rng.uniform(size=(size, 1))
        )
    )


def true_distance():
    fake = generate(rng.normal(size=(20_000, 1))).numpy()
    return np.abs(np.sort(real_batch(20_000), axis=0) - np.sort(fake, axis=0)).mean()


estimates = [critic_step() for _ in range(300)]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
left.plot(estimates, label="critic's estimate")
left.axhline(true_distance(), color="gray", linestyle="--", label="true distance")
left.set_xlabel("step of the critic")
left.legend()
line = np.linspace(-4, 4, 300)[:, None]
right.plot(line, criticize(line).numpy())
right.set_xlabel("number")
right.set_title("the critic: higher means more real")

# %%
# Train both
# ----------
#
# Each round trains the critic five times and the generator once:

before = true_distance()
snapshots = {}
noise = rng.normal(size=(20_000, 1))
for round_number in range(1201):
    if round_number in (0, 150, 400, 1200):
        snapshots[round_number] = generate(noise).numpy()[:, 0]
    for _ in range(5):
        critic_step()
    train_generator(rng.normal(size=(size, 1)))

fig, axes = plt.subplots(1, 4, figsize=(10, 2.8), sharex=True, sharey=True)
real = real_batch(20_000)[:, 0]
for ax, (round_number, fake) in zip(axes, snapshots.items(), strict=True):
    ax.hist(real, bins=bins, density=True, alpha=0.4, color="gray")
    ax.hist(fake, bins=bins, density=True, histtype="step", color="C3")
    ax.set_title(f"round {round_number}")
    ax.set_ylim(0, 1.2)

# %%
# Gray is real, red is generated.

print(f"true distance before the training {before:.2f}, after it {true_distance():.2f}")
right_part = np.mean(snapshots[1200] > 0)
print(f"share of numbers above 0: {right_part:.2f}, of real ones {np.mean(real > 0):.2f}")

# %%
# Because noise and numbers are one-dimensional, the generator itself is a curve. It maps one part of the noise to each peak,
# with a steep part between the two:

fig, ax = plt.subplots()
ax.plot(line, generate(line).numpy())
ax.set_xlabel("noise")
ax.set_ylabel("generated number")

# %%
# What to try next
# ----------------
#
# - Train the critic once per round instead of five times. Do the peaks still appear?
# - Set the weight of the penalty to 0. What does the critic look like after 300 steps, and why does the generator fail?
# - The steep part always produces a few numbers between the peaks. Why can no continuous generator avoid them?
#
# ``jittape demo wgan`` trains the same two networks in two dimensions.
