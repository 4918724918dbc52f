"""Fractions of right predictions."""

from __future__ import annotations

from functools import partial
from typing import Any

from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.keras.metrics.metric_base import MeanMetricWrapper
from jittape.keras.true_and_predicted import as_tensor, class_numbers, same_rank
from jittape.primitives.elementwise.comparison import equal, greater
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.nn.top_classes import in_top_k
from jittape.primitives.reduce.extremum_indices import argmax
from jittape.primitives.reduce.reductions import reduce_any
from jittape.primitives.shape.reshaping import expand_dims, reshape, squeeze

__all__ = [
    "Accuracy",
    "BinaryAccuracy",
    "CategoricalAccuracy",
    "SparseCategoricalAccuracy",
    "SparseTopKCategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "binary_accuracy",
    "categorical_accuracy",
    "sparse_categorical_accuracy",
    "sparse_top_k_categorical_accuracy",
    "top_k_categorical_accuracy",
]


def _matches(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = same_rank("Accuracy", cast(y_true, y_pred.dtype), y_pred)
    return cast(equal(y_true, y_pred), "float32")


def _numbers(op: str, y_true: Any, y_pred: Any) -> Any:
    """Return the numbers of the true classes, without a last dimension of length 1."""
    if not y_pred.shape:
        raise ShapeError(f"[{op}] y_pred must have a last dimension of classes, got a scalar")
    if y_true.ndim == y_pred.ndim and y_true.shape[-1] == 1:
        y_true = squeeze(y_true, -1)
    if y_true.shape != y_pred.shape[:-1]:
        raise ShapeError(
            f"[{op}] y_true must have the shape of y_pred without the classes, got {y_true.shape} and {y_pred.shape}"
        )
    return class_numbers(y_true)


def _binary_matches(op: str, y_true: Any, y_pred: Any, threshold: float) -> Any:
    y_true, y_pred = same_rank(op, as_tensor(y_true), as_tensor(y_pred))
    found = cast(greater(y_pred, threshold), "float32")
    return cast(equal(cast(y_true, "float32"), found), "float32")


def _class_matches(op: str, y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = same_rank(op, as_tensor(y_true), as_tensor(y_pred))
    if y_true.shape != y_pred.shape:
        raise ShapeError(
            f"[{op}] y_true and y_pred must have equal shapes, got {y_true.shape} and {y_pred.shape}"
        )
    return cast(equal(argmax(y_true, -1), argmax(y_pred, -1)), "float32")


def _sparse_matches(op: str, y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = as_tensor(y_true), as_tensor(y_pred)
    numbers = _numbers(op, y_true, y_pred)
    return cast(equal(numbers, argmax(y_pred, -1)), "float32")


def _top_matches(op: str, y_true: Any, y_pred: Any, k: int, from_sorted_ids: bool) -> Any:
    y_true, y_pred = as_tensor(y_true), as_tensor(y_pred)
    numbers = _numbers(op, y_true, y_pred)
    if not from_sorted_ids:
        return _in_top_k(numbers, y_pred, k)
    best = cast(y_pred[..., :k], "int64")
    return cast(reduce_any(equal(expand_dims(numbers, -1), best), -1), "float32")


def _in_top_k(numbers: Any, y_pred: Any, k: int) -> Any:
    """Return 1 for each class whose prediction is among the `k` greatest or ties with one of them, otherwise 0."""
    rows = reshape(y_pred, [-1, y_pred.shape[-1]])
    return cast(reshape(in_top_k(reshape(numbers, [-1]), rows, k), numbers.shape), "float32")


def _top_class_matches(op: str, y_true: Any, y_pred: Any, k: int) -> Any:
    y_true, y_pred = same_rank(op, as_tensor(y_true), as_tensor(y_pred))
    if y_true.shape[:-1] != y_pred.shape[:-1]:
        raise ShapeError(
            f"[{op}] y_true and y_pred must differ in their classes only, got {y_true.shape} and {y_pred.shape}"
        )
    return _in_top_k(argmax(y_true, -1), y_pred, k)


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """Return 1 for each label 0 or 1 that the probability matches, otherwise 0.

    Parameters
    ----------
    y_true, y_pred : tensor
        Labels and probabilities.
    threshold : float
        Probability above which the prediction is class 1.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> jt.keras.metrics.binary_accuracy([1, 0], [0.7, 0.6]).numpy()
    array([1., 0.], dtype=float32)
    """
    return _binary_matches("binary_accuracy", y_true, y_pred, threshold)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Return 1 for each example whose greatest prediction is that of the true class, otherwise 0.

    Parameters
    ----------
    y_true, y_pred : tensor
        One-hot labels and predictions, with the classes along the last dimension.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> jt.keras.metrics.categorical_accuracy([[0, 1], [1, 0]], [[0.1, 0.9], [0.4, 0.6]]).numpy()
    array([1., 0.], dtype=float32)
    """
    return _class_matches("categorical_accuracy", y_true, y_pred)


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Return 1 for each example whose greatest prediction is that of the true class, otherwise 0.

    Parameters
    ----------
    y_true, y_pred : tensor
        Numbers of classes, and predictions with the classes along the last dimension.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> jt.keras.metrics.sparse_categorical_accuracy([1, 0], [[0.1, 0.9], [0.4, 0.6]]).numpy()
    array([1., 0.], dtype=float32)
    """
    return _sparse_matches("sparse_categorical_accuracy", y_true, y_pred)


def sparse_top_k_categorical_accuracy(
    y_true: Any, y_pred: Any, k: int = 5, from_sorted_ids: bool = False
) -> Any:
    """Return 1 for each example whose true class is among the `k` greatest predictions, otherwise 0.

    Parameters
    ----------
    y_true, y_pred : tensor
        Numbers of classes, and predictions with the classes along the last dimension.
    k : int
        Number of predictions that may contain the true class.
    from_sorted_ids : bool
        Whether `y_pred` has the numbers of the classes, the best one first, instead of predictions.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> jt.keras.metrics.sparse_top_k_categorical_accuracy([2, 0], [[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]], k=2).numpy()
    array([1., 0.], dtype=float32)
    """
    return _top_matches("sparse_top_k_categorical_accuracy", y_true, y_pred, k, from_sorted_ids)


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Return 1 for each example whose true class is among the `k` greatest predictions, otherwise 0.

    Parameters
    ----------
    y_true, y_pred : tensor
        One-hot labels and predictions, with the classes along the last dimension.
    k : int
        Number of predictions that may contain the true class.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> jt.keras.metrics.top_k_categorical_accuracy([[0, 0, 1], [1, 0, 0]], [[0.1, 0.5, 0.4]] * 2, k=2).numpy()
    array([1., 0.], dtype=float32)
    """
    return _top_class_matches("top_k_categorical_accuracy", y_true, y_pred, k)


class Accuracy(MeanMetricWrapper):
    """The fraction of equal labels.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.Accuracy()([1, 2, 3, 4], [0, 2, 3, 4]).numpy().item()
    0.75
    """

    direction = "up"

    def __init__(self, name: str | None = "accuracy", dtype: Any = None) -> None:
        super().__init__(_matches, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """The fraction of labels 0 and 1 that the probabilities match.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    threshold : float
        Probability above which the prediction is class 1.

    Examples
    --------
    >>> jt.keras.metrics.BinaryAccuracy()([1, 0], [0.7, 0.6]).numpy().item()
    0.5
    """

    direction = "up"

    def __init__(
        self, name: str | None = "binary_accuracy", dtype: Any = None, threshold: float = 0.5
    ) -> None:
        super().__init__(partial(_binary_matches, "BinaryAccuracy"), name, dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """The fraction of examples whose greatest prediction is that of the true class.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.CategoricalAccuracy()([[0, 1], [1, 0]], [[0.1, 0.9], [0.4, 0.6]]).numpy().item()
    0.5
    """

    direction = "up"

    def __init__(self, name: str | None = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(partial(_class_matches, "CategoricalAccuracy"), name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """The fraction of examples whose greatest prediction is that of the true class, given by its number.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.SparseCategoricalAccuracy()([1, 0], [[0.1, 0.9], [0.4, 0.6]]).numpy().item()
    0.5
    """

    direction = "up"

    def __init__(self, name: str | None = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(partial(_sparse_matches, "SparseCategoricalAccuracy"), name, dtype)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The fraction of examples whose true class is among the `k` greatest predictions.

    Parameters
    ----------
    k : int
        Number of predictions that may contain the true class.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    from_sorted_ids : bool
        Whether predictions are numbers of classes, the best one first.

    Examples
    --------
    >>> metric = jt.keras.metrics.SparseTopKCategoricalAccuracy(k=2)
    >>> metric([2, 0], [[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]]).numpy().item()
    0.5
    """

    direction = "up"

    def __init__(
        self,
        k: int = 5,
        name: str | None = "sparse_top_k_categorical_accuracy",
        dtype: Any = None,
        from_sorted_ids: bool = False,
    ) -> None:
        super().__init__(
            partial(_top_matches, "SparseTopKCategoricalAccuracy"),
            name,
            dtype,
            k=as_int("k", k),
            from_sorted_ids=bool(from_sorted_ids),
        )


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The fraction of examples whose true class, in a one-hot row, is among the `k` greatest predictions.

    Parameters
    ----------
    k : int
        Number of predictions that may contain the true class.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> metric = jt.keras.metrics.TopKCategoricalAccuracy(k=2)
    >>> metric([[0, 0, 1], [1, 0, 0]], [[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]]).numpy().item()
    0.5
    """

    direction = "up"

    def __init__(
        self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(
            partial(_top_class_matches, "TopKCategoricalAccuracy"), name, dtype, k=as_int("k", k)
        )
