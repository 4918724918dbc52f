"""
Gaussian processes
==================

A Gaussian process is a distribution over functions. This tutorial draws functions from it, conditions them on data, learns
the length scales from a series of measurements, and separates its trend from its season.
"""

# %%
# Functions from a covariance
# ---------------------------
#
# The *kernel* says how strongly the values at two places are related. With the kernel below, values are nearly independent if
# their distance is several length scales. Values at 200 places are then one draw from a normal distribution with 200
# dimensions. The Cholesky factor turns independent noise into such a draw:

# sphinx_gallery_thumbnail_number = -2

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import jittape as jt


def smooth(a, b, scale):
    return jt.exp(-0.5 * ((a[:, None] - b[None, :]) / scale) ** 2)


rng = np.random.default_rng(0)
line = np.linspace(0, 10, 200)
fig, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True)
for ax, scale in zip(axes, [0.3, 1.0, 3.0], strict=True):
    covariance = smooth(line, line, scale) + 1e-6 * np.eye(200)
    factor = jt.linalg.cholesky(covariance)
    ax.plot(line, (factor @ rng.normal(size=(200, 3))).numpy())
    ax.set_title(f"length scale {scale}")

# %%
# Conditioning on data
# --------------------
#
# Measurements select the functions that pass near them. The formulas need the inverse of the covariance matrix of the data;
# two triangular systems replace it:


def posterior(kernel, noise, x, y, new):
    """Return mean and standard deviation at the places `new`."""
    factor = jt.linalg.cholesky(kernel(x, x) + noise**2 * np.eye(len(x)))
    cross = jt.linalg.triangular_solve(factor, kernel(x, new))
    mean = jt.linalg.matvec(
        cross, jt.linalg.triangular_solve(factor, y[:, None])[:, 0], transpose_a=True
    )
    variance = jt.linalg.diag_part(kernel(new, new)) - jt.reduce_sum(cross**2, axis=0)
    return mean.numpy(), jt.sqrt(jt.maximum(variance, 0.0)).numpy()


def draw(ax, x, y, new, mean, deviation):
    ax.fill_between(new, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25)
    ax.plot(new, mean)
    ax.plot(x, y, "k.", markersize=4)


x = np.array([0.8, 2.0, 2.7, 4.5, 7.5, 8.0])
y = np.array([0.3, 1.2, 0.7, -0.8, 0.5, 0.6])
fig, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True)
for ax, scale in zip(axes, [0.3, 1.0, 3.0], strict=True):
    draw(ax, x, y, line, *posterior(lambda a, b, s=scale: smooth(a, b, s), 0.1, x, y, line))
    ax.set_title(f"length scale {scale}")

# %%
# All three explain the data, but the first returns to zero between the points, and the third misses some of them. Which
# length scale is right?
#
# Learning from the evidence
# --------------------------
#
# The *marginal likelihood* is the density that the process assigns to the data. It is highest for a kernel whose functions
# resemble the data and vary no more than the data. The series has a trend, a yearly season and noise:

t = np.sort(rng.uniform(0, 8, 110))
data = (
    0.25 * (t - 4) ** 2 / 4
    + np.sin(2 * np.pi * t) * (0.5 + 0.05 * t)
    + rng.normal(scale=0.15, size=110)
)

# %%
# The kernel is the sum of a smooth one for the trend and a periodic one for the season. A slow decay lets the season change
# over the years. All seven parameters are positive, so we work with their logarithms:

NAMES = [
    "trend height",
    "trend scale",
    "season height",
    "season shape",
    "season change",
    "period",
    "noise",
]


def series_kernel(p):
    def kernel(a, b):
        phase = jt.sin(np.pi * (a[:, None] - b[None, :]) / p[5])
        season = jt.exp(-2.0 * (phase / p[3]) ** 2) * smooth(a, b, p[4])
        return p[0] ** 2 * smooth(a, b, p[1]) + p[2] ** 2 * season

    return kernel


@jt.function
def cost(logs):
    """Return minus the log marginal likelihood, plus a weak prior that keeps the logs near 0."""
    p = jt.exp(logs)
    factor = jt.linalg.cholesky(series_kernel(p)(t, t) + p[6] ** 2 * np.eye(len(t)))
    z = jt.linalg.triangular_solve(factor, (data - data.mean())[:, None])
    log_determinant = 2.0 * jt.reduce_sum(jt.math.log(jt.linalg.diag_part(factor)))
    return 0.5 * (jt.reduce_sum(z**2) + log_determinant) + 0.05 * jt.reduce_sum(logs**2)


# %%
# The gradient goes through the Cholesky factor and gives all seven derivatives for the cost of a few evaluations. L-BFGS
# from SciPy takes the value and the gradient:

start = np.log([1.0, 2.0, 0.5, 1.0, 4.0, 1.1, 0.3])
found = minimize(jt.value_and_grad(cost), start, jac=True, method="L-BFGS-B")
p = np.exp(found.x)
print(f"cost {float(cost(start)):.1f} → {found.fun:.1f} in {found.nit} iterations")
for name, before, after in zip(NAMES, np.exp(start), p, strict=True):
    print(f"{name:14s} {before:.2f} → {after:.2f}")

# %%
# The data were made with a noise of 0.15 and a period of 1. The forecast reaches two years beyond the data, and the band
# widens on the way:

new = np.linspace(0, 10, 300)
fig, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True)
for ax, parameters, title in [
    (axes[0], np.exp(start), "first guess"),
    (axes[1], p, "after learning"),
]:
    mean, deviation = posterior(
        series_kernel(parameters), parameters[6], t, data - data.mean(), new
    )
    draw(ax, t, data - data.mean(), new, mean, deviation)
    ax.set_title(title)

# %%
# Parts of the sum
# ----------------
#
# A sum of kernels is a sum of independent functions. The data therefore determine the trend and the season separately. Only
# the kernel between the data and the new places changes:

weights = np.linalg.solve(
    series_kernel(p)(t, t).numpy() + p[6] ** 2 * np.eye(len(t)), data - data.mean()
)
only_trend, only_season = p.copy(), p.copy()
only_trend[2] = only_season[0] = 0.0
fig, ax = plt.subplots()
for name, part in {"trend": only_trend, "season": only_season}.items():
    ax.plot(new, series_kernel(part)(new, t).numpy() @ weights, label=name)
ax.legend()

# %%
# What to try next
# ----------------
#
# - Start with a period of 0.5. Which minimum does L-BFGS find, and how does its cost compare?
# - Remove the periodic kernel. How large is the estimated noise then?
# - The Hessian of the cost (`jt.hessian`) shows how well the data determine each parameter. Which one do they hardly determine?
# - For 5,000 points, the factor takes most of the time. Which idea would you try first?
