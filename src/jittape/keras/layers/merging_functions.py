"""Layers that merge several inputs, as functions: ``concatenate([a, b])`` is ``Concatenate()([a, b])``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.keras.layers import elementwise_layers
from jittape.keras.layers.dense import Dot
from jittape.keras.layers.reshaping_layers import Concatenate

__all__ = ["add", "average", "concatenate", "dot", "maximum", "minimum", "multiply", "subtract"]


def add(inputs: Sequence[Any], **options: Any) -> Any:
    """Return `Add` of `inputs`.

    Parameters
    ----------
    inputs : sequence of tensors or symbolic tensors
    **options : those of `Layer`

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If `inputs` is no list of several inputs.

    Examples
    --------
    >>> jt.keras.layers.add([jt.constant([1.0, 2.0]), jt.constant([3.0, 4.0])]).numpy()
    array([4., 6.], dtype=float32)
    """
    return elementwise_layers.Add(**options)(inputs)


def average(inputs: Sequence[Any], **options: Any) -> Any:
    """Return `Average` of `inputs`.

    Parameters
    ----------
    inputs : sequence of tensors or symbolic tensors
    **options : those of `Layer`

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If `inputs` is no list of several inputs.

    Examples
    --------
    >>> jt.keras.layers.average([jt.constant([1.0, 2.0]), jt.constant([3.0, 4.0])]).numpy()
    array([2., 3.], dtype=float32)
    """
    return elementwise_layers.Average(**options)(inputs)


def concatenate(inputs: Sequence[Any], axis: int = -1, **options: Any) -> Any:
    """Return `Concatenate` of `inputs`.

    Parameters
    ----------
    inputs : sequence of tensors or symbolic tensors
    axis : int
    **options : those of `Layer`

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If `inputs` is no list of several inputs.

    Examples
    --------
    >>> jt.keras.layers.concatenate([jt.ones([2, 1]), jt.ones([2, 3])]).shape
    (2, 4)
    """
    return Concatenate(axis, **options)(inputs)


def dot(inputs: Sequence[Any], axes: int | Sequence[int] = -1, **options: Any) -> Any:
    """Return `Dot` of two inputs.

    Parameters
    ----------
    inputs : sequence of two tensors or symbolic tensors
    axes : int or pair of int
    **options : those of `Dot`

    Raises
    ------
    TypeError, ValueError
        If `axes` do not fit the inputs.

    Examples
    --------
    >>> jt.keras.layers.dot([jt.ones([2, 3]), jt.ones([2, 3])], axes=1).shape
    (2, 1)
    """
    return Dot(axes, **options)(inputs)


def maximum(inputs: Sequence[Any], **options: Any) -> Any:
    """Return `Maximum` of `inputs`.

    Parameters
    ----------
    inputs : sequence of tensors or symbolic tensors
    **options : those of `Layer`

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If `inputs` is no list of several inputs.

    Examples
    --------
    >>> jt.keras.layers.maximum([jt.constant([1.0, 5.0]), jt.constant([3.0, 4.0])]).numpy()
    array([3., 5.], dtype=float32)
    """
    return elementwise_layers.Maximum(**options)(inputs)


def minimum(inputs: Sequence[Any], **options: Any) -> Any:
    """Return `Minimum` of `inputs`.

    Parameters
    ----------
    inputs : sequence of tensors or symbolic tensors
    **options : those of `Layer`

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If `inputs` is no list of several inputs.

    Examples
    --------
    >>> jt.keras.layers.minimum([jt.constant([1.0, 5.0]), jt.constant([3.0, 4.0])]).numpy()
    array([1., 4.], dtype=float32)
    """
    return elementwise_layers.Minimum(**options)(inputs)


def multiply(inputs: Sequence[Any], **options: Any) -> Any:
    """Return `Multiply` of `inputs`.

    Parameters
    ----------
    inputs : sequence of tensors or symbolic tensors
    **options : those of `Layer`

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If `inputs` is no list of several inputs.

    Examples
    --------
    >>> jt.keras.layers.multiply([jt.constant([1.0, 2.0]), jt.constant([3.0, 4.0])]).numpy()
    array([3., 8.], dtype=float32)
    """
    return elementwise_layers.Multiply(**options)(inputs)


def subtract(inputs: Sequence[Any], **options: Any) -> Any:
    """Return `Subtract` of `inputs`.

    Parameters
    ----------
    inputs : sequence of tensors or symbolic tensors
    **options : those of `Layer`

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If `inputs` is no list of several inputs.

    Examples
    --------
    >>> jt.keras.layers.subtract([jt.constant([1.0, 2.0]), jt.constant([3.0, 5.0])]).numpy()
    array([-2., -3.], dtype=float32)
    """
    return elementwise_layers.Subtract(**options)(inputs)
