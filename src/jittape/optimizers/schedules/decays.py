"""Decaying learning rate schedules: each class with its formula below it.

The formulas are recorded bodies in double precision. A Python number is weakly typed and takes the dtype of the other
operand, and two of them give float32. Each number is therefore converted to a double first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape.core.argument_checks import FINITE, NOT_NEGATIVE, POSITIVE, Interval, flag, listed, number
from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.optimizers.schedules.rates import LearningRateSchedule
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import equal, less_equal, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import ceil, floor, minimum
from jittape.primitives.elementwise.powers import pow
from jittape.typing import Tensor, TensorLike

__all__ = [
    "ExponentialDecay",
    "InverseTimeDecay",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "doubles",
]


def doubles(*values: Any) -> list[Any]:
    """Return `numbers` in double precision."""
    return [cast_to(value, float64) for value in values]


class _InPeriods(LearningRateSchedule):
    """A decay by a rate per period of steps, continuous or, with a staircase, at the end of each period."""

    def __init__(
        self, initial_learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool, name: str
    ) -> None:
        self.initial_learning_rate = number(
            name, "initial_learning_rate", initial_learning_rate, NOT_NEGATIVE
        )
        self.decay_steps = number(name, "decay_steps", decay_steps, POSITIVE)
        self.decay_rate = number(name, "decay_rate", decay_rate, NOT_NEGATIVE)
        self.staircase = flag(name, "staircase", staircase)
        self.name = name

    def _rate(self, formula: Callable[..., Any], step: TensorLike) -> Tensor:
        operands = (step, self.initial_learning_rate, self.decay_steps, self.decay_rate)
        return apply(formula, operands, (self.staircase,))


class ExponentialDecay(_InPeriods):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``.

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : float
        Greater than 0.
    decay_rate : float
        At least 0.
    staircase : bool, default False
        Round ``step / decay_steps`` down.
    name : str, optional

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> schedule = jt.optimizers.schedules.ExponentialDecay(0.1, decay_steps=100, decay_rate=0.5)
    >>> print(float(schedule(0)), float(schedule(200)))
    0.1 0.025
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "ExponentialDecay",
    ) -> None:
        super().__init__(initial_learning_rate, decay_steps, decay_rate, staircase, name)

    def __call__(self, step: TensorLike) -> Tensor:
        """Return the learning rate after `step` steps, as float64."""
        return self._rate(_exponential, step)


def _exponential(step: Any, first: Any, steps: Any, decay: Any, staircase: bool) -> Any:
    step, first, steps, decay = doubles(step, first, steps, decay)
    return multiply(first, pow(decay, _periods(step, steps, staircase)))


def _periods(step: Any, length: Any, staircase: bool) -> Any:
    periods = divide(step, length)
    return floor(periods) if staircase else periods


class InverseTimeDecay(_InPeriods):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``.

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : float
        Greater than 0.
    decay_rate : float
        At least 0.
    staircase : bool, default False
        Round ``step / decay_steps`` down.
    name : str, optional

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> schedule = jt.optimizers.schedules.InverseTimeDecay(0.1, decay_steps=10, decay_rate=1.0)
    >>> float(schedule(10))
    0.05
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "InverseTimeDecay",
    ) -> None:
        super().__init__(initial_learning_rate, decay_steps, decay_rate, staircase, name)

    def __call__(self, step: TensorLike) -> Tensor:
        """Return the learning rate after `step` steps, as float64."""
        return self._rate(_inverse_time, step)


def _inverse_time(step: Any, first: Any, steps: Any, decay: Any, staircase: bool) -> Any:
    step, first, steps, decay = doubles(step, first, steps, decay)
    return divide(first, add(1.0, multiply(decay, _periods(step, steps, staircase))))


def _numbers(owner: str, name: str, values: Any, allowed: Interval) -> list[float]:
    return [number(owner, f"{name}[{i}]", x, allowed) for i, x in enumerate(listed(owner, name, values))]


class PiecewiseConstantDecay(LearningRateSchedule):
    """``values[0]`` up to and with step ``boundaries[0]``, then ``values[1]`` up to and with ``boundaries[1]``, ...

    Parameters
    ----------
    boundaries : sequence of numbers
        Increasing.
    values : sequence of float
        One more than `boundaries`.
    name : str, optional

    Raises
    ------
    ValueError
        If a value is outside its range, or the numbers of boundaries and values do not fit.

    Examples
    --------
    >>> schedule = jt.optimizers.schedules.PiecewiseConstantDecay([100, 200], [0.1, 0.05, 0.01])
    >>> [float(schedule(step)) for step in (100, 101, 201)]
    [0.1, 0.05, 0.01]
    """

    def __init__(
        self, boundaries: Sequence[float], values: Sequence[float], name: str = "PiecewiseConstant"
    ) -> None:
        self.boundaries = _numbers(name, "boundaries", boundaries, FINITE)
        self.values = _numbers(name, "values", values, NOT_NEGATIVE)
        self.name = name
        if len(self.boundaries) != len(self.values) - 1:
            raise ValueError(
                f"{name}: The length of boundaries should be 1 less than the length of values, "
                f"got {len(self.boundaries)} boundaries and {len(self.values)} values"
            )
        if self.boundaries != sorted(set(self.boundaries)):
            raise ValueError(f"{name}: `boundaries` must increase, got {list(boundaries)}")

    def __call__(self, step: TensorLike) -> Tensor:
        """Return the learning rate after `step` steps, as float64."""
        return apply(_piecewise, (step, *self.boundaries, *self.values))


def _piecewise(step: Any, *numbers: Any) -> Any:
    """Return the value for `step`; `numbers` are the boundaries, then the values."""
    count = len(numbers) // 2
    step, *numbers = doubles(step, *numbers)  # type: ignore[assignment]
    rate = numbers[-1]
    for bound, value in zip(
        numbers[count - 1 :: -1] if count else (), numbers[-2 : count - 1 : -1], strict=True
    ):
        rate = where(less_equal(step, bound), value, rate)
    return rate


class PolynomialDecay(LearningRateSchedule):
    """A decay from the initial to the end value, as ``(1 - step / decay_steps) ** power``.

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : float
        Greater than 0. Number of steps after which the rate is constant.
    end_learning_rate : float, default 0.0001
    power : float, default 1.0
        At least 0.
    cycle : bool, default False
        Restart after `decay_steps`, with a decay over the next multiple of `decay_steps`.
    name : str, optional

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> schedule = jt.optimizers.schedules.PolynomialDecay(0.5, decay_steps=100, end_learning_rate=0.25)
    >>> [float(schedule(step)) for step in (0, 50, 100, 200)]
    [0.5, 0.375, 0.25, 0.25]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str = "PolynomialDecay",
    ) -> None:
        self.initial_learning_rate = number(
            name, "initial_learning_rate", initial_learning_rate, NOT_NEGATIVE
        )
        self.decay_steps = number(name, "decay_steps", decay_steps, POSITIVE)
        self.end_learning_rate = number(name, "end_learning_rate", end_learning_rate, NOT_NEGATIVE)
        self.power = number(name, "power", power, NOT_NEGATIVE)
        self.cycle = flag(name, "cycle", cycle)
        self.name = name

    def __call__(self, step: TensorLike) -> Tensor:
        """Return the learning rate after `step` steps, as float64."""
        operands = (step, self.initial_learning_rate, self.decay_steps, self.end_learning_rate, self.power)
        return apply(_polynomial, operands, (self.cycle,))


def _polynomial(step: Any, first: Any, steps: Any, last: Any, power: Any, cycle: bool) -> Any:
    step, first, steps, last, power = doubles(step, first, steps, last, power)
    if cycle:
        steps = multiply(steps, where(equal(step, 0.0), 1.0, ceil(divide(step, steps))))
    else:
        step = minimum(step, steps)
    left = pow(subtract(1.0, divide(step, steps)), power)
    return add(multiply(subtract(first, last), left), last)
