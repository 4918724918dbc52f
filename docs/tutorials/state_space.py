"""
A state-space model
===================

Something moves, and we see it only through noise. A *Kalman filter* estimates position and speed, given how noisy both
the motion and the measurements are. This tutorial writes the filter, learns the noise by maximum likelihood, and handles
missing measurements.
"""

# %%
# Motion and measurements
# -----------------------
#
# The state is position and speed. In each second the speed changes a little at random, and the position moves by the speed.
# Only the position is measured:

# sphinx_gallery_thumbnail_number = -1

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import jittape as jt

rng = np.random.default_rng(0)
count, true_push, true_noise = 250, 0.08, 2.0
move = np.array([[1.0, 1.0], [0.0, 1.0]])
state, states = np.zeros(2), []
for _ in range(count):
    state = move @ state + true_push * rng.normal() * np.array([0.5, 1.0])
    states.append(state)
states = np.array(states)
measured = states[:, 0] + true_noise * rng.normal(size=count)

fig, ax = plt.subplots()
ax.plot(measured, ".", color="gray", label="measured position")
ax.plot(states[:, 0], "k", linewidth=1, label="position")
ax.set_xlabel("second")
ax.legend()

# %%
# The filter
# ----------
#
# The filter carries a mean and a covariance. *Predict*: the state moves, and the uncertainty grows. *Correct*: the
# measurement pulls the mean toward itself, by a *gain* that weighs both uncertainties.
#
# The filter also knows how surprising each measurement was. The sum of these surprises is minus the log likelihood of all
# data. ``jt.scan`` runs the loop over time as compiled code:


@jt.function
def kalman(logs, measured, seen):
    push, noise = jt.exp(logs[0]), jt.exp(logs[1])
    direction = np.array([0.5, 1.0])
    added = push**2 * np.outer(direction, direction)

    def advance(carry, now):
        mean, covariance, _ = carry
        value, is_seen = now
        mean = jt.linalg.matvec(move, mean)
        covariance = move @ covariance @ move.T + added
        spread = covariance[0, 0] + noise**2
        surprise = value - mean[0]
        gain = is_seen * covariance[:, 0] / spread
        cost = is_seen * 0.5 * (jt.math.log(spread) + surprise**2 / spread)
        mean = mean + gain * surprise
        covariance = covariance - gain[:, None] * covariance[0][None, :]
        return mean, covariance, cost

    start = (np.zeros(2), 10.0 * np.eye(2), np.float64(0.0))
    return jt.scan(advance, (measured, seen), initializer=start)


# %%
# ``seen`` is 1 where there is a measurement and 0 where there is none. Without a measurement the gain is zero, and the filter
# only predicts.
#
# A wrong guess of the noise gives a poor filter. If the assumed push is too small, the filter lags. If it is too large, the
# filter follows every measurement:

everything = np.ones(count)
fig, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
for ax, (push, noise) in zip(axes, [(0.005, 2.0), (0.08, 2.0), (5.0, 2.0)], strict=True):
    mean, _, cost = kalman(np.log([push, noise]), measured, everything)
    ax.plot(states[:, 1], "k", linewidth=1)
    ax.plot(mean.numpy()[:, 1])
    ax.set_title(f"push {push}: cost {float(jt.reduce_sum(cost)):.0f}")
    ax.set_xlabel("second")
axes[0].set_ylabel("speed")
axes[0].set_ylim(-3, 3)

# %%
# Black is the true speed, which was never measured. The right push has the lowest cost.
#
# Learning the noise
# ------------------
#
# The gradient of the cost goes back through all 250 steps. L-BFGS finds both parameters, and the Hessian gives their
# uncertainty:


def total_cost(logs):
    return jt.reduce_sum(kalman(logs, measured, everything)[2])


found = minimize(
    jt.value_and_grad(total_cost), np.log([1.0, 1.0]), jac=True, method="L-BFGS-B"
)
spread = np.sqrt(np.diag(np.linalg.inv(jt.hessian(total_cost)(found.x))))
for name, log, deviation, truth in zip(
    ["push", "noise"], found.x, spread, [true_push, true_noise], strict=True
):
    print(f"{name}: {np.exp(log):.3f}, between {np.exp(log - 2 * deviation):.3f}", end=" ")
    print(f"and {np.exp(log + 2 * deviation):.3f}; truth {truth}")

# %%
# Missing measurements
# --------------------
#
# Between seconds 100 and 150 the sensor fails. The band grows while there are no measurements. The first measurement
# afterwards makes it narrow again:

seen = everything.copy()
seen[100:150] = 0.0
mean, covariance, _ = (t.numpy() for t in kalman(found.x, measured, seen))
deviation = np.sqrt(covariance[:, 0, 0])

fig, ax = plt.subplots()
visible = seen > 0
ax.plot(np.flatnonzero(visible), measured[visible], ".", color="gray", markersize=3)
ax.plot(states[:, 0], "k", linewidth=1, label="position")
ax.plot(mean[:, 0], label="filter")
ax.fill_between(
    range(count), mean[:, 0] - 2 * deviation, mean[:, 0] + 2 * deviation, alpha=0.25
)
ax.set_xlabel("second")
ax.legend()

# %%
# The smoother
# ------------
#
# A filter knows the past only. With all data available, later measurements help too. The most probable path
# minimizes one sum of squares, and SciPy's minimizer needs only its derivatives. The unknowns are the 250 random pushes:

push, noise = np.exp(found.x)


@jt.function
def path_of(pushes):
    speed = jt.cumsum(push * pushes)
    return jt.cumsum(speed) - 0.5 * push * pushes, speed


def path_cost(pushes):
    position, _ = path_of(pushes)
    return 0.5 * (
        jt.reduce_sum(seen * ((measured - position) / noise) ** 2)
        + jt.reduce_sum(pushes**2)
    )


smooth = minimize(
    jt.value_and_grad(path_cost),
    np.zeros(count),
    jac=True,
    hessp=jt.hvp(path_cost),
    method="trust-ncg",
)
position, speed = (t.numpy() for t in path_of(smooth.x))
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2))
for ax, i, best in [(left, 0, position), (right, 1, speed)]:
    ax.plot(states[:, i], "k", linewidth=1, label="truth")
    ax.plot(mean[:, i], label="filter")
    ax.plot(best, label="smoother")
    ax.set_title(["position", "speed"][i])
    ax.set_xlabel("second")
left.legend()
print("error of the speed: filter", np.std(mean[:, 1] - states[:, 1]).round(3), end=", ")
print("smoother", np.std(speed - states[:, 1]).round(3))

# %%
# What to try next
# ----------------
#
# - Add a third number to the state, the acceleration. Which three lines change?
# - Replace ten percent of the measurements by random numbers. Does the filter recover? Which density would replace the
#   normal one in ``path_cost``?
# - Learn the noise without the missing measurements: use ``seen`` in ``total_cost``. How much wider are the two intervals?
#
# :doc:`/guides/statistics` has a model with more states, and :doc:`/guides/control` explains ``scan``.
