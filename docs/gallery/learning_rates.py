"""
Learning rate schedules
=======================

The same fit with three schedules, and the rate of each schedule over the steps.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(0)
inputs = rng.normal(size=(500, 20))
targets = inputs @ rng.normal(size=20) + rng.normal(scale=0.5, size=500)
schedules = {
    "constant": lambda: 0.05,
    "exponential": lambda: jt.optimizers.schedules.ExponentialDecay(0.05, 100, 0.5),
    "cosine": lambda: jt.optimizers.schedules.CosineDecay(0.05, 400),
}

fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.5))
for name, make in schedules.items():
    weights = jt.Variable(np.zeros(20))
    rate = make()
    optimizer = jt.optimizers.SGD(rate, momentum=0.9)
    order = np.random.default_rng(1)
    losses = []
    for _ in range(400):
        rows = order.integers(0, 500, size=16)
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(inputs[rows] @ weights - targets[rows]))
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        losses.append(float(np.mean((inputs @ weights.numpy() - targets) ** 2)))
    left.plot([float(rate(i)) if callable(rate) else rate for i in range(400)], label=name)
    right.semilogy(losses, label=name)
left.set_title("learning rate")
right.set_title("mean squared error of all data")
right.legend()
