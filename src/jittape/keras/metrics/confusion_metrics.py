"""Metrics of true and false positives and negatives."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jittape.core.user_calls import as_int
from jittape.execution import init_scope
from jittape.keras.metrics.metric_base import Metric
from jittape.keras.true_and_predicted import EXCLUDED, as_tensor, greatest_predictions, of_class, same_rank
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater, logical_and, logical_not, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.hyperbolic import sigmoid
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, reshape, squeeze
from jittape.recording.convert import constant
from jittape.recording.tensor import Tensor

__all__ = [
    "AUC",
    "Counts",
    "FalseNegatives",
    "FalsePositives",
    "Precision",
    "Recall",
    "TrueNegatives",
    "TruePositives",
]


class Counts(Metric):
    """Weighted numbers of true and false positives and negatives at thresholds.

    A prediction is positive if it is greater than the threshold.
    """

    labels = False
    """Whether the last dimension has labels that are counted separately."""

    def __init__(self, thresholds: Any, name: str | None, dtype: Any) -> None:
        super().__init__(dtype, name)
        self._thresholds = np.asarray(thresholds, self.dtype).ravel()
        if not len(self._thresholds):
            raise ValueError(f"[{type(self).__name__}] thresholds must not be empty")
        self._add_counts([len(self._thresholds)])

    def _add_counts(self, shape: list[int]) -> None:
        self.true_positives = self.add_weight(shape, name="true_positives")
        self.false_positives = self.add_weight(shape, name="false_positives")
        self.true_negatives = self.add_weight(shape, name="true_negatives")
        self.false_negatives = self.add_weight(shape, name="false_negatives")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities."""
        y_true, y_pred = same_rank(type(self).__name__, as_tensor(y_true), as_tensor(y_pred))
        rows = [-1, y_pred.shape[-1]] if self.labels else [-1]
        predicted = reshape(cast(y_pred, self.dtype), rows)
        actual = reshape(cast(y_true, "bool"), rows)
        weights = self._weights(y_pred, sample_weight)
        if weights.ndim:
            weights = reshape(weights, rows)
        positive = greater(predicted, reshape(constant(self._thresholds), [-1] + [1] * len(rows)))
        for variable, of_prediction, of_label in (
            (self.true_positives, positive, actual),
            (self.false_positives, positive, logical_not(actual)),
            (self.true_negatives, logical_not(positive), logical_not(actual)),
            (self.false_negatives, logical_not(positive), actual),
        ):
            counted = cast(logical_and(of_prediction, of_label), self.dtype)
            variable.assign_add(reduce_sum(multiply(counted, weights), 1))

    def _weights(self, y_pred: Any, sample_weight: Any) -> Any:
        """Return the weight of each prediction, given those of the examples; a scalar for all."""
        if sample_weight is None:
            return constant(1.0, self.dtype)
        weights = cast(as_tensor(sample_weight), self.dtype)
        if weights.ndim == y_pred.ndim + 1 and weights.shape[-1] == 1:
            weights = squeeze(weights, -1)
        if not weights.ndim:
            return weights
        while weights.ndim < y_pred.ndim:
            weights = expand_dims(weights, -1)
        return broadcast_to(weights, y_pred.shape)

    def _one_or_all(self, values: Any) -> Any:
        return values[0] if len(self._thresholds) == 1 else values


class _Count(Counts):
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


class _Fraction(Counts):
    """A fraction of the positive predictions or labels, of all classes or of one."""

    direction = "up"

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        if thresholds is None:
            thresholds = 0.5 if top_k is None else EXCLUDED
        super().__init__(thresholds, type(self).__name__.lower() if name is None else name, dtype)
        self.top_k = None if top_k is None else as_int("top_k", top_k)
        self.class_id = None if class_id is None else as_int("class_id", class_id)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities."""
        y_true, y_pred = as_tensor(y_true), as_tensor(y_pred)
        owner = type(self).__name__
        if self.top_k is not None:
            y_pred = greatest_predictions(owner, y_pred, self.top_k)
        if self.class_id is not None:
            y_true, y_pred = of_class(owner, y_true, y_pred, self.class_id)
        super().update_state(y_true, y_pred, sample_weight)


class Precision(_Fraction):
    """The fraction of positive predictions that are right.

    Parameters
    ----------
    thresholds : float or sequence of float, optional
        Probability above which a prediction is positive; 0.5 if neither this nor `top_k` is given.
    top_k : int, optional
        Only the classes of the `top_k` greatest predictions of an example count as positive.
    class_id : int, optional
        Position of the class that is counted, in the last dimension.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.Precision()([0, 1, 1], [0.8, 0.6, 0.2]).numpy().item()
    0.5
    """

    def result(self) -> Tensor:
        """Return the fraction; 0 without positive predictions."""
        found = add(self.true_positives, self.false_positives)
        return self._one_or_all(divide_no_nan(self.true_positives, found))


class Recall(_Fraction):
    """The fraction of positive labels that are found.

    Parameters
    ----------
    thresholds, top_k, class_id : those of `Precision`
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.Recall()([0, 1, 1, 1], [0.8, 0.6, 0.2, 0.9]).numpy().item()
    0.6666666865348816
    """

    def result(self) -> Tensor:
        """Return the fraction; 0 without positive labels."""
        there = add(self.true_positives, self.false_negatives)
        return self._one_or_all(divide_no_nan(self.true_positives, there))


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

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = "auc",
        dtype: Any = None,
        thresholds: Any = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Any = None,
        from_logits: bool = False,
    ) -> None:
        if curve not in ("ROC", "PR"):
            raise ValueError(f"[AUC] curve must be 'ROC' or 'PR', got {curve!r}")
        if summation_method not in _HEIGHTS:
            raise ValueError(
                f"[AUC] summation_method must be one of {', '.join(_HEIGHTS)}, got {summation_method!r}"
            )
        super().__init__(_thresholds(num_thresholds, thresholds), name, dtype)
        self.curve, self.summation_method, self.from_logits = curve, summation_method, from_logits
        self.labels, self.num_labels = bool(multi_label), num_labels
        self.label_weights = None if label_weights is None else np.asarray(label_weights, self.dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities or logits."""
        y_pred = sigmoid(y_pred) if self.from_logits else as_tensor(y_pred)
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
