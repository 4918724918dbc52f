"""
Weibull fit with censored data
==============================

Some machines still run when the study ends. The likelihood uses the density for failures and the
survival function for the others.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(0)
lifetimes = 10 * rng.weibull(1.8, size=200)
end = rng.uniform(4, 14, size=200)
time, failed = np.minimum(lifetimes, end), lifetimes < end

logs = jt.Variable(np.log([1.2, 8.0]))


def log_likelihood(logs):
    shape, scale = jt.exp(logs[0]), jt.exp(logs[1])
    hazard = (time / scale) ** shape
    log_density = jt.math.log(shape / scale) + (shape - 1) * jt.math.log(time / scale)
    return jt.reduce_sum(failed * log_density - hazard)


optimizer = jt.optimizers.Adam(learning_rate=0.05)
for _ in range(300):
    with jt.GradientTape() as tape:
        loss = -log_likelihood(logs)
    optimizer.apply_gradients([(tape.gradient(loss, logs), logs)])

# The Hessian at the maximum gives the standard errors.
curvature = jt.hessian(log_likelihood)(logs).numpy()
shape, scale = np.exp(logs.numpy())
errors = np.sqrt(np.diag(np.linalg.inv(-curvature))) * [shape, scale]

t = np.linspace(0, 18, 200)
fig, ax = plt.subplots()
ax.plot(t, np.exp(-((t / scale) ** shape)), label="fit")
ax.plot(t, np.exp(-((t / 10) ** 1.8)), "k--", label="truth")
ax.plot(
    time[~failed], np.full((~failed).sum(), 0.02), "|", color="gray", label="still running"
)
ax.set_xlabel("years")
ax.set_ylabel("part that survives")
ax.legend()
print(
    f"shape {shape:.2f} ± {errors[0]:.2f}, scale {scale:.2f} ± {errors[1]:.2f}; truth 1.8 and 10"
)
