"""Metrics of true and false positives and negatives."""

from __future__ import annotations

from typing import Any, ClassVar

from jittape.core.argument_checks import numbers
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.keras.metrics.metric_base import Metric
from jittape.keras.true_and_predicted import EXCLUDED, as_tensor, greatest_predictions, of_class, same_rank
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.comparison import greater, logical_and, logical_not
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, reshape, squeeze
from jittape.recording.convert import constant
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = [
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

    true_positives: Variable
    false_positives: Variable
    true_negatives: Variable
    false_negatives: Variable

    counted: ClassVar[tuple[str, ...]] = (
        "true_positives",
        "false_positives",
        "true_negatives",
        "false_negatives",
    )
    """Names of the counts that the metric keeps."""
    labels = False
    """Whether the last dimension has labels that are counted separately."""

    _limited = True
    """Whether thresholds must be between 0 and 1."""

    def __init__(self, thresholds: Any, name: str | None, dtype: Any) -> None:
        super().__init__(dtype, name)
        self._thresholds = numbers(type(self).__name__, "thresholds", thresholds, self.dtype).ravel()
        if self._limited and not all(0 <= x <= 1 or x == EXCLUDED for x in self._thresholds):
            raise ValueError(f"[{type(self).__name__}] thresholds must be between 0 and 1, got {thresholds}")
        if not len(self._thresholds):
            raise ValueError(f"[{type(self).__name__}] thresholds must not be empty")
        self._add_counts([len(self._thresholds)])

    def _add_counts(self, shape: list[int]) -> None:
        for name in self.counted:
            setattr(self, name, self.add_weight(shape, name=name))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of probabilities."""
        y_true, y_pred = same_rank(type(self).__name__, as_tensor(y_true), as_tensor(y_pred))
        if y_true.shape != y_pred.shape:
            raise ShapeError(
                f"[{type(self).__name__}] y_true and y_pred must have equal shapes, got {tuple(y_true.shape)} and "
                f"{tuple(y_pred.shape)}"
            )
        rows = [-1, y_pred.shape[-1]] if self.labels else [-1]
        predicted = reshape(cast(y_pred, self.dtype), rows)
        actual = reshape(cast(y_true, "bool"), rows)
        weights = self._weights(y_pred, sample_weight)
        if weights.ndim:
            weights = reshape(weights, rows)
        positive = greater(predicted, reshape(constant(self._thresholds), [-1] + [1] * len(rows)))
        for name in self.counted:
            of_prediction = positive if name.endswith("positives") else logical_not(positive)
            of_label = actual if name in ("true_positives", "false_negatives") else logical_not(actual)
            counted = cast(logical_and(of_prediction, of_label), self.dtype)
            getattr(self, name).assign_add(reduce_sum(multiply(counted, weights), 1))

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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.counted = (cls.kind,)

    def __init__(self, thresholds: Any = 0.5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(0.5 if thresholds is None else thresholds, name, dtype)

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
        super().__init__(thresholds, name, dtype)
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

    counted = ("true_positives", "false_positives")

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

    counted = ("true_positives", "false_negatives")

    def result(self) -> Tensor:
        """Return the fraction; 0 without positive labels."""
        there = add(self.true_positives, self.false_negatives)
        return self._one_or_all(divide_no_nan(self.true_positives, there))
