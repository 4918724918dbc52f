"""`weight_options`: how a layer creates one of its weights; `with_options`: the attributes that show it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from jittape.keras import constraints, initializers, regularizers
from jittape.keras.layers.layer import Layer
from jittape.recording.variable import Variable

__all__ = ["WeightOptions", "weight_options", "with_attributes_of", "with_options"]


Class = TypeVar("Class", bound=type)


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


def with_options(**weights: str) -> Callable[[Class], Class]:
    """Return a decorator that adds properties such as `kernel_initializer`, `kernel_regularizer`, `kernel_constraint`.

    Parameters
    ----------
    **weights : str
        For each such weight, the attribute that has its `WeightOptions`.
    """
    found = {
        f"{weight}_{option}": f"{attribute}.{option}"
        for weight, attribute in weights.items()
        for option in WeightOptions._fields
    }
    return _with_properties(found)


def with_attributes_of(part: str, names: str) -> Callable[[Class], Class]:
    """Return a decorator that adds the attributes of a part, with names separated by spaces, as properties."""
    return _with_properties({name: f"{part}.{name}" for name in names.split()})


def _with_properties(places: dict[str, str]) -> Callable[[Class], Class]:
    def decorated(cls: Class) -> Class:
        for name, place in places.items():
            setattr(cls, name, property(attrgetter(place), doc=f"The argument `{name}`."))
        return cls

    return decorated
