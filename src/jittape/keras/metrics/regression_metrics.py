"""Metrics of predicted numbers that are not means of losses: correlations and the coefficient of determination."""

from __future__ import annotations

from typing import Any

from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.execution import init_scope
from jittape.keras.metrics.metric_base import MeanMetricWrapper, Metric
from jittape.keras.true_and_predicted import TINY, as_tensor, matched, same_rank
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.bits import is_inf
from jittape.primitives.elementwise.comparison import greater, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.reduce.statistics import reduce_std, reduce_variance
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims
from jittape.recording.tensor import Tensor

__all__ = [
    "ConcordanceCorrelation", "PearsonCorrelation", "R2Score", "concordance_correlation", "pearson_correlation",
]  # fmt: skip


def pearson_correlation(y_true: Any, y_pred: Any, axis: Any = -1) -> Tensor:
    """Return Pearson's coefficient of correlation of true and predicted values along an axis.

    Parameters
    ----------
    y_true, y_pred : tensor
    axis : int or sequence of int

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.metrics.pearson_correlation([[0.0, 1.0, 0.5]], [[0.1, 0.9, 0.5]]).numpy().round(4)
    array([1.], dtype=float32)
    """
    y_true, y_pred = matched("pearson_correlation", y_true, y_pred)
    of_true, of_pred = (subtract(y, reduce_mean(y, axis, keepdims=True)) for y in (y_true, y_pred))
    of_true, of_pred = (divide(y, reduce_std(y, axis, keepdims=True)) for y in (of_true, of_pred))
    return reduce_mean(multiply(of_true, of_pred), axis)


def concordance_correlation(y_true: Any, y_pred: Any, axis: Any = -1) -> Tensor:
    """Return the coefficient of concordance of true and predicted values along an axis, as Keras computes it.

    Parameters
    ----------
    y_true, y_pred : tensor
    axis : int or sequence of int

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.metrics.concordance_correlation([[0.0, 1.0, 0.5]], [[0.1, 0.9, 0.5]]).numpy().round(4)
    array([0.9756], dtype=float32)
    """
    y_true, y_pred = matched("concordance_correlation", y_true, y_pred)
    mean_true, mean_pred = (reduce_mean(y, axis, keepdims=True) for y in (y_true, y_pred))
    var_true, var_pred = (reduce_variance(y, axis, keepdims=True) for y in (y_true, y_pred))
    products = multiply(subtract(y_true, mean_pred), subtract(y_pred, mean_pred))
    norm = add(add(var_true, var_pred), square(subtract(mean_true, mean_pred)))
    return reduce_mean(divide(multiply(2, products), add(norm, TINY)), axis)


class PearsonCorrelation(MeanMetricWrapper):
    """The mean of Pearson's coefficient of correlation.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    axis : int or sequence of int
        Axis along which the values of an example are.

    Examples
    --------
    >>> round(float(jt.keras.metrics.PearsonCorrelation()([[0.0, 1.0, 0.5]], [[0.1, 0.9, 0.5]])), 4)
    1.0
    """

    direction = "up"

    def __init__(self, name: str | None = "pearson_correlation", dtype: Any = None, axis: Any = -1) -> None:
        super().__init__(pearson_correlation, name, dtype, axis=axis)


class ConcordanceCorrelation(MeanMetricWrapper):
    """The mean of the coefficient of concordance, which is 1 only if the predictions are the true values.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    axis : int or sequence of int
        Axis along which the values of an example are.

    Examples
    --------
    >>> round(float(jt.keras.metrics.ConcordanceCorrelation()([[0.0, 1.0, 0.5]], [[0.1, 0.9, 0.5]])), 4)
    0.9756
    """

    direction = "up"

    def __init__(
        self, name: str | None = "concordance_correlation", dtype: Any = None, axis: Any = -1
    ) -> None:
        super().__init__(concordance_correlation, name, dtype, axis=axis)


class R2Score(Metric):
    """The coefficient of determination: 1 for right predictions, 0 if they are no better than the mean.

    Parameters
    ----------
    class_aggregation : str or None
        How the scores of the outputs of an example are combined: ``"uniform_average"``,
        ``"variance_weighted_average"``, or None for a score for each.
    num_regressors : int
        Number of regressors of an adjusted score; 0 gives the plain score. The score is also plain if there are too
        few examples.
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Raises
    ------
    ValueError
        For another aggregation, or a negative number of regressors.

    Examples
    --------
    >>> round(float(jt.keras.metrics.R2Score()([[1.0], [4.0], [3.0]], [[2.0], [4.0], [4.0]])), 4)
    0.5714
    """

    direction = "up"

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str | None = "r2_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype, name)
        if class_aggregation not in (None, "uniform_average", "variance_weighted_average"):
            raise ValueError(
                "[R2Score] class_aggregation must be 'uniform_average', 'variance_weighted_average' or None, got "
                f"{class_aggregation!r}"
            )
        self.class_aggregation = class_aggregation
        self.num_regressors = as_int("num_regressors", num_regressors)
        if self.num_regressors < 0:
            raise ValueError(f"[R2Score] num_regressors must not be negative, got {num_regressors}")
        self.num_samples = self.add_weight(name="num_samples")
        self._outputs: int | None = None

    def _require_outputs(self, y_true: Any, y_pred: Any) -> None:
        """Create the sums at the first batch; check the shapes of all batches."""
        fits = y_true.ndim == y_pred.ndim == 2 and y_true.shape == y_pred.shape
        if not fits or self._outputs not in (None, y_pred.shape[1]):
            number = "outputs" if self._outputs is None else self._outputs
            raise ShapeError(
                f"[R2Score] y_true and y_pred must have equal shapes (batch, {number}), got {tuple(y_true.shape)} and "
                f"{tuple(y_pred.shape)}"
            )
        if self._outputs is None:
            self._outputs = y_pred.shape[1]
            shape = (self._outputs,)
            with init_scope():  # the first batch may come while a function is traced
                self.squared_sum = self.add_weight(shape, name="squared_sum")
                self.sum = self.add_weight(shape, name="sum")
                self.total_mse = self.add_weight(shape, name="residual")
                self.count = self.add_weight(shape, name="count")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch of true and predicted values of shape (batch, outputs)."""
        y_true, y_pred = cast(as_tensor(y_true), self.dtype), cast(as_tensor(y_pred), self.dtype)
        y_true, y_pred = same_rank("R2Score", y_true, y_pred)
        self._require_outputs(y_true, y_pred)
        weights = cast(as_tensor(1 if sample_weight is None else sample_weight), self.dtype)
        if weights.ndim == 1:
            weights = expand_dims(weights, 1)
        weights = broadcast_to(weights, y_true.shape)
        weighted = multiply(y_true, weights)
        self.sum.assign_add(reduce_sum(weighted, 0))
        self.squared_sum.assign_add(reduce_sum(multiply(y_true, weighted), 0))
        self.total_mse.assign_add(reduce_sum(multiply(square(subtract(y_true, y_pred)), weights), 0))
        self.count.assign_add(reduce_sum(weights, 0))
        self.num_samples.assign_add(float(y_true.size))

    def result(self) -> Tensor:
        """Return the score, or one for each output.

        Raises
        ------
        RuntimeError
            Before the first batch.
        """
        if self._outputs is None:
            raise RuntimeError("[R2Score] call update_state before result: there are no values yet")
        total = subtract(self.squared_sum, multiply(self.sum, divide(self.sum, self.count)))
        scores = subtract(1, divide(self.total_mse, total))
        scores = where(is_inf(scores), 0, scores)
        if self.class_aggregation == "uniform_average":
            scores = reduce_mean(scores)
        elif self.class_aggregation is not None:
            scores = divide(reduce_sum(multiply(total, scores)), reduce_sum(total))
        return self._adjusted(scores) if self.num_regressors else scores

    def _adjusted(self, score: Tensor) -> Tensor:
        free = subtract(subtract(self.num_samples, self.num_regressors), 1)
        ratio = divide(subtract(self.num_samples, 1), where(greater(free, 0), free, 1))
        return where(greater(free, 0), subtract(1, multiply(subtract(1, score), ratio)), score)
