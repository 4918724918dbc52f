"""The formulas of the learning rate schedules, in double precision, as bodies to be recorded.

A number that was given is weak and would take the dtype of its neighbor; two of them would meet in float32. So each is
made a double first.
"""

from __future__ import annotations

import math
from typing import Any

from jittape.dtypes import float64
from jittape.primitives.arithmetic import add, multiply, subtract
from jittape.primitives.broadcast import cast_to
from jittape.primitives.compare import equal, greater_equal, less, less_equal, where
from jittape.primitives.division import divide
from jittape.primitives.elementwise import log
from jittape.primitives.powers import pow
from jittape.primitives.steps import ceil, floor, minimum
from jittape.primitives.trigonometric import cos

__all__ = [
    "cosine",
    "cosine_after_warmup",
    "cosine_again",
    "cosine_restarted",
    "exponential",
    "inverse_time",
    "piecewise",
    "polynomial",
]


def _doubles(*values: Any) -> list[Any]:
    return [cast_to(value, float64) for value in values]


def _periods(step: Any, length: Any, staircase: bool) -> Any:
    periods = divide(step, length)
    return floor(periods) if staircase else periods


def exponential(step: Any, first: Any, steps: Any, decay: Any, staircase: bool) -> Any:
    """`ExponentialDecay`."""
    step, first, steps, decay = _doubles(step, first, steps, decay)
    return multiply(first, pow(decay, _periods(step, steps, staircase)))


def inverse_time(step: Any, first: Any, steps: Any, decay: Any, staircase: bool) -> Any:
    """`InverseTimeDecay`."""
    step, first, steps, decay = _doubles(step, first, steps, decay)
    return divide(first, add(1.0, multiply(decay, _periods(step, steps, staircase))))


def piecewise(step: Any, *numbers: Any) -> Any:
    """`PiecewiseConstantDecay`: `numbers` are the boundaries, then the values."""
    count = len(numbers) // 2
    step, *numbers = _doubles(step, *numbers)  # type: ignore[assignment]
    rate = numbers[-1]
    for bound, value in zip(
        numbers[count - 1 :: -1] if count else (), numbers[-2 : count - 1 : -1], strict=True
    ):
        rate = where(less_equal(step, bound), value, rate)
    return rate


def polynomial(step: Any, first: Any, steps: Any, last: Any, power: Any, cycle: bool) -> Any:
    """`PolynomialDecay`."""
    step, first, steps, last, power = _doubles(step, first, steps, last, power)
    if cycle:
        steps = multiply(steps, where(equal(step, 0.0), 1.0, ceil(divide(step, steps))))
    else:
        step = minimum(step, steps)
    left = pow(subtract(1.0, divide(step, steps)), power)
    return add(multiply(subtract(first, last), left), last)


def _half_wave(fraction: Any, alpha: Any, height: Any = 1.0) -> Any:
    wave = multiply(multiply(0.5, height), add(1.0, cos(multiply(math.pi, fraction))))
    return add(multiply(subtract(1.0, alpha), wave), alpha)


def cosine(step: Any, first: Any, steps: Any, alpha: Any) -> Any:
    """`CosineDecay` without a warmup."""
    step, first, steps, alpha = _doubles(step, first, steps, alpha)
    return multiply(first, _half_wave(divide(minimum(step, steps), steps), alpha))


def cosine_after_warmup(step: Any, first: Any, steps: Any, alpha: Any, top: Any, rise: Any) -> Any:
    """`CosineDecay` from `top`, after a rise of `rise` steps."""
    step, first, top, rise = _doubles(step, first, top, rise)
    risen = add(first, multiply(subtract(top, first), divide(step, rise)))
    return where(less(step, rise), risen, cosine(subtract(step, rise), top, steps, alpha))


def cosine_again(step: Any, first: Any, steps: Any, m_mul: Any, alpha: Any) -> Any:
    """`CosineDecayRestarts` of equal periods."""
    step, first, steps, m_mul, alpha = _doubles(step, first, steps, m_mul, alpha)
    periods = divide(step, steps)
    begun = floor(periods)
    return multiply(first, _half_wave(subtract(periods, begun), alpha, pow(m_mul, begun)))


def cosine_restarted(step: Any, first: Any, steps: Any, m_mul: Any, alpha: Any, t_mul: Any) -> Any:
    """`CosineDecayRestarts`: the periods end at the geometric sums ``(t_mul**i - 1) / (t_mul - 1)``."""
    step, first, steps, m_mul, alpha, t_mul = _doubles(step, first, steps, m_mul, alpha, t_mul)
    periods = divide(step, steps)
    growth = subtract(t_mul, 1.0)

    def end(i: Any) -> Any:
        return divide(subtract(pow(t_mul, i), 1.0), growth)

    begun = floor(divide(log(add(1.0, multiply(periods, growth))), log(t_mul)))
    # At a restart the quotient may be off by its last digit, and that is one period.
    begun = where(greater_equal(periods, end(add(begun, 1.0))), add(begun, 1.0), begun)
    fraction = divide(subtract(periods, end(begun)), pow(t_mul, begun))
    return multiply(first, _half_wave(fraction, alpha, pow(m_mul, begun)))
