"""
Speed over time
===============

``asv_bench/goals.py`` lists goals of speed, and ``asv_bench/history.py`` measures them on several commits. The commits take
turns, and each turn runs in a new process. Times are processor times; *JAX* and *hand* are multiples of the time of JAX's
jitted function and of hand-written Numba code in the same process. Each number is the median over the turns. This page draws
the stored results: below the dashed line, a goal is met.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

sys.path.append("../../asv_bench")
from goals import SECTIONS

history = json.loads(Path("../../asv_bench/history.json").read_text())
commits = history["commits"]
print(history["command"])
print(history["machine"])
for commit in commits:
    print(commit["commit"], commit["date"][:10], commit["subject"])


def draw(section):
    """Draw each number of a section as a multiple of its goal, by commit, and print the newest numbers."""
    _, ax = plt.subplots(figsize=(8, 3.2))
    for goal in SECTIONS[section]:
        multiples = {
            c["commit"]: c["numbers"][goal.title] / goal.limit
            for c in commits
            if goal.title in c["numbers"]
        }
        ax.plot(list(multiples), list(multiples.values()), "o-", label=goal.title)
        newest = commits[-1]["numbers"].get(goal.title, "-")
        print(f"{goal.title:36} {newest:>8} {goal.unit}, goal {goal.limit}")
    ax.axhline(1, color="gray", linestyle="--")
    ax.set_yscale("log")
    ax.set_ylabel("multiple of the goal")
    ax.legend(bbox_to_anchor=(1.01, 1), loc="upper left", fontsize="small")


# %%
# Recording
# ---------
#
# A hundred equal ops on a path that the tape has seen before. Nothing is computed.

draw("Recording an op on a known path")

# %%
# Loops without ``jt.function``
# -----------------------------
#
# Programs under a plain tape, recorded in each run and read, beside JAX with everything jitted.

draw("Plain tapes beside JAX, jitted")

# %%
# Training steps of a small network, an op whose result is read, and one of many small observations with two Jacobians.

draw("Plain tapes")

# %%
# Long programs
# -------------
#
# An unrolled LSTM of two layers and 1,024 steps (35,000 ops with the gradient). The second call schedules and compiles; in the
# next process it finds the kernels on disk.

draw("Long programs")

# %%
# New lengths and first use
# -------------------------
#
# A training step that meets a new number of rows at each call, and a process from its start to its first gradient.

draw("New lengths and the start of a process")

# %%
# Compiled functions
# ------------------

draw("Compiled functions")

# %%
# ``make bench`` runs all benchmarks on the current commit, and asv stores their results in ``asv_bench/results``.
# :doc:`/performance` compares jittape with other libraries.
