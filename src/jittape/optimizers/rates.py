"""The learning rate of an optimizer: a Variable, a schedule, or a function of the user's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.core.traced_scalar import TracedScalar
from jittape.optimizers.argument_checks import NOT_NEGATIVE, number
from jittape.primitives.broadcast import cast_to
from jittape.recording.function_trace import read_each_call
from jittape.recording.operators import Operators
from jittape.recording.variable import Variable
from jittape.typing import TensorLike

__all__ = ["LearningRateSchedule", "Rate", "checked_rate", "in_dtype", "rate_from", "rate_now"]

Rate = Variable | Callable[..., Any]


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


def rate_from(owner: str, value: Any, name: str = "") -> Rate:
    """What `value` is as a learning rate.

    Parameters
    ----------
    owner : str
        The optimizer's class.
    value : float, Variable, tensor, LearningRateSchedule or callable
        A number or tensor becomes a float64 Variable of the optimizer's own, a Variable is taken itself.
    name : str
        For that Variable.

    Raises
    ------
    TypeError
        If it is none of these, or has dimensions or another dtype than floating point.
    ValueError
        If it is negative, nan or infinite.
    """
    if isinstance(value, (Operators, TracedScalar)):
        if value.shape or np.dtype(value.dtype).kind not in "fiu":
            raise TypeError(
                f"{owner}: `learning_rate` must be a single number, got {value.dtype.name} of shape {value.shape}"
            )
        if isinstance(value, Variable) and value.dtype.kind == "f":
            return value
    elif callable(value):
        return value
    else:
        value = number(owner, "learning_rate", value, NOT_NEGATIVE)
    return Variable(value, trainable=False, name=name, dtype=float64)


def checked_rate(owner: str, value: Any) -> Any:
    """`value` if it can be assigned to a learning rate; a tensor will be checked by the assignment."""
    return (
        value
        if isinstance(value, (Operators, TracedScalar))
        else number(owner, "learning_rate", value, NOT_NEGATIVE)
    )


def rate_now(rate: Rate, iterations: Variable) -> Any:
    """The learning rate of the step that comes next."""
    if isinstance(rate, Variable):
        return rate
    if isinstance(rate, LearningRateSchedule) or _takes_step(rate):
        now = rate(iterations)
    else:
        now = read_each_call(rate, "learning_rate")
    array = isinstance(now, (Operators, np.ndarray, np.generic))
    if now.shape if array else not isinstance(now, (int, float)):
        raise TypeError(f"the learning rate must be a single number, but {rate!r} gave {now!r}")
    return now


def _takes_step(rate: Callable[..., Any]) -> bool:
    """Whether a function of the user's wants to know the number of steps done."""
    try:
        parameters = inspect.signature(rate).parameters.values()
    except ValueError:
        return False
    return any(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters
    )


def in_dtype(value: Any, dtype: np.dtype[Any]) -> Any:
    """`value` cast to `dtype`; a number fits any."""
    if isinstance(value, (int, float, TracedScalar)) or value.dtype == dtype:
        return value
    return apply(_cast, (value,), (dtype,))


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    return cast_to(value, dtype)
