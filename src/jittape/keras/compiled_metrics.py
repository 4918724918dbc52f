"""Metrics of a compiled model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.keras import metrics

__all__ = ["CompiledMetrics"]


class CompiledMetrics:
    """Metrics of a model. It is no container, so their Variables are not those of the model.

    Attributes
    ----------
    mean : Mean
        Mean of the loss.
    """

    def __init__(self, given: Sequence[Any] = (), weighted: Sequence[Any] = ()) -> None:
        self.mean = metrics.Mean(name="loss")
        # The name of an accuracy stands for it until the first batch tells which one fits.
        self._given = [_metric(m) for m in given]
        self._weighted = [_metric(m) for m in weighted]

    @property
    def all(self) -> list[metrics.Metric]:
        """The metrics that are known, the mean of the loss first."""
        return [m for m in (self.mean, *self._given, *self._weighted) if not isinstance(m, str)]

    @property
    def is_open(self) -> bool:
        """Whether `choose_accuracy` must be called."""
        return any([isinstance(m, str) for m in (*self._given, *self._weighted)])

    def choose_accuracy(self, y: Any, predicted: Any) -> None:
        """Replace the names of accuracies by those that fit these labels and predictions."""
        for chosen in (self._given, self._weighted):
            chosen[:] = [_accuracy_for(y, predicted, m) if isinstance(m, str) else m for m in chosen]

    def update(self, y: Any, predicted: Any, sample_weight: Any) -> dict[str, Any]:
        """Update all metrics but the mean of the loss, and return the values of all by name.

        As in Keras, only weighted metrics get the weights; one is called ``weighted_`` if its name occurs before.
        """
        for metric in self._given:
            metric.update_state(y, predicted)
        for metric in self._weighted:
            metric.update_state(y, predicted, sample_weight)
        found = {metric.name: metric.result() for metric in (self.mean, *self._given)}
        for metric in self._weighted:
            name = f"weighted_{metric.name}" if metric.name in found else metric.name
            found[name] = metric.result()
        return found


def _metric(given: Any) -> Any:
    if isinstance(given, str) and given in ("accuracy", "acc"):
        return given
    found: metrics.Metric = metrics.get(given)
    if isinstance(given, str):
        found._name = given
    return found


def _accuracy_for(y: Any, predicted: Any, name: str) -> metrics.Metric:
    """Return the accuracy for labels and predictions of these shapes, as Keras chooses it."""
    if predicted.shape[-1:] == (1,) or not predicted.shape:
        return metrics.BinaryAccuracy(name=name)
    if tuple(y.shape) == tuple(predicted.shape):
        return metrics.CategoricalAccuracy(name=name)
    return metrics.SparseCategoricalAccuracy(name=name)
