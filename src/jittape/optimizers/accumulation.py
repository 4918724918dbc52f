"""Gradients of several steps, averaged for one update.

In a compiled function the number of the step is not known when it is traced. So every step computes the update, and a
selection keeps the former values until the update is due. The selection is part of the kernel of the update.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jittape.core.dtypes import int64
from jittape.core.primitive import apply
from jittape.optimizers.averages import AVERAGE
from jittape.optimizers.gradient_pairs import Pair
from jittape.optimizers.state import STEP_COUNT, Stateful
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.division import divide, mod
from jittape.recording.variable import Variable

__all__ = [
    "ACCUMULATOR",
    "OF_EVERY_STEP",
    "accumulate",
    "add_accumulator",
    "keep_unless_due",
    "states_of_updates",
    "step_count",
]

ACCUMULATOR = "gradient_accumulator"
"""Name of the state with the sum of the gradients since the last update."""
OF_EVERY_STEP = (ACCUMULATOR, AVERAGE, STEP_COUNT)
"""Names of the state that changes with every step."""


def accumulate(optimizer: Stateful, pairs: list[Pair], steps: int) -> tuple[Any, list[Pair]]:
    """Add gradients to the sums of earlier steps.

    Returns
    -------
    due : tensor of bool
        Whether this is the last of `steps` steps.
    pairs : list of (gradient, Variable)
        The averages if the update is due. The sums begin again after it.
    """
    count = step_count(optimizer)
    due, following = apply(_counted, (count,), (steps,))
    count.assign(following)
    averaged = []
    for gradient, variable in pairs:
        total = optimizer.state_of(variable, ACCUMULATOR)
        mean, rest = apply(_accumulated, (total, gradient, due), (steps,))
        total.assign(rest)
        averaged.append((mean, variable))
    return due, averaged


def add_accumulator(optimizer: Stateful, variable: Variable) -> None:
    """Create the sum of the gradients of `variable`, and the count of steps."""
    optimizer.add_variable_from_reference(variable, ACCUMULATOR)
    step_count(optimizer)


def step_count(optimizer: Stateful) -> Variable:
    """Return the state with the number of steps since the last update."""
    return optimizer.add_variable((), 0, int64, name=STEP_COUNT)


def states_of_updates(state: Mapping[tuple[str, int], Variable]) -> list[Variable]:
    """Return the state that an update changes, and no other step."""
    return [variable for (name, _), variable in state.items() if name not in OF_EVERY_STEP]


def keep_unless_due(due: Any, before: Iterable[tuple[Variable, Any]]) -> None:
    """Assign to each Variable its value of `before` unless `due`."""
    for variable, value in before:
        variable.assign(apply(where, (due, variable, value)))


def _counted(count: Any, steps: int) -> tuple[Any, Any]:
    following = mod(add(count, 1), steps)
    return equal(following, 0), following


def _accumulated(total: Any, gradient: Any, due: Any, steps: int) -> tuple[Any, Any]:
    total = add(total, gradient)
    return divide(total, float(steps)), where(due, 0.0, total)
