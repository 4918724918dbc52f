"""
A network that solves a differential equation
=============================================

The network never sees the solution. Its loss is the residual of u'' + u = 0 with u(0) = 1 and u'(0)
= 0; nested tapes give the derivatives with respect to the time.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(0)
sizes = [1, 24, 24, 1]
weights = []
for before, after in itertools.pairwise(sizes):
    weights.append(jt.Variable(rng.normal(scale=before**-0.5, size=(before, after))))
    weights.append(jt.Variable(np.zeros(after)))


def network(t):
    h = jt.tanh(t @ weights[0] + weights[1])
    h = jt.tanh(h @ weights[2] + weights[3])
    return 1 + t**2 * (h @ weights[4] + weights[5])  # u(0) = 1 and u'(0) = 0


def residual(t):
    with jt.GradientTape() as outer:
        outer.watch(t)
        with jt.GradientTape() as inner:
            inner.watch(t)
            u = network(t)
        du = inner.gradient(u, t)
    return outer.gradient(du, t) + u


@jt.function
def step(t):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(residual(t)))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
    return loss


optimizer = jt.optimizers.Adam(learning_rate=0.005)
points = np.linspace(0, 6, 80)[:, None]
losses = [float(step(points)) for _ in range(3000)]

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5))
left.plot(points, np.cos(points), label="cos t", linewidth=4, alpha=0.4)
left.plot(points, network(points).numpy(), "k--", label="network")
left.set_xlabel("t")
left.legend()
right.semilogy(losses)
right.set_xlabel("step")
right.set_ylabel("mean squared residual")
