"""``jt.keras.metrics``: sums over the batches of an epoch.

The sums are Variables, so a metric that is updated inside a `jt.function` is part of its compiled step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from jittape.keras import losses
from jittape.keras.accuracy_metrics import (
    Accuracy,
    BinaryAccuracy,
    CategoricalAccuracy,
    SparseCategoricalAccuracy,
    SparseTopKCategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from jittape.keras.confusion_metrics import (
    AUC,
    FalseNegatives,
    FalsePositives,
    Precision,
    Recall,
    TrueNegatives,
    TruePositives,
)
from jittape.keras.losses import (
    KLD,
    MAE,
    MAPE,
    MSE,
    MSLE,
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_hinge,
    hinge,
    huber,
    kl_divergence,
    kld,
    kullback_leibler_divergence,
    mae,
    mape,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    mse,
    msle,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
)
from jittape.keras.metric_base import Mean, MeanMetricWrapper, Metric, Sum
from jittape.keras.true_and_predicted import as_tensor
from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import not_equal
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.tensor import Tensor

__all__ = [
    "AUC", "KLD", "MAE", "MAPE", "MSE", "MSLE", "Accuracy", "BinaryAccuracy", "BinaryCrossentropy",
    "CategoricalAccuracy", "CategoricalCrossentropy", "FalseNegatives", "FalsePositives", "LogCoshError", "Mean",
    "MeanAbsoluteError", "MeanMetricWrapper", "MeanSquaredError", "Metric", "Precision", "Recall",
    "RootMeanSquaredError", "SparseCategoricalAccuracy", "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy", "Sum", "TopKCategoricalAccuracy", "TrueNegatives", "TruePositives",
    "binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy",
    "categorical_focal_crossentropy", "categorical_hinge", "get", "hinge", "huber", "kl_divergence", "kld",
    "kullback_leibler_divergence", "mae", "mape", "mean_absolute_error", "mean_absolute_percentage_error",
    "mean_squared_error", "mean_squared_logarithmic_error", "mse", "msle", "poisson",
    "sparse_categorical_crossentropy", "squared_hinge",
]  # fmt: skip


class _MeanLoss(MeanMetricWrapper):
    function: ClassVar[Callable[..., Any]]
    direction = "down"

    def __init__(self, name: str | None = None, dtype: Any = None, **arguments: Any) -> None:
        function = type(self).function
        super().__init__(function, function.__name__ if name is None else name, dtype, **arguments)


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


class BinaryCrossentropy(_MeanLoss):
    """The mean of `jittape.keras.losses.binary_crossentropy`, with its arguments.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    **arguments : those of the loss function

    Examples
    --------
    >>> float(jt.keras.metrics.BinaryCrossentropy()([[1.0]], [[0.5]]))
    0.6931471824645996
    """

    function = staticmethod(losses.binary_crossentropy)


class CategoricalCrossentropy(_MeanLoss):
    """The mean of `jittape.keras.losses.categorical_crossentropy`, with its arguments.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    **arguments : those of the loss function

    Examples
    --------
    >>> float(jt.keras.metrics.CategoricalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]))
    0.6931471824645996
    """

    function = staticmethod(losses.categorical_crossentropy)


class SparseCategoricalCrossentropy(_MeanLoss):
    """The mean of `jittape.keras.losses.sparse_categorical_crossentropy`, with its arguments.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.
    **arguments : those of the loss function

    Examples
    --------
    >>> float(jt.keras.metrics.SparseCategoricalCrossentropy()([1], [[0.5, 0.5]]))
    0.6931471824645996
    """

    function = staticmethod(losses.sparse_categorical_crossentropy)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Add a batch; with weights, the examples of `ignore_class` have the weight 0, as in TensorFlow."""
        ignored = self._arguments.get("ignore_class")
        if ignored is not None and sample_weight is not None:
            counted = cast(not_equal(as_tensor(y_true), ignored), self.dtype)
            weights = cast(as_tensor(sample_weight), self.dtype)
            sample_weight = multiply(weights, reshape(counted, weights.shape) if weights.ndim else counted)
        super().update_state(y_true, y_pred, sample_weight)


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
    >>> jt.keras.metrics.RootMeanSquaredError()([[0.0], [0.0]], [[3.0], [3.0]]).numpy().item()
    3.0
    """

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def result(self) -> Tensor:
        """Return the root of the mean."""
        return sqrt(super().result())


_BY_NAME: dict[str, Callable[[], Metric]] = {
    "accuracy": SparseCategoricalAccuracy,
    "acc": SparseCategoricalAccuracy,
    "binary_accuracy": BinaryAccuracy,
    "categorical_accuracy": CategoricalAccuracy,
    "sparse_categorical_accuracy": SparseCategoricalAccuracy,
    "mse": MeanSquaredError,
    "mean_squared_error": MeanSquaredError,
    "mae": MeanAbsoluteError,
    "mean_absolute_error": MeanAbsoluteError,
    "auc": AUC,
    "precision": Precision,
    "recall": Recall,
}


def get(identifier: Any) -> Any:
    """Return the metric with this name, such as ``"mae"``; a metric is returned as it is.

    A function of true and predicted values becomes the mean of its results.

    Parameters
    ----------
    identifier : str or Metric
        Name of a metric.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> jt.keras.metrics.get("mae").name
    'mean_absolute_error'
    """
    if isinstance(identifier, Metric):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Metric):
        return identifier()
    if isinstance(identifier, str):
        found = _BY_NAME.get(identifier) or (globals()[identifier] if identifier in __all__ else None)
        if found is not None and identifier != "get":
            return found()
    if callable(identifier):
        return MeanMetricWrapper(identifier)
    raise ValueError(
        f"there is no metric {identifier!r}; there are {', '.join(_BY_NAME)}, or give a function"
    )


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
