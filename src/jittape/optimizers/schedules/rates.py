"""Learning rates of optimizers: a Variable, a schedule, or a user function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jittape.core.argument_checks import NOT_NEGATIVE, number
from jittape.core.builder import WeakScalar
from jittape.core.dtypes import float64, is_floating, kind_of
from jittape.core.primitive import apply
from jittape.core.traced_scalar import TracedScalar
from jittape.primitives.broadcast import cast_to
from jittape.recording.function_trace import read_each_call
from jittape.recording.operators import Operators
from jittape.recording.variable import Variable
from jittape.typing import TensorLike

__all__ = [
    "LearningRateSchedule",
    "Rate",
    "checked_rate",
    "in_dtype",
    "own_variable",
    "rate_from",
    "rate_now",
]

Rate = Variable | Callable[..., Any]


class LearningRateSchedule:
    """Base class of schedules, which are called with the number of completed steps.

    A custom schedule defines ``__call__(step)``, where `step` is a scalar tensor or a number, and returns a scalar. To
    be serialized, it must have attributes named like its constructor arguments, or its own `get_config`.

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
        """Return the learning rate after `step` steps."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(step)")

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments: the attributes, unless a subclass overrides this method."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> LearningRateSchedule:
        """Create a schedule from the result of `get_config`."""
        return cls(**config)


def own_variable(optimizer: str, name: str, value: Any, dtype: Any) -> Variable:
    """Return a new Variable of an optimizer's state, with the path that Keras gives it: ``adam/iteration``."""
    variable = Variable(value, trainable=False, name=name, dtype=dtype)
    variable.name, variable._path = name, f"{optimizer}/{name}"
    return variable


def rate_from(owner: str, value: Any, optimizer: str = "") -> Rate:
    """Return `value` as a learning rate.

    Parameters
    ----------
    owner : str
        Name of the optimizer's class, for errors.
    value : float, Variable, tensor, LearningRateSchedule or callable
        A number or tensor becomes a new float64 Variable; a Variable is used directly.
    optimizer : str
        Name of the optimizer, a part of the path of a new Variable.

    Raises
    ------
    TypeError
        If it has another type, dimensions, or a dtype that is not floating.
    ValueError
        If it is negative, nan or infinite.
    """
    if isinstance(value, (Operators, TracedScalar)):
        if value.shape or kind_of(np.dtype(value.dtype)) not in "fiu":
            raise TypeError(
                f"{owner}: `learning_rate` must be a single number, got {value.dtype.name} of shape {value.shape}"
            )
        if isinstance(value, Variable) and is_floating(value.aval.dtype):
            return value
    elif callable(value):
        return value
    else:
        value = number(owner, "learning_rate", value, NOT_NEGATIVE)
    return own_variable(optimizer, "learning_rate", value, float64)


def checked_rate(owner: str, value: Any) -> Any:
    """Return `value` if it is a valid learning rate; the assignment checks tensors."""
    return (
        value
        if isinstance(value, (Operators, TracedScalar))
        else number(owner, "learning_rate", value, NOT_NEGATIVE)
    )


def rate_now(rate: Rate, iterations: Variable) -> Any:
    """Return the learning rate of the next step."""
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
    """Return whether a user function takes the number of completed steps."""
    try:
        parameters = inspect.signature(rate).parameters.values()
    except ValueError:
        return False
    return any(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters
    )


def in_dtype(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return `value` cast to `dtype`; a number is returned unchanged."""
    if isinstance(value, (int, float, TracedScalar, WeakScalar)) or value.dtype == dtype:
        return value
    return apply(_cast, (value,), (dtype,))


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    return cast_to(value, dtype)
