"""What all optimizers share: pairing gradients with Variables, the learning rate, the step count."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Operators
from jittape.recording.variable import Variable

__all__ = ["Optimizer"]


class Optimizer:
    """Base class of optimizers.

    A subclass says what state it keeps (`build`) and what one update is (`update_step`).

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
        self.learning_rate = learning_rate
        self.name = name or type(self).__name__
        self.iterations = Variable(0, trainable=False, dtype="int64", name=f"{self.name}/iterations")
        self._built: dict[int, Variable] = {}

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The optimizer's own state."""
        return (self.iterations,)

    def build(self, variables: Sequence[Variable]) -> None:
        """Make the state for `variables`, which have none yet."""

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Assign `variable`, and the state that belongs to it, their next values."""
        raise NotImplementedError(f"{type(self).__name__} must define update_step(gradient, variable, learning_rate)")

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]], name: str | None = None) -> Variable:
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
        """
        pairs = _checked(list(grads_and_vars))
        new = [v for _, v in pairs if id(v) not in self._built]
        if new:
            self.build(new)
            self._built.update({id(v): v for v in new})
        self.iterations.assign_add(1)
        self.begin_step()
        for gradient, variable in pairs:
            self.update_step(gradient, variable, self.learning_rate)
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))
        return self.iterations

    def begin_step(self) -> None:
        """Called once before the updates of a step; `iterations` counts it already."""


def _checked(pairs: list[tuple[Any, Variable]]) -> list[tuple[Any, Variable]]:
    """The pairs that have a gradient, each fit for its Variable."""
    missing = [v.name for g, v in pairs if g is None]
    kept = []
    for gradient, variable in pairs:
        if gradient is None:
            continue
        if not isinstance(gradient, Operators):
            gradient = convert_to_tensor(gradient, dtype_hint=variable.dtype)
        if gradient.shape != variable.shape:
            raise ValueError(
                f"the gradient for {variable.name!r} has shape {gradient.shape}, the variable {variable.shape}; "
                "pair them as zip(gradients, variables)"
            )
        kept.append((gradient, variable))
    if not kept:
        raise ValueError(f"No gradients provided for any variable: {missing}")
    if missing:
        warnings.warn(f"Gradients do not exist for variables {missing}; they are not updated", UserWarning, stacklevel=3)
    return kept
