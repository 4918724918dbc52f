"""Exponential moving averages of Variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.optimizers.state import Stateful
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.division import mod
from jittape.recording.variable import Variable

__all__ = ["AVERAGE", "average"]

AVERAGE = "average"
"""Name of the state with the moving average of a Variable."""


def average(
    optimizer: Stateful,
    variables: Sequence[Variable],
    iterations: Variable,
    momentum: float,
    frequency: int | None,
) -> None:
    """Update the averages of `variables`; every `frequency` steps, assign the averages to the Variables."""
    momentum_now, due = apply(_of_step, (iterations, momentum), (frequency or 0,))
    for variable in variables:
        mean = optimizer.state_of(variable, AVERAGE)
        mean.assign(apply(_averaged, (mean, variable, momentum_now)))
        if frequency is not None:
            variable.assign(apply(_overwritten, (due, mean, variable)))


def _of_step(iterations: Any, momentum: Any, frequency: int) -> tuple[Any, Any]:
    """Return the decay of the averages (0 in the first step), and whether they overwrite the Variables."""
    momentum = where(equal(iterations, 0), 0.0, cast_to(momentum, float64))
    return momentum, equal(mod(add(iterations, 1), frequency), 0) if frequency else None


def _averaged(average: Any, w: Any, momentum: Any) -> Any:
    rest = cast_to(subtract(1.0, momentum), average.dtype)
    return add(multiply(cast_to(momentum, average.dtype), average), multiply(rest, cast_to(w, average.dtype)))


def _overwritten(due: Any, average: Any, w: Any) -> Any:
    return where(due, cast_to(average, w.dtype), w)
