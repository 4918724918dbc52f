"""Losses of each example, under the names of ``tf.keras.losses``.

Every function takes the true and the predicted values and returns one number for each example: the mean or the sum over
the last dimension. The formulas, the constant that keeps logarithms finite and the meaning of `label_smoothing` are
Keras's.
"""

from __future__ import annotations

from typing import Any

from jittape.core.dtypes import is_floating
from jittape.keras.true_and_predicted import as_tensor, same_rank
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.comparison import equal, less_equal, logical_or, not_equal, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.hyperbolic import sigmoid
from jittape.primitives.elementwise.piecewise import absolute, clip_by_value, maximum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.elementwise.smooth_functions import logcosh
from jittape.primitives.nn.activation import l2_normalize, softmax
from jittape.primitives.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from jittape.primitives.reduce.reductions import reduce_all, reduce_max, reduce_mean, reduce_sum
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import expand_dims, squeeze
from jittape.recording.tensor import Tensor
from jittape.typing import TensorLike

__all__ = [
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_hinge",
    "cosine_similarity",
    "dice",
    "hinge",
    "huber",
    "kl_divergence",
    "log_cosh",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "poisson",
    "sparse_categorical_crossentropy",
    "squared_hinge",
    "tversky",
]

_TINY = 1e-7
"""Distance of probabilities from 0 and 1."""


def _predicted(y_pred: Any) -> Any:
    y_pred = as_tensor(y_pred)
    return y_pred if is_floating(y_pred.aval.dtype) else cast(y_pred, "float32")


def _pair(op: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return both in the dtype of `y_pred`; a last dimension of length 1 that only one of them has is removed."""
    y_pred = _predicted(y_pred)
    return same_rank(op, cast(as_tensor(y_true), y_pred.aval.dtype), y_pred)


def _mean(x: Any) -> Tensor:
    return reduce_mean(x, -1) if x.shape else x


# ---- differences -----------------------------------------------------------------------------------------------------


def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean((y_true - y_pred) ** 2)`` over the last dimension.

    Examples
    --------
    >>> jt.keras.losses.mean_squared_error([[0.0, 1.0]], [[1.0, 3.0]]).numpy()
    array([2.5], dtype=float32)
    """
    y_true, y_pred = _pair("mean_squared_error", y_true, y_pred)
    return _mean(square(subtract(y_true, y_pred)))


def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(abs(y_true - y_pred))`` over the last dimension."""
    y_true, y_pred = _pair("mean_absolute_error", y_true, y_pred)
    return _mean(absolute(subtract(y_true, y_pred)))


def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``100 * mean(abs((y_true - y_pred) / y_true))`` over the last dimension."""
    y_true, y_pred = _pair("mean_absolute_percentage_error", y_true, y_pred)
    parts = absolute(divide(subtract(y_true, y_pred), maximum(absolute(y_true), _TINY)))
    return multiply(100.0, _mean(parts))


def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean((log(y_true + 1) - log(y_pred + 1)) ** 2)`` over the last dimension; negative values count as 0."""
    y_true, y_pred = _pair("mean_squared_logarithmic_error", y_true, y_pred)
    first, second = (log(add(maximum(y, _TINY), 1.0)) for y in (y_pred, y_true))
    return _mean(square(subtract(first, second)))


def huber(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Tensor:
    """Return half the squared difference up to `delta`, and a linear loss beyond (Huber 1964).

    Examples
    --------
    >>> jt.keras.losses.huber([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
    array([1.5], dtype=float32)
    """
    y_true, y_pred = _pair("huber", y_true, y_pred)
    error = subtract(y_pred, y_true)
    size = absolute(error)
    beyond = subtract(multiply(delta, size), 0.5 * delta**2)
    return _mean(where(less_equal(size, delta), multiply(0.5, square(error)), beyond))


def log_cosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(log(cosh(y_pred - y_true)))`` over the last dimension."""
    y_true, y_pred = _pair("log_cosh", y_true, y_pred)
    return _mean(logcosh(subtract(y_pred, y_true)))


def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """Return minus the cosine of the angle between `y_true` and `y_pred`."""
    y_true, y_pred = _pair("cosine_similarity", y_true, y_pred)
    unit_true, unit_pred = (l2_normalize(y, axis, _TINY**2) for y in (y_true, y_pred))
    return negative(reduce_sum(multiply(unit_true, unit_pred), axis))


# ---- margins ---------------------------------------------------------------------------------------------------------


def _signs(y_true: Any) -> Any:
    """Return labels of 0 and 1 as -1 and 1; other labels as they are."""
    binary = reduce_all(logical_or(equal(y_true, 0), equal(y_true, 1)))
    return where(binary, subtract(multiply(2.0, y_true), 1.0), y_true)


def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(maximum(1 - y_true * y_pred, 0))`` for labels of -1 and 1, or of 0 and 1.

    Examples
    --------
    >>> jt.keras.losses.hinge([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([1.], dtype=float32)
    """
    y_true, y_pred = _pair("hinge", y_true, y_pred)
    return _mean(maximum(subtract(1.0, multiply(_signs(y_true), y_pred)), 0.0))


def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(maximum(1 - y_true * y_pred, 0) ** 2)`` for labels of -1 and 1, or of 0 and 1."""
    y_true, y_pred = _pair("squared_hinge", y_true, y_pred)
    return _mean(square(maximum(subtract(1.0, multiply(_signs(y_true), y_pred)), 0.0)))


def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return by how much the true class does not exceed the others by 1."""
    y_true, y_pred = _pair("categorical_hinge", y_true, y_pred)
    positive = reduce_sum(multiply(y_true, y_pred), -1)
    others = reduce_max(multiply(subtract(1.0, y_true), y_pred), -1)
    return maximum(add(subtract(others, positive), 1.0), 0.0)


# ---- probabilities ---------------------------------------------------------------------------------------------------


def kl_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``sum(y_true * log(y_true / y_pred))`` over the last dimension."""
    y_true, y_pred = _pair("kl_divergence", y_true, y_pred)
    y_true, y_pred = clip_by_value(y_true, _TINY, 1.0), clip_by_value(y_pred, _TINY, 1.0)
    return reduce_sum(multiply(y_true, log(divide(y_true, y_pred))), -1)


def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return ``mean(y_pred - y_true * log(y_pred))`` over the last dimension."""
    y_true, y_pred = _pair("poisson", y_true, y_pred)
    return _mean(subtract(y_pred, multiply(y_true, log(add(y_pred, _TINY)))))


def binary_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """Return the cross-entropy of two classes, a mean over `axis`.

    Parameters
    ----------
    y_true : tensor_like
        Labels 0 and 1, or probabilities.
    y_pred : tensor_like
        Probabilities of class 1, or their logits.
    from_logits : bool
    label_smoothing : float
        The labels are moved towards 0.5 by this fraction.
    axis : int

    Examples
    --------
    >>> jt.keras.losses.binary_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy().round(4)
    array([0.6931], dtype=float32)
    """
    y_true, y_pred = _pair("binary_crossentropy", y_true, y_pred)
    return reduce_mean(_binary(_smoothed(y_true, label_smoothing), y_pred, from_logits), axis)


def _smoothed(y_true: Any, smoothing: float, axis: int | None = None) -> Any:
    """Return labels moved towards equal probabilities: of two classes, or of those along `axis`."""
    classes = 2 if axis is None else y_true.shape[axis]
    return add(multiply(y_true, 1.0 - smoothing), smoothing / classes) if smoothing else y_true


def _binary(y_true: Any, y_pred: Any, from_logits: bool) -> Any:
    if from_logits:
        return sigmoid_cross_entropy_with_logits(y_true, y_pred)
    p = clip_by_value(y_pred, _TINY, 1.0 - _TINY)
    return negative(add(multiply(y_true, log(p)), multiply(subtract(1.0, y_true), log(subtract(1.0, p)))))


def binary_focal_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """Return the cross-entropy of two classes, in which certain predictions count less (Lin et al. 2018).

    Parameters
    ----------
    y_true, y_pred, from_logits, label_smoothing, axis
        As for `binary_crossentropy`.
    apply_class_balancing : bool
        Weight class 1 with `alpha` and class 0 with ``1 - alpha``.
    alpha, gamma : float
        The cross-entropy is multiplied by ``(1 - p) ** gamma``, where p is the probability of the true class.
    """
    y_true, y_pred = _pair("binary_focal_crossentropy", y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing)
    y_pred = sigmoid(y_pred) if from_logits else y_pred
    rest = subtract(1.0, y_true)
    certain = add(multiply(y_true, y_pred), multiply(rest, subtract(1.0, y_pred)))
    loss = multiply(pow(subtract(1.0, certain), gamma), _binary(y_true, y_pred, False))
    if apply_class_balancing:
        loss = multiply(add(multiply(y_true, alpha), multiply(rest, 1.0 - alpha)), loss)
    return reduce_mean(loss, axis)


def categorical_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """Return the cross-entropy of several classes.

    Parameters
    ----------
    y_true : tensor_like
        Probability of each class along `axis`, 1 for the true class.
    y_pred : tensor_like
        Predicted probabilities, or logits. Probabilities are divided by their sum.
    from_logits : bool
    label_smoothing : float
        The labels are moved towards equal probabilities by this fraction.
    axis : int

    Examples
    --------
    >>> jt.keras.losses.categorical_crossentropy([[0.0, 1.0]], [[0.25, 0.75]]).numpy().round(4)
    array([0.2877], dtype=float32)
    """
    y_true, y_pred = _pair("categorical_crossentropy", y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, axis)
    if from_logits:
        return softmax_cross_entropy_with_logits(y_true, y_pred, axis)
    return negative(reduce_sum(multiply(y_true, log(_probabilities(y_pred, axis))), axis))


def _probabilities(y_pred: Any, axis: int) -> Any:
    return clip_by_value(divide(y_pred, reduce_sum(y_pred, axis, keepdims=True)), _TINY, 1.0 - _TINY)


def categorical_focal_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """Return the cross-entropy of several classes, in which certain predictions count less (Lin et al. 2018).

    Parameters
    ----------
    y_true, y_pred, from_logits, label_smoothing, axis
        As for `categorical_crossentropy`.
    alpha, gamma : float
        The cross-entropy is multiplied by ``alpha * (1 - p) ** gamma``, where p is the probability of the class.
    """
    y_true, y_pred = _pair("categorical_focal_crossentropy", y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, axis)
    p = _probabilities(softmax(y_pred, axis) if from_logits else y_pred, axis)
    factor = multiply(alpha, pow(subtract(1.0, p), gamma))
    return negative(reduce_sum(multiply(factor, multiply(y_true, log(p))), axis))


def sparse_categorical_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
) -> Tensor:
    """Return the cross-entropy of several classes, whose numbers are given.

    Parameters
    ----------
    y_true : tensor_like of int
        Number of the true class.
    y_pred : tensor_like
        Predicted probabilities along `axis`, or logits.
    from_logits : bool
    ignore_class : int, optional
        Examples of this class have the loss 0.
    axis : int

    Raises
    ------
    IndexError
        If a number is not that of a class.

    Examples
    --------
    >>> jt.keras.losses.sparse_categorical_crossentropy([1], [[0.25, 0.75]]).numpy().round(4)
    array([0.2877], dtype=float32)
    """
    y_pred = moveaxis(_predicted(y_pred), axis, -1)
    y_true = cast(as_tensor(y_true), "int64")
    if y_true.ndim == y_pred.ndim and y_true.shape[-1] == 1:
        y_true = squeeze(y_true, -1)
    counted = None
    if ignore_class is not None:
        counted = not_equal(y_true, ignore_class)
        y_true, y_pred = where(counted, y_true, 0), where(expand_dims(counted, -1), y_pred, 0)
    logits = y_pred if from_logits else log(clip_by_value(y_pred, _TINY, 1.0 - _TINY))
    loss = sparse_softmax_cross_entropy_with_logits(y_true, logits)
    return loss if counted is None else where(counted, loss, 0)


# ---- overlaps --------------------------------------------------------------------------------------------------------


def dice(y_true: TensorLike, y_pred: TensorLike, axis: Any = None) -> Tensor:
    """Return 1 minus the Dice coefficient ``2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred))``."""
    y_true, y_pred = _pair("dice", y_true, y_pred)
    both = reduce_sum(multiply(y_true, y_pred), axis)
    total = add(add(reduce_sum(y_true, axis), reduce_sum(y_pred, axis)), _TINY)
    return subtract(1.0, divide(multiply(2.0, both), total))


def tversky(
    y_true: TensorLike, y_pred: TensorLike, alpha: float = 0.5, beta: float = 0.5, axis: Any = None
) -> Tensor:
    """Return 1 minus the Tversky index, with weights for what is missed and what is wrong (Salehi et al. 2017)."""
    y_true, y_pred = _pair("tversky", y_true, y_pred)
    both = reduce_sum(multiply(y_true, y_pred), axis)
    missed = reduce_sum(multiply(subtract(1.0, y_pred), y_true), axis)
    wrong = reduce_sum(multiply(y_pred, subtract(1.0, y_true)), axis)
    total = add(add(both, multiply(missed, alpha)), add(multiply(wrong, beta), _TINY))
    return subtract(1.0, divide(both, total))
