"""Loss and metrics of a compiled model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jittape.core.argument_checks import FINITE, number
from jittape.execution import init_scope
from jittape.keras import losses, metrics
from jittape.module import Module, parts_of
from jittape.recording.convert import convert_to_tensor

__all__ = ["CompiledMetrics", "factor_of_loss", "metrics_of", "one_loss", "results_of"]


def one_loss(given: Any) -> Any:
    """Return the loss that `compile` was given; a list of one loss is that loss.

    Raises
    ------
    ValueError
        If there are several: a model has one output.
    """
    found = _only(given)
    if isinstance(found, (list, tuple, dict)):
        raise ValueError(
            f"[compile] loss must be one loss, got {len(found)}: for a model of several outputs, override "
            "train_step, or add the losses in a function of y_true and y_pred"
        )
    return None if found is None else losses.get(found)


def factor_of_loss(given: Any) -> float | None:
    """Return the factor of the loss that `compile` was given.

    Raises
    ------
    ValueError
        If there are several.
    TypeError
        If it is no number.
    """
    found = _only(given)
    if isinstance(found, (list, tuple, dict)):
        raise ValueError(
            f"[compile] loss_weights must be one number, got {found!r}; metrics are the next argument: metrics=[...]"
        )
    return None if found is None else number("compile", "loss_weights", found, FINITE)


def _of_one_output(given: Sequence[Any]) -> Sequence[Any]:
    """Return the metrics of the only output, which may be a list with the metrics of each output."""
    return given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given


def _only(given: Any) -> Any:
    """Return the element of a list of one element, and anything else as it is."""
    return given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given


class CompiledMetrics:
    """The metrics that `compile` was given, as one metric. It is no container, so their Variables are not the model's.

    Attributes
    ----------
    mean : Mean
        Mean of the loss, which is a metric of its own.
    """

    name = "compile_metrics"

    def __init__(self, given: Sequence[Any] = (), weighted: Sequence[Any] = ()) -> None:
        self.mean = metrics.Mean(name="loss")
        # The name of an accuracy stands for it until the first batch tells which one fits.
        self._given = [_metric(m) for m in _of_one_output(given)]
        self._weighted = [_metric(m) for m in _of_one_output(weighted)]

    def __len__(self) -> int:
        return len(self._given) + len(self._weighted)

    @property
    def losses(self) -> list[metrics.Metric]:
        """The means of the losses of several outputs, which are metrics of their own."""
        return []

    @property
    def metrics(self) -> list[metrics.Metric]:
        """The metrics that are known."""
        return [*_known(self._given), *_known(self._weighted)]

    @property
    def is_open(self) -> bool:
        """Whether `choose_accuracy` must be called."""
        return any([isinstance(m, str) for m in (*self._given, *self._weighted)])

    def choose_accuracy(self, y: Any, predicted: Any) -> None:
        """Replace the names of accuracies by those that fit these labels and predictions."""
        for chosen in (self._given, self._weighted):
            chosen[:] = [_accuracy_for(y, predicted, m) if isinstance(m, str) else m for m in chosen]

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch. As in Keras, only weighted metrics get the weights."""
        if self.is_open:
            with init_scope():  # the step may be traced, and metrics create Variables
                self.choose_accuracy(convert_to_tensor(y_true), convert_to_tensor(y_pred))
        for metric in self._given:
            metric.update_state(y_true, y_pred)
        for metric in self._weighted:
            metric.update_state(y_true, y_pred, sample_weight)

    def result(self) -> dict[str, Any]:
        """Return the values by name; a second metric of a name is numbered, a weighted one called ``weighted_``."""
        found: dict[str, Any] = {}
        for metric in _known(self._given):
            found[_numbered(metric.name, found)] = metric.result()
        for metric in _known(self._weighted):
            name = metric.name if metric.name not in found else f"weighted_{metric.name}"
            found[_numbered(name, found)] = metric.result()
        return found

    def reset_state(self) -> None:
        """Begin again."""
        for metric in self.metrics:
            metric.reset_state()


def _numbered(name: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken: ``name_1`` and so on for the second metric of a name."""
    numbers = (name, *[f"{name}_{i}" for i in range(1, 1 + sum(1 for _ in taken))])
    return next(n for n in numbers if n not in taken)


def _known(given: Iterable[Any]) -> list[metrics.Metric]:
    """Return the metrics among metrics and names of accuracies, which the first batch replaces."""
    return [metric for metric in given if not isinstance(metric, str)]


def metrics_of(layer: Module) -> list[metrics.Metric]:
    """Return the metrics in the attributes of a model and its layers, without those of models within it."""
    parts = list(parts_of(layer))
    inner = [part for part in parts if part is not layer and hasattr(type(part), "train_step")]
    apart = {id(metric) for part in inner for metric in parts_of(part)}
    found = [part for part in parts if isinstance(part, metrics.Metric) and id(part) not in apart]
    return [m for m in found if not any([m is not other and m in other.submodules for other in found])]


def results_of(given: Iterable[Any]) -> dict[str, Any]:
    """Return the values of metrics by name."""
    found: dict[str, Any] = {}
    for metric in given:
        value = metric.result()
        found |= value if isinstance(value, dict) else {metric.name: value}
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
