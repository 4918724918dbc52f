"""The learning rate of an optimizer: a Variable, a schedule, or a function of the user's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.dtypes import float64
from jittape.hostnumber import HostNumber
from jittape.optimizers.checks import NOT_NEGATIVE, number
from jittape.optimizers.schedules import LearningRateSchedule
from jittape.primitive import apply
from jittape.primitives.broadcast import cast_to
from jittape.recording.operators import Operators
from jittape.recording.tracing import read_each_call
from jittape.recording.variable import Variable

__all__ = ["Rate", "checked_rate", "in_dtype", "rate_from", "rate_now"]

Rate = Variable | Callable[..., Any]


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
    if isinstance(value, (Operators, HostNumber)):
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
        if isinstance(value, (Operators, HostNumber))
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
    if not isinstance(now, (Operators, HostNumber, int, float, np.ndarray, np.generic)) or np.shape(now):
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
    if isinstance(value, (int, float, HostNumber)) or value.dtype == dtype:
        return value
    return apply(_cast, (value,), (dtype,))


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    return cast_to(value, dtype)
