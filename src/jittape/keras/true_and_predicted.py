"""Shapes and dtypes of true and predicted values."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import as_dtype, is_floating
from jittape.errors import ShapeError
from jittape.primitives.elementwise.arithmetic import square, subtract
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import floor
from jittape.primitives.indexing.sorting import top_k
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.indicators import one_hot
from jittape.primitives.shape.reshaping import expand_dims, squeeze
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators

__all__ = [
    "EXCLUDED",
    "TINY",
    "argument_as_tensor",
    "as_tensor",
    "class_numbers",
    "closest_ranks",
    "floating_operands",
    "greatest_predictions",
    "matched",
    "matched_shapes",
    "of_class",
    "predicted_tensor",
    "same_rank",
    "squared_differences",
]

TINY = 1e-7
"""Distance of probabilities from 0 and 1."""
EXCLUDED = -1e10
"""Prediction in place of those that are not among the greatest ones."""


def as_tensor(x: Any) -> Any:
    """Return a tensor or Variable as it is, and anything else as a tensor."""
    return x if isinstance(x, Operators) else convert_to_tensor(x)


def argument_as_tensor(op: str, argument: str, x: Any) -> Any:
    """Return an argument of `op` as a tensor; errors name both."""
    if isinstance(x, Operators):
        return x
    try:
        return convert_to_tensor(x)
    except (TypeError, ValueError) as error:
        text = str(error)
        error.args = (f"[{op}] {argument}: {text[max(text.find('Cannot convert'), 0) :]}",)
        raise


def same_rank(op: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return both without a last dimension of length 1 that only one of them has; a vector becomes a column.

    A single number is a target for every prediction, as in Keras.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ otherwise.
    """
    y_true, y_pred = closest_ranks(y_true, y_pred)
    if y_true.ndim != y_pred.ndim and y_true.ndim:
        raise ShapeError(
            f"[{op}] y_true and y_pred must have equal numbers of dimensions, got shapes {tuple(y_true.shape)} and "
            f"{tuple(y_pred.shape)}"
        )
    return y_true, y_pred


def closest_ranks(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return both as `same_rank` does, also if the numbers of dimensions differ otherwise.

    Losses are means over the last dimension, so a vector beside a column has one loss for each element.
    """
    ranks = y_true.ndim, y_pred.ndim
    if ranks == (1, 2) and y_pred.shape[-1] == 1:
        y_true = expand_dims(y_true, -1)
    elif ranks == (2, 1) and y_true.shape[-1] == 1:
        y_pred = expand_dims(y_pred, -1)
    elif ranks[0] == ranks[1] + 1 and y_true.shape[-1] == 1:
        y_true = squeeze(y_true, -1)
    elif ranks[1] == ranks[0] + 1 and y_pred.shape[-1] == 1:
        y_pred = squeeze(y_pred, -1)
    return y_true, y_pred


def floating_operands(y_true: Any, y_pred: Any, dtype: Any = None) -> tuple[Any, Any]:
    """Return both in the dtype in which Keras gives them to losses of the user.

    That is `dtype`, or `jt.config.default_float`, or the dtype of the predictions if it has more precision. Labels of
    uint8 would wrap in a difference, and labels of int64 would give float64.
    """
    if np.dtype(y_pred.aval.dtype).kind == "c":
        return y_true, y_pred
    if dtype is None:
        found, default = y_pred.aval.dtype, as_dtype(config.default_float)
        dtype = np.promote_types(found, default) if is_floating(found) else default
    return cast(y_true, dtype), cast(y_pred, dtype)


def class_numbers(y_true: Any, not_whole: int = -1) -> Any:
    """Return labels as integers; `not_whole`, which is no class, in place of nan and of numbers that are not whole."""
    y_true = as_tensor(y_true)
    if is_floating(y_true.aval.dtype):
        y_true = where(equal(y_true, floor(y_true)), y_true, not_whole)
    return cast(y_true, "int64")


def predicted_tensor(y_pred: Any) -> Any:
    """Return the predicted values as floats."""
    y_pred = as_tensor(y_pred)
    return y_pred if is_floating(y_pred.aval.dtype) else cast(y_pred, "float32")


def matched(op: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return both in the dtype of `y_pred`; their ranks become equal; see `same_rank`."""
    y_pred = predicted_tensor(y_pred)
    return same_rank(op, cast(as_tensor(y_true), y_pred.aval.dtype), y_pred)


def squared_differences(y_true: Any, y_pred: Any) -> Any:
    """Return the squared difference of each element, for `RootMeanSquaredError`."""
    y_true, y_pred = matched("RootMeanSquaredError", y_true, y_pred)
    return square(subtract(y_true, y_pred))


def matched_shapes(op: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return both as `matched` does.

    Raises
    ------
    ShapeError
        If the shapes differ then: TensorFlow's cross-entropies do not broadcast, other losses do.
    """
    y_true, y_pred = matched(op, y_true, y_pred)
    shapes = tuple(y_true.shape), tuple(y_pred.shape)
    if shapes[0] != shapes[1]:
        raise ShapeError(
            f"[{op}] y_true and y_pred must have the same shape, got {shapes[0]} and {shapes[1]}: y_true needs a value "
            "for each prediction; sparse_categorical_crossentropy takes class numbers"
        )
    return y_true, y_pred


def greatest_predictions(op: str, y_pred: Any, k: int) -> Any:
    """Return the predictions with `EXCLUDED` in place of all but the `k` greatest ones of an example.

    Raises
    ------
    ValueError
        If there are fewer classes.
    """
    classes = y_pred.shape[-1] if y_pred.ndim else 0
    if not 1 <= k <= classes:
        raise ValueError(f"[{op}] top_k must be from 1 to the number of classes, {classes}, got {k}")
    found = one_hot(top_k(y_pred, k).indices, classes, dtype=y_pred.dtype)
    return where(reduce_sum(found, -2) > 0, y_pred, EXCLUDED)


def of_class(op: str, y_true: Any, y_pred: Any, class_id: int) -> tuple[Any, Any]:
    """Return the labels and the predictions of a class.

    Raises
    ------
    ValueError
        If there is no such class.
    """
    classes = y_pred.shape[-1] if y_pred.ndim else 0
    if not 0 <= class_id < classes or y_true.shape[-1:] != y_pred.shape[-1:]:
        raise ValueError(
            f"[{op}] class_id {class_id} must be less than the last dimension of y_true and y_pred, got shapes "
            f"{tuple(y_true.shape)} and {tuple(y_pred.shape)}"
        )
    return y_true[..., class_id], y_pred[..., class_id]
