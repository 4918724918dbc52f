"""Heston's model of a share: the price of a call option and its six Greeks, from 200,000 paths of 50 steps."""

import numpy as np

import jittape as jt

PATHS, STEPS = 200_000, 50
BLOCK = 4000
"""Paths whose numbers and variances fit the cache together."""
STRIKE, YEARS, RATE = 100.0, 1.0, 0.02
DT = YEARS / STEPS
PARAMETERS = np.array([100.0, 0.04, 1.5, 0.04, 0.3, -0.7])
"""Share, variance, speed and level of its reversion, its volatility, correlation."""


def moved(log_share, variance, z1, z2, parameters):
    """Return the logarithm of the share and its variance after one step."""
    speed, level, volatility, correlation = parameters
    positive = jt.maximum(variance, 0.0)
    deviation = jt.sqrt(positive) * np.sqrt(DT)
    log_share = log_share + (RATE - 0.5 * positive) * DT + deviation * z1
    z2 = correlation * z1 + jt.sqrt(1.0 - correlation**2) * z2
    return log_share, variance + speed * (level - positive) * DT + volatility * deviation * z2


def price(p, z, form):
    """Return the price; `z` has shape (50, 2, paths) and `form` is the way in which the steps are written."""
    parameters = jt.unstack(p[2:])
    if form == "vmap":

        def path(z):
            def step(i, state):
                return moved(*state, z[i, 0], z[i, 1], parameters)

            return jt.fori_loop(0, STEPS, step, (jt.math.log(p[0]), p[1]))[0]

        last = jt.vmap(path, in_axes=-1)(z)
    else:
        zeros = jt.zeros([z.shape[-1]], z.dtype)
        state = jt.math.log(p[0]) + zeros, p[1] + zeros
        if form == "fori_loop":
            state = jt.fori_loop(0, STEPS, lambda i, s: moved(*s, z[i, 0], z[i, 1], parameters), state)
        else:
            for i in range(STEPS):
                state = moved(*state, z[i, 0], z[i, 1], parameters)
        last = state[0]
    return np.exp(-RATE * YEARS) * jt.reduce_mean(jt.maximum(jt.exp(last) - STRIKE, 0.0))


def drawn_price(p, seed):
    """Return the price from numbers that the function draws."""
    return price(p, jt.random.stateless_normal([STEPS, 2, PATHS], seed, dtype="float64"), "fori_loop")


def price_and_greeks_by_blocks(p, z):
    """Return the price and its gradient, each a mean over blocks of paths."""
    count = z.shape[-1] // BLOCK
    blocks = jt.reshape(z, [STEPS, 2, count, BLOCK])

    def add_block(i, state):
        value, gradient = jt.value_and_grad(lambda p: price(p, blocks[:, :, i], "fori_loop"))(p)
        return state[0] + value / count, state[1] + gradient / count

    return jt.fori_loop(0, count, add_block, (0.0 * p[0], 0.0 * p))


class Heston:
    """The numbers of the paths are in memory."""

    params = ("fori_loop", "vmap", "python loop")
    param_names = ("form",)

    def setup(self, form):
        z = np.random.default_rng(0).normal(size=(STEPS, 2, PATHS))
        self.p, self.z = jt.constant(PARAMETERS), jt.constant(z)
        self.price = jt.function(lambda p, z: price(p, z, form))
        self.greeks = jt.function(jt.value_and_grad(lambda p, z: price(p, z, form)))
        for _ in range(3):
            self.time_price(form)
            self.time_price_and_greeks(form)

    def time_price(self, form):
        self.price(self.p, self.z).numpy()

    def time_price_and_greeks(self, form):
        self.greeks(self.p, self.z)[1].numpy()


class HestonBlocks:
    """The numbers of the paths are in memory, and the gradient is computed for blocks of paths."""

    def setup(self):
        z = np.random.default_rng(0).normal(size=(STEPS, 2, PATHS))
        self.p, self.z = jt.constant(PARAMETERS), jt.constant(z)
        self.greeks = jt.function(price_and_greeks_by_blocks)
        for _ in range(3):
            self.time_price_and_greeks()

    def time_price_and_greeks(self):
        self.greeks(self.p, self.z)[1].numpy()


class HestonDrawn:
    """The function draws the numbers of the paths."""

    def setup(self):
        self.p, self.seed = jt.constant(PARAMETERS), jt.constant([1, 2])
        self.price, self.greeks = jt.function(drawn_price), jt.function(jt.value_and_grad(drawn_price))
        for _ in range(3):
            self.time_price()
            self.time_price_and_greeks()

    def time_price(self):
        self.price(self.p, self.seed).numpy()

    def time_price_and_greeks(self):
        self.greeks(self.p, self.seed)[1].numpy()
