"""Losses of probabilities of each example: cross-entropies and overlaps, under the names of ``tf.keras.losses``."""

from __future__ import annotations

from typing import Any

from jittape.core.user_calls import as_float, as_int
from jittape.errors import ShapeError
from jittape.keras.true_and_predicted import TINY, class_numbers, matched, matched_shapes, predicted_tensor
from jittape.primitives.broadcast import normalized_axes
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.comparison import not_equal, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.hyperbolic import sigmoid
from jittape.primitives.elementwise.piecewise import clip_by_value
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.nn.activation import softmax
from jittape.primitives.nn.cross_entropy import (
    NOT_WHOLE,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import expand_dims, squeeze
from jittape.recording.tensor import Tensor
from jittape.typing import TensorLike

__all__ = [
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "dice",
    "sparse_categorical_crossentropy",
    "tversky",
]


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

    Raises
    ------
    ShapeError
        If the shapes differ, except for a last dimension of length 1.

    Examples
    --------
    >>> jt.keras.losses.binary_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy().round(4)
    array([0.6931], dtype=float32)
    """
    y_true, y_pred = matched_shapes("binary_crossentropy", y_true, y_pred)
    return reduce_mean(_binary(_smoothed(y_true, label_smoothing), y_pred, from_logits), axis)


def _smoothed(y_true: Any, smoothing: float, axis: int | None = None, op: str = "") -> Any:
    """Return labels moved towards equal probabilities: of two classes, or of those along `axis`."""
    classes = 2 if axis is None else y_true.shape[normalized_axes(op, axis, y_true.ndim)[0]]
    fraction = as_float("label_smoothing", smoothing)
    return add(multiply(y_true, 1.0 - fraction), fraction / max(classes, 1)) if fraction else y_true


def _binary(y_true: Any, y_pred: Any, from_logits: bool) -> Any:
    if from_logits:
        return sigmoid_cross_entropy_with_logits(y_true, y_pred)
    p = clip_by_value(y_pred, TINY, 1.0 - TINY)
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

    Raises
    ------
    ShapeError
        If the shapes differ, except for a last dimension of length 1.

    Examples
    --------
    >>> jt.keras.losses.binary_focal_crossentropy([[1.0]], [[0.9]]).numpy().round(6)
    array([0.001054], dtype=float32)
    """
    y_true, y_pred = matched_shapes("binary_focal_crossentropy", y_true, y_pred)
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

    Raises
    ------
    ShapeError
        If the shapes differ, except for a last dimension of length 1.

    Examples
    --------
    >>> jt.keras.losses.categorical_crossentropy([[0.0, 1.0]], [[0.25, 0.75]]).numpy().round(4)
    array([0.2877], dtype=float32)
    """
    y_true, y_pred = matched_shapes("categorical_crossentropy", y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, axis, "categorical_crossentropy")
    if from_logits:
        return softmax_cross_entropy_with_logits(y_true, y_pred, axis)
    return negative(reduce_sum(multiply(y_true, log(_probabilities(y_pred, axis))), axis))


def _probabilities(y_pred: Any, axis: int) -> Any:
    return clip_by_value(divide(y_pred, reduce_sum(y_pred, axis, keepdims=True)), TINY, 1.0 - TINY)


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

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.losses.categorical_focal_crossentropy([[0.0, 1.0]], [[0.1, 0.9]]).numpy().round(6)
    array([0.000263], dtype=float32)
    """
    y_true, y_pred = matched("categorical_focal_crossentropy", y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, axis, "categorical_focal_crossentropy")
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
    ShapeError
        If the shapes do not fit.
    IndexError
        If a number is not that of a class.

    Examples
    --------
    >>> jt.keras.losses.sparse_categorical_crossentropy([1], [[0.25, 0.75]]).numpy().round(4)
    array([0.2877], dtype=float32)
    """
    y_pred = moveaxis(predicted_tensor(y_pred), as_int("axis", axis), -1)
    labels = class_numbers(y_true, NOT_WHOLE)
    if labels.ndim == y_pred.ndim and labels.shape[-1] == 1:
        labels = squeeze(labels, -1)
    if tuple(labels.shape) != tuple(y_pred.shape[:-1]):
        raise ShapeError(
            "[sparse_categorical_crossentropy] labels must have the shape of y_pred without the classes, got "
            f"{tuple(labels.shape)} and {tuple(y_pred.shape)}"
        )
    counted = None
    if ignore_class is not None:
        counted = not_equal(labels, ignore_class)
        labels, y_pred = where(counted, labels, 0), where(expand_dims(counted, -1), y_pred, 0)
    logits = y_pred if from_logits else log(clip_by_value(y_pred, TINY, 1.0 - TINY))
    loss = sparse_softmax_cross_entropy_with_logits(labels, logits)
    return loss if counted is None else where(counted, loss, 0)


# ---- overlaps --------------------------------------------------------------------------------------------------------


def dice(y_true: TensorLike, y_pred: TensorLike, axis: Any = None) -> Tensor:
    """Return 1 minus the Dice coefficient ``2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred))``.

    Parameters
    ----------
    y_true, y_pred : tensor_like
        Labels and probabilities, of equal shape.
    axis : int or sequence of int, optional
        The dimensions to sum over; all of them by default.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> float(jt.keras.losses.dice([[0.0, 1.0]], [[0.0, 0.5]]).numpy().round(4))
    0.33329999446868896
    """
    y_true, y_pred = matched("dice", y_true, y_pred)
    both = reduce_sum(multiply(y_true, y_pred), axis)
    total = add(add(reduce_sum(y_true, axis), reduce_sum(y_pred, axis)), TINY)
    return subtract(1.0, divide(multiply(2.0, both), total))


def tversky(
    y_true: TensorLike, y_pred: TensorLike, alpha: float = 0.5, beta: float = 0.5, axis: Any = None
) -> Tensor:
    """Return 1 minus the Tversky index, with weights for what is missed and what is wrong (Salehi et al. 2017).

    Parameters
    ----------
    y_true, y_pred : tensor_like
        Labels and probabilities, of equal shape.
    alpha, beta : float
        Weights of wrong and of missed labels.
    axis : int or sequence of int, optional
        The dimensions to sum over; all of them by default.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, or the shapes do not broadcast.

    Examples
    --------
    >>> float(jt.keras.losses.tversky([[0.0, 1.0]], [[0.0, 0.5]]).numpy().round(4))
    0.33329999446868896
    """
    y_true, y_pred = matched("tversky", y_true, y_pred)
    both = reduce_sum(multiply(y_true, y_pred), axis)
    missed = reduce_sum(multiply(subtract(1.0, y_pred), y_true), axis)
    wrong = reduce_sum(multiply(y_pred, subtract(1.0, y_true)), axis)
    total = add(add(both, multiply(missed, alpha)), add(multiply(wrong, beta), TINY))
    return subtract(1.0, divide(both, total))
