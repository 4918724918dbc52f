"""`Stateful`: what an optimizer keeps: its learning rate, and Variables by name and by the Variable they belong to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import float64, info_of
from jittape.core.primitive import active_recorder
from jittape.core.traced_scalar import TracedScalar
from jittape.optimizers.rates import Rate, checked_rate, rate_from, rate_now
from jittape.optimizers.statefile import StateFile
from jittape.recording.operators import Operators
from jittape.recording.trace import begin_step
from jittape.recording.variable import Variable

__all__ = ["Stateful", "work_dtype"]


def work_dtype(variable: Variable) -> np.dtype[Any]:
    """The dtype that `variable` is updated in: squares of small gradients are zero in float16."""
    return info_of(variable.dtype).work


class Stateful(StateFile):
    """The learning rate of an optimizer, and its state for Variables, each known by its place in their order."""

    def __init__(self, name: str, learning_rate: Any) -> None:
        self.name = name
        self._learning_rate: Rate = rate_from(type(self).__name__, learning_rate, f"{name}/learning_rate")
        self.iterations = Variable(0, trainable=False, dtype="int64", name=f"{name}/iterations")
        self._known: list[Variable] = []
        self._positions: dict[int, int] = {}
        self._state: dict[tuple[str, int], Variable] = {}

    # ---- the learning rate -------------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The learning rate: a Variable to read and to assign; of a schedule or a function, its value now.

        It may be set to another number, which is assigned, or to a schedule. Neither makes a new program; only, a
        compiled function goes on with the *kind* of learning rate that it was traced with.
        """
        self._end_step()
        return rate_now(self._learning_rate, self.iterations)

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        rate = self._learning_rate
        if type(value) is float and rate.__class__ is Variable and 0.0 <= value < math.inf:
            rate.assign(value)  # as it is set at every step: 0.6 µs instead of 1.2
            return
        owner = type(self).__name__
        if callable(value) and not isinstance(value, (Operators, TracedScalar)):
            self._learning_rate = rate_from(owner, value)
        elif not isinstance(self._learning_rate, Variable):
            raise TypeError(
                f"{owner} was given a schedule or a function as its `learning_rate`, which is therefore not settable "
                "to a number: make the optimizer with a number, or set another schedule"
            )
        else:
            self._learning_rate.assign(checked_rate(owner, value))

    def _end_step(self) -> None:
        """If a step is recorded but has not run, let it run.

        What is made of the learning rate after a step, as in ``optimizer.learning_rate = optimizer.learning_rate / 2``,
        is then no part of the step's program, which would be another one each time that this is done.
        """
        recorder: Any = active_recorder()
        if self.iterations._assigned_in is recorder and recorder.traced_in is None and not recorder.intervals:
            begin_step()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The optimizer's own state: `iterations`, the learning rate if it is a number, and what `build` made."""
        rate = self._learning_rate
        own = (self.iterations, rate) if isinstance(rate, Variable) else (self.iterations,)
        return (*own, *self._state.values())

    # ---- Variables and what belongs to them --------------------------------------------------------------------------

    def _register(self, variables: Sequence[Variable]) -> None:
        for variable in variables:
            if id(variable) not in self._positions:
                self._positions[id(variable)] = len(self._known)
                self._known.append(variable)

    def knows(self, variable: Variable) -> bool:
        """Whether `build` was given it."""
        return id(variable) in self._positions

    def position(self, variable: Variable) -> int:
        """The place of `variable` in the list that `build` was given."""
        return self._positions[id(variable)]

    _get_variable_index = position  # by which name the optimizers that people write for Keras call it

    def add_variable(
        self, shape: Sequence[int] = (), initializer: Any = 0.0, dtype: Any = None, name: str = "variable"
    ) -> Variable:
        """State that belongs to no Variable.

        Parameters
        ----------
        shape : sequence of int
        initializer : number, array, or callable that gives one
            The first value; a number fills `shape`.
        dtype : dtype, optional
            float64 by default.
        name : str
            State of this name that is there already is given again.
        """
        return self._added((name, -1), tuple(shape), initializer, dtype or float64, f"{self.name}/{name}")

    def add_variable_from_reference(
        self, reference_variable: Variable, name: str = "variable", initializer: Any = 0.0
    ) -> Variable:
        """State of the shape of a Variable, and of its dtype, but float32 for float16: squares do not fit that.

        Parameters
        ----------
        reference_variable : Variable
            One that `build` was given.
        name : str
            Tells it from other state of the same Variable. If it is there already it is given again.
        initializer : number, array, or callable that gives one
            The first value.
        """
        v = reference_variable
        own = f"{self.name}/{v.name.removesuffix(':0')}/{name}"
        return self._added((name, self.position(v)), v.shape, initializer, work_dtype(v), own)

    def add_optimizer_variables(
        self, variables: Sequence[Variable], name: str, initializer: Any = 0.0
    ) -> list[Variable]:
        """`add_variable_from_reference` for each of `variables`, as a list."""
        return [self.add_variable_from_reference(v, name, initializer) for v in variables]

    def _added(
        self, key: tuple[str, int], shape: tuple[int, ...], initializer: Any, dtype: Any, name: str
    ) -> Variable:
        known = self._state.get(key)
        if known is None:
            value = initializer() if callable(initializer) else initializer
            if isinstance(value, (int, float)):
                value = np.full(shape, value, dtype)
            known = self._state[key] = Variable(value, trainable=False, name=name, dtype=dtype)
        return known

    def state_of(self, variable: Variable, name: str) -> Variable:
        """What `add_variable_from_reference` made under this name."""
        return self._state[name, self._positions[id(variable)]]

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._positions = {id(v): i for i, v in enumerate(self._known)}  # copies have identities of their own
