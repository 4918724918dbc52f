"""Precision, recall, sensitivity and specificity at the threshold at which another of them is large enough."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jittape.core.user_calls import as_float, as_int
from jittape.keras.metrics.confusion_metrics import Counts
from jittape.keras.true_and_predicted import as_tensor, of_class
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.elementwise.comparison import greater_equal, where
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.reduce.reductions import reduce_max
from jittape.recording.tensor import Tensor

__all__ = ["PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity"]


class _OperatingPoint(Counts):
    """The greatest value of a fraction over the thresholds at which another fraction is large enough."""

    direction = "up"
    required: ClassVar[str]
    """Name of the argument."""

    def __init__(
        self, value: float, num_thresholds: int, class_id: int | None, name: str | None, dtype: Any
    ) -> None:
        count, owner = as_int("num_thresholds", num_thresholds), type(self).__name__
        if count < 1:
            raise ValueError(f"[{owner}] num_thresholds must be positive, got {num_thresholds}")
        if not 0 <= as_float(self.required, value) <= 1:
            raise ValueError(f"[{owner}] {self.required} must be from 0 to 1, got {value}")
        self.value, self.num_thresholds = value, count
        self.class_id = None if class_id is None else as_int("class_id", class_id)
        super().__init__([0.5] if count == 1 else np.linspace(0, 1, count), name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities."""
        y_true, y_pred = as_tensor(y_true), as_tensor(y_pred)
        if self.class_id is not None:
            y_true, y_pred = of_class(type(self).__name__, y_true, y_pred, self.class_id)
        super().update_state(y_true, y_pred, sample_weight)

    def _best(self, wanted: Tensor, limited: Tensor) -> Tensor:
        """Return the greatest of `wanted` where `limited` is at least the value; 0 if it is nowhere."""
        return reduce_max(where(greater_equal(limited, self.value), wanted, 0))

    def _precision(self) -> Tensor:
        return divide_no_nan(self.true_positives, add(self.true_positives, self.false_positives))

    def _recall(self) -> Tensor:
        return divide_no_nan(self.true_positives, add(self.true_positives, self.false_negatives))

    def _specificity(self) -> Tensor:
        return divide_no_nan(self.true_negatives, add(self.true_negatives, self.false_positives))


class SensitivityAtSpecificity(_OperatingPoint):
    """The greatest fraction of positive labels found, of the thresholds with this specificity or more.

    Parameters
    ----------
    specificity : float
        From 0 to 1.
    num_thresholds : int
        Number of thresholds that are tried.
    class_id : int, optional
        Position of the class that is counted, in the last dimension.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Raises
    ------
    ValueError
        If `specificity` is out of range.

    Examples
    --------
    >>> float(jt.keras.metrics.SensitivityAtSpecificity(0.5)([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
    0.5
    """

    required = "specificity"

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(specificity, num_thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """Return the sensitivity."""
        return self._best(self._recall(), self._specificity())


class SpecificityAtSensitivity(_OperatingPoint):
    """The greatest fraction of negative labels found, of the thresholds with this sensitivity or more.

    Parameters
    ----------
    sensitivity : float
        From 0 to 1.
    num_thresholds : int
        Number of thresholds that are tried.
    class_id : int, optional
        Position of the class that is counted, in the last dimension.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Raises
    ------
    ValueError
        If `sensitivity` is out of range.

    Examples
    --------
    >>> float(jt.keras.metrics.SpecificityAtSensitivity(0.5)([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
    0.6666666865348816
    """

    required = "sensitivity"

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """Return the specificity."""
        return self._best(self._specificity(), self._recall())


class PrecisionAtRecall(_OperatingPoint):
    """The greatest precision of the thresholds with this recall or more.

    Parameters
    ----------
    recall : float
        From 0 to 1.
    num_thresholds : int
        Number of thresholds that are tried.
    class_id : int, optional
        Position of the class that is counted, in the last dimension.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Raises
    ------
    ValueError
        If `recall` is out of range.

    Examples
    --------
    >>> float(jt.keras.metrics.PrecisionAtRecall(0.5)([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
    0.5
    """

    required = "recall"

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(recall, num_thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """Return the precision."""
        return self._best(self._precision(), self._recall())


class RecallAtPrecision(_OperatingPoint):
    """The greatest recall of the thresholds with this precision or more; 0 if there are none.

    Parameters
    ----------
    precision : float
        From 0 to 1.
    num_thresholds : int
        Number of thresholds that are tried.
    class_id : int, optional
        Position of the class that is counted, in the last dimension.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Raises
    ------
    ValueError
        If `precision` is out of range.

    Examples
    --------
    >>> float(jt.keras.metrics.RecallAtPrecision(0.5)([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
    1.0
    """

    required = "precision"

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(precision, num_thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """Return the recall."""
        return self._best(self._recall(), self._precision())
