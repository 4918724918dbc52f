"""
A Gaussian process
==================

The length scale, the amplitude and the noise maximize the marginal likelihood. The gradient goes
through the Cholesky factor.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0, 10, 40))
y = np.sin(x) + 0.3 * x + rng.normal(scale=0.2, size=40)
y -= y.mean()


def kernel(a, b, scale, height):
    return height**2 * jt.exp(-0.5 * ((a[:, None] - b[None, :]) / scale) ** 2)


logs = jt.Variable(np.log([1.0, 1.0, 0.5]))
optimizer = jt.optimizers.Adam(learning_rate=0.05)
for _ in range(200):
    with jt.GradientTape() as tape:
        scale, height, noise = jt.unstack(jt.exp(logs))
        factor = jt.linalg.cholesky(kernel(x, x, scale, height) + noise**2 * np.eye(40))
        z = jt.linalg.triangular_solve(factor, y[:, None])
        loss = 0.5 * jt.reduce_sum(z**2) + jt.reduce_sum(
            jt.math.log(jt.linalg.diag_part(factor))
        )
    optimizer.apply_gradients([(tape.gradient(loss, logs), logs)])

scale, height, noise = np.exp(logs.numpy())
new = np.linspace(-1, 11, 300)
cross = kernel(new, x, scale, height).numpy()
solve = np.linalg.solve(
    kernel(x, x, scale, height).numpy() + noise**2 * np.eye(40), np.c_[y, cross.T]
)
mean = cross @ solve[:, 0]
deviation = np.sqrt(height**2 - np.einsum("ij,ji->i", cross, solve[:, 1:]))
fig, ax = plt.subplots()
ax.fill_between(new, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25)
ax.plot(new, mean)
ax.plot(x, y, "k.")
ax.set_title(f"length scale {scale:.2f}, amplitude {height:.2f}, noise {noise:.2f}")
