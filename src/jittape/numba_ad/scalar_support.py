"""Functions of numbers that some generated code calls: slopes of special functions, steps of ``checkpoint=``."""

from __future__ import annotations

import math
from typing import Any

from numba import njit

__all__ = ["digamma", "sinc_slope", "state_count", "steps_to_next_state", "trip_count"]


@njit(nogil=True, no_cfunc_wrapper=True)
def digamma(x: Any) -> Any:
    """Return the derivative of ``log(gamma(x))`` (DLMF 5.5.2, 5.5.4 and 5.11.2)."""
    total = 0.0
    y = x
    if y <= 0.0:
        if y == math.floor(y):
            return math.nan
        total -= math.pi / math.tan(math.pi * y)
        y = 1.0 - y
    while y < 8.0:
        total -= 1.0 / y
        y += 1.0
    s = 1.0 / (y * y)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * (691 / 32760))))))
    return total + math.log(y) - 0.5 / y - series


@njit(nogil=True, no_cfunc_wrapper=True)
def sinc_slope(x: Any, value: Any) -> Any:
    """Return the derivative of ``np.sinc(x)``, whose value is given; near zero by its power series."""
    y = math.pi * x
    if abs(y) > 0.3:
        return (math.cos(y) - value) / x
    s = y * y
    return -math.pi * y * (1 / 3 - s * (1 / 30 - s * (1 / 840 - s * (1 / 45360 - s / 3991680))))


@njit(nogil=True, no_cfunc_wrapper=True)
def trip_count(start: Any, stop: Any, step: Any) -> Any:
    """Return the length of a range."""
    return max(0, (stop - start + step - (1 if step > 0 else -1)) // step)


@njit(nogil=True, no_cfunc_wrapper=True)
def state_count(steps: Any) -> Any:
    """Return the least number of states with which the steps of a loop run again at most as many times."""
    count, reach = 1, 2
    while reach < steps:
        count += 1
        reach = reach * (4 * count - 2) // count
    return count


@njit(nogil=True, no_cfunc_wrapper=True)
def steps_to_next_state(steps: Any, free: Any) -> Any:
    """Return after how many of the `steps` that are to be reversed the next state is kept; `free` states are left.

    (Griewank and Walther, Algorithm 799: Revolve, ACM Trans. Math. Software 26, 2000.)
    """
    if free == 0 or steps == 1:
        return steps
    count = free + 1  # with the state before the steps
    # `reach` steps can be reversed with `count` states and `times` runs of a step, `before` with one run less.
    times, reach, before, least = 1, count + 1, 1, 0
    while reach < steps:
        times += 1
        reach, before, least = reach * (count + times) // times, reach, before
    return max(1, least, steps - reach * count // (count + times))
