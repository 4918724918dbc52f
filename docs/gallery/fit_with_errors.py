"""
A fit with errors and a profile
===============================

``jt.fit`` computes the errors of the parameters from the exact Hessian. The profile likelihood of the
half-life is not a parabola, so its interval is not symmetric.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

rng = np.random.default_rng(7)
time = np.linspace(0.0, 6.0, 25)
counts = rng.poisson(40.0 * 0.5 ** (time / 1.3) + 6.0)


def decay(p, t):
    return p["height"] * 0.5 ** (t / p["half_life"]) + p["background"]


start = {"height": 30.0, "half_life": 1.0, "background": 1.0}
found = jt.fit(decay, (time, counts), start, loss="poisson")
print(found)

fine = np.linspace(0.0, 6.0, 200)
mean, error = found.propagate(lambda p: decay(p, jt.constant(fine)))
low, high = found.interval("half_life")
profile = found.profile("half_life", np.linspace(0.55, 2.6, 40))
parabola = ((profile.values - found.params["half_life"]) / found.errors["half_life"]) ** 2

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.errorbar(time, counts, np.sqrt(counts), fmt=".", color="gray")
left.plot(fine, mean)
left.fill_between(fine, mean - error, mean + error, alpha=0.3)
left.set(xlabel="time", ylabel="counts", title="fit and its standard error")
right.plot(profile.values, profile.difference, label="profile likelihood")
right.plot(profile.values, parabola, "--", label="from the error")
right.axvspan(low, high, alpha=0.2, label=f"68 %: {low:.2f} to {high:.2f}")
right.axhline(1.0, color="gray", lw=0.8)
right.set(ylim=(0, 9), xlabel="half-life", ylabel="twice the drop of the log likelihood")
right.legend()
fig.tight_layout()
