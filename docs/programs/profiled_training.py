"""A training loop with three slow lines, for the page "Profiling"."""

import math

import numpy as np

import jittape as jt

rng = np.random.default_rng(0)
inputs = rng.normal(size=(20_000, 50)).astype(np.float32)
labels = jt.constant(np.sin(inputs[:, :1]))
hidden = jt.Variable(rng.normal(size=(50, 30)).astype(np.float32) / 7)
output = jt.Variable(np.zeros((30, 1), np.float32))
optimizer = jt.optimizers.Adam(0.01)

for _ in range(200):
    with jt.GradientTape() as tape:
        features = jt.tanh(inputs @ hidden)
        error = features @ output - labels
        loss = jt.reduce_mean(jt.square(error))
    gradients = tape.gradient(loss, [hidden, output])
    optimizer.apply_gradients([(gradients[0], hidden), (gradients[1], output)])
    largest = jt.sort(jt.abs(error), axis=0)[-1]
    report = sum(math.sqrt(i) for i in range(10_000))
    if not np.isfinite(float(loss)):
        break
