"""
Find the source of heat
=======================

The temperature of a rod is measured some time after it was heated. Gradient descent through 200
steps of the heat equation finds the place.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

count, steps = 80, 200
place = np.linspace(0, 1, count)


@jt.function
def after(source):
    def step(u, _):
        inside = u[1:-1] + 0.4 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return jt.pad(inside, [[1, 1]])

    return jt.scan(step, np.zeros(steps), initializer=source)[-1]


truth = np.exp(-(((place - 0.3) / 0.05) ** 2)) + 0.6 * np.exp(
    -(((place - 0.7) / 0.08) ** 2)
)
measured = after(truth).numpy() + np.random.default_rng(0).normal(scale=0.002, size=count)

raw = jt.Variable(np.full(count, -3.0))
optimizer = jt.optimizers.Adam(learning_rate=0.05)
for _ in range(500):
    with jt.GradientTape() as tape:
        source = jt.nn.softplus(raw)  # heat is positive
        smooth = jt.reduce_sum(jt.square(source[1:] - source[:-1]))
        loss = jt.reduce_sum(jt.square(after(source) - measured)) + 1e-4 * smooth
    optimizer.apply_gradients([(tape.gradient(loss, raw), raw)])

fig, ax = plt.subplots()
ax.plot(place, truth, "k--", label="source")
ax.plot(place, measured, color="C1", label="measured after 200 steps")
ax.plot(place, jt.nn.softplus(raw).numpy(), color="C0", label="found")
ax.legend()
