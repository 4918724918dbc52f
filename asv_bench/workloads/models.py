"""Mixture of Gaussians, Asian option, energy of bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.base import Side, Workload, compiled_by_jax, gradient_by_torch, plain, tape_side

__all__ = ["AsianOption", "Bodies", "Mixture"]


class Mixture(Workload):
    """Mean log-likelihood, and its gradient by log-weights, means and inverse Cholesky factors.

    A factor has the exponential of `q` as its diagonal and `l` below it.
    """

    by_hand_on_threads = True
    name = "Gaussian mixture, d=10, K=25, N=1,000"
    goal = "1.3 hand"
    d, k, n = 10, 25, 1_000

    def data(self) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(self.n, self.d))
        self.mask = np.tril(np.ones((self.d, self.d)), -1)
        alpha, mean = rng.normal(size=self.k), rng.normal(size=(self.k, self.d))
        q, low = 0.1 * rng.normal(size=(self.k, self.d)), 0.1 * rng.normal(size=(self.k, self.d, self.d))
        self.point = alpha, mean, q, low * self.mask

    def numpy(self) -> Side:
        x, mask, (alpha, mean, q, low) = self.x, self.mask, self.point
        n = self.n

        def run() -> Any:
            diagonal = np.exp(q)
            factor = low * mask + diagonal[:, :, None] * np.eye(self.d)
            centered = x - mean[:, None]
            white = centered @ factor.transpose(0, 2, 1)
            logs = (alpha + q.sum(1))[:, None] - 0.5 * np.square(white).sum(2)
            top = logs.max(0)
            p = np.exp(logs - top)
            total = p.sum(0)
            p /= total
            prior = np.exp(alpha - alpha.max())
            value = np.mean(top + np.log(total)) - np.log(prior.sum()) - alpha.max()
            share = p.sum(1) / n
            d_white = white * (p / -n)[:, :, None]
            d_mean = -(d_white.sum(1)[:, None] @ factor)[:, 0]
            d_factor = d_white.transpose(0, 2, 1) @ centered
            d_q = share[:, None] + np.einsum("kii->ki", d_factor) * diagonal
            return value, share - prior / prior.sum(), d_mean, d_q, d_factor * mask

        return plain(run)

    def hand(self) -> Side:
        from workloads.models_hand import mixture, mixture_part, mixture_together

        outs = [np.empty_like(p) for p in self.point]
        if self.threads > 1:
            shapes = (self.k, self.d, self.d), (self.k, self.d), (self.k,), (8,)
            sums = [np.empty((self.threads, *shape)) for shape in shapes]
            run = self.team(mixture_part, self.x, *self.point, *sums)
            return plain(lambda: (run(), mixture_together(*sums, *self.point, *outs), outs)[1:])
        return plain(lambda: (mixture(self.x, *self.point, *outs), outs))

    def tape(self, tf: Any, compiled: Any) -> Side:
        mask, eye = tf.constant(self.mask), tf.constant(np.eye(self.d))

        @compiled
        def value_and_gradient(x: Any, alpha: Any, mean: Any, q: Any, low: Any) -> Any:
            point = [alpha, mean, q, low]
            with tf.GradientTape() as tape:
                tape.watch(point)
                factor = low * mask + tf.exp(q)[:, :, None] * eye
                white = tf.matmul(x - mean[:, None], factor, transpose_b=True)
                logs = (alpha + tf.reduce_sum(q, 1))[:, None] - 0.5 * tf.reduce_sum(tf.square(white), 2)
                value = tf.reduce_mean(tf.reduce_logsumexp(logs, 0)) - tf.reduce_logsumexp(alpha)
            return (value, *tape.gradient(value, point))

        return tape_side(value_and_gradient, tf.constant(self.x), *[tf.constant(p) for p in self.point])

    def jax(self) -> Side:
        import jax
        from jax import numpy as jnp
        from jax.nn import logsumexp

        def f(alpha: Any, mean: Any, q: Any, low: Any, x: Any, mask: Any) -> Any:
            factor = low * mask + jnp.exp(q)[:, :, None] * jnp.eye(self.d)
            white = (x - mean[:, None]) @ factor.transpose(0, 2, 1)
            logs = (alpha + q.sum(1))[:, None] - 0.5 * jnp.sum(white**2, 2)
            return jnp.mean(logsumexp(logs, 0)) - logsumexp(alpha)

        return compiled_by_jax(jax.value_and_grad(f, argnums=(0, 1, 2, 3)), *self.point, self.x, self.mask)

    def torch(self) -> Side:
        import torch

        x, mask, eye = torch.tensor(self.x), torch.tensor(self.mask), torch.eye(self.d, dtype=torch.float64)

        def f(alpha: Any, mean: Any, q: Any, low: Any) -> Any:
            factor = low * mask + torch.exp(q)[:, :, None] * eye
            white = (x - mean[:, None]) @ factor.transpose(1, 2)
            logs = (alpha + q.sum(1))[:, None] - 0.5 * torch.sum(white**2, 2)
            return torch.mean(torch.logsumexp(logs, 0)) - torch.logsumexp(alpha, 0)

        return gradient_by_torch(f, *self.point)


class AsianOption(Workload):
    """Price of a call on the mean of a path, by Monte Carlo, and its derivatives by spot, volatility and rate."""

    by_hand_on_threads = True
    name = "Asian option, 252 steps x 10,000 paths"
    goal = "1.3 hand"
    steps, paths, strike = 252, 10_000, 100.0

    def data(self) -> None:
        self.z = np.random.default_rng(0).normal(size=(self.steps, self.paths))
        self.point = np.array(100.0), np.array(0.2), np.array(0.05)

    def numpy(self) -> Side:
        z, n, dt = self.z, self.steps, 1.0 / self.steps
        spot, sigma, rate = (float(p) for p in self.point)
        passed = np.arange(1, n + 1)[:, None]

        def run() -> Any:
            walk = np.cumsum(z, axis=0)
            path = spot * np.exp((rate - 0.5 * sigma**2) * dt * passed + sigma * np.sqrt(dt) * walk)
            mean = path.mean(0)
            weight = np.exp(-rate) * (mean > self.strike) / mean.size
            price = np.sum(weight * (mean - self.strike))
            by_rate = np.sum(weight * (path * passed).mean(0)) * dt
            by_sigma = np.sum(weight * (path * (np.sqrt(dt) * walk - sigma * dt * passed)).mean(0))
            return price, np.sum(weight * mean) / spot, by_sigma, by_rate - price

        return plain(run)

    def hand(self) -> Side:
        from workloads.models_hand import asian_option, asian_part, asian_price

        spot, sigma, rate = (float(p) for p in self.point)
        if self.threads > 1:
            sums = np.empty((self.threads, 8))
            run = self.team(asian_part, self.z, spot, sigma, rate, self.strike, sums)
            return plain(lambda: (run(), asian_price(sums.sum(0), self.z.shape, spot, sigma, rate))[1])
        return plain(lambda: asian_option(self.z, spot, sigma, rate, self.strike))

    def tape(self, tf: Any, compiled: Any) -> Side:
        n, dt, strike = self.steps, 1.0 / self.steps, self.strike

        @compiled
        def price_and_greeks(z: Any, spot: Any, sigma: Any, rate: Any) -> Any:
            point = [spot, sigma, rate]
            with tf.GradientTape() as tape:
                tape.watch(point)
                drift, scale = (rate - 0.5 * tf.square(sigma)) * dt, sigma * np.sqrt(dt)
                path = spot * tf.exp(tf.cumsum(drift + scale * z, axis=0))
                payoff = tf.nn.relu(tf.reduce_sum(path, 0) / n - strike)
                price = tf.exp(-rate) * tf.reduce_mean(payoff)
            return (price, *tape.gradient(price, point))

        return tape_side(price_and_greeks, tf.constant(self.z), *[tf.constant(p) for p in self.point])

    def jittape(self) -> Side:
        """A loop over the steps: `tape`, with a running sum, is faster in TensorFlow, and slower here."""
        import jittape as jt

        n, dt, strike = self.steps, 1.0 / self.steps, self.strike
        ones = np.ones(self.paths)

        @jt.function
        def price_and_greeks(z: Any, spot: Any, sigma: Any, rate: Any) -> Any:
            point = [spot, sigma, rate]
            with jt.GradientTape() as tape:
                tape.watch(point)
                drift, scale = (rate - 0.5 * jt.square(sigma)) * dt, sigma * np.sqrt(dt)
                level, total = spot * ones, 0.0
                for k in range(n):
                    level = level * jt.exp(drift + scale * z[k])
                    total = total + level
                price = jt.exp(-rate) * jt.reduce_mean(jt.nn.relu(total / n - strike))
            return (price, *tape.gradient(price, point))

        return tape_side(price_and_greeks, jt.constant(self.z), *[jt.constant(p) for p in self.point])

    def jax(self) -> Side:
        import jax
        from jax import numpy as jnp

        n, dt = self.steps, 1.0 / self.steps

        def price(spot: Any, sigma: Any, rate: Any, z: Any) -> Any:
            drift, scale = (rate - 0.5 * sigma**2) * dt, sigma * np.sqrt(dt)

            def step(state: Any, draws: Any) -> Any:
                level, total = state
                level = level * jnp.exp(drift + scale * draws)
                return (level, total + level), None

            start = jnp.full(self.paths, 1.0) * spot, jnp.zeros(self.paths)
            (_, total), _ = jax.lax.scan(step, start, z)
            return jnp.exp(-rate) * jnp.mean(jnp.maximum(total / n - self.strike, 0.0))

        return compiled_by_jax(jax.value_and_grad(price, argnums=(0, 1, 2)), *self.point, self.z)

    def torch(self) -> Side:
        import torch

        z, dt = torch.tensor(self.z), 1.0 / self.steps

        def price(spot: Any, sigma: Any, rate: Any) -> Any:
            drift, scale = (rate - 0.5 * sigma**2) * dt, sigma * np.sqrt(dt)
            path = spot * torch.exp(torch.cumsum(drift + scale * z, 0))
            return torch.exp(-rate) * torch.mean(torch.relu(path.mean(0) - self.strike))

        return gradient_by_torch(price, *self.point)


class Bodies(Workload):
    """Gravitational energy of 64 bodies, softened, and its gradient by their places."""

    name = "energy of 64 bodies"
    goal = "3 hand"
    softening = 1e-2

    def data(self) -> None:
        rng = np.random.default_rng(0)
        self.x, self.m = rng.normal(size=(64, 3)), rng.uniform(0.5, 1.5, size=64)

    def numpy(self) -> Side:
        x, m = self.x, self.m

        def run() -> Any:
            d = x[:, None] - x
            r = 1.0 / np.sqrt(np.square(d).sum(2) + self.softening)
            pull = m[:, None] * m * r
            return -0.5 * pull.sum(), np.einsum("ij,ijk->ik", pull * r * r, d)

        return plain(run)

    def hand(self) -> Side:
        from workloads.models_hand import bodies

        x, out = np.ascontiguousarray(self.x.T), np.empty((3, 64))
        return plain(lambda: (bodies(x, self.m, self.softening, out), out.T))

    def tape(self, tf: Any, compiled: Any) -> Side:
        @compiled
        def energy_and_gradient(x: Any, m: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                r2 = tf.reduce_sum(tf.square(x[:, None] - x), 2) + self.softening
                energy = -0.5 * tf.reduce_sum(m[:, None] * m * tf.math.rsqrt(r2))
            return energy, tape.gradient(energy, x)

        return tape_side(energy_and_gradient, tf.constant(self.x), tf.constant(self.m))

    def jax(self) -> Side:
        import jax
        from jax import numpy as jnp

        def energy(x: Any, m: Any) -> Any:
            r2 = jnp.sum((x[:, None] - x) ** 2, 2) + self.softening
            return -0.5 * jnp.sum(m[:, None] * m * jax.lax.rsqrt(r2))

        return compiled_by_jax(jax.value_and_grad(energy), self.x, self.m)

    def torch(self) -> Side:
        import torch

        m = torch.tensor(self.m)

        def energy(x: Any) -> Any:
            r2 = torch.sum((x[:, None] - x) ** 2, 2) + self.softening
            return -0.5 * torch.sum(m[:, None] * m * torch.rsqrt(r2))

        return gradient_by_torch(energy, self.x)
