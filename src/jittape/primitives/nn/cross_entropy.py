"""Losses of neural networks: cross-entropies, in formulas that neither overflow nor take the log of 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import int64, is_differentiable
from jittape.core.forms import CheckedMap
from jittape.core.primitive import Primitive, apply
from jittape.errors import DTypeError, InvalidIndexError, ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import (
    as_symbol,
    axis_key,
    broadcast_back,
    broadcast_operands,
    cast_to,
    iota,
    promote,
)
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    square,
    subtract,
)
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.comparison import equal, greater_equal, less, logical_or, where
from jittape.primitives.elementwise.division import multiply_no_nan
from jittape.primitives.elementwise.exponential import exp, log, log1p
from jittape.primitives.nn.activation import shifted
from jittape.primitives.record_parts import floating, require_kinds
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import shape_of
from jittape.typing import Tensor, TensorLike

__all__ = [
    "NOT_WHOLE",
    "l2_loss",
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]


def _alike(op: str, labels: Any, logits: Any, *others: Any) -> tuple[Any, ...]:
    """Return labels and logits in one floating dtype and shape; integer labels get the dtype of the logits."""
    logits = floating(logits)
    if isinstance(labels, WeakScalar) or not is_differentiable(labels.dtype):
        labels = cast_to(labels, logits.dtype)
    return broadcast_operands(*promote(labels, logits, *others), op=op)


def _require_equal_shapes(op: str, labels: Any, logits: Any) -> None:
    """Raise `ShapeError` if `labels` and `logits` differ in shape: a broadcast loss is a mistake, as in TensorFlow."""
    shapes = [() if isinstance(x, WeakScalar) else tuple(x.shape) for x in (labels, logits)]
    if shapes[0] != shapes[1]:
        raise ShapeError(
            f"[{op}] labels and logits must have the same shape, got {shapes[0]} and {shapes[1]}: reshape or "
            "broadcast_to one of them"
        )


def _softmax_cross_entropy_body(labels: Any, logits: Any, axis: int) -> Any:
    shape = () if isinstance(logits, WeakScalar) else tuple(logits.shape)
    labels, logits = _alike("softmax_cross_entropy_with_logits", labels, logits)
    if tuple(logits.shape) != shape:
        raise ShapeError(
            f"[softmax_cross_entropy_with_logits] labels must broadcast to the shape {shape} of logits, but both "
            f"together have the shape {tuple(logits.shape)}: reshape labels, or broadcast_to logits"
        )
    x, axes = shifted("softmax_cross_entropy_with_logits", logits, axis)
    log_total = log(reduce_sum(exp(x), axes, keepdims=True))
    # A class of probability 0 contributes 0, even if its logit is -inf.
    return reduce_sum(multiply_no_nan(subtract(log_total, x), labels), axes)


def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """Return the cross-entropy between `labels` and the softmax of `logits`, along `axis`.

    Parameters
    ----------
    labels : tensor
        Probabilities of the classes; they should sum to 1. A gradient flows through them as well.
    logits : tensor
        Unscaled log-probabilities, of the shape to which `labels` broadcasts.
    axis : int
        The dimension of the classes.

    Raises
    ------
    DTypeError
        If `labels` or `logits` is complex.
    ShapeError
        If `labels` does not broadcast to the shape of `logits`.

    Examples
    --------
    >>> jt.nn.softmax_cross_entropy_with_logits(labels=[[0.0, 1.0]], logits=[[0.0, 0.0]]).numpy().round(4)
    array([0.6931], dtype=float32)
    """
    return apply(_softmax_cross_entropy_body, (labels, logits), (axis_key(axis),))


NOT_WHOLE = -(2**63)
"""Stand-in for a label that is nan or no whole number."""


def check_classes(numbers: np.ndarray[Any, Any], size: int) -> None:
    """Raise `IndexError` for the first label that is not at least 0 and below `size`."""
    wrong = (numbers < 0) | (numbers >= size)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        known = numbers[place] != NOT_WHOLE
        found = (
            f"label {numbers[place]} at index {place}"
            if known
            else f"the label at index {place}, no whole number,"
        )
        raise InvalidIndexError(
            f"[sparse_softmax_cross_entropy_with_logits] {found} is not a class: "
            f"logits have the classes 0 to {size - 1}; give such a row any class and multiply its loss by 0"
        )


def _class_impl(numbers: Any, *, size: int) -> Any:
    check_classes(numbers, size)
    return numbers


def _checked_class(numbers: Any, *, size: int) -> Any:
    """Return the decomposition for compiled code: an invalid label ends the run, which the interpreter repeats."""
    wrong = logical_or(less(numbers, 0), greater_equal(numbers, size))
    end_run_where(wrong, "IndexError", "a label is not a class of the logits")
    return where(wrong, 0, numbers)


class_op = Primitive(
    "class_number",
    abstract_eval=lambda numbers, *, size: numbers,
    impl=_class_impl,
    lowering=CheckedMap(_checked_class),
    gradient_stops="a class number is an integer",
    batch=alike(),
)
"""Labels from 0 to below `size`; other labels are an error."""


def _sparse_cross_entropy_body(labels: Any, logits: Any) -> Any:
    labels, logits = as_symbol(labels), floating(logits)
    op = "sparse_softmax_cross_entropy_with_logits"
    if labels.dtype.kind not in "iu":
        raise DTypeError(
            f"[{op}] labels must be integers, got {labels.dtype.name}; cast them, or use one-hot labels"
        )
    if not logits.shape or labels.shape != logits.shape[:-1]:
        raise ShapeError(
            f"[{op}] labels must have the shape of logits without its last dimension, "
            f"got labels {labels.shape} and logits {logits.shape}"
        )
    x, axes = shifted(op, logits, -1)
    classes = iota(x.shape, axes[0], int64)
    numbers = class_op.bind(cast_to(labels, int64), size=x.shape[-1])
    chosen = equal(classes, broadcast_back(numbers, x.shape, axes))
    log_total = log(reduce_sum(exp(x), axes))
    return subtract(log_total, reduce_sum(where(chosen, x, 0), axes))


def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """Return the cross-entropy between the classes `labels` and the softmax of `logits`, along the last dimension.

    Parameters
    ----------
    labels : tensor of int
        Class numbers, from 0.
    logits : tensor
        Unscaled log-probabilities, with one dimension more than `labels`.

    Raises
    ------
    DTypeError
        If `logits` is complex, or `labels` is not an integer.
    ShapeError
        If the shapes do not fit.
    IndexError
        If a label is not a class: immediately if `labels` is an array or a sequence, when the value is read if it is a
        tensor. A step of a loop that fails in this way changes nothing.

    Examples
    --------
    >>> jt.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0.0, 0.0]]).numpy().round(4)
    array([0.6931], dtype=float32)
    """
    if isinstance(labels, (int, np.ndarray)) or (isinstance(labels, (list, tuple)) and shape_of(labels)):
        numbers, shape = np.asarray(labels), shape_of(logits)
        if numbers.dtype.kind in "iu" and shape:
            check_classes(numbers, shape[-1])
    return apply(_sparse_cross_entropy_body, (labels, logits))


def _sigmoid_cross_entropy_body(labels: Any, logits: Any) -> Any:
    _require_equal_shapes("sigmoid_cross_entropy_with_logits", labels, logits)
    z, x = _alike("sigmoid_cross_entropy_with_logits", labels, logits)
    # max(x, 0) and -abs(x) with one condition: their kinks at 0 cancel, as in TensorFlow.
    above = greater_equal(x, 0)
    overshoot = where(above, x, 0)
    return add(subtract(overshoot, multiply(x, z)), log1p(exp(where(above, negative(x), x))))


def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the cross-entropy between `labels` and the sigmoid of `logits`, element by element.

    Parameters
    ----------
    labels : tensor
        Probabilities between 0 and 1. A gradient flows through them as well.
    logits : tensor
        Unscaled log-odds, with the same shape.

    Raises
    ------
    DTypeError
        If `labels` or `logits` is complex.
    ShapeError
        If the shapes of `labels` and `logits` differ.

    Examples
    --------
    >>> jt.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 100.0]).numpy().round(4)
    array([  0.6931, 100.    ], dtype=float32)
    """
    if labels is None or logits is None:
        raise ValueError("[sigmoid_cross_entropy_with_logits] Both labels and logits must be provided.")
    return apply(_sigmoid_cross_entropy_body, (labels, logits))


def _weighted_cross_entropy_body(labels: Any, logits: Any, weight: Any) -> Any:
    _require_equal_shapes("weighted_cross_entropy_with_logits", labels, logits)
    z, x, weight = _alike("weighted_cross_entropy_with_logits", labels, logits, weight)
    log_weight = add(multiply(subtract(weight, 1), z), 1)
    above = greater_equal(x, 0)
    tail = add(log1p(exp(where(above, negative(x), x))), where(above, 0, negative(x)))
    return add(multiply(subtract(1, z), x), multiply(log_weight, tail))


def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """Return the sigmoid cross-entropy with errors on positive labels weighted by `pos_weight`.

    Parameters
    ----------
    labels : tensor_like
        Probabilities from 0 to 1.
    logits : tensor_like
        Scores, of the shape of `labels`.
    pos_weight : tensor_like
        Weight of positive labels.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `labels`, `logits` or `pos_weight` is complex.
    ShapeError
        If the shapes of `labels` and `logits` differ.

    Examples
    --------
    >>> jt.nn.weighted_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 0.0], pos_weight=2.0).numpy().round(4)
    array([1.3863, 0.6931], dtype=float32)
    """
    return apply(_weighted_cross_entropy_body, (labels, logits, pos_weight))


def _l2_loss_body(t: Any) -> Any:
    t = floating(t)
    require_kinds("l2_loss", "f", t.aval)
    return multiply(reduce_sum(square(t)), 0.5)


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Return half the sum of the squares of all elements.

    Parameters
    ----------
    t : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `t` is complex.

    Examples
    --------
    >>> jt.nn.l2_loss([3.0, 4.0]).numpy()
    array(12.5, dtype=float32)
    """
    return apply(_l2_loss_body, (t,))
