"""Penalties on weights, under the names of ``tf.keras.regularizers``."""

from __future__ import annotations

from typing import Any

from jittape.core.argument_checks import NOT_NEGATIVE, number
from jittape.keras.saving.named_objects import deserializer
from jittape.keras.saving.object_configs import identified
from jittape.keras.saving.object_configs import serialize_keras_object as serialize
from jittape.keras.saving.serializable import Serializable
from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.nn.activation import l2_normalize
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.recording.convert import convert_to_tensor

__all__ = [
    "L1", "L1L2", "L2", "OrthogonalRegularizer", "Regularizer", "deserialize", "get", "l1", "l1_l2", "l2",
    "orthogonal_regularizer", "serialize",
]  # fmt: skip


class Regularizer(Serializable):
    """Base class of regularizers: ``regularizer(weight)`` returns a scalar to add to the loss.

    Examples
    --------
    >>> class Small(jt.keras.Regularizer):
    ...     def __call__(self, x):
    ...         return 0.1 * jt.reduce_max(jt.abs(x))
    >>> float(Small()(jt.constant([1.0, -2.0])).numpy().round(4))
    0.20000000298023224
    """

    _namespace = "keras.regularizers"

    def __init__(self) -> None:
        """Take no arguments; subclasses may."""

    def __call__(self, x: Any) -> Any:
        """Return the penalty of a weight."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(x)")


class L1L2(Regularizer):
    """``l1 * sum(abs(x)) + l2 * sum(x**2)``.

    Parameters
    ----------
    l1, l2 : float
        Weights of both penalties.

    Raises
    ------
    ValueError
        If a factor is negative or not finite.

    Examples
    --------
    >>> float(jt.keras.regularizers.L1L2(l1=0.5, l2=0.25)([1.0, -2.0]))
    2.75
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        owner = type(self).__name__
        self.l1 = number(owner, "l1", l1, NOT_NEGATIVE)
        self.l2 = number(owner, "l2", l2, NOT_NEGATIVE)

    def __call__(self, x: Any) -> Any:
        """Return the penalty of a weight."""
        sizes = multiply(self.l1, reduce_sum(absolute(x))) if self.l1 else None
        if sizes is not None and not self.l2:
            return sizes
        squares = multiply(self.l2, reduce_sum(square(x)))
        return squares if sizes is None else add(sizes, squares)


class L1(L1L2):
    """``l1 * sum(abs(x))``.

    Parameters
    ----------
    l1 : float
        Weight of the penalty.

    Raises
    ------
    ValueError
        If the factor is negative or not finite.

    Examples
    --------
    >>> float(jt.keras.regularizers.L1(0.1)(jt.constant([1.0, -2.0])).numpy().round(4))
    0.30000001192092896
    """

    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=l1)


class L2(L1L2):
    """``l2 * sum(x**2)``.

    Parameters
    ----------
    l2 : float
        Weight of the penalty.

    Raises
    ------
    ValueError
        If the factor is negative or not finite.

    Examples
    --------
    >>> float(jt.keras.regularizers.L2(0.5)([1.0, -2.0]))
    2.5
    """

    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=l2)


class OrthogonalRegularizer(Regularizer):
    """A penalty for rows or columns of a matrix that are not orthogonal.

    It is `factor` times the mean of the absolute cosines between all pairs of them.

    Parameters
    ----------
    factor : float
        Weight of the penalty.
    mode : {"rows", "columns"}
        Which vectors of the matrix are compared.

    Raises
    ------
    ValueError
        If the factor is negative or not finite, or `mode` is another one; at the call, if the weight is no matrix.

    Examples
    --------
    >>> penalty = jt.keras.regularizers.OrthogonalRegularizer(0.5)
    >>> float(penalty(jt.eye(3))), float(penalty(jt.ones([2, 4])))
    (0.0, 0.5)
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        self.factor = number("OrthogonalRegularizer", "factor", factor, NOT_NEGATIVE)
        if mode not in ("rows", "columns"):
            raise ValueError(f"[OrthogonalRegularizer] mode must be 'rows' or 'columns', got {mode!r}")
        self.mode = mode

    def __call__(self, x: Any) -> Any:
        """Return the penalty of a matrix."""
        x = convert_to_tensor(x)
        if len(x.shape) != 2:
            raise ValueError(f"[OrthogonalRegularizer] the weight must be a matrix, got the shape {x.shape}")
        axis = int(self.mode == "rows")
        x = l2_normalize(x, axis, _EPSILON)
        size = x.shape[1 - axis]
        cosines = matmul(x, x, transpose_a=not axis, transpose_b=bool(axis))
        others = multiply(cosines, subtract(1.0, eye(size, dtype=x.dtype)))
        pairs = max(size * (size - 1), 1)  # one vector alone has no pairs, and no penalty
        return multiply(self.factor / pairs, reduce_sum(absolute(others)))


_EPSILON = 1e-24
"""Least square of the norm by which vectors are divided, as in Keras."""


def get(identifier: Any) -> Any:
    """Return the regularizer with this name (such as ``"l2"`` or ``"l1_l2"``); a callable or None as it is.

    Parameters
    ----------
    identifier : str, callable or None
        Name of a regularizer, or a function of the weight.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> jt.keras.regularizers.get("l2").get_config()
    {'l2': 0.01}
    """
    identifier = identified(identifier)
    named: dict[str, Any] = {
        "l1": L1,
        "l2": L2,
        "orthogonal_regularizer": OrthogonalRegularizer,
        "orthogonalregularizer": OrthogonalRegularizer,
        "l1_l2": lambda: L1L2(0.01, 0.01),
        "l1l2": lambda: L1L2(0.01, 0.01),
    }
    if isinstance(identifier, str) and identifier.lower() in named:
        return named[identifier.lower()]()
    if identifier is None or callable(identifier):
        return identifier
    raise ValueError(
        f"there is no regularizer {identifier!r}; there are l1, l2, l1_l2 and orthogonal_regularizer, or give a "
        "function"
    )


l1 = L1
l1_l2 = L1L2
l2 = L2
orthogonal_regularizer = OrthogonalRegularizer

deserialize = deserializer(get)


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
