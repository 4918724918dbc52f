"""
Hamiltonian Monte Carlo
=======================

A sampler that follows the gradient of the log density. 40 chains run at once, as rows of one array.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt


def log_density(q):
    return -0.5 * (q[:, 0] ** 2 / 4 + 4 * (q[:, 1] - 0.25 * q[:, 0] ** 2) ** 2)


def slope(q):
    with jt.GradientTape() as tape:
        tape.watch(q)
        total = jt.reduce_sum(log_density(q))
    return tape.gradient(total, q)


@jt.function
def proposal(q, p, step):
    p = p + step / 2 * slope(q)
    for i in range(10):
        q = q + step * p
        p = p + (step if i < 9 else step / 2) * slope(q)
    return q, p


rng = np.random.default_rng(0)
q = rng.normal(size=(40, 2))
samples, accepted = [], 0
for _ in range(300):
    p = rng.normal(size=q.shape)
    new_q, new_p = (t.numpy() for t in proposal(q, p, 0.25))
    log_ratio = log_density(new_q) - log_density(q) + 0.5 * (p**2 - new_p**2).sum(1)
    accept = np.log(rng.uniform(size=40)) < log_ratio
    q = np.where(accept[:, None], new_q, q)
    accepted += accept.mean()
    samples.append(q)

points = np.concatenate(samples[50:])
fig, ax = plt.subplots(figsize=(7, 4))
ax.hexbin(*points.T, gridsize=60, cmap="Blues", mincnt=1)
chain = np.array(samples)[50:90, 0]
ax.plot(
    *chain.T, "o-", color="C1", markersize=3, linewidth=0.8, label="40 steps of one chain"
)
ax.legend()
print(f"accepted {accepted / 300:.0%}")
