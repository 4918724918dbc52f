"""
Hamiltonian Monte Carlo
=======================

A fit returns one answer. *Sampling* returns many answers, each as often as the data support it. This tutorial explains a
sampler that needs gradients, checks it on a density that is known exactly, and samples the parameters of a regression.
"""

# %%
# A ball in a bowl
# ----------------
#
# Turn the density upside down: probable places become a valley. A ball that rolls through the valley without friction visits
# probable places often. Its height is ``-log density``, and its energy is the height plus p²/2, where p is the momentum. The
# sampler needs the slope of the height:

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt


def height(q):
    """Minus the log density of a narrow, tilted normal distribution, for each row of q."""
    return 0.5 * ((q[:, 0] + q[:, 1]) ** 2 / 4 + (q[:, 0] - q[:, 1]) ** 2 / 0.25)


slope = jt.function(jt.grad(lambda q: jt.reduce_sum(height(q))))

# %%
# Each row is a ball of its own. The gradient of the *sum* of heights contains the slope for each ball.
#
# The leapfrog method moves the balls: half a step for the momentum, a full step for the position, half a step for the
# momentum. It does not conserve the energy exactly, but its error does not grow:


def roll(q, p, size, steps):
    path = [q]
    for _ in range(steps):
        p = p - size / 2 * slope(q).numpy()
        q = q + size * p
        p = p - size / 2 * slope(q).numpy()
        path.append(q)
    return q, p, np.array(path)


def energy(q, p):
    return height(q) + 0.5 * (p**2).sum(axis=1)


start, push = np.array([[1.5, 0.6]]), np.array([[0.3, 1.0]])
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
a, b = np.meshgrid(np.linspace(-3, 3, 100), np.linspace(-3, 3, 100))
left.contour(
    a,
    b,
    height(np.column_stack([a.ravel(), b.ravel()])).reshape(100, 100),
    12,
    cmap="Greys",
)
left.plot(*roll(start, push, 0.1, 60)[2][:, 0].T, "o-", markersize=2.5, linewidth=0.8)
left.set_title("60 leapfrog steps")
for size in (0.05, 0.2, 0.4):
    errors, q, p = [], start, push
    for _ in range(int(12 / size)):
        q, p, _ = roll(q, p, size, 1)
        errors.append((energy(q, p) - energy(start, push))[0])
    right.plot(size * np.arange(len(errors)), errors, label=f"step {size}")
right.set_xlabel("time")
right.set_title("error of the energy")
right.legend()

# %%
# Accept or reject
# ----------------
#
# A sampler kicks the ball in a random direction, lets it roll, and computes the new energy. If the energy has risen by d, the
# new place is accepted with probability exp(-d), or always if d is negative. This rule corrects the error of the leapfrog
# method exactly. In the compiled form the whole trajectory is one program:


def sampler(height, steps):
    slope = jt.grad(lambda q: jt.reduce_sum(height(q)))

    @jt.function
    def trajectory(q, p, size):
        start = height(q) + 0.5 * jt.reduce_sum(p * p, axis=1)
        for _ in range(steps):
            p = p - size / 2 * slope(q)
            q = q + size * p
            p = p - size / 2 * slope(q)
        return q, height(q) + 0.5 * jt.reduce_sum(p * p, axis=1) - start

    def sample(q, count, size, rng):
        samples, accepted = [], 0.0
        for _ in range(count):
            new, rise = (t.numpy() for t in trajectory(q, rng.normal(size=q.shape), size))
            accept = np.log(rng.uniform(size=len(q))) < -rise
            q = np.where(accept[:, None], new, q)
            samples.append(q)
            accepted += accept.mean() / count
        return np.array(samples), accepted

    return sample


rng = np.random.default_rng(0)
samples, accepted = sampler(height, 10)(rng.normal(size=(50, 2)), 400, 0.3, rng)
points = samples[50:].reshape(-1, 2)
print(f"accepted {accepted:.0%}")
print("covariance of the samples:", np.cov(points.T).round(2).tolist())
print(
    "exact covariance:         ",
    np.linalg.inv([[4.25, -3.75], [-3.75, 4.25]]).round(2).tolist(),
)

# %%
# (50 chains run side by side, as rows. Each needs a while to forget its start, so the first 50 samples are dropped.)
#
# A regression with outliers
# --------------------------
#
# The data follow a curve, except for a few outliers. The model is a parabola with Student's t distribution for the errors,
# which allows large errors. Three coefficients and the scale of the errors are unknown. Each row of ``q`` is one guess of
# all four:

x = np.sort(rng.uniform(-2, 2, 40))
y = 1.0 - 0.5 * x + 0.6 * x**2 + rng.normal(scale=0.25, size=40)
y[::9] += rng.normal(scale=3.0, size=5)
powers = np.stack([np.ones(40), x, x**2])


def minus_log_posterior(q):
    scale = jt.exp(q[:, 3:])
    residual = (y - q[:, :3] @ powers) / scale
    likelihood = -2.0 * jt.math.log1p(residual**2 / 3.0) - q[:, 3:]
    prior = -0.5 * jt.reduce_sum(q * q, axis=1) / 9.0
    return -(jt.reduce_sum(likelihood, axis=1) + prior)


sample = sampler(minus_log_posterior, 20)
samples, accepted = sample(rng.normal(scale=0.5, size=(40, 4)), 500, 0.025, rng)
posterior = samples[150:].reshape(-1, 4)
print(f"accepted {accepted:.0%}")
for name, column in zip(["constant", "slope", "curvature"], posterior.T, strict=False):
    print(f"{name}: {column.mean():.2f} ± {column.std():.2f}")

# %%
# The picture shows 60 of the sampled parabolas and the density of two coefficients. The outliers hardly matter:

line = np.linspace(-2.2, 2.2, 100)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
for c in posterior[:: len(posterior) // 60]:
    left.plot(line, c[0] + c[1] * line + c[2] * line**2, color="C0", alpha=0.12)
left.plot(x, y, "k.")
left.set_xlabel("x")
right.hexbin(posterior[:, 0], posterior[:, 2], gridsize=40, cmap="Blues", mincnt=1)
right.set_xlabel("constant")
right.set_ylabel("curvature")

# %%
# Did it converge?
# ----------------
#
# If all chains have forgotten their start, they agree. The statistic R compares the spread between chains with the spread
# within them. It should be close to 1:

later = samples[150:]
within = later.var(axis=0).mean(axis=0)
between = later.mean(axis=0).var(axis=0)
print("R:", np.sqrt(1 + between / within).round(3))

# %%
# What to try next
# ----------------
#
# - Double the step size, then halve it. Which share of proposals is accepted, and how does R change?
# - Replace the t distribution by a normal one. How do the outliers change the curve?
# - A trajectory of 20 steps can turn back on itself. How would you notice that from the dot product of p and the distance
#   covered? (This is the idea of the NUTS sampler.)
#
# ``jittape demo hmc`` samples from a curved density.
