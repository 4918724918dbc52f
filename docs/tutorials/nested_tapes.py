"""
Nested tapes and physics-informed networks
==========================================

A gradient is a value like any other, so another tape can differentiate it. This tutorial starts with second
derivatives, solves the heat equation with a network whose loss contains such derivatives, and then estimates a material
constant from measurements.
"""

# %%
# A derivative of a derivative
# ----------------------------
#
# The inner tape computes the first derivative inside the outer tape. The outer tape has therefore recorded how the
# first derivative depends on ``x``:

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

x = jt.constant(np.linspace(-3, 3, 200))
with jt.GradientTape() as outer:
    outer.watch(x)
    with jt.GradientTape() as inner:
        inner.watch(x)
        y = jt.exp(-x * x)
    slope = inner.gradient(y, x)
curvature = outer.gradient(slope, x)

fig, ax = plt.subplots()
for name, curve in {"f": y, "f'": slope, "f''": curvature}.items():
    ax.plot(x.numpy(), curve.numpy(), label=name)
ax.legend()

# %%
# ``x`` holds 200 points, and ``y`` at one point depends on that point only. The gradient of the sum therefore contains the
# 200 derivatives. The network below uses the same idea.
#
# The heat equation
# -----------------
#
# A rod of length 1 is held at temperature 0 at both ends. It starts with the temperature sin(πx) and cools down. Its
# temperature u(x, t) satisfies
#
# .. code-block:: text
#
#     ∂u/∂t = k ∂²u/∂x²,    u(0, t) = u(1, t) = 0,    u(x, 0) = sin(πx)
#
# The exact solution is exp(-k π² t) sin(πx). We use it only to check the result.

k = 0.3


def exact(x, t):
    return np.exp(-k * np.pi**2 * t) * np.sin(np.pi * x)


# %%
# A network for u
# ---------------
#
# The network maps x and t to a number. The formula around it satisfies the conditions at the start and at the ends exactly,
# for any network: the factor t is 0 at the start, and x (1 - x) is 0 at the ends. The loss therefore contains only the
# equation.

rng = np.random.default_rng(0)


def initial(before, after):
    return jt.Variable(rng.normal(scale=before**-0.5, size=(before, after)))


w1, w2, w3 = initial(2, 24), initial(24, 24), initial(24, 1)
b1, b2 = jt.Variable(np.zeros(24)), jt.Variable(np.zeros(24))
weights = [w1, b1, w2, b2, w3]


def u(x, t):
    h = jt.tanh(jt.stack([x, t], axis=1) @ w1 + b1)
    h = jt.tanh(h @ w2 + b2)
    return jt.sin(np.pi * x) + t * x * (1 - x) * (h @ w3)[:, 0]


# %%
# The residual is the difference of the two sides of the equation. It needs one derivative with respect to t and two with
# respect to x. The inner tape gives two first derivatives at once:


def residual(x, t, k):
    with jt.GradientTape() as outer:
        outer.watch(x)
        with jt.GradientTape() as inner:
            inner.watch([x, t])
            value = u(x, t)
        u_x, u_t = inner.gradient(value, [x, t])
    u_xx = outer.gradient(u_x, x)
    return u_t - k * u_xx


# %%
# Training adds a third tape around the residual, for the weights. The points are drawn once; the network must satisfy the
# equation at 400 places:

x_inside, t_inside = rng.uniform(size=400), rng.uniform(size=400)
optimizer = jt.optimizers.Adam(jt.optimizers.schedules.CosineDecay(0.01, 2000))


@jt.function
def step(x, t):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(residual(x, t, k)))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
    return loss


losses = [float(step(x_inside, t_inside)) for _ in range(2000)]

grid_x, grid_t = np.meshgrid(np.linspace(0, 1, 80), np.linspace(0, 1, 80))
found = u(grid_x.ravel(), grid_t.ravel()).numpy().reshape(80, 80)
error = found - exact(grid_x, grid_t)

fig, axes = plt.subplots(1, 3, figsize=(10, 3.2))
axes[0].semilogy(losses)
axes[0].set_xlabel("step")
axes[0].set_title("mean squared residual")
for ax, values, title in [(axes[1], found, "temperature"), (axes[2], error, "error")]:
    picture = ax.pcolormesh(grid_x, grid_t, values, shading="gouraud")
    fig.colorbar(picture, ax=ax)
    ax.set_xlabel("x")
    ax.set_ylabel("t")
    ax.set_title(title)
print(f"largest error {np.abs(error).max():.4f}")

# %%
# The step contains three levels of derivatives. jittape records all of them in one list of operations and compiles the list.
#
# The inverse problem
# -------------------
#
# Suppose that k is unknown, and that 60 noisy measurements of the temperature are given. Then k becomes one more Variable,
# and the loss gets one more term. The network must match the measurements *and* satisfy the equation. Only the
# right k allows both:

x_data, t_data = rng.uniform(size=60), rng.uniform(size=60)
u_data = exact(x_data, t_data) + rng.normal(scale=0.02, size=60)

for variable in weights:
    variable.assign(rng.normal(scale=variable.shape[0] ** -0.5, size=variable.shape))
log_k = jt.Variable(np.log(0.1))
unknowns = [*weights, log_k]
optimizer = jt.optimizers.Adam(jt.optimizers.schedules.CosineDecay(0.01, 2000))


@jt.function
def inverse_step(x, t):
    with jt.GradientTape() as tape:
        physics = jt.reduce_mean(jt.square(residual(x, t, jt.exp(log_k))))
        data = jt.reduce_mean(jt.square(u(x_data, t_data) - u_data))
        loss = physics + 10.0 * data
    optimizer.apply_gradients(zip(tape.gradient(loss, unknowns), unknowns, strict=True))
    return jt.exp(log_k)


guesses = [float(inverse_step(x_inside, t_inside)) for _ in range(2000)]

fig, ax = plt.subplots()
ax.plot(guesses, label="k while training")
ax.axhline(k, color="gray", linestyle="--", label="true k")
ax.set_xlabel("step")
ax.legend()
print(f"k = {guesses[-1]:.3f}")

# %%
# What to try next
# ----------------
#
# - Replace the factor ``t * x * (1 - x)`` by 1 and add the conditions at the start and at the ends to the loss. How much
#   slower is the training?
# - Which line changes for a rod whose constant is k(x) = 0.3 + 0.2 x? (It is one line.)
# - Add the term ``c * u`` to the equation and find k and c together. How many measurements does that need?
# - The weight 10 balances physics and data. Which result do you expect for 0.01, and for 1000?
