"""Cosine learning rate schedules: each class with its formulas below it (see `decays`)."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.argument_checks import NOT_NEGATIVE, POSITIVE, number, optional_number
from jittape.core.primitive import apply
from jittape.optimizers.schedules.decays import doubles
from jittape.optimizers.schedules.rates import LearningRateSchedule
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater_equal, less, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.piecewise import floor, minimum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.elementwise.trigonometric import cos
from jittape.typing import Tensor, TensorLike

__all__ = ["CosineDecay", "CosineDecayRestarts"]


def _half_wave(fraction: Any, alpha: Any, height: Any = 1.0) -> Any:
    wave = multiply(multiply(0.5, height), add(1.0, cos(multiply(math.pi, fraction))))
    return add(multiply(subtract(1.0, alpha), wave), alpha)


class CosineDecay(LearningRateSchedule):
    """Half a period of a cosine, after an optional linear warmup (Loshchilov and Hutter, ICLR 2017).

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : float
        Greater than 0. Number of steps of the decay, without the warmup.
    alpha : float, default 0.0
        The last rate as a fraction of the highest.
    name : str, optional
    warmup_target : float, optional
        Learning rate at the end of the warmup, where the decay starts. None means no warmup.
    warmup_steps : float, default 0
        Number of steps of the warmup.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> schedule = jt.optimizers.schedules.CosineDecay(0.0, 100, warmup_target=0.5, warmup_steps=10)
    >>> [float(schedule(step)) for step in (0, 5, 10, 60, 110)]
    [0.0, 0.25, 0.5, 0.25, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        name: str = "CosineDecay",
        warmup_target: float | None = None,
        warmup_steps: float = 0,
    ) -> None:
        self.initial_learning_rate = number(
            name, "initial_learning_rate", initial_learning_rate, NOT_NEGATIVE
        )
        self.decay_steps = number(name, "decay_steps", decay_steps, POSITIVE)
        self.alpha = number(name, "alpha", alpha, NOT_NEGATIVE)
        self.name = name
        self.warmup_target = optional_number(name, "warmup_target", warmup_target, NOT_NEGATIVE)
        self.warmup_steps = number(name, "warmup_steps", warmup_steps, NOT_NEGATIVE)

    def __call__(self, step: TensorLike) -> Tensor:
        """Return the learning rate after `step` steps, as float64."""
        operands = (step, self.initial_learning_rate, self.decay_steps, self.alpha)
        if self.warmup_target is None:
            return apply(_cosine, operands)
        return apply(_cosine_after_warmup, (*operands, self.warmup_target, self.warmup_steps))


def _cosine(step: Any, first: Any, steps: Any, alpha: Any) -> Any:
    """Return the rate without a warmup."""
    step, first, steps, alpha = doubles(step, first, steps, alpha)
    return multiply(first, _half_wave(divide(minimum(step, steps), steps), alpha))


def _cosine_after_warmup(step: Any, first: Any, steps: Any, alpha: Any, top: Any, rise: Any) -> Any:
    """Return the rate with a warmup of `rise` steps to `top`."""
    step, first, top, rise = doubles(step, first, top, rise)
    risen = add(first, multiply(subtract(top, first), divide(step, rise)))
    return where(less(step, rise), risen, _cosine(subtract(step, rise), top, steps, alpha))


class CosineDecayRestarts(LearningRateSchedule):
    """A cosine decay with restarts and growing periods (SGDR: Loshchilov and Hutter, ICLR 2017).

    Parameters
    ----------
    initial_learning_rate : float
    first_decay_steps : float
        Greater than 0. Steps of the first period.
    t_mul : float, default 2.0
        Factor between the lengths of successive periods; at least 1.
    m_mul : float, default 1.0
        Factor between the initial rates of successive periods.
    alpha : float, default 0.0
        The lowest rate as a fraction of the first.
    name : str, optional

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> schedule = jt.optimizers.schedules.CosineDecayRestarts(0.5, first_decay_steps=10, m_mul=0.5)
    >>> [round(float(schedule(step)), 12) for step in (0, 5, 10, 20, 30)]
    [0.5, 0.25, 0.25, 0.125, 0.125]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: float,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str = "SGDRDecay",
    ) -> None:
        self.initial_learning_rate = number(
            name, "initial_learning_rate", initial_learning_rate, NOT_NEGATIVE
        )
        self.first_decay_steps = number(name, "first_decay_steps", first_decay_steps, POSITIVE)
        self.t_mul = number(name, "t_mul", t_mul, POSITIVE)
        self.m_mul = number(name, "m_mul", m_mul, NOT_NEGATIVE)
        self.alpha = number(name, "alpha", alpha, NOT_NEGATIVE)
        self.name = name
        if self.t_mul < 1.0:
            raise ValueError(
                f"{name}: `t_mul` must be at least 1, got {self.t_mul}: the periods would come to an end"
            )

    def __call__(self, step: TensorLike) -> Tensor:
        """Return the learning rate after `step` steps, as float64."""
        operands = (step, self.initial_learning_rate, self.first_decay_steps, self.m_mul, self.alpha)
        if self.t_mul == 1.0:
            return apply(_cosine_again, operands)
        return apply(_cosine_restarted, (*operands, self.t_mul))


def _cosine_again(step: Any, first: Any, steps: Any, m_mul: Any, alpha: Any) -> Any:
    """Return the rate for equal periods."""
    step, first, steps, m_mul, alpha = doubles(step, first, steps, m_mul, alpha)
    periods = divide(step, steps)
    begun = floor(periods)
    return multiply(first, _half_wave(subtract(periods, begun), alpha, pow(m_mul, begun)))


def _cosine_restarted(step: Any, first: Any, steps: Any, m_mul: Any, alpha: Any, t_mul: Any) -> Any:
    """Return the rate for periods that end at the geometric sums ``(t_mul**i - 1) / (t_mul - 1)``."""
    step, first, steps, m_mul, alpha, t_mul = doubles(step, first, steps, m_mul, alpha, t_mul)
    periods = divide(step, steps)
    growth = subtract(t_mul, 1.0)

    def end(i: Any) -> Any:
        return divide(subtract(pow(t_mul, i), 1.0), growth)

    begun = floor(divide(log(add(1.0, multiply(periods, growth))), log(t_mul)))
    # At a restart, an error in the last digit of the quotient would change the period.
    begun = where(greater_equal(periods, end(add(begun, 1.0))), add(begun, 1.0), begun)
    fraction = divide(subtract(periods, end(begun)), pow(t_mul, begun))
    return multiply(first, _half_wave(fraction, alpha, pow(m_mul, begun)))
