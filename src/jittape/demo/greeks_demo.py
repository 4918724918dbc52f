"""Demo: prices and greeks of options; the volatility that explains observed prices."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jittape as jt
from jittape.demo.demo_output import finish, progress_bar

__all__ = ["run"]

Array = np.ndarray[Any, Any]

STRIKE, RATE = 100.0, 0.02
ROUNDS = 200


def normal_cdf(x: jt.Tensor) -> jt.Tensor:
    """Return the distribution function of the standard normal distribution."""
    return 0.5 * (1 + jt.math.erf(x / 2**0.5))


def call_price(share: jt.Tensor, volatility: jt.Tensor, years: Any) -> jt.Tensor:
    """Return Black and Scholes' price of a call option."""
    spread = volatility * years**0.5
    d1 = (jt.math.log(share / STRIKE) + (RATE + volatility**2 / 2) * years) / spread
    return share * normal_cdf(d1) - STRIKE * np.exp(-RATE * years) * normal_cdf(d1 - spread)


@jt.function
def greeks(share: jt.Tensor, volatility: jt.Tensor, years: Any) -> tuple[jt.Tensor, ...]:
    """Return price, delta, gamma and vega of each option."""
    with jt.GradientTape() as outer:
        outer.watch(share)
        with jt.GradientTape() as inner:
            inner.watch([share, volatility])
            price = call_price(share, volatility, years)
        delta, vega = inner.gradient(price, [share, volatility])
    return price, delta, outer.gradient(delta, share), vega


def implied_volatility(prices: Array, share: Array, years: Array) -> Array:
    """Return the volatilities that give `prices`, by Newton's method with the vega."""
    volatility = np.full_like(prices, 0.5)
    for _ in progress_bar(30, "volatility"):
        price, _, _, vega = greeks(share, volatility, years)
        step = (price.numpy() - prices) / np.maximum(vega.numpy(), 1e-3)
        volatility = np.clip(volatility - step, 0.01, 2.0)
    return volatility


def run(output: Path) -> None:
    """Price, find volatilities, draw the picture to `output` and print the results."""
    share, years = (a.ravel() for a in np.meshgrid(np.linspace(60, 140, 300), np.linspace(0.1, 2, 200)))
    true_volatility = 0.2 + 0.1 * np.abs(np.log(share / STRIKE)) + 0.05 / years
    greeks(share, true_volatility, years)
    begin = time.perf_counter()
    for _ in progress_bar(ROUNDS, "greeks"):
        values = [t.numpy() for t in greeks(share, true_volatility, years)]
    seconds = time.perf_counter() - begin
    found = implied_volatility(values[0], share, years)

    # Far from the strike, the price hardly depends on the volatility.
    sensitive = values[3] > 1.0
    error = np.abs(found - true_volatility)[sensitive].max()
    figure = Figure(figsize=(12, 6), layout="constrained")
    shown = dict(zip(("price", "delta", "gamma", "vega"), values, strict=True))
    shown |= {"true volatility": true_volatility, "volatility found": np.where(sensitive, found, np.nan)}
    for axes, (name, surface) in zip(figure.subplots(2, 3).flat, shown.items(), strict=True):
        picture = axes.pcolormesh(
            share.reshape(200, 300), years.reshape(200, 300), surface.reshape(200, 300), cmap="viridis"
        )
        axes.set(title=name, xlabel="share", ylabel="years")
        figure.colorbar(picture, ax=axes)
    results = {
        "options with all greeks": f"{ROUNDS * share.size / seconds:,.0f} per second",
        "error of the volatility": f"{error:.1e}   (where vega > 1)",
    }
    finish(figure, output, results, "jittape demo hmc, or add theta to greeks in jittape/demo/greeks_demo.py")
