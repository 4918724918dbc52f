"""Metrics of a compiled model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.keras import metrics

__all__ = ["CompiledMetrics", "accuracy_for"]


class CompiledMetrics:
    """Metrics of a model. It is no container, so their Variables are not those of the model.

    Attributes
    ----------
    mean : Mean
        Mean of the loss.
    others : list of Metric
    accuracy : str or None
        Name of the accuracy, until the first batch tells which one fits.
    """

    def __init__(self, given: Sequence[Any] = ()) -> None:
        names = [m for m in given if isinstance(m, str) and m in ("accuracy", "acc")]
        self.mean = metrics.Mean(name="loss")
        self.others = [_metric(m) for m in given if not (isinstance(m, str) and m in names)]
        self.accuracy = names[0] if names else None


def _metric(given: Any) -> metrics.Metric:
    found: metrics.Metric = metrics.get(given)
    if isinstance(given, str):
        found._name = given
    return found


def accuracy_for(y: Any, predicted: Any, name: str) -> metrics.Metric:
    """Return the accuracy for labels and predictions of these shapes, as Keras chooses it."""
    if predicted.shape[-1:] == (1,) or not predicted.shape:
        return metrics.BinaryAccuracy(name=name)
    if tuple(y.shape) == tuple(predicted.shape):
        return metrics.CategoricalAccuracy(name=name)
    return metrics.SparseCategoricalAccuracy(name=name)
