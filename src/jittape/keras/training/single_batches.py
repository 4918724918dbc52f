"""Steps of a model with one batch: `train_on_batch`, `test_on_batch` and `predict_on_batch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.keras.training.compiled_metrics import CompiledMetrics, results_of
from jittape.keras.training.epochs import floats
from jittape.keras.training.training_data import joined, one_batch

__all__ = ["SingleBatches"]


class SingleBatches:
    """Methods of `Model` for one batch, and for its metrics."""

    _begin: Callable[[Any], None]
    _require_compiled: Callable[[str], None]
    _step: Callable[[str], Callable[..., Any]]
    _orders: dict[tuple[str, ...], list[str]]
    metrics: Any

    def get_metrics_result(self) -> dict[str, Any]:
        """Return the values of all `metrics` by name."""
        return results_of(self.metrics)

    def reset_metrics(self) -> None:
        """Reset all `metrics`."""
        for metric in self.metrics:
            metric.reset_state()

    def _results(self, logs: dict[str, float], return_dict: bool) -> Any:
        """Return the values as a dict, or as a list in Keras's order.

        First come the names of all metrics, one of which may occur twice, then the other values, sorted by name: those
        of several outputs, and numbered or ``weighted_`` ones.
        """
        if return_dict:
            return logs
        names = tuple(logs)
        if names not in self._orders:
            known = [name for metric in self.metrics for name in _names_of(metric) if name in logs]
            self._orders[names] = [*known, *sorted([name for name in names if name not in known])]
        values = [logs[name] for name in self._orders[names]]
        return values[0] if len(values) == 1 else values

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Make one step of training and return the loss and the metrics of the batch, as `evaluate` does.

        Raises
        ------
        ValueError
            Before `compile`.
        """
        self._require_compiled("train_on_batch")
        batch = one_batch((x, y, sample_weight), class_weight)
        self._begin(batch)
        self.reset_metrics()
        return self._results(floats(self._step("train_step")(batch)), return_dict)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """Evaluate one batch and return its loss and metrics, as `train_on_batch` does."""
        batch = one_batch((x, y, sample_weight))
        self._begin(batch)
        self.reset_metrics()
        return self._results(floats(self._step("test_step")(batch)), return_dict)

    def predict_on_batch(self, x: Any) -> Any:
        """Return the predictions for one batch as an array for each output."""
        return joined([self._step("predict_step")(one_batch((x, None, None))[:1])])


def _names_of(metric: Any) -> list[str]:
    """Return the name of a metric, or those of the metrics that `compile` was given."""
    return [m.name for m in metric.metrics] if isinstance(metric, CompiledMetrics) else [metric.name]
