"""
Options and greeks
==================

An option pays an amount that depends on the price of a share. Its *greeks* are the derivatives of its value; they
show a trader how to limit the risk. This tutorial values options by simulation and computes all greeks with one tape.
"""

# %%
# Paths of a share
# ----------------
#
# In the Black-Scholes model the logarithm of the price is a random walk. The random numbers are drawn once; the paths are
# then a smooth function of the parameters:

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

days, count = 60, 50_000
rng = np.random.default_rng(0)
normals = rng.normal(size=(count // 2, days))
normals = np.concatenate([normals, -normals])  # each path with its mirror image


def paths(share, volatility, rate, years):
    dt = years / days
    moves = (rate - volatility**2 / 2) * dt + volatility * jt.sqrt(dt) * normals
    return share * jt.exp(jt.cumsum(moves, axis=1))


share, volatility, rate, years = (
    jt.constant(v, dtype="float64") for v in (100.0, 0.25, 0.03, 0.5)
)
fig, ax = plt.subplots()
ax.plot(paths(share, volatility, rate, years).numpy()[:60].T, linewidth=0.6)
ax.set_xlabel("step")
ax.set_ylabel("price")

# %%
# A call option
# -------------
#
# A call with strike 105 pays the amount by which the final price of the share exceeds 105, or nothing. Its value is the
# discounted mean of the payments. The tape differentiates the mean with respect to all inputs at once:


def call(prices):
    return jt.maximum(prices[:, -1] - 105.0, 0.0)


@jt.function
def value_of(share, volatility, rate, years):
    return jt.exp(-rate * years) * jt.reduce_mean(
        call(paths(share, volatility, rate, years))
    )


inputs = [share, volatility, rate, years]
with jt.GradientTape() as tape:
    tape.watch(inputs)
    value = value_of(*inputs)
simulated = [value, *tape.gradient(value, inputs)]

# %%
# The value of a call also has a formula, which a tape differentiates too. The two columns agree to the accuracy of the
# simulation:


def normal_cdf(x):
    return 0.5 * (1.0 + jt.math.erf(x / np.sqrt(2.0)))


def formula(share, volatility, rate, years, strike=105.0):
    spread = volatility * jt.sqrt(years)
    d = (jt.math.log(share / strike) + (rate + volatility**2 / 2) * years) / spread
    return share * normal_cdf(d) - strike * jt.exp(-rate * years) * normal_cdf(d - spread)


with jt.GradientTape() as tape:
    tape.watch(inputs)
    value = formula(*inputs)
exact = [value, *tape.gradient(value, inputs)]

print("            simulated  formula")
for name, a, b in zip(
    ["value", "delta", "vega", "rho", "-theta"], simulated, exact, strict=True
):
    print(f"{name:10s} {float(a):10.3f} {float(b):8.3f}")

# %%
# Delta is the derivative with respect to the share, vega to the volatility, rho to the rate. The derivative with respect to
# the remaining time is minus theta.
#
# An option without a formula
# ---------------------------
#
# An *Asian* option pays the amount by which the average price exceeds the strike. Only the payment changes, and the tape
# gives the greeks as before. The pictures show the value and delta for 25 share prices:


@jt.function
def asian(share):
    average = jt.reduce_mean(paths(share, volatility, rate, years), axis=1)
    return jt.exp(-rate * years) * jt.reduce_mean(jt.maximum(average - 105.0, 0.0))


spots = np.linspace(70, 140, 25)
values, deltas = zip(*[jt.value_and_grad(asian)(spot) for spot in spots], strict=True)
with jt.GradientTape() as tape:
    grid = jt.constant(spots)
    tape.watch(grid)
    plain = formula(grid, volatility, rate, years)
plain_delta = tape.gradient(plain, grid)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
left.plot(spots, values, label="Asian")
left.plot(spots, plain.numpy(), "--", label="call")
left.set_title("value")
left.legend()
right.plot(spots, deltas)
right.plot(spots, plain_delta.numpy(), "--")
right.set_title("delta")
for ax in (left, right):
    ax.set_xlabel("share")

# %%
# An average moves less than the last price, so the Asian option is cheaper near its strike.
#
# A payment that jumps
# --------------------
#
# A *digital* option pays 1 if the share ends above the strike. On each path the payment is a constant, so its derivative is
# zero almost everywhere, and the mean of zeros is zero. The derivative of each path is right, but their mean is not the
# derivative of the value:


def digital(share, width):
    last = paths(share, volatility, rate, years)[:, -1]
    if width is None:
        paid = jt.where(last > 105.0, jt.ones_like(last), jt.zeros_like(last))
    else:
        paid = jt.sigmoid((last - 105.0) / width)
    return jt.exp(-rate * years) * jt.reduce_mean(paid)


spot = np.float64(100.0)
step = 1.0
difference = float(digital(spot + step, None) - digital(spot - step, None)) / (2 * step)
jumping = jt.grad(lambda s: digital(s, None), unconnected_gradients="zero")(spot)
print(
    f"difference of two values {difference:.5f}, derivative of the jump {float(jumping):.5f}"
)

# %%
# A smooth payment has a useful derivative. Its *width* is a choice: a wide one is wrong on average, a narrow one is noisy,
# because few paths end where it rises:

exact_delta = jt.grad(
    lambda s: (
        jt.exp(-rate * years)
        * normal_cdf(
            (jt.math.log(s / 105.0) + (rate - volatility**2 / 2) * years)
            / (volatility * jt.sqrt(years))
        )
    )
)(spot)
widths = np.geomspace(0.01, 20, 30)
found = [float(jt.grad(lambda s, w=w: digital(s, w))(spot)) for w in widths]

fig, ax = plt.subplots()
ax.semilogx(widths, found, "o-", markersize=3, label="smoothed")
ax.axhline(float(exact_delta), color="gray", linestyle="--", label="exact delta")
ax.set_xlabel("width in units of the share price")
ax.legend()

# %%
# Hedging
# -------
#
# The seller of a call holds delta shares to balance its changes. Here the seller adjusts the shares on each of the 60 dates,
# for 50,000 paths at once. The profit or loss at the end is the error of the hedge:

delta_of = jt.function(
    jt.grad(lambda s, left: jt.reduce_sum(formula(s, volatility, rate, left)))
)
prices = np.concatenate(
    [np.full((count, 1), 100.0), paths(share, volatility, rate, years).numpy()], axis=1
)
left = float(years) * (1 - np.arange(days) / days)
growth = np.exp(float(rate) * float(years) / days)
cash, held = np.full(count, float(exact[0])), np.zeros(count)
for i in range(days):
    delta = delta_of(prices[:, i], left[i]).numpy()
    cash = (cash - (delta - held) * prices[:, i]) * growth
    held = delta
payment = np.maximum(prices[:, -1] - 105.0, 0.0)
hedged = cash + held * prices[:, -1] - payment
unhedged = float(exact[0]) * growth**days - payment

fig, ax = plt.subplots()
bins = np.linspace(-30, 10, 100)
ax.hist(
    unhedged,
    bins=bins,
    density=True,
    alpha=0.5,
    label=f"not hedged, ± {unhedged.std():.1f}",
)
ax.hist(hedged, bins=bins, density=True, alpha=0.7, label=f"hedged, ± {hedged.std():.2f}")
ax.set_ylim(0, 0.6)
ax.set_xlabel("profit of the seller")
ax.legend()

# %%
# (The picture cuts off the highest bar. It contains the paths on which the option expires worthless and a seller without a
# hedge keeps the premium.)
#
# What to try next
# ----------------
#
# - Adjust the shares every tenth date. By which factor does the error of the hedge grow?
# - A *barrier* option pays nothing if the price ever falls below 90. Which of the two methods above suits its delta?
# - Put a second tape around the first and compute the gamma of the Asian option. Why is it zero on each path?
#
# ``jittape demo greeks`` finds the volatility from observed prices.
