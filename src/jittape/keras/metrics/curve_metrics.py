"""Area under curves of the true and false positives at thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.execution import init_scope
from jittape.keras.metrics.confusion_metrics import Counts
from jittape.keras.true_and_predicted import as_tensor
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater, logical_and, where
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.hyperbolic import sigmoid
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import broadcast_to
from jittape.recording.tensor import Tensor

__all__ = ["AUC"]

_HEIGHTS = {
    "interpolation": lambda a, b: multiply(0.5, add(a, b)),
    "minoring": minimum,
    "majoring": maximum,
}
"""Heights of the intervals between two points of a curve, by the name of the method."""


class AUC(Counts):
    """The area under the ROC curve, or under the curve of precision and recall, by thresholds.

    Parameters
    ----------
    num_thresholds : int, default 200
        At least 2.
    curve : str, default "ROC"
        Or ``"PR"``; the area is then interpolated as by Davis and Goadrich (ICML 2006).
    summation_method : str, default "interpolation"
        ``"minoring"`` and ``"majoring"`` take the smaller and the greater end of each interval.
    name, dtype
        As for `Metric`.
    thresholds : sequence of float, optional
        Between 0 and 1, in place of `num_thresholds`.
    multi_label : bool, default False
        Whether the result is the mean of the areas of the labels in the last dimension.
    num_labels : int, optional
        Number of labels; the first batch tells it by default.
    label_weights : sequence of float, optional
        Weights of the labels in the mean; without `multi_label`, in the counts.
    from_logits : bool
        Whether predictions are logits.

    Raises
    ------
    ValueError
        For another curve or method, fewer thresholds, or thresholds out of range.

    Examples
    --------
    >>> jt.keras.metrics.AUC(num_thresholds=3)([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]).numpy().item()
    0.75
    """

    direction = "up"

    _limited = False  # `_thresholds` checks them, and adds one below 0 and one above 1

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Any = None,
        from_logits: bool = False,
    ) -> None:
        if curve not in ("ROC", "PR"):
            raise ValueError(f"[AUC] curve must be 'ROC' or 'PR', got {curve!r}")
        if summation_method not in list(_HEIGHTS):
            raise ValueError(
                f"[AUC] summation_method must be one of {', '.join(_HEIGHTS)}, got {summation_method!r}"
            )
        super().__init__(_thresholds(num_thresholds, thresholds), name, dtype)
        self.curve, self.summation_method, self.from_logits = curve, summation_method, from_logits
        self.labels, self.num_labels = bool(multi_label), num_labels
        self.label_weights = None if label_weights is None else np.asarray(label_weights, self.dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities or logits."""
        # A prediction below 0 is one of 0: the first threshold, below 0, counts it. One above 1 is one of 1.
        y_pred = sigmoid(y_pred) if self.from_logits else minimum(maximum(as_tensor(y_pred), 0), 1)
        if self.labels:
            self._require_labels(y_pred.shape)
        super().update_state(y_true, y_pred, sample_weight)

    def _require_labels(self, shape: Any) -> None:
        """Make counts for each label at the first batch; check the labels of the others."""
        found = shape[-1] if len(shape) > 1 else 0
        expected = found if self.num_labels is None else self.num_labels
        weights = len(self.label_weights) if self.label_weights is not None else found
        if not found or not found == expected == weights:
            raise ValueError(
                f"[AUC] y_pred must have shape (batch, labels), the labels of num_labels, of label_weights and of "
                f"the batches before, got shape {tuple(shape)}"
            )
        if self.true_positives.shape != (len(self._thresholds), found):
            with init_scope():  # the first batch may come while a function is traced
                self._add_counts([len(self._thresholds), found])
            self.num_labels = found

    def _weights(self, y_pred: Any, sample_weight: Any) -> Any:
        weights = super()._weights(y_pred, sample_weight)
        if self.labels or self.label_weights is None:
            return weights
        return broadcast_to(multiply(weights, self.label_weights), y_pred.shape)

    def result(self) -> Tensor:
        """Return the area."""
        tp, fp, tn, fn = (
            v.value()
            for v in (self.true_positives, self.false_positives, self.true_negatives, self.false_negatives)
        )
        if self.curve == "PR" and self.summation_method == "interpolation":
            areas = _area_of_precision_and_recall(tp, fp, fn)
        else:
            recall = divide_no_nan(tp, add(tp, fn))
            roc = self.curve == "ROC"
            x = divide_no_nan(fp, add(fp, tn)) if roc else recall
            y = recall if roc else divide_no_nan(tp, add(tp, fp))
            heights = _HEIGHTS[self.summation_method](y[:-1], y[1:])
            areas = reduce_sum(multiply(heights, subtract(x[:-1], x[1:])), 0)
        if not areas.ndim:
            return areas
        weights = np.ones(areas.shape, self.dtype) if self.label_weights is None else self.label_weights
        return divide_no_nan(reduce_sum(multiply(areas, weights)), weights.sum())


def _thresholds(count: Any, given: Any) -> Any:
    """Return the thresholds of `AUC`, the first below 0 and the last above 1."""
    if given is None:
        number = as_int("num_thresholds", count)
        if number < 2:
            raise ValueError(f"[AUC] num_thresholds must be at least 2, got {count}")
        inner = np.arange(1, number - 1) / (number - 1)
    else:
        inner = np.sort(np.asarray(given, float).ravel())
        if not np.all((inner >= 0) & (inner <= 1)):
            raise ValueError(f"[AUC] thresholds must be between 0 and 1, got {given}")
    return np.concatenate([[-1e-7], inner, [1 + 1e-7]])


def _area_of_precision_and_recall(tp: Any, fp: Any, fn: Any) -> Tensor:
    """Return the sum over intervals, in which the number of true positives grows with that of all positives."""
    positives = add(tp, fp)
    d_tp, d_p = subtract(tp[:-1], tp[1:]), subtract(positives[:-1], positives[1:])
    slope = divide_no_nan(d_tp, maximum(d_p, 0))
    intercept = subtract(tp[1:], multiply(slope, positives[1:]))
    both = logical_and(greater(positives[:-1], 0), greater(positives[1:], 0))
    ratio = where(both, divide_no_nan(positives[:-1], maximum(positives[1:], 0)), 1)
    parts = multiply(slope, add(d_tp, multiply(intercept, log(ratio))))
    return reduce_sum(divide_no_nan(parts, maximum(add(tp[1:], fn[1:]), 0)), 0)
