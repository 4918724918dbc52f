"""`WeightDecay`: decoupled weight decay, and the Variables that are excluded from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from jittape.core.argument_checks import NOT_NEGATIVE, optional_number
from jittape.core.primitive import apply
from jittape.optimizers.gradient_pairs import checked_variables
from jittape.optimizers.state import Stateful
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import multiply, subtract
from jittape.recording.variable import Variable

__all__ = ["WeightDecay"]


class WeightDecay(Stateful):
    """State and learning rate, and the weight decay of each Variable."""

    def __init__(self, name: str, learning_rate: Any, weight_decay: float | None) -> None:
        super().__init__(name, learning_rate)
        self.weight_decay = optional_number(type(self).__name__, "weight_decay", weight_decay, NOT_NEGATIVE)
        self._undecayed: list[Variable] = []
        self._undecayed_names: list[str] = []
        self._decayed: dict[int, bool] = {}

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Exclude Variables from weight decay.

        Parameters
        ----------
        var_list : sequence of Variable, optional
        var_names : sequence of str, optional
            Regular expressions; a Variable is excluded if one is found in its name. ``["bias"]`` excludes all
            Variables with "bias" in their name.

        Examples
        --------
        >>> weight, bias = jt.Variable(1.0, name="weight"), jt.Variable(1.0, name="bias")
        >>> optimizer = jt.optimizers.SGD(0.5, weight_decay=0.5)
        >>> optimizer.exclude_from_weight_decay(var_names=["bias"])
        >>> _ = optimizer.apply_gradients([(0.0, weight), (0.0, bias)])
        >>> print(float(weight), float(bias))
        0.75 1.0
        """
        self._undecayed = [] if var_list is None else checked_variables(var_list, "exclude_from_weight_decay")
        self._undecayed_names = [] if var_names is None else [re.compile(n).pattern for n in var_names]
        self._decayed = {}

    def is_decayed(self, variable: Variable) -> bool:
        """Return whether `variable` is not excluded from weight decay."""
        position = self.position(variable)
        if position not in self._decayed:
            self._decayed[position] = not (
                any(variable is other for other in self._undecayed)
                or any(re.search(pattern, variable._label) for pattern in self._undecayed_names)
            )
        return self._decayed[position]

    def weight_decay_of(self, variable: Variable) -> float | None:
        """Return the weight decay of a Variable that is not excluded. Subclasses may override this method."""
        return self.weight_decay

    def decay(self, variable: Variable, rate: Any, dtype: np.dtype[Any]) -> None:
        """Multiply a Variable by ``1 - rate * decay``, unless it is excluded."""
        decay = self.weight_decay_of(variable)
        if decay is not None and self.is_decayed(variable):
            variable.assign(apply(_decayed, (variable, rate, decay), (dtype,)))


def _decayed(w: Any, rate: Any, decay: Any, dtype: np.dtype[Any]) -> Any:
    w = cast_to(w, dtype)
    return subtract(w, multiply(w, multiply(cast_to(rate, dtype), decay)))
