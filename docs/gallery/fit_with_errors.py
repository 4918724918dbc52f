"""
A fit with errors
=================

Counts decay with time. ``jt.fit`` returns the parameters and their errors from the exact Hessian. The profile likelihood of
the lifetime is not a parabola, so its interval is not symmetric.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt


def decay(p, t):
    return p["height"] * jt.exp(-t / p["life"]) + p["background"]


rng = np.random.default_rng(2)
t = np.linspace(0, 5, 21)
counts = rng.poisson(40 * np.exp(-t / 1.2) + 6)
found = jt.fit(
    decay, (t, counts), {"height": 30.0, "life": 1.0, "background": 5.0}, loss="poisson"
)
print(found)

life, error = found.params["life"], found.errors["life"]
values = np.linspace(life - 2 * error, life + 3 * error, 40)
losses = found.profile("life", values).difference

fine = np.linspace(0, 5, 200)
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.errorbar(t, counts, np.sqrt(counts), fmt=".", label="counts")
left.plot(fine, decay(found.params, fine).numpy(), label="fit")
left.set_xlabel("time")
left.legend()
right.plot(values, losses, label="profile likelihood")
right.plot(values, ((values - life) / error) ** 2, "--", label="parabola of the Hessian")
right.axhline(1.0, color="gray", lw=0.8)  # one standard error
right.set_xlabel("lifetime")
right.legend()
