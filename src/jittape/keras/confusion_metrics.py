"""Metrics of true and false positives and negatives."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jittape.core.user_calls import as_int
from jittape.keras.metric_base import Metric
from jittape.keras.true_and_predicted import as_tensor, same_rank
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater, logical_and, logical_not, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.hyperbolic import sigmoid
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import expand_dims, reshape
from jittape.recording.convert import constant
from jittape.recording.tensor import Tensor

__all__ = [
    "AUC",
    "FalseNegatives",
    "FalsePositives",
    "Precision",
    "Recall",
    "TrueNegatives",
    "TruePositives",
]


class _Counts(Metric):
    """Weighted numbers of true and false positives and negatives at thresholds.

    A prediction is positive if it is greater than the threshold.
    """

    def __init__(self, thresholds: Any, name: str | None, dtype: Any) -> None:
        super().__init__(name, dtype)
        self._thresholds = np.asarray(thresholds, self.dtype).ravel()
        count = len(self._thresholds)
        self.true_positives = self.add_weight([count], name="true_positives")
        self.false_positives = self.add_weight([count], name="false_positives")
        self.true_negatives = self.add_weight([count], name="true_negatives")
        self.false_negatives = self.add_weight([count], name="false_negatives")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities."""
        y_true, y_pred = same_rank(type(self).__name__, as_tensor(y_true), as_tensor(y_pred))
        predicted = reshape(cast(y_pred, self.dtype), [-1])
        actual = reshape(cast(y_true, "bool"), [-1])
        weights: Any = constant(1.0, self.dtype)
        if sample_weight is not None:
            weights = cast(as_tensor(sample_weight), self.dtype)
            weights = reshape(weights, [-1]) if weights.shape else weights
        positive = greater(predicted, expand_dims(constant(self._thresholds), 1))
        for variable, of_prediction, of_label in (
            (self.true_positives, positive, actual),
            (self.false_positives, positive, logical_not(actual)),
            (self.true_negatives, logical_not(positive), logical_not(actual)),
            (self.false_negatives, logical_not(positive), actual),
        ):
            counted = cast(logical_and(of_prediction, of_label), self.dtype)
            variable.assign_add(reduce_sum(multiply(counted, weights), 1))

    def _one_or_all(self, values: Any) -> Any:
        return values[0] if len(self._thresholds) == 1 else values


class _Count(_Counts):
    """One of the numbers."""

    kind: ClassVar[str]

    def __init__(self, thresholds: Any = 0.5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(
            0.5 if thresholds is None else thresholds, self.kind if name is None else name, dtype
        )

    def result(self) -> Tensor:
        """Return the number; one for each threshold."""
        return self._one_or_all(getattr(self, self.kind).value())


class TruePositives(_Count):
    """The number of positive predictions that are right.

    Parameters
    ----------
    thresholds : float or sequence of float
        Probability above which a prediction is positive.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.TruePositives()([0, 1, 1, 1], [0.8, 0.6, 0.2, 0.9]).numpy().item()
    2.0
    """

    kind = "true_positives"
    direction = "up"


class FalsePositives(_Count):
    """The number of positive predictions that are wrong.

    Parameters
    ----------
    thresholds : float or sequence of float
        Probability above which a prediction is positive.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.FalsePositives()([0, 1, 1, 1], [0.8, 0.6, 0.2, 0.9]).numpy().item()
    1.0
    """

    kind = "false_positives"
    direction = "down"


class TrueNegatives(_Count):
    """The number of negative predictions that are right.

    Parameters
    ----------
    thresholds : float or sequence of float
        Probability above which a prediction is positive.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.TrueNegatives()([0, 0, 1, 1], [0.8, 0.1, 0.2, 0.9]).numpy().item()
    1.0
    """

    kind = "true_negatives"
    direction = "up"


class FalseNegatives(_Count):
    """The number of negative predictions that are wrong.

    Parameters
    ----------
    thresholds : float or sequence of float
        Probability above which a prediction is positive.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.FalseNegatives()([0, 1, 1, 1], [0.8, 0.6, 0.2, 0.9]).numpy().item()
    1.0
    """

    kind = "false_negatives"
    direction = "down"


class Precision(_Counts):
    """The fraction of positive predictions that are right.

    Parameters
    ----------
    thresholds : float or sequence of float
        Probability above which a prediction is positive.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.Precision()([0, 1, 1], [0.8, 0.6, 0.2]).numpy().item()
    0.5
    """

    direction = "up"

    def __init__(self, thresholds: Any = 0.5, name: str | None = "precision", dtype: Any = None) -> None:
        super().__init__(0.5 if thresholds is None else thresholds, name, dtype)

    def result(self) -> Tensor:
        """Return the fraction; 0 without positive predictions."""
        found = add(self.true_positives, self.false_positives)
        return self._one_or_all(divide_no_nan(self.true_positives, found))


class Recall(_Counts):
    """The fraction of positive labels that are found.

    Parameters
    ----------
    thresholds : float or sequence of float
        Probability above which a prediction is positive.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.Recall()([0, 1, 1, 1], [0.8, 0.6, 0.2, 0.9]).numpy().item()
    0.6666666865348816
    """

    direction = "up"

    def __init__(self, thresholds: Any = 0.5, name: str | None = "recall", dtype: Any = None) -> None:
        super().__init__(0.5 if thresholds is None else thresholds, name, dtype)

    def result(self) -> Tensor:
        """Return the fraction; 0 without positive labels."""
        there = add(self.true_positives, self.false_negatives)
        return self._one_or_all(divide_no_nan(self.true_positives, there))


class AUC(_Counts):
    """The area under the ROC curve, or under the curve of precision and recall, by thresholds.

    Parameters
    ----------
    num_thresholds : int, default 200
        At least 2.
    curve : str, default "ROC"
        Or ``"PR"``; the area is then interpolated as by Davis and Goadrich (ICML 2006).
    name, dtype
        As for `Metric`.
    from_logits : bool
        Whether predictions are logits.

    Raises
    ------
    ValueError
        For another curve or fewer thresholds.

    Examples
    --------
    >>> jt.keras.metrics.AUC(num_thresholds=3)([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]).numpy().item()
    0.75
    """

    direction = "up"

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        name: str | None = "auc",
        dtype: Any = None,
        from_logits: bool = False,
    ) -> None:
        count = as_int("num_thresholds", num_thresholds)
        if count < 2:
            raise ValueError(f"[AUC] num_thresholds must be at least 2, got {num_thresholds}")
        if curve not in ("ROC", "PR"):
            raise ValueError(f"[AUC] curve must be 'ROC' or 'PR', got {curve!r}")
        inner = np.arange(1, count - 1) / (count - 1)
        super().__init__(np.concatenate([[-1e-7], inner, [1 + 1e-7]]), name, dtype)
        self.curve, self.from_logits = curve, from_logits

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities or logits."""
        if self.from_logits:
            y_pred = sigmoid(y_pred)
        super().update_state(y_true, y_pred, sample_weight)

    def result(self) -> Tensor:
        """Return the area."""
        tp, fp, tn, fn = (
            v.value()
            for v in (self.true_positives, self.false_positives, self.true_negatives, self.false_negatives)
        )
        if self.curve == "ROC":
            recall, fall_out = divide_no_nan(tp, add(tp, fn)), divide_no_nan(fp, add(fp, tn))
            heights = multiply(0.5, add(recall[:-1], recall[1:]))
            return reduce_sum(multiply(heights, subtract(fall_out[:-1], fall_out[1:])))
        return _area_of_precision_and_recall(tp, fp, fn)


def _area_of_precision_and_recall(tp: Any, fp: Any, fn: Any) -> Tensor:
    """Return the sum over intervals, in which the number of true positives grows with that of all positives."""
    positives = add(tp, fp)
    d_tp, d_p = subtract(tp[:-1], tp[1:]), subtract(positives[:-1], positives[1:])
    slope = divide_no_nan(d_tp, maximum(d_p, 0))
    intercept = subtract(tp[1:], multiply(slope, positives[1:]))
    both = logical_and(greater(positives[:-1], 0), greater(positives[1:], 0))
    ratio = where(both, divide_no_nan(positives[:-1], maximum(positives[1:], 0)), 1)
    parts = multiply(slope, add(d_tp, multiply(intercept, log(ratio))))
    return reduce_sum(divide_no_nan(parts, maximum(add(tp[1:], fn[1:]), 0)))
