"""
Greeks of an option
===================

The greeks are derivatives of the price of an option. Two nested tapes give delta, vega and gamma
for all prices of the share at once.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt


def normal(x):
    return 0.5 * (1 + jt.math.erf(x / 2**0.5))


def call_price(share, volatility, strike=100.0, rate=0.02, years=0.5):
    spread = volatility * years**0.5
    d1 = (jt.math.log(share / strike) + (rate + volatility**2 / 2) * years) / spread
    return share * normal(d1) - strike * np.exp(-rate * years) * normal(d1 - spread)


share = jt.constant(np.linspace(60, 140, 200))
volatility = jt.constant(np.full(200, 0.25))
with jt.GradientTape() as outer:
    outer.watch(share)
    with jt.GradientTape() as inner:
        inner.watch([share, volatility])
        price = call_price(share, volatility)
    delta, vega = inner.gradient(price, [share, volatility])
gamma = outer.gradient(delta, share)

fig, axes = plt.subplots(2, 2, figsize=(7, 4.5), sharex=True)
for ax, (name, values) in zip(
    axes.flat,
    {"price": price, "delta": delta, "gamma": gamma, "vega": vega}.items(),
    strict=True,
):
    ax.plot(share.numpy(), values.numpy())
    ax.set_title(name)
