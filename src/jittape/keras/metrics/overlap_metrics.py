"""Intersection over union of classes, for segmentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.argument_checks import listed
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.keras.metrics.metric_base import Metric
from jittape.keras.true_and_predicted import TINY, as_tensor
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import (
    greater,
    greater_equal,
    less,
    logical_and,
    not_equal,
    where,
)
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.histograms import confusion_matrix
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.reduce.extremum_indices import argmax
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import broadcast_to, reshape
from jittape.recording.tensor import Tensor

__all__ = ["BinaryIoU", "IoU", "MeanIoU", "OneHotIoU", "OneHotMeanIoU"]


class IoU(Metric):
    """The mean over some classes of the intersection over the union of true and predicted elements.

    Parameters
    ----------
    num_classes : int
        Number of classes; elements of other classes are not counted.
    target_class_ids : sequence of int
        Classes of the mean; those without true and predicted elements are left out.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the counts, int64 by default. Weights are cast to it.
    ignore_class : int, optional
        Label whose elements are not counted.
    sparse_y_true, sparse_y_pred : bool
        Whether labels and predictions are numbers of classes; otherwise the greatest value along `axis` counts.
    axis : int
        Axis of the classes.

    Raises
    ------
    ValueError
        If a class of the mean is out of range.

    Examples
    --------
    >>> round(float(jt.keras.metrics.IoU(2, [0])([0, 0, 1, 1], [0, 1, 0, 1])), 4)
    0.3333
    """

    direction = "up"

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__("int64" if dtype is None else dtype, name)
        self.num_classes = as_int("num_classes", num_classes)
        given = listed(type(self).__name__, "target_class_ids", target_class_ids)
        self.target_class_ids = [as_int("target_class_ids", number) for number in given]
        if not self.target_class_ids or not all(0 <= i < self.num_classes for i in self.target_class_ids):
            raise ValueError(
                f"[{type(self).__name__}] target_class_ids must be classes from 0 to below {num_classes}, got "
                f"{given}"
            )
        self.ignore_class, self.axis = ignore_class, axis
        self.sparse_y_true, self.sparse_y_pred = sparse_y_true, sparse_y_pred
        self.total_cm = self.add_weight((num_classes, num_classes), name="total_confusion_matrix")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch."""
        labels = self._numbers(y_true, self.sparse_y_true)
        predictions = self._numbers(y_pred, self.sparse_y_pred)
        if labels.shape != predictions.shape:
            raise ShapeError(
                f"[{type(self).__name__}] y_true and y_pred must have equally many elements, got {labels.shape[0]} and "
                f"{predictions.shape[0]}"
            )
        weights = cast(as_tensor(1 if sample_weight is None else sample_weight), self.dtype)
        weights = broadcast_to(reshape(weights, [-1]) if weights.ndim else weights, labels.shape)
        counted = logical_and(self._known(labels), self._known(predictions))
        if self.ignore_class is not None:
            counted = logical_and(counted, not_equal(labels, self.ignore_class))
        labels, predictions, weights = (where(counted, x, 0) for x in (labels, predictions, weights))
        found = confusion_matrix(labels, predictions, self.num_classes, weights, self.dtype)
        self.total_cm.assign_add(found)

    def _numbers(self, values: Any, sparse: bool) -> Any:
        values = as_tensor(values)
        return reshape(cast(values if sparse else argmax(values, self.axis), "int64"), [-1])

    def _known(self, numbers: Any) -> Any:
        return logical_and(greater_equal(numbers, 0), less(numbers, self.num_classes))

    def result(self) -> Tensor:
        """Return the mean; 0 without elements."""
        counts = cast(self.total_cm, "float32")
        both = diag_part(counts)
        either = subtract(add(reduce_sum(counts, 0), reduce_sum(counts, 1)), both)
        both, either = gather(both, self.target_class_ids), gather(either, self.target_class_ids)
        valid = cast(greater(either, 1e-9), "float32")
        ratios = multiply(valid, divide(both, add(either, TINY)))
        return divide(reduce_sum(ratios), add(reduce_sum(valid), TINY))


class BinaryIoU(IoU):
    """The intersection over union of the classes 0 and 1, for probabilities.

    Parameters
    ----------
    target_class_ids : sequence of int
        Classes of the mean.
    threshold : float
        Predictions of at least this value are class 1.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the counts, int64 by default.

    Examples
    --------
    >>> round(float(jt.keras.metrics.BinaryIoU(threshold=0.3)([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7])), 4)
    0.3333
    """

    def __init__(
        self,
        target_class_ids: Sequence[int] = (0, 1),
        threshold: float = 0.5,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities."""
        super().update_state(y_true, greater_equal(as_tensor(y_pred), self.threshold), sample_weight)


class MeanIoU(IoU):
    """The mean over all classes of the intersection over the union of true and predicted elements.

    Parameters
    ----------
    num_classes : int
        Number of classes; elements of other classes are not counted.
    name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis : those of `IoU`

    Examples
    --------
    >>> round(float(jt.keras.metrics.MeanIoU(2)([0, 0, 1, 1], [0, 1, 0, 1])), 4)
    0.3333
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        targets = range(as_int("num_classes", num_classes))
        super().__init__(num_classes, targets, name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)


class OneHotIoU(IoU):
    """The intersection over union of some classes, for one-hot labels.

    Parameters
    ----------
    num_classes : int
        Number of classes.
    target_class_ids : sequence of int
        Classes of the mean.
    name, dtype, ignore_class, sparse_y_pred, axis : those of `IoU`

    Examples
    --------
    >>> round(float(jt.keras.metrics.OneHotIoU(2, [1])([[0, 1], [1, 0]], [[0.4, 0.6], [0.3, 0.7]])), 4)
    0.5
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis)


class OneHotMeanIoU(MeanIoU):
    """The intersection over union of all classes, for one-hot labels.

    Parameters
    ----------
    num_classes : int
        Number of classes.
    name, dtype, ignore_class, sparse_y_pred, axis : those of `IoU`

    Examples
    --------
    >>> round(float(jt.keras.metrics.OneHotMeanIoU(2)([[0, 1], [1, 0]], [[0.4, 0.6], [0.3, 0.7]])), 4)
    0.25
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)
