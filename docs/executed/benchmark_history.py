"""
Speed over time
===============

``asv_bench/history.py`` times some benchmarks of ``asv_bench/benchmarks`` on several commits. The commits take turns. Each turn
runs in a new process and counts its smallest processor time. Each point is the median over the turns. This page draws the
stored results.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

history = json.loads(Path("../../asv_bench/history.json").read_text())
commits = history["commits"]
print(history["command"])
print(history["machine"])
for commit in commits:
    print(commit["commit"], commit["date"][:10], commit["subject"])


def draw(names):
    """Draw the times of some benchmarks, in µs, by commit."""
    _, axes = plt.subplots(1, len(names), figsize=(8, 2.8))
    for ax, (name, title) in zip(axes, names.items(), strict=True):
        times = {c["commit"]: c["times"][name] for c in commits if name in c["times"]}
        ax.plot(list(times), list(times.values()), "o-")
        ax.set_ylim(0, 1.15 * max(times.values()))
        ax.set_title(title)
        ax.tick_params(axis="x", rotation=60)
    axes[0].set_ylabel("µs of processor time")


# %%
# Training steps on a tape
# ------------------------
#
# A step of linear regression with 100 points, and a step of the demo's classifier of digits, with Adam written out. Both are
# plain loops under a tape, so the times include the recording.

draw(
    {
        "steps.LinearRegression.step": "linear regression",
        "steps.Digits.time_step": "digits, plain loop",
    }
)

# %%
# Compiled functions
# ------------------
#
# The same classifier as one ``jt.function``, and a call of a function of two arrays of ten numbers, which shows the overhead
# of a call.

draw(
    {
        "function.DigitsStep.time_step": "digits, jt.function",
        "function.Overhead.time_arrays": "call with small arrays",
    }
)

# %%
# Derivatives of functions
# ------------------------
#
# Rosenbrock's function: value and gradient with 1,000 variables, compiled, and the Hessian with 10 variables, recorded at each
# call.

draw(
    {
        "transforms.Rosenbrock.time_value_and_grad": "value and gradient, n = 1,000",
        "transforms.Rosenbrock.time_hessian": "Hessian, n = 10",
    }
)

# %%
# ``make bench`` runs all benchmarks on the current commit, and asv stores their results in ``asv_bench/results``.
# :doc:`/performance` compares jittape with other libraries.
