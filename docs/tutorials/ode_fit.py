"""
Fit an ODE to data
==================

An epidemic is described by a differential equation with two unknown rates. This tutorial solves the equation, computes how
the solution depends on the rates, fits them with Gauss-Newton steps, and computes the uncertainty of the fit.
"""

# %%
# The equation
# ------------
#
# A share S of the people can be infected, a share I is infected, and the rest has recovered. Per day, an infected person meets
# β others and recovers at rate γ:
#
# .. code-block:: text
#
#     dS/dt = -β S I,    dI/dt = β S I - γ I
#
# A Runge-Kutta step of a quarter of a day advances both shares. ``jt.scan`` repeats it and collects the states. It compiles
# the loop, forward and backward:

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import jittape as jt

days, per_day = 60, 4


def change(state, rates):
    infections = rates[0] * state[0] * state[1]
    return jt.stack([-infections, infections - rates[1] * state[1]])


@jt.function
def infected(rates):
    """Return the share of infected people at the end of each day, for the rates β and γ."""
    h = 1 / per_day

    def advance(state, _):
        k1 = change(state, rates)
        k2 = change(state + h / 2 * k1, rates)
        k3 = change(state + h / 2 * k2, rates)
        k4 = change(state + h * k3, rates)
        return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    start = np.array([0.999, 0.001])
    states = jt.scan(advance, np.zeros(days * per_day), initializer=start)
    return states[per_day - 1 :: per_day, 1]


true_rates = np.array([0.5, 0.2])
day = np.arange(1, days + 1)
rng = np.random.default_rng(0)
curve = infected(true_rates).numpy()
data = curve + rng.normal(scale=0.006, size=days)

fig, ax = plt.subplots()
ax.plot(day, data, "k.", label="reported")
ax.plot(day, curve, label="true curve")
ax.set_xlabel("day")
ax.set_ylabel("share of infected people")
ax.legend()

# %%
# How the curve depends on the rates
# ----------------------------------
#
# ``jt.jacobian`` differentiates all 60 values with respect to both rates. There are more values than rates, so it uses forward
# mode: two passes instead of 60.

sensitivity = jt.function(jt.jacobian(infected))
d = sensitivity(true_rates).numpy()
print(d.shape)

fig, ax = plt.subplots()
ax.plot(day, d, label=[r"with respect to $\beta$", r"with respect to $\gamma$"])
ax.axhline(0, color="gray", linewidth=0.8)
ax.set_xlabel("day")
ax.set_title("derivatives of the curve")
ax.legend()

# %%
# A larger β brings the peak forward: more people are infected before the peak, fewer after it. The two curves are almost
# mirror images, so the data determine the *difference* of the rates well, and their sum less well.
#
# Gauss-Newton
# ------------
#
# Near the current rates, the curve is almost linear. Linear least squares then gives the best change. The first steps start
# far away, so they are limited to a fifth of the rates:

rates = np.array([0.35, 0.1])
history = [rates]
for _ in range(12):
    residual = data - infected(rates).numpy()
    best = np.linalg.lstsq(sensitivity(rates).numpy(), residual)[0]
    rates = rates + np.clip(best, -0.2 * rates, 0.2 * rates)
    history.append(rates)
print("rates:", rates.round(4), "truth:", true_rates)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
left.plot(history, "o-", markersize=3, label=[r"$\beta$", r"$\gamma$"])
left.set_xlabel("step")
left.legend()
right.plot(day, data, "k.")
for i in (0, 1, 2, 4, 12):
    right.plot(day, infected(history[i]).numpy(), color="C0", alpha=0.2 + i / 15)
right.set_xlabel("day")
right.set_title("curves of steps 0, 1, 2, 4 and 12")

# %%
# SciPy's ``least_squares`` uses the same method and controls the steps better. It takes the functions of this page:

fit = least_squares(
    lambda r: infected(r).numpy() - data,
    [0.35, 0.1],
    jac=lambda r: sensitivity(r).numpy(),
    method="lm",
)
print("SciPy:", fit.x.round(4), "calls:", fit.nfev)

# %%
# The uncertainty of the fit
# --------------------------
#
# The Jacobian at the fit gives the covariance of the rates: the variance of the noise times the inverse of JᵀJ. The same
# matrix gives a band for each value that depends on the rates, for instance for the curve:

jacobian = sensitivity(rates).numpy()
noise = np.sqrt(np.mean((data - infected(rates).numpy()) ** 2))
covariance = noise**2 * np.linalg.inv(jacobian.T @ jacobian)
for name, value, variance in zip(
    ["beta", "gamma"], rates, np.diag(covariance), strict=True
):
    print(f"{name} = {value:.4f} ± {2 * variance**0.5:.4f}")
band = 2 * np.sqrt(np.einsum("ti,ij,tj->t", jacobian, covariance, jacobian))


def peak_of(r):
    return jt.reduce_max(infected(r))


peak, slope = jt.value_and_grad(peak_of)(rates)
uncertainty = 2 * (slope @ covariance @ slope) ** 0.5
print(f"highest share of infected people: {peak:.4f} ± {uncertainty:.4f}")

fig, ax = plt.subplots()
ax.plot(day, data, "k.")
ax.plot(day, infected(rates).numpy())
ax.fill_between(
    day, infected(rates).numpy() - band, infected(rates).numpy() + band, alpha=0.4
)
ax.set_xlabel("day")
ax.set_title("fit with a band of two standard deviations")

# %%
# What to try next
# ----------------
#
# - Fit the first 20 days only. How wide is the band on day 60?
# - Make the share of infected people at the start a third unknown. Which lines change?
# - A lockdown on day 15 changes β. Write β as ``jt.where(t < 15, rates[0], rates[2])`` and pass the times as the second
#   argument of ``jt.scan``.
#
# ``jittape demo ode`` fits a model of two species. :doc:`/how-to/scipy-optimizers` shows more of SciPy's methods.
