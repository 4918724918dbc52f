"""`Stateful`: the state of an optimizer, known by name and by the Variable that it belongs to."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.attachments import attached
from jittape.core.dtypes import float64, info_of, int64
from jittape.core.primitive import active_recorder
from jittape.core.traced_scalar import TracedScalar
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.optimizers.schedules.rates import Rate, checked_rate, own_variable, rate_from, rate_now
from jittape.optimizers.statefile import StateFile
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.recording.operators import Operators
from jittape.recording.trace import begin_step
from jittape.recording.variable import Variable

__all__ = ["STEP_COUNT", "Stateful", "work_dtype"]


def work_dtype(variable: Variable) -> np.dtype[Any]:
    """Return the dtype in which `variable` is updated: float32 for float16 and bfloat16."""
    return info_of(variable.aval.dtype).work


_NAMED = {"zeros": 0.0, "ones": 1.0}
"""Initial values of state by name."""

STEP_COUNT = "accumulated_steps"
"""Name of the state with the number of steps since the last update."""

_AGGREGATIONS = ("none", "mean", "sum", "only_first_replica", None)
"""Aggregations of Keras over devices; there is one device."""


@with_foreign_names(ATTRIBUTES_LEFT_OUT["keras.optimizers.Optimizer"])
class Stateful(StateFile):
    """The learning rate of an optimizer and its state; Variables are known by their position."""

    _groups: tuple[tuple[str, ...], ...] = ()
    """Names of state in the order of `variables`; the states of a group alternate, Variable by Variable."""

    def __init__(self, name: str, learning_rate: Any) -> None:
        self.name = name
        self._learning_rate: Rate = rate_from(type(self).__name__, learning_rate, name)
        self.iterations = own_variable(name, "iteration", 0, int64)
        self._known: list[Variable] = []
        self._positions: dict[int, int] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}
        self._state: dict[tuple[str, int], Variable] = {}

    # ---- the learning rate -------------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The learning rate: a Variable to read and to assign, or the current value of a schedule or function.

        It may be set to a number, which is assigned, or to a schedule. Neither creates a new program, but a
        compiled function keeps the *kind* of learning rate that it was traced with.
        """
        self._end_step()
        return self._rate_now()

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        rate = self._learning_rate
        if type(value) is float and rate.__class__ is Variable and 0.0 <= value < math.inf:
            rate.assign(value)  # it may be set at every step: 0.6 µs instead of 1.2 µs
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

    def _rate_now(self) -> Any:
        """Return the learning rate of the next step; a schedule counts calls of `apply_gradients`, as in Keras."""
        since_update = self._state.get((STEP_COUNT, -1))
        calls: Any = self.iterations
        if since_update is not None:
            steps: int = self.gradient_accumulation_steps  # type: ignore[attr-defined]
            calls = add(multiply(calls, steps), since_update)
        return rate_now(self._learning_rate, calls)

    def _end_step(self) -> None:
        """Run a recorded step that has not run yet.

        Otherwise arithmetic on the learning rate after a step, as in ``optimizer.learning_rate =
        optimizer.learning_rate / 2``, would become part of the step's program and create a new program.
        """
        recorder: Any = active_recorder()
        if self.iterations._assigned_in is recorder and recorder.traced_in is None and not recorder.intervals:
            begin_step()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The state of the optimizer: `iterations`, the learning rate if it is a number, and the state from `build`."""
        rate = self._learning_rate
        own = (self.iterations, rate) if isinstance(rate, Variable) else (self.iterations,)
        return (*own, *[variable for _, variable in sorted(self._state.items(), key=self._place)])

    def _place(self, item: tuple[tuple[str, int], Variable]) -> tuple[int, int, int]:
        """Return the place in `variables` of a state that Keras has; other state follows in its order of creation."""
        (name, position), _ = item
        groups = (("average",), ("gradient_accumulator",), *self._groups)
        for i, group in enumerate(groups):
            if name in group:
                return i, position, group.index(name)
        return len(groups), 0, 0

    def state_by_name(self) -> dict[str, Variable]:
        """Return the state as ``0.iterations``, ``2.velocity``, ..., independent of the attributes that hold it.

        Files have these names. The numbers follow the order of creation, but the count of accumulated steps is last.
        """
        named = [("iterations", self.iterations)]
        if isinstance(self._learning_rate, Variable):
            named.append((self._learning_rate.name, self._learning_rate))
        state = sorted(self._state.items(), key=lambda item: item[0][0] == STEP_COUNT)
        named += [(name, variable) for (name, _), variable in state]
        last = [(name.partition(":")[0].rpartition("/")[2], variable) for name, variable in named]
        return {f"{i}.{name}": variable for i, (name, variable) in enumerate(last)}

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """Return the values of `variables` as arrays.

        Examples
        --------
        >>> [array.tolist() for array in jt.optimizers.SGD(0.5).get_weights()]
        [0, 0.5]
        """
        return [variable.numpy() for variable in self.variables]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Assign values to `variables`, as `get_weights` gave them. Build a new optimizer first.

        Raises
        ------
        ValueError
            If the number of values or a shape differs. Nothing is changed in this case.
        """
        variables, arrays = self.variables, [np.asarray(weight) for weight in weights]
        if [a.shape for a in arrays] != [v.aval.shape for v in variables]:
            raise ValueError(
                f"{type(self).__name__}.set_weights needs values of the shapes {[tuple(v.shape) for v in variables]}, "
                f"got {[a.shape for a in arrays]}; build(variables) creates the state of a new optimizer"
            )
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)

    # ---- Variables and what belongs to them --------------------------------------------------------------------------

    def _register(self, variables: Sequence[Variable]) -> None:
        for variable in variables:
            if variable._serial not in self._positions:
                self._positions[variable._serial] = len(self._known)
                self._shapes[variable._serial] = variable._aval.shape
                self._known.append(variable)

    def _forget(self, known: int, state: set[tuple[str, int]]) -> None:
        """Keep the first `known` Variables and the named `state` only, as before a call of `build` that failed."""
        for variable in self._known[known:]:
            del self._positions[variable._serial]
        del self._known[known:]
        for key in self._state.keys() - state:
            del self._state[key]

    def knows(self, variable: Variable) -> bool:
        """Return whether `build` got `variable`; raise ValueError if the Variable had another shape then."""
        if variable._serial not in self._positions:
            return False
        shape = self._shapes[variable._serial]
        changed = variable._declared is not None and variable._aval.shape != shape
        if changed and self._positions[variable._serial] in [position for _, position in self._state]:
            raise ValueError(
                f"{type(self).__name__} has state of shape {shape} for the Variable {variable._label!r}, which has "
                f"shape {variable._aval.shape} now; make a new optimizer, or assign a value of the former shape"
            )
        return True

    def position(self, variable: Variable) -> int:
        """Return the position of `variable` in the list that `build` got."""
        return self._positions[variable._serial]

    _get_variable_index = position  # the name that optimizers written for Keras use

    def assign(self, variable: Variable, value: Any) -> None:
        """Assign `value` to a Variable; for an `update_step` that is written for Keras."""
        variable.assign(value)

    def assign_add(self, variable: Variable, value: Any) -> None:
        """Add `value` to a Variable."""
        variable.assign_add(value)

    def assign_sub(self, variable: Variable, value: Any) -> None:
        """Subtract `value` from a Variable."""
        variable.assign_sub(value)

    def add_variable(
        self,
        shape: Sequence[int] = (),
        initializer: Any = 0.0,
        dtype: Any = None,
        aggregation: Any = "none",
        layout: Any = None,
        name: str | None = None,
    ) -> Variable:
        """Create state that belongs to no Variable.

        Parameters
        ----------
        shape : sequence of int
        initializer : number, array, "zeros", "ones", or callable that returns a value
            Initial value; a number fills `shape`.
        dtype : dtype, optional
            float64 by default.
        aggregation, layout
            Accepted for compatibility with TensorFlow.
        name : str, optional
            Existing state of this name is returned.

        Raises
        ------
        ValueError
            If `aggregation` is not one of Keras, such as a name at its place.
        """
        if aggregation not in _AGGREGATIONS:
            raise ValueError(
                f"{type(self).__name__}.add_variable: aggregation must be one of {', '.join(map(str, _AGGREGATIONS))}, "
                f"got {aggregation!r}; give the name as name="
            )
        own = "variable" if name is None else name
        return self._added((own, -1), tuple(shape), initializer, dtype or float64, own)

    def add_variable_from_reference(
        self,
        reference_variable: Variable,
        name: str | None = None,
        initializer: Any = 0.0,
        shape: Sequence[int] | None = None,
    ) -> Variable:
        """Create state of the shape and dtype of a Variable; float32 for float16 and bfloat16.

        Parameters
        ----------
        reference_variable : Variable
            One of the Variables that `build` got.
        name : str, optional
            Distinguishes states of the same Variable. Existing state of this name is returned.
        initializer : number, array, "zeros", "ones", or callable that returns a value
            Initial value.
        shape : sequence of int, optional
            Another shape.
        """
        v, kind = reference_variable, "variable" if name is None else name
        own = f"{re.sub('[/:]', '_', v._path or v.name)}_{kind}"
        extents = v.aval.shape if shape is None else tuple(shape)
        return self._added((kind, self.position(v)), extents, initializer, work_dtype(v), own)

    def add_optimizer_variables(
        self, trainable_variables: Sequence[Variable], name: Any, initializer: Any = 0.0
    ) -> Any:
        """Call `add_variable_from_reference` for each Variable; return a list, or for several names a tuple of lists.

        Raises
        ------
        ValueError
            If there are several initializers, and not one for each name.
        """
        if isinstance(name, str):
            return [self.add_variable_from_reference(v, name, initializer) for v in trainable_variables]
        names = list(name)
        initial = initializer if isinstance(initializer, (list, tuple)) else [initializer] * len(names)
        if len(initial) != len(names):
            raise ValueError(
                f"{type(self).__name__}.add_optimizer_variables: {len(names)} names need one initializer or "
                f"{len(names)}, got {len(initial)}"
            )
        pairs = zip(names, initial, strict=True)
        return tuple([self.add_optimizer_variables(trainable_variables, one, first) for one, first in pairs])

    def _added(
        self, key: tuple[str, int], shape: tuple[int, ...], initializer: Any, dtype: Any, name: str
    ) -> Variable:
        known = self._state.get(key)
        if known is None:
            known = self._state[key] = own_variable(
                self.name, name, self._initial(shape, initializer, dtype), dtype
            )
            attached(self)
        return known

    def _initial(self, shape: tuple[int, ...], initializer: Any, dtype: Any) -> Any:
        if isinstance(initializer, str):
            if initializer not in _NAMED:
                raise ValueError(
                    f"{type(self).__name__}: initializer must be a number, an array, a function or one of "
                    f"{', '.join(_NAMED)}, got {initializer!r}"
                )
            initializer = _NAMED[initializer]
        value = initializer() if callable(initializer) else initializer
        return np.full(shape, value, dtype) if isinstance(value, (int, float)) else value

    def state_of(self, variable: Variable, name: str) -> Variable:
        """Return the state that `add_variable_from_reference` created under this name."""
        return self._state[name, self._positions[variable._serial]]

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _recorded=None)
        self._positions = {v._serial: i for i, v in enumerate(self._known)}  # copies have other numbers
        self._shapes = {v._serial: v._aval.shape for v in self._known}
