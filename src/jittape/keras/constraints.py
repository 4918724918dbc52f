"""``jt.keras.constraints``: functions that are applied to weights after each update."""

from __future__ import annotations

from typing import Any

from jittape.core.user_calls import as_float
from jittape.keras.saving.named_objects import deserializer
from jittape.keras.saving.object_configs import identified
from jittape.keras.saving.object_configs import serialize_keras_object as serialize
from jittape.keras.saving.serializable import Serializable
from jittape.keras.true_and_predicted import TINY
from jittape.lazy_names import lazily
from jittape.module import snake_case
from jittape.primitives.elementwise.arithmetic import add, multiply, square
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import clip_by_value, maximum
from jittape.primitives.reduce.reductions import reduce_sum

__all__ = [
    "Constraint", "MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm", "deserialize", "get", "max_norm", "min_max_norm",
    "non_neg", "serialize", "unit_norm",
]  # fmt: skip


class Constraint(Serializable):
    """Base class of constraints: ``constraint(weight)`` returns the weight that is stored.

    Examples
    --------
    >>> class Rounded(jt.keras.constraints.Constraint):
    ...     def __call__(self, w):
    ...         return jt.round(w)
    >>> Rounded()(jt.constant([0.4, 1.6])).numpy()
    array([0., 2.], dtype=float32)
    """

    _namespace = "keras.constraints"

    def __init__(self) -> None:
        """Take no arguments; subclasses may."""

    def __call__(self, w: Any) -> Any:
        """Return the weight. Subclasses must define this method."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(w)")


def _norms(w: Any, axis: Any) -> Any:
    return sqrt(reduce_sum(square(w), axis, keepdims=True))


class MaxNorm(Constraint):
    """Vectors of weights with norms of at most `max_value`.

    Parameters
    ----------
    max_value : float
    axis : int or sequence of int
        Axis of the vectors.

    Examples
    --------
    >>> jt.keras.constraints.MaxNorm(1.0)(jt.constant([[3.0], [4.0]])).numpy().round(4).ravel()
    array([0.6, 0.8], dtype=float32)
    """

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        """Return the weights with smaller norms."""
        norms = _norms(w, self.axis)
        return multiply(w, divide(clip_by_value(norms, 0, self.max_value), add(norms, TINY)))


class MinMaxNorm(Constraint):
    """Vectors of weights with norms from `min_value` to `max_value`.

    Parameters
    ----------
    min_value, max_value : float
    rate : float
        Fraction of the way to the allowed norm; 1 reaches it at once.
    axis : int or sequence of int
        Axis of the vectors.

    Examples
    --------
    >>> jt.keras.constraints.MinMaxNorm(0.0, 1.0)(jt.constant([[3.0], [4.0]])).numpy().round(4).ravel()
    array([0.6, 0.8], dtype=float32)
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0
    ) -> None:
        self.min_value, self.max_value, self.axis = min_value, max_value, axis
        self.rate = as_float("rate", rate)

    def __call__(self, w: Any) -> Any:
        """Return the weights with norms nearer to the range."""
        norms = _norms(w, self.axis)
        wanted = multiply(self.rate, clip_by_value(norms, self.min_value, self.max_value))
        wanted = add(wanted, multiply(1 - self.rate, norms))
        return multiply(w, divide(wanted, add(norms, TINY)))


class NonNeg(Constraint):
    """Weights that are not negative.

    Examples
    --------
    >>> jt.keras.constraints.NonNeg()(jt.constant([-1.0, 2.0])).numpy()
    array([0., 2.], dtype=float32)
    """

    def __call__(self, w: Any) -> Any:
        """Return the weights with 0 in place of negative ones."""
        return maximum(w, 0)


class UnitNorm(Constraint):
    """Vectors of weights with the norm 1.

    Parameters
    ----------
    axis : int or sequence of int
        Axis of the vectors.

    Examples
    --------
    >>> jt.keras.constraints.UnitNorm()(jt.constant([[3.0], [4.0]])).numpy().round(4).ravel()
    array([0.6, 0.8], dtype=float32)
    """

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        """Return the weights divided by their norms."""
        return divide(w, add(_norms(w, self.axis), TINY))


max_norm, min_max_norm, non_neg, unit_norm = MaxNorm, MinMaxNorm, NonNeg, UnitNorm

_BY_NAME = {
    name: kind
    for kind in (MaxNorm, MinMaxNorm, NonNeg, UnitNorm)
    for name in (kind.__name__, snake_case(kind.__name__))
}  # fmt: skip


def get(identifier: Any) -> Any:
    """Return the constraint with this name, such as ``"non_neg"``; a function or None is returned as it is.

    Parameters
    ----------
    identifier : str, callable or None

    Raises
    ------
    ValueError
        If there is none of this name.
    TypeError
        If it is neither a name nor callable.

    Examples
    --------
    >>> jt.keras.constraints.get("max_norm").max_value
    2
    """
    identifier = identified(identifier)
    if isinstance(identifier, str):
        if identifier not in _BY_NAME:
            raise ValueError(
                f"there is no constraint {identifier!r}; there are {', '.join(_BY_NAME)}, or give a function"
            )
        return _BY_NAME[identifier]()
    if isinstance(identifier, type):
        return identifier()
    if identifier is not None and not callable(identifier):
        raise TypeError(f"a constraint must be a function of the weight, got {identifier!r}")
    return identifier


deserialize = deserializer(get)


__getattr__ = lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
