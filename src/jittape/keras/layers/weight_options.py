"""`weight_options`: how a layer creates one of its weights."""

from __future__ import annotations

from typing import Any, NamedTuple

from jittape.keras import constraints, initializers, regularizers
from jittape.keras.layers.layer import Layer
from jittape.recording.variable import Variable

__all__ = ["WeightOptions", "weight_options"]


class WeightOptions(NamedTuple):
    """How a layer creates one of its weights; see `weight_options`."""

    initializer: Any
    regularizer: Any
    constraint: Any

    def add_to(self, layer: Layer, shape: tuple[int, ...], name: str) -> Variable:
        """Create the weight."""
        return layer.add_weight(
            shape, self.initializer, regularizer=self.regularizer, constraint=self.constraint, name=name
        )


def weight_options(initializer: Any, regularizer: Any = None, constraint: Any = None) -> WeightOptions:
    """Return the options of a weight; an initializer and a regularizer may be given by their names.

    Raises
    ------
    ValueError
        For a name that does not exist.
    TypeError
        If a constraint is not callable.
    """
    chosen = constraints.get(constraint)
    return WeightOptions(initializers.get(initializer), regularizers.get(regularizer), chosen)
