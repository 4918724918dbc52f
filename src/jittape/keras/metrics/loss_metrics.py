"""Means of the losses of examples, as metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from jittape.keras import losses
from jittape.keras.metrics.metric_base import MeanMetricWrapper
from jittape.keras.tensor_masks import mask_of
from jittape.keras.true_and_predicted import as_tensor, squared_differences
from jittape.primitives.elementwise.arithmetic import multiply, negative
from jittape.primitives.elementwise.comparison import not_equal
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.tensor import Tensor

__all__ = [
    "BinaryCrossentropy", "CategoricalCrossentropy", "CategoricalHinge", "CosineSimilarity", "Hinge", "KLDivergence",
    "LogCoshError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError",
    "MeanSquaredLogarithmicError", "Poisson", "RootMeanSquaredError", "SparseCategoricalCrossentropy", "SquaredHinge",
]  # fmt: skip


class _MeanLoss(MeanMetricWrapper):
    """The mean of a loss function; a subclass names the function and, in its constructor, the name of the metric."""

    function: ClassVar[Callable[..., Any]]
    direction = "down"

    def __init__(self, name: str | None, dtype: Any, **arguments: Any) -> None:
        super().__init__(type(self).function, name, dtype, **arguments)


class MeanSquaredError(_MeanLoss):
    """The mean of the squared differences.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> float(jt.keras.metrics.MeanSquaredError()([[1.0, 0.0]], [[0.5, 0.5]]))
    0.25
    """

    function = staticmethod(losses.mean_squared_error)

    def __init__(self, name: str | None = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class RootMeanSquaredError(MeanSquaredError):
    """The root of the mean of the squared differences.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> float(jt.keras.metrics.RootMeanSquaredError()([[0.0], [0.0]], [[3.0], [3.0]]))
    3.0
    """

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        MeanMetricWrapper.__init__(self, squared_differences, name, dtype)  # each element may have a weight

    def result(self) -> Tensor:
        """Return the root of the mean."""
        return sqrt(super().result())


class MeanAbsoluteError(_MeanLoss):
    """The mean of the absolute differences.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> float(jt.keras.metrics.MeanAbsoluteError()([[1.0, 0.0]], [[0.5, 0.5]]))
    0.5
    """

    function = staticmethod(losses.mean_absolute_error)

    def __init__(self, name: str | None = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class MeanAbsolutePercentageError(_MeanLoss):
    """The mean of the absolute differences in percent of the true values.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> float(jt.keras.metrics.MeanAbsolutePercentageError()([[2.0, 4.0]], [[1.0, 5.0]]))
    37.5
    """

    function = staticmethod(losses.mean_absolute_percentage_error)

    def __init__(self, name: str | None = "mean_absolute_percentage_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class MeanSquaredLogarithmicError(_MeanLoss):
    """The mean of the squared differences of the logarithms of one plus the values.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> float(jt.keras.metrics.MeanSquaredLogarithmicError()([[0.0]], [[0.0]]))
    0.0
    """

    function = staticmethod(losses.mean_squared_logarithmic_error)

    def __init__(self, name: str | None = "mean_squared_logarithmic_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class LogCoshError(_MeanLoss):
    """The mean of the logarithms of the hyperbolic cosines of the differences.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> round(float(jt.keras.metrics.LogCoshError()([[0.0]], [[1.0]])), 4)
    0.4338
    """

    function = staticmethod(losses.log_cosh)

    def __init__(self, name: str | None = "logcosh", dtype: Any = None) -> None:
        super().__init__(name, dtype)


def _similarity(y_true: Any, y_pred: Any, axis: int) -> Tensor:
    """Return the cosines, whose negatives are losses."""
    return negative(losses.cosine_similarity(y_true, y_pred, axis))


class CosineSimilarity(_MeanLoss):
    """The mean of the cosines of the angles between true and predicted vectors: 1 for the same direction.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    axis : int
        Axis of the vectors.

    Examples
    --------
    >>> float(jt.keras.metrics.CosineSimilarity()([[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]))
    0.5
    """

    function = staticmethod(_similarity)
    direction = "up"

    def __init__(self, name: str | None = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(name, dtype, axis=axis)


class Hinge(_MeanLoss):
    """The mean of ``maximum(1 - y_true * y_pred, 0)``; labels 0 count as -1.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> float(jt.keras.metrics.Hinge()([[1.0, 0.0]], [[0.5, 0.5]]))
    1.0
    """

    function = staticmethod(losses.hinge)

    def __init__(self, name: str | None = "hinge", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class SquaredHinge(_MeanLoss):
    """The mean of the squares of ``maximum(1 - y_true * y_pred, 0)``; labels 0 count as -1.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> float(jt.keras.metrics.SquaredHinge()([[1.0, 0.0]], [[0.5, 0.5]]))
    1.25
    """

    function = staticmethod(losses.squared_hinge)

    def __init__(self, name: str | None = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class CategoricalHinge(_MeanLoss):
    """The mean of `jittape.keras.losses.categorical_hinge`, for one-hot labels.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> float(jt.keras.metrics.CategoricalHinge()([[1.0, 0.0]], [[0.5, 0.25]]))
    0.75
    """

    function = staticmethod(losses.categorical_hinge)

    def __init__(self, name: str | None = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class KLDivergence(_MeanLoss):
    """The mean of `jittape.keras.losses.kl_divergence`, for probabilities.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> round(float(jt.keras.metrics.KLDivergence()([[1.0, 0.0]], [[0.5, 0.5]])), 4)
    0.6931
    """

    function = staticmethod(losses.kl_divergence)

    def __init__(self, name: str | None = "kl_divergence", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class Poisson(_MeanLoss):
    """The mean of ``y_pred - y_true * log(y_pred)``.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> round(float(jt.keras.metrics.Poisson()([[2.0]], [[1.0]])), 4)
    1.0
    """

    function = staticmethod(losses.poisson)

    def __init__(self, name: str | None = "poisson", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class BinaryCrossentropy(_MeanLoss):
    """The mean of `jittape.keras.losses.binary_crossentropy`.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    from_logits : bool
        Whether predictions are logits.
    label_smoothing : float
        Fraction of the labels that is spread over all classes.

    Examples
    --------
    >>> round(float(jt.keras.metrics.BinaryCrossentropy()([[1.0]], [[0.5]])), 4)
    0.6931
    """

    function = staticmethod(losses.binary_crossentropy)

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


class CategoricalCrossentropy(_MeanLoss):
    """The mean of `jittape.keras.losses.categorical_crossentropy`, for one-hot labels.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    from_logits : bool
        Whether predictions are logits.
    label_smoothing : float
        Fraction of the labels that is spread over all classes.
    axis : int
        Axis of the classes.

    Examples
    --------
    >>> round(float(jt.keras.metrics.CategoricalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.6931
    """

    function = staticmethod(losses.categorical_crossentropy)

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: int = -1,
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis)


class SparseCategoricalCrossentropy(_MeanLoss):
    """The mean of `jittape.keras.losses.sparse_categorical_crossentropy`, for numbers of classes.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    from_logits : bool
        Whether predictions are logits.
    ignore_class : int, optional
        Class whose examples are not counted.
    axis : int
        Axis of the classes.

    Examples
    --------
    >>> round(float(jt.keras.metrics.SparseCategoricalCrossentropy()([1], [[0.5, 0.5]])), 4)
    0.6931
    """

    function = staticmethod(losses.sparse_categorical_crossentropy)

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, ignore_class=ignore_class, axis=axis)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Add a batch; with weights, the examples of `ignore_class` have the weight 0, as in TensorFlow."""
        ignored = self._arguments.get("ignore_class")
        if ignored is not None and sample_weight is None and mask_of(y_pred) is not None:
            sample_weight = mask_of(y_pred)
        if ignored is not None and sample_weight is not None:
            counted = cast(not_equal(as_tensor(y_true), ignored), self.dtype)
            weights = cast(as_tensor(sample_weight), self.dtype)
            sample_weight = multiply(weights, reshape(counted, weights.shape) if weights.ndim else counted)
        super().update_state(y_true, y_pred, sample_weight)
