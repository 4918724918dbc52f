"""Metrics by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.keras.metrics import (
    accuracy_metrics,
    confusion_metrics,
    curve_metrics,
    f_scores,
    loss_metrics,
    metric_base,
    operating_points,
    overlap_metrics,
    regression_metrics,
)
from jittape.keras.metrics.metric_base import MeanMetricWrapper, Metric
from jittape.keras.saving.named_objects import deserializer
from jittape.keras.saving.object_configs import identified
from jittape.module import snake_case

__all__ = ["deserialize", "get"]

_MODULES = (
    metric_base, loss_metrics, regression_metrics, accuracy_metrics, confusion_metrics, curve_metrics, operating_points,
    f_scores, overlap_metrics,
)  # fmt: skip
_CLASSES: dict[str, Callable[[], Metric]] = {
    name: value for module in _MODULES for name, value in vars(module).items()
    if name in module.__all__ and isinstance(value, type) and name != "Counts"
}  # fmt: skip
_BY_NAME: dict[str, Callable[[], Metric]] = {
    "accuracy": accuracy_metrics.SparseCategoricalAccuracy,
    "acc": accuracy_metrics.SparseCategoricalAccuracy,
    "bce": loss_metrics.BinaryCrossentropy,
    "mse": loss_metrics.MeanSquaredError,
    "mae": loss_metrics.MeanAbsoluteError,
    "mape": loss_metrics.MeanAbsolutePercentageError,
    "msle": loss_metrics.MeanSquaredLogarithmicError,
    "auc": curve_metrics.AUC,
    "f1_score": f_scores.F1Score,
    "r2_score": regression_metrics.R2Score,
}


def _named(name: str) -> Callable[[], Metric] | None:
    """Return the class with this name, in snake case or not, or with this abbreviation."""
    by_snake_case = {snake_case(known): kind for known, kind in _CLASSES.items()}
    return (
        _CLASSES.get(name)
        or _BY_NAME.get(name.lower() if name.isupper() else name)
        or by_snake_case.get(name)
    )


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
    identifier = identified(identifier)
    if isinstance(identifier, Metric):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Metric):
        return identifier()
    found = _named(identifier) if isinstance(identifier, str) else None
    if found is not None:
        return found()
    if callable(identifier):
        return MeanMetricWrapper(identifier, getattr(identifier, "__name__", None))
    raise ValueError(
        f"there is no metric {identifier!r}; there are {', '.join(_CLASSES)}, or give a function"
    )


deserialize = deserializer(get)
