"""F scores: harmonic means of precision and recall."""

from __future__ import annotations

from typing import Any

from jittape.errors import ShapeError
from jittape.execution import init_scope
from jittape.keras.metrics.metric_base import Metric
from jittape.keras.true_and_predicted import TINY, as_tensor
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater, greater_equal, logical_and
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.reduce.reductions import reduce_max, reduce_mean, reduce_sum
from jittape.primitives.shape.reshaping import expand_dims
from jittape.recording.tensor import Tensor

__all__ = ["F1Score", "FBetaScore"]


class FBetaScore(Metric):
    """The weighted harmonic mean of precision and recall, for one-hot labels or several labels of an example.

    Parameters
    ----------
    average : str, optional
        None gives a score for each class. ``"micro"`` counts all classes together, ``"macro"`` is the mean of the
        scores, and ``"weighted"`` their mean weighted by the number of true examples.
    beta : float
        Weight of the recall.
    threshold : float, optional
        Predictions above it are positive. By default the greatest one of an example is.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Raises
    ------
    ValueError
        For another average, or if `beta` or `threshold` is out of range.

    Examples
    --------
    >>> metric = jt.keras.metrics.FBetaScore(beta=2.0, threshold=0.5)
    >>> metric([[1, 1], [1, 0], [1, 1]], [[0.2, 0.6], [0.2, 0.6], [0.6, 0.8]]).numpy().round(4)
    array([0.3846, 0.9091], dtype=float32)
    """

    direction = "up"

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype, name)
        owner = type(self).__name__
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(
                f"[{owner}] average must be None, 'micro', 'macro' or 'weighted', got {average!r}"
            )
        if not isinstance(beta, float) or beta <= 0:
            raise ValueError(f"[{owner}] beta must be a positive float, got {beta!r}")
        if threshold is not None and (not isinstance(threshold, float) or not 0 < threshold <= 1):
            raise ValueError(f"[{owner}] threshold must be a float above 0, at most 1, got {threshold!r}")
        self.average, self.beta, self.threshold = average, beta, threshold
        self._classes: int | None = None

    def _require_classes(self, y_true: Any, y_pred: Any) -> None:
        """Create the sums at the first batch; check the classes of all batches."""
        fits = y_true.ndim == y_pred.ndim == 2 and y_true.shape == y_pred.shape
        if not fits or self._classes not in (None, y_pred.shape[1]):
            number = "classes" if self._classes is None else self._classes
            raise ShapeError(
                f"[{type(self).__name__}] y_true and y_pred must have equal shapes (batch, {number}), got "
                f"{tuple(y_true.shape)} and {tuple(y_pred.shape)}"
            )
        if self._classes is None:
            self._classes = y_pred.shape[1]
            shape = () if self.average == "micro" else (self._classes,)
            with init_scope():  # the first batch may come while a function is traced
                self.true_positives = self.add_weight(shape, name="true_positives")
                self.false_positives = self.add_weight(shape, name="false_positives")
                self.false_negatives = self.add_weight(shape, name="false_negatives")
                self.intermediate_weights = self.add_weight(shape, name="intermediate_weights")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of labels 0 and 1 and of predictions, both of shape (batch, classes)."""
        y_true, y_pred = cast(as_tensor(y_true), self.dtype), cast(as_tensor(y_pred), self.dtype)
        self._require_classes(y_true, y_pred)
        if self.threshold is None:
            greatest = reduce_max(y_pred, -1, keepdims=True)
            positive = logical_and(greater_equal(y_pred, greatest), greater(absolute(y_pred), 1e-9))
        else:
            positive = greater(y_pred, self.threshold)
        found = cast(positive, self.dtype)
        weights = None
        if sample_weight is not None:
            weights = expand_dims(cast(as_tensor(sample_weight), self.dtype), 1)
        for variable, values in (
            (self.true_positives, multiply(found, y_true)),
            (self.false_positives, multiply(found, subtract(1, y_true))),
            (self.false_negatives, multiply(subtract(1, found), y_true)),
            (self.intermediate_weights, y_true),
        ):
            counted = values if weights is None else multiply(values, weights)
            variable.assign_add(reduce_sum(counted, None if self.average == "micro" else 0))

    def result(self) -> Tensor:
        """Return the score, or one for each class.

        Raises
        ------
        RuntimeError
            Before the first batch.
        """
        if self._classes is None:
            raise RuntimeError(
                f"[{type(self).__name__}] call update_state before result: there are no classes yet"
            )
        right = self.true_positives
        precision = divide(right, add(add(right, self.false_positives), TINY))
        recall = divide(right, add(add(right, self.false_negatives), TINY))
        square = self.beta**2
        mean = divide(multiply(precision, recall), add(add(multiply(square, precision), recall), TINY))
        score = multiply(mean, 1 + square)
        if self.average == "weighted":
            weights = self.intermediate_weights
            return reduce_sum(multiply(score, divide(weights, add(reduce_sum(weights), TINY))))
        return score if self.average is None else reduce_mean(score)


class F1Score(FBetaScore):
    """The harmonic mean of precision and recall, for one-hot labels or several labels of an example.

    Parameters
    ----------
    average : str, optional
        As for `FBetaScore`.
    threshold : float, optional
        Predictions above it are positive. By default the greatest one of an example is.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> metric = jt.keras.metrics.F1Score(threshold=0.5)
    >>> metric([[1, 1], [1, 0], [1, 1]], [[0.2, 0.6], [0.2, 0.6], [0.6, 0.8]]).numpy().round(4)
    array([0.5, 0.8], dtype=float32)
    """

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)
