"""What all optimizers share: pairing gradients with Variables, the learning rate, the step count."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jittape.dtypes import is_differentiable
from jittape.optimizers.statefile import StateFile
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tracing import read_each_call
from jittape.recording.variable import Variable

__all__ = ["Optimizer", "zeros_like_each"]


class Optimizer(StateFile):
    """Base class of optimizers.

    A subclass says what state it keeps (`build`) and what one update is (`update_step`). It may keep its state in
    lists: `position` tells a Variable's place in them.

    Parameters
    ----------
    learning_rate : float, Variable or tensor
        May be set at any time; another value makes no new compiled step.
    name : str, optional

    Attributes
    ----------
    iterations : Variable
        Calls of `apply_gradients` so far, int64.
    """

    def __init__(self, learning_rate: Any, name: str | None = None) -> None:
        self._learning_rate = learning_rate
        self.name = name or type(self).__name__
        self.iterations = Variable(0, trainable=False, dtype="int64", name=f"{self.name}/iterations")
        self._known: list[Variable] = []
        self._positions: dict[int, int] = {}

    @property
    def learning_rate(self) -> Any:
        """The step size; a compiled function reads it at every call."""
        return read_each_call(lambda: self._learning_rate, "learning_rate")

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._learning_rate = value

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The optimizer's own state."""
        return (self.iterations,)

    def build(self, variables: Sequence[Variable]) -> None:
        """Make the state for `variables`, which have none yet."""

    def position(self, variable: Variable) -> int:
        """The place of `variable` in the order in which `build` was given them."""
        return self._positions[id(variable)]

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Assign `variable`, and the state that belongs to it, their next values."""
        raise NotImplementedError(
            f"{type(self).__name__} must define update_step(gradient, variable, learning_rate)"
        )

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], name: str | None = None
    ) -> Variable:
        """Update every Variable with its gradient.

        Parameters
        ----------
        grads_and_vars : iterable of (gradient, Variable)
            Pairs whose gradient is None are left out, with a warning.
        name : str, optional
            Accepted for TensorFlow's sake.

        Returns
        -------
        Variable
            `iterations`.

        Raises
        ------
        ValueError
            If there is no gradient at all, or one has another shape than its Variable. Nothing has changed then.
        TypeError
            If a pair is none of gradient and Variable, or their dtypes do not fit. Nothing has changed then.
        """
        pairs = _checked(list(grads_and_vars))
        self._take_on([variable for _, variable in pairs])
        self.iterations.assign_add(1)
        self.begin_step()
        rate = self.learning_rate
        for gradient, variable in pairs:
            self.update_step(gradient, variable, rate)
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))
        return self.iterations

    def begin_step(self) -> None:
        """Called once before the updates of a step; `iterations` counts it already."""

    def _take_on(self, variables: Iterable[Variable]) -> None:
        """Make the state for those of `variables` that have none yet."""
        new = list({id(v): v for v in variables if id(v) not in self._positions}.values())
        if new:
            self.build(new)
            self._known.extend(new)
            self._locate()

    def _locate(self) -> None:
        self._positions = {id(v): i for i, v in enumerate(self._known)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._locate()  # copies of Variables have identities of their own


def zeros_like_each(variables: Sequence[Variable], name: str) -> list[Variable]:
    """State that begins with zeros, one for each Variable."""
    return [Variable(np.zeros(v.shape, v.dtype), trainable=False, name=name) for v in variables]


def _checked(pairs: list[tuple[Any, Variable]]) -> list[tuple[Any, Variable]]:
    """The pairs that have a gradient, each fit for its Variable."""
    for _, variable in pairs:
        if not isinstance(variable, Variable):
            raise TypeError(
                "apply_gradients takes pairs of a gradient and a jt.Variable, "
                f"got {type(variable).__name__} as the latter; pair them as zip(gradients, variables)"
            )
    missing = [v.name for g, v in pairs if g is None]
    kept = [(_fitting(g, v), v) for g, v in pairs if g is not None]
    if not kept:
        raise ValueError(f"No gradients provided for any variable: {missing}")
    if missing:
        warnings.warn(
            f"Gradients do not exist for variables {missing}; they are not updated", UserWarning, stacklevel=3
        )
    return kept


def _fitting(gradient: Any, variable: Variable) -> Any:
    """`gradient`, if `variable` can be updated with it."""
    if not isinstance(gradient, Operators):
        gradient = convert_to_tensor(gradient, dtype_hint=variable.dtype)
    if gradient.shape != variable.shape:
        raise ValueError(
            f"the gradient for {variable.name!r} has shape {gradient.shape}, the variable {variable.shape}; "
            "pair them as zip(gradients, variables)"
        )
    if not is_differentiable(variable.dtype) or not np.can_cast(gradient.dtype, variable.dtype, "same_kind"):
        raise TypeError(
            f"{variable.name!r} is {variable.dtype.name}, it cannot take a {gradient.dtype.name} gradient"
        )
    return gradient
