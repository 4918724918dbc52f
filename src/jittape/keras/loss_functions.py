"""Losses of each example, under the names of ``tf.keras.losses``.

Every function takes the true and the predicted values and returns one number for each example: the mean or the sum over
the last dimension. The formulas, the constant that keeps logarithms finite and the meaning of `label_smoothing` are
Keras's.
"""

from __future__ import annotations

from typing import Any

from jittape.keras.true_and_predicted import TINY, matched
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.comparison import equal, less_equal, logical_or, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.piecewise import absolute, clip_by_value, maximum
from jittape.primitives.elementwise.smooth_functions import logcosh
from jittape.primitives.nn.activation import l2_normalize
from jittape.primitives.reduce.reductions import reduce_all, reduce_max, reduce_mean, reduce_sum
from jittape.recording.tensor import Tensor
from jittape.typing import TensorLike

__all__ = [
    "categorical_hinge",
    "cosine_similarity",
    "hinge",
    "huber",
    "kl_divergence",
    "log_cosh",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "poisson",
    "squared_hinge",
]


def _mean(x: Any) -> Tensor:
    return reduce_mean(x, -1) if x.shape else x


# ---- differences -----------------------------------------------------------------------------------------------------


def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean((y_true - y_pred) ** 2)`` over the last dimension.

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.mean_squared_error([[0.0, 1.0]], [[1.0, 3.0]]).numpy()
    array([2.5], dtype=float32)
    """
    y_true, y_pred = matched("mean_squared_error", y_true, y_pred)
    return _mean(square(subtract(y_true, y_pred)))


def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(abs(y_true - y_pred))`` over the last dimension.

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.mean_absolute_error([[1.0, 2.0]], [[1.5, 3.0]]).numpy()
    array([0.75], dtype=float32)
    """
    y_true, y_pred = matched("mean_absolute_error", y_true, y_pred)
    return _mean(absolute(subtract(y_true, y_pred)))


def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``100 * mean(abs((y_true - y_pred) / y_true))`` over the last dimension.

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.mean_absolute_percentage_error([[1.0, 2.0]], [[1.5, 3.0]]).numpy()
    array([50.], dtype=float32)
    """
    y_true, y_pred = matched("mean_absolute_percentage_error", y_true, y_pred)
    parts = absolute(divide(subtract(y_true, y_pred), maximum(absolute(y_true), TINY)))
    return multiply(100.0, _mean(parts))


def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean((log(y_true + 1) - log(y_pred + 1)) ** 2)`` over the last dimension; negative values count as 0.

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.mean_squared_logarithmic_error([[1.0, 2.0]], [[1.5, 3.0]]).numpy()
    array([0.06627701], dtype=float32)
    """
    y_true, y_pred = matched("mean_squared_logarithmic_error", y_true, y_pred)
    first, second = (log(add(maximum(y, TINY), 1.0)) for y in (y_pred, y_true))
    return _mean(square(subtract(first, second)))


def huber(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Tensor:
    """Return half the squared difference up to `delta`, and a linear loss beyond (Huber 1964).

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.
    delta : float
        Difference at which the loss becomes linear, in the units of the values.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.huber([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
    array([1.5], dtype=float32)
    """
    y_true, y_pred = matched("huber", y_true, y_pred)
    error = subtract(y_pred, y_true)
    size = absolute(error)
    beyond = subtract(multiply(delta, size), 0.5 * delta**2)
    return _mean(where(less_equal(size, delta), multiply(0.5, square(error)), beyond))


def log_cosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(log(cosh(y_pred - y_true)))`` over the last dimension.

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.log_cosh([[0.5, 0.5]], [[0.25, 0.75]]).numpy().round(4)
    array([0.0309], dtype=float32)
    """
    y_true, y_pred = matched("log_cosh", y_true, y_pred)
    return _mean(logcosh(subtract(y_pred, y_true)))


def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """Return minus the cosine of the angle between `y_true` and `y_pred`.

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.
    axis : int
        The dimension of the vectors.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.cosine_similarity([[1.0, 1.0]], [[1.0, 0.0]]).numpy().round(4)
    array([-0.7071], dtype=float32)
    """
    y_true, y_pred = matched("cosine_similarity", y_true, y_pred)
    unit_true, unit_pred = (l2_normalize(y, axis, TINY**2) for y in (y_true, y_pred))
    return negative(reduce_sum(multiply(unit_true, unit_pred), axis))


# ---- margins ---------------------------------------------------------------------------------------------------------


def _signs(y_true: Any) -> Any:
    """Return labels of 0 and 1 as -1 and 1; other labels as they are."""
    binary = reduce_all(logical_or(equal(y_true, 0), equal(y_true, 1)))
    return where(binary, subtract(multiply(2.0, y_true), 1.0), y_true)


def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(maximum(1 - y_true * y_pred, 0))`` for labels of -1 and 1, or of 0 and 1.

    Parameters
    ----------
    y_true : tensor_like of shape (..., n)
        Labels.
    y_pred : tensor_like of shape (..., n)
        Scores.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.hinge([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([1.], dtype=float32)
    """
    y_true, y_pred = matched("hinge", y_true, y_pred)
    return _mean(maximum(subtract(1.0, multiply(_signs(y_true), y_pred)), 0.0))


def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(maximum(1 - y_true * y_pred, 0) ** 2)`` for labels of -1 and 1, or of 0 and 1.

    Parameters
    ----------
    y_true : tensor_like of shape (..., n)
        Labels.
    y_pred : tensor_like of shape (..., n)
        Scores.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.squared_hinge([[1.0, -1.0]], [[0.5, 0.5]]).numpy()
    array([1.25], dtype=float32)
    """
    y_true, y_pred = matched("squared_hinge", y_true, y_pred)
    return _mean(square(maximum(subtract(1.0, multiply(_signs(y_true), y_pred)), 0.0)))


def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return by how much the true class does not exceed the others by 1.

    Parameters
    ----------
    y_true : tensor_like of shape (..., classes)
        One-hot labels.
    y_pred : tensor_like of shape (..., classes)
        Scores.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.categorical_hinge([[0.0, 1.0]], [[0.5, 0.6]]).numpy().round(4)
    array([0.9], dtype=float32)
    """
    y_true, y_pred = matched("categorical_hinge", y_true, y_pred)
    positive = reduce_sum(multiply(y_true, y_pred), -1)
    others = reduce_max(multiply(subtract(1.0, y_true), y_pred), -1)
    return maximum(add(subtract(others, positive), 1.0), 0.0)


# ---- probabilities ---------------------------------------------------------------------------------------------------


def kl_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``sum(y_true * log(y_true / y_pred))`` over the last dimension.

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.kl_divergence([[0.5, 0.5]], [[0.25, 0.75]]).numpy().round(4)
    array([0.1438], dtype=float32)
    """
    y_true, y_pred = matched("kl_divergence", y_true, y_pred)
    y_true, y_pred = clip_by_value(y_true, TINY, 1.0), clip_by_value(y_pred, TINY, 1.0)
    return reduce_sum(multiply(y_true, log(divide(y_true, y_pred))), -1)


def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(y_pred - y_true * log(y_pred))`` over the last dimension.

    Parameters
    ----------
    y_true, y_pred : tensor_like of shape (..., n)
        True and predicted values.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.poisson([[0.5, 0.5]], [[0.25, 0.75]]).numpy().round(4)
    array([0.9185], dtype=float32)
    """
    y_true, y_pred = matched("poisson", y_true, y_pred)
    return _mean(subtract(y_pred, multiply(y_true, log(add(y_pred, TINY)))))
