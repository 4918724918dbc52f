"""`jt.plot.roofline`: how close the lines of a profile come to what the machine can do."""

from __future__ import annotations

from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from jittape.plot.chart_axes import new_axes
from jittape.profiling.bandwidth import measured_bandwidth
from jittape.profiling.profile import Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["roofline"]

_ORDER, _ROUNDS = 384, 40
"""Order of the matrices whose product measures the arithmetic of the machine, and the number of products."""


def roofline(profile: Profile, ax: Axes | None = None) -> Axes:
    """Plot the speed of the source lines of a profile against their operations per byte, in logarithmic scales.

    The roof is the speed that this machine can reach: the slope is its measured memory bandwidth, the flat part the
    speed of a product of float32 matrices. A line below the slope waits for memory; fewer passes over the data make it
    faster. A line above the slope has its data in the cache. A line below the flat part waits for arithmetic. A line
    far below both waits for something else: small arrays or steps that run with NumPy.

    Parameters
    ----------
    profile : Profile
        A finished profile of `jt.profile`.
    ax : matplotlib.axes.Axes, optional
        Axes to plot into; new ones without it.

    Returns
    -------
    matplotlib.axes.Axes
        One point per line with arithmetic operations.

    Raises
    ------
    TypeError
        If `profile` is not a profile.
    RuntimeError
        If the block of the profile has not ended.

    Notes
    -----
    The model is that of S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model
    for multicore architectures", Communications of the ACM 52 (2009). Two short measurements of the machine take 0.2 s,
    once per process.

    Examples
    --------
    >>> import jittape as jt
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> with jt.profile() as p:
    ...     for _ in range(3):
    ...         total = float(jt.reduce_sum(jt.exp(jt.ones([10_000]))))
    >>> jt.plot.roofline(p).get_xlabel()
    'operations per byte'
    """
    if not isinstance(profile, Profile):
        raise TypeError(f"[plot.roofline] the argument must be a jt.profile, not {type(profile).__name__}")
    points = intensities(profile)
    ax = ax or new_axes()
    bandwidth, arithmetic = measured_bandwidth(), measured_arithmetic()
    ridge = arithmetic / bandwidth
    ends = [x for _, x, _ in points] + [ridge]
    grid = np.geomspace(min(ends) / 4, max(ends) * 4, 100)
    ax.loglog(grid, np.minimum(grid * bandwidth, arithmetic), color="black", label="roof")
    for name, x, y in points:
        ax.loglog(x, y, "o")
        ax.annotate(name, (x, y), textcoords="offset points", xytext=(5, 4), fontsize="small")
    ax.set_xlabel("operations per byte")
    ax.set_ylabel("operations per second")
    ax.set_title(f"{bandwidth / 1e9:.0f} GB/s, {arithmetic / 1e9:.0f} billion operations per second")
    return ax


def intensities(profile: Profile) -> list[tuple[str, float, float]]:
    """Return the name of each line with arithmetic, its operations per byte and its operations per second."""
    points = []
    for line in profile.lines:
        seconds = line.forward + line.backward + line.update
        nbytes = line.bandwidth * seconds
        if line.operations and nbytes:
            file = line.file.replace("\\", "/").rpartition("/")[2]
            points.append((f"{file}:{line.line}", line.operations / nbytes, line.operations / seconds))
    return points


@cache
def measured_arithmetic() -> float:
    """Return the operations per second of a product of float32 matrices, the best of several."""
    a = np.ones((_ORDER, _ORDER), np.float32)
    best = float("inf")
    for _ in range(_ROUNDS):
        began = perf_counter()
        a @ a
        best = min(best, perf_counter() - began)
    return 2 * _ORDER**3 / best
