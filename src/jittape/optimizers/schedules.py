"""Learning rates that change with the step: functions of the number of steps done, in double precision.

They are written in jittape operations on the optimizer's `iterations`, so a schedule is a part of the compiled step and
costs a few scalar instructions. Formulas and argument names are those of ``tf.keras.optimizers.schedules``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jittape.optimizers.checks import FINITE, NOT_NEGATIVE, POSITIVE, flag, number, optional_number
from jittape.optimizers.decays import (
    cosine,
    cosine_after_warmup,
    cosine_again,
    cosine_restarted,
    exponential,
    inverse_time,
    piecewise,
    polynomial,
)
from jittape.primitive import apply
from jittape.typing import Tensor, TensorLike

__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LearningRateSchedule",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "deserialize",
    "serialize",
]


class LearningRateSchedule:
    """Base class of schedules: an object that is called with the number of steps done.

    A schedule of your own defines ``__call__(step)``, with `step` a scalar tensor or a number, and returns a scalar. To
    be stored it must have attributes named like the arguments that it is made with, or a `get_config` of its own.

    Examples
    --------
    >>> class Harmonic(jt.optimizers.schedules.LearningRateSchedule):
    ...     def __init__(self, first):
    ...         self.first = first
    ...
    ...     def __call__(self, step):
    ...         return self.first / (step + 1.0)
    >>> w, optimizer = jt.Variable(0.0), jt.optimizers.SGD(Harmonic(0.5))
    >>> for _ in range(2):
    ...     _ = optimizer.apply_gradients([(-1.0, w)])
    >>> float(w)
    0.75
    """

    def __call__(self, step: TensorLike) -> Any:
        """The learning rate after `step` steps."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(step)")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a schedule: its attributes, unless a subclass says otherwise."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> LearningRateSchedule:
        """A schedule from what `get_config` gave."""
        return cls(**config)


class ExponentialDecay(LearningRateSchedule):
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
        self.initial_learning_rate = number(
            name, "initial_learning_rate", initial_learning_rate, NOT_NEGATIVE
        )
        self.decay_steps = number(name, "decay_steps", decay_steps, POSITIVE)
        self.decay_rate = number(name, "decay_rate", decay_rate, NOT_NEGATIVE)
        self.staircase = flag(name, "staircase", staircase)
        self.name = name

    def __call__(self, step: TensorLike) -> Tensor:
        """The learning rate after `step` steps, float64."""
        operands = (step, self.initial_learning_rate, self.decay_steps, self.decay_rate)
        return apply(exponential, operands, (self.staircase,))


class InverseTimeDecay(LearningRateSchedule):
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
        self.initial_learning_rate = number(
            name, "initial_learning_rate", initial_learning_rate, NOT_NEGATIVE
        )
        self.decay_steps = number(name, "decay_steps", decay_steps, POSITIVE)
        self.decay_rate = number(name, "decay_rate", decay_rate, NOT_NEGATIVE)
        self.staircase = flag(name, "staircase", staircase)
        self.name = name

    def __call__(self, step: TensorLike) -> Tensor:
        """The learning rate after `step` steps, float64."""
        operands = (step, self.initial_learning_rate, self.decay_steps, self.decay_rate)
        return apply(inverse_time, operands, (self.staircase,))


class PiecewiseConstantDecay(LearningRateSchedule):
    """``values[0]`` up to and with step ``boundaries[0]``, then ``values[1]`` up to and with ``boundaries[1]``, ...

    Parameters
    ----------
    boundaries : sequence of numbers
        Increasing.
    values : sequence of float
        One more than `boundaries`.
    name : str, optional

    Examples
    --------
    >>> schedule = jt.optimizers.schedules.PiecewiseConstantDecay([100, 200], [0.1, 0.05, 0.01])
    >>> [float(schedule(step)) for step in (100, 101, 201)]
    [0.1, 0.05, 0.01]
    """

    def __init__(
        self, boundaries: Sequence[float], values: Sequence[float], name: str = "PiecewiseConstant"
    ) -> None:
        self.boundaries = [number(name, f"boundaries[{i}]", b, FINITE) for i, b in enumerate(boundaries)]
        self.values = [number(name, f"values[{i}]", v, NOT_NEGATIVE) for i, v in enumerate(values)]
        self.name = name
        if len(self.boundaries) != len(self.values) - 1:
            raise ValueError(
                f"{name}: The length of boundaries should be 1 less than the length of values, "
                f"got {len(self.boundaries)} boundaries and {len(self.values)} values"
            )
        if self.boundaries != sorted(set(self.boundaries)):
            raise ValueError(f"{name}: `boundaries` must increase, got {list(boundaries)}")

    def __call__(self, step: TensorLike) -> Tensor:
        """The learning rate after `step` steps, float64."""
        return apply(piecewise, (step, *self.boundaries, *self.values))


class PolynomialDecay(LearningRateSchedule):
    """From the initial to the end value as ``(1 - step / decay_steps) ** power``.

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : float
        Greater than 0. After so many steps the rate stays what it is.
    end_learning_rate : float, default 0.0001
    power : float, default 1.0
        At least 0.
    cycle : bool, default False
        After `decay_steps` begin again, with a decay over the next multiple of them.
    name : str, optional

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
        """The learning rate after `step` steps, float64."""
        operands = (step, self.initial_learning_rate, self.decay_steps, self.end_learning_rate, self.power)
        return apply(polynomial, operands, (self.cycle,))


class CosineDecay(LearningRateSchedule):
    """Half a period of a cosine, after a linear rise if there is a `warmup_target` (Loshchilov and Hutter, ICLR 2017).

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : float
        Greater than 0. The steps of the decay, those of the warmup not counted.
    alpha : float, default 0.0
        The last rate as a fraction of the highest.
    name : str, optional
    warmup_target : float, optional
        Where the rise from `initial_learning_rate` ends and the decay begins; None: there is no rise.
    warmup_steps : float, default 0
        The steps of the rise.

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
        """The learning rate after `step` steps, float64."""
        operands = (step, self.initial_learning_rate, self.decay_steps, self.alpha)
        if self.warmup_target is None:
            return apply(cosine, operands)
        return apply(cosine_after_warmup, (*operands, self.warmup_target, self.warmup_steps))


class CosineDecayRestarts(LearningRateSchedule):
    """A cosine decay that begins again and again, each time longer (SGDR: Loshchilov and Hutter, ICLR 2017).

    Parameters
    ----------
    initial_learning_rate : float
    first_decay_steps : float
        Greater than 0. Steps of the first period.
    t_mul : float, default 2.0
        Each period is so many times as long as the one before; at least 1.
    m_mul : float, default 1.0
        Each begins at so many times the rate of the one before.
    alpha : float, default 0.0
        The lowest rate as a fraction of the first.
    name : str, optional

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
        """The learning rate after `step` steps, float64."""
        operands = (step, self.initial_learning_rate, self.first_decay_steps, self.m_mul, self.alpha)
        if self.t_mul == 1.0:
            return apply(cosine_again, operands)
        return apply(cosine_restarted, (*operands, self.t_mul))


# ---- as data ---------------------------------------------------------------------------------------------------------

_CLASSES: tuple[type[LearningRateSchedule], ...] = (
    CosineDecay,
    CosineDecayRestarts,
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)


def serialize(learning_rate_schedule: Any) -> dict[str, Any]:
    """The schedule as a dict of plain values.

    Parameters
    ----------
    learning_rate_schedule : LearningRateSchedule

    Returns
    -------
    dict
        ``{"class_name": ..., "config": ...}``

    Raises
    ------
    TypeError
        If it is no schedule.

    Examples
    --------
    >>> schedules = jt.optimizers.schedules
    >>> stored = schedules.serialize(schedules.InverseTimeDecay(0.1, 10, 1.0))
    >>> stored["class_name"], float(schedules.deserialize(stored)(10))
    ('InverseTimeDecay', 0.05)
    """
    if not isinstance(learning_rate_schedule, LearningRateSchedule):
        raise TypeError(
            f"a {type(learning_rate_schedule).__name__} cannot be stored as a learning rate; "
            "make it a jt.optimizers.schedules.LearningRateSchedule with get_config()"
        )
    return {
        "class_name": type(learning_rate_schedule).__name__,
        "config": learning_rate_schedule.get_config(),
    }


def deserialize(
    config: Mapping[str, Any], custom_objects: Mapping[str, type[LearningRateSchedule]] | None = None
) -> LearningRateSchedule:
    """A schedule from what `serialize` gave.

    Parameters
    ----------
    config : dict
    custom_objects : dict, optional
        Classes of your own, by name.

    Raises
    ------
    ValueError
        If there is no such class.
    """
    classes = {cls.__name__: cls for cls in _CLASSES} | dict(custom_objects or {})
    name = config["class_name"]
    if name not in classes:
        raise ValueError(
            f"there is no schedule {name!r}; there are {', '.join(sorted(classes))}, or give custom_objects"
        )
    return classes[name].from_config(config["config"])
