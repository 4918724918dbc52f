"""Losses and metrics of a compiled model with several outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.argument_checks import FINITE, number
from jittape.keras import losses, metrics
from jittape.keras.loss_base import reduce_masked
from jittape.keras.training.compiled_metrics import CompiledMetrics, factor_of_loss, one_loss
from jittape.keras.true_and_predicted import as_tensor, closest_ranks, floating_operands
from jittape.primitives.elementwise.arithmetic import add, multiply

__all__ = ["CompiledOutputs", "compiled_loss", "compiled_parts"]

_STRUCTURES = (tuple, list, dict)


class CompiledOutputs(CompiledMetrics):
    """The losses and metrics of each output, as one metric.

    Parameters
    ----------
    names : sequence of str
        Names of the outputs.
    loss, loss_weights, given, weighted
        What `compile` was given: one for all outputs, a list with one for each, or a dict by their names. In a list, or
        a dict for outputs that are a dict, None or a missing name means an output without a loss.
    is_dict : bool
        Whether the model returns a dict.

    Raises
    ------
    ValueError
        If a list has another length, or a dict other names.
    """

    def __init__(
        self, names: Sequence[str], loss: Any, loss_weights: Any, given: Any, weighted: Any, is_dict: bool
    ) -> None:
        super().__init__()
        self.names = list(names)
        chosen = self._by_output("loss", loss, not is_dict)
        self._losses = [None if one is None else losses.get(one) for one in chosen]
        factors = self._by_output("loss_weights", loss_weights, not is_dict)
        self._factors = [None if f is None else number("compile", "loss_weights", f, FINITE) for f in factors]
        several = sum(one is not None for one in chosen) > 1
        order = list(loss) if isinstance(loss, dict) else self.names
        self._means = [
            metrics.Mean(name=f"{name}_loss") if several and one is not None else None
            for name, one in zip(self.names, chosen, strict=True)
        ]
        self._order = [self.names.index(name) for name in order]
        self._metrics = [
            CompiledMetrics(_as_list(one), _as_list(other))
            for one, other in zip(
                self._parts("metrics", given), self._parts("weighted_metrics", weighted), strict=True
            )
        ]

    def _by_output(self, argument: str, given: Any, complete: bool) -> list[Any]:
        """Return what `compile` was given for each output."""
        if isinstance(given, dict):
            unknown = [name for name in given if name not in self.names]
            missing = [name for name in self.names if name not in given]
            if unknown or (complete and missing):
                raise ValueError(
                    f"[compile] {argument} must have the names of the outputs, {self._listed()}, got {list(given)}"
                )
            return [given.get(name) for name in self.names]
        if isinstance(given, (list, tuple)):
            if len(given) != len(self.names):
                raise ValueError(
                    f"[compile] {argument} must have one entry for each of the outputs {self._listed()}, got "
                    f"{len(given)}; write None for an output without one"
                )
            return list(given)
        if given is not None and argument != "loss":
            raise ValueError(
                f"[compile] {argument} of a model with the outputs {self._listed()} must be a list or dict, got "
                f"{given!r}"
            )
        return [given] * len(self.names)

    def _parts(self, argument: str, given: Any) -> list[Any]:
        return self._by_output(argument, given if given else None, False)

    def _listed(self) -> str:
        return ", ".join([repr(name) for name in self.names])

    def _split(self, argument: str, structure: Any) -> list[Any]:
        """Return the part of each output."""
        if isinstance(structure, dict):
            unknown = [name for name in structure if name not in self.names]
            if unknown:
                raise ValueError(
                    f"{argument} must have the names of the outputs, {self._listed()}, got {list(structure)}"
                )
            return [structure.get(name) for name in self.names]
        if isinstance(structure, (list, tuple)) and len(structure) == len(self.names):
            return list(structure)
        count = len(structure) if isinstance(structure, (list, tuple)) else "one array"
        raise ValueError(
            f"{argument} must be a list with one entry for each of the outputs {self._listed()}, or a dict by these "
            f"names, got {count}"
        )

    def total(self, y: Any, y_pred: Any, weight: Any) -> Any:
        """Return the sum of the losses with their weights; note each."""
        truths, predicted = self._split("y", y), self._split("y_pred", y_pred)
        weights = self._weights(weight)
        found = None
        for i, loss in enumerate(self._losses):
            if loss is None:
                continue
            if truths[i] is None:
                raise ValueError(f"y has no {self.names[i]!r}, which was compiled with a loss: add it to y")
            term = _loss_of(loss, truths[i], predicted[i], weights[i])
            mean, factor = self._means[i], self._factors[i]
            if mean is not None:
                mean.update_state(term)
            term = term if factor is None else multiply(term, factor)
            found = term if found is None else add(found, term)
        return found

    def _weights(self, weight: Any) -> list[Any]:
        is_structure = isinstance(weight, (list, tuple, dict))
        return self._split("sample_weight", weight) if is_structure else [weight] * len(self.names)

    # ---- as a metric -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.metrics) + sum(part.is_open for part in self._metrics)

    @property
    def losses(self) -> list[metrics.Metric]:
        """The means of the losses, in the order of the dict of losses that `compile` was given."""
        means = [self._means[i] for i in self._order]
        return [mean for mean in means if mean is not None]

    @property
    def metrics(self) -> list[metrics.Metric]:
        """The metrics that are known."""
        return [m for part in self._metrics for m in part.metrics]

    @property
    def is_open(self) -> bool:
        """Whether `choose_accuracy` must be called."""
        return any([part.is_open for part in self._metrics])

    def choose_accuracy(self, y: Any, predicted: Any) -> None:
        """Replace the names of accuracies by those that fit these labels and predictions."""
        truths, values = self._split("y", y), self._split("y_pred", predicted)
        for part, y_true, y_pred in zip(self._metrics, truths, values, strict=True):
            if part.is_open and y_true is not None:
                part.choose_accuracy(y_true, y_pred)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch to the metrics of each output."""
        if not any([len(part) for part in self._metrics]):
            return
        parts = zip(
            self._metrics,
            self._split("y", y_true),
            self._split("y_pred", y_pred),
            self._weights(sample_weight),
            strict=True,
        )
        for part, truth, predicted, weight in parts:
            if len(part) and truth is not None:
                part.update_state(truth, predicted, weight)

    def result(self) -> dict[str, Any]:
        """Return the values by name, which begin with the name of the output."""
        found: dict[str, Any] = {}
        for name, part in zip(self.names, self._metrics, strict=True):
            found |= {f"{name}_{key}": value for key, value in part.result().items()}
        return found


def _as_list(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    return given if isinstance(given, (list, tuple)) else (given,)


def compiled_parts(
    outputs: tuple[list[str], bool] | None, loss: Any, loss_weights: Any, given: Any, weighted: Any
) -> tuple[Any, float | None, CompiledMetrics]:
    """Return the loss, its factor and the metrics for what `compile` was given.

    `outputs` are the names of several outputs, and whether the model returns them as a dict.
    """
    if outputs is None:
        return one_loss(loss), factor_of_loss(loss_weights), CompiledMetrics(given or (), weighted or ())
    return loss, None, CompiledOutputs(outputs[0], loss, loss_weights, given, weighted, outputs[1])


def compiled_loss(loss: Any, compiled: CompiledMetrics, y: Any, y_pred: Any, weight: Any) -> Any:
    """Return the loss of a batch; None if no output has one."""
    if isinstance(compiled, CompiledOutputs):
        return compiled.total(y, y_pred, weight)
    if isinstance(y, _STRUCTURES) and not isinstance(y_pred, _STRUCTURES):
        raise ValueError(
            f"y must be one array, as the model has one output, got a {type(y).__name__} of {len(y)}"
        )
    return _loss_of(loss, y, y_pred, weight)


def _loss_of(loss: Any, y: Any, y_pred: Any, weight: Any) -> Any:
    if isinstance(loss, losses.Loss):
        return loss(y, y_pred, weight)
    operands = y, y_pred
    if not isinstance(y_pred, _STRUCTURES):
        operands = closest_ranks(*floating_operands(as_tensor(y), as_tensor(y_pred)))
    return reduce_masked("fit", loss(*operands), y_pred, weight, "sum_over_batch_size")
