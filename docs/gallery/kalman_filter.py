"""
A Kalman filter with learned noise
==================================

The filter is a compiled loop. The gradient of its likelihood gives the variances of the level and
of the measurements.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(0)
level = np.cumsum(rng.normal(scale=0.3, size=300))
data = level + rng.normal(scale=1.0, size=300)


@jt.function
def filtered(logs):
    state_noise, data_noise = jt.exp(logs[0]), jt.exp(logs[1])

    def update(carry, measured):
        mean, variance, _ = carry
        variance = variance + state_noise
        spread = variance + data_noise
        gain = variance / spread
        surprise = measured - mean
        cost = 0.5 * (jt.math.log(spread) + surprise**2 / spread)
        return mean + gain * surprise, (1 - gain) * variance, cost

    zero = jt.constant(0.0, dtype=jt.float64)
    return jt.scan(update, data, initializer=(zero, zero + 10.0, zero))


logs = jt.Variable(np.zeros(2))
optimizer = jt.optimizers.Adam(learning_rate=0.1)
for _ in range(200):
    with jt.GradientTape() as tape:
        loss = jt.reduce_sum(filtered(logs)[2])
    optimizer.apply_gradients([(tape.gradient(loss, logs), logs)])

mean, variance, _ = (t.numpy() for t in filtered(logs))
fig, ax = plt.subplots()
ax.plot(data, ".", color="gray", label="measured")
ax.plot(level, "k--", linewidth=1, label="level")
ax.plot(mean, label="filter")
ax.fill_between(range(300), mean - 2 * variance**0.5, mean + 2 * variance**0.5, alpha=0.25)
ax.legend()
print("standard deviations", np.exp(logs.numpy() / 2).round(2), "truth [0.3 1.]")
