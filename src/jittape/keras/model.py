"""`Model`: a layer with a training loop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape import optimizers
from jittape.autodiff.tape import GradientTape
from jittape.core.user_calls import as_int
from jittape.data import Dataset
from jittape.functions import function
from jittape.keras import losses, metrics
from jittape.keras.compiled_metrics import CompiledMetrics, accuracy_for
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.sequential import Sequential as SequentialLayers
from jittape.keras.loss_base import reduce_losses
from jittape.keras.training_data import StepsOfEpochs, batch_size_of, batches_of, split_rows, unpacked
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.shape.joining import concat

__all__ = ["History", "Model", "Sequential"]


class History:
    """Losses and metrics of each epoch.

    Attributes
    ----------
    epoch : list of int
    history : dict of lists
        Values by name; those of validation data begin with ``"val_"``.
    """

    def __init__(self) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[float]] = {}

    def add(self, epoch: int, logs: dict[str, float]) -> None:
        """Append the values of an epoch."""
        self.epoch.append(epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)


class Model(Layer):
    """A layer that can be trained with `fit`. A subclass defines its layers and `call`.

    Examples
    --------
    >>> class Line(jt.keras.Model):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.dense = jt.keras.layers.Dense(1)
    ...
    ...     def call(self, x):
    ...         return self.dense(x)
    >>> x = np.linspace(-1, 1, 64, dtype="float32").reshape(-1, 1)
    >>> model = Line()
    >>> model.compile(jt.keras.optimizers.SGD(0.5), "mse")
    >>> history = model.fit(x, 3 * x + 1, epochs=100, verbose=0)
    >>> model.predict([[2.0]], verbose=0).round(2)
    array([[7.]], dtype=float32)
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        if args or "inputs" in options:
            raise TypeError(
                "jt.keras has no functional API: write a subclass of jt.keras.Model with call(), or a "
                "jt.keras.Sequential"
            )
        super().__init__(**options)
        self.stop_training = False
        self.optimizer: Any = None
        self.loss: Any = None
        self._metrics = CompiledMetrics()
        self._steps: dict[str, Callable[..., Any]] = {}
        self._eagerly = False

    # ---- settings ----------------------------------------------------------------------------------------------------

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Sequence[Any] | None = None,
        run_eagerly: bool = False,
        jit_compile: Any = "auto",
    ) -> None:
        """Set what `fit` uses.

        Parameters
        ----------
        optimizer : str or Optimizer
        loss : str, callable or Loss, optional
            A function of true and predicted values; `losses` of the layers are added.
        metrics : sequence of str, callable or Metric, optional
            ``"accuracy"`` is the accuracy that fits the shapes of labels and predictions.
        run_eagerly : bool
            Run steps as Python code, and not as a `jt.function`.
        jit_compile : optional
            Accepted for compatibility with TensorFlow.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        self.optimizer = optimizers.get(optimizer)
        self.loss = None if loss is None else losses.get(loss)
        self._metrics = CompiledMetrics(metrics or ())
        self._eagerly = bool(run_eagerly)
        self._steps = {}

    @property
    def metrics(self) -> list[metrics.Metric]:
        """The metrics, the mean of the loss first."""
        return [self._metrics.mean, *self._metrics.others]

    def reset_metrics(self) -> None:
        """Reset all `metrics`."""
        for metric in self.metrics:
            metric.reset_state()

    # ---- steps -------------------------------------------------------------------------------------------------------

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """Return the loss of a batch with the `losses` of the layers."""
        terms = list(self.losses)
        if self.loss is not None:
            if isinstance(self.loss, losses.Loss):
                terms.insert(0, self.loss(y, y_pred, sample_weight))
            else:
                terms.insert(0, reduce_losses(self.loss(y, y_pred), sample_weight, "sum_over_batch_size"))
        if not terms:
            raise ValueError(
                f"model {self.name!r} has no loss: call compile(loss=...) or add_loss in a layer"
            )
        total = terms[0]
        for term in terms[1:]:
            total = add(total, term)
        return total

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Update the metrics with a batch, and return their values by name."""
        for metric in self._metrics.others:
            metric.update_state(y, y_pred, sample_weight)
        return {metric.name: metric.result() for metric in self.metrics}

    def train_step(self, data: Any) -> dict[str, Any]:
        """Make one step of training; override it for another one.

        Parameters
        ----------
        data : tuple
            ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``

        Returns
        -------
        dict
            Losses and metrics by name.
        """
        x, y, weight = unpacked(data)
        with GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, weight)
            scaled = self.optimizer.scale_loss(loss) if self.optimizer.loss_scale_factor else loss
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(scaled, variables), variables, strict=True))
        self._metrics.mean.update_state(loss, batch_size_of(x))
        return self.compute_metrics(x, y, y_pred, weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Evaluate a batch; override it for another evaluation. Arguments and result as for `train_step`."""
        x, y, weight = unpacked(data)
        y_pred = self(x, training=False)
        self._metrics.mean.update_state(self.compute_loss(x, y, y_pred, weight, False), batch_size_of(x))
        return self.compute_metrics(x, y, y_pred, weight)

    def predict_step(self, data: Any) -> Any:
        """Return the predictions for a batch."""
        return self(unpacked(data)[0], training=False)

    def _step(self, name: str) -> Callable[..., Any]:
        """Return a step as a compiled function."""
        if name not in self._steps:
            method = getattr(self, name)
            self._steps[name] = method if self._eagerly else function(method)
        return self._steps[name]

    def _begin(self, data: Any) -> None:
        """Build the model with the first batch, and choose the accuracy that fits."""
        x, y, _ = unpacked(data)
        if not self.built or not self.variables:
            self(x, training=False)
        if self._metrics.accuracy is not None:
            predicted = self(x, training=False)
            self._metrics.others.append(accuracy_for(y, predicted, self._metrics.accuracy))
            self._metrics.accuracy = None

    # ---- loops -------------------------------------------------------------------------------------------------------

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Sequence[Any] | None = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
    ) -> History:
        """Train the model.

        Parameters
        ----------
        x : arrays or Dataset
            Inputs, or a dataset of batches ``(x, y)`` or ``(x, y, sample_weight)``.
        y : arrays, optional
        batch_size : int, default 32
        epochs : int, default 1
        verbose : int or "auto"
            0 prints nothing, 1 a line that grows with each batch, 2 a line for each epoch. "auto" is 1.
        callbacks : sequence, optional
            Objects with ``on_epoch_end(epoch, logs)``; one may set ``model.stop_training = True``.
        validation_split : float
            Fraction of the arrays, from their end, that is not trained with but evaluated.
        validation_data : tuple or Dataset, optional
            Data to evaluate after each epoch.
        shuffle : bool, default True
            Whether the rows of arrays are in another order in each epoch.
        sample_weight : array, optional
            Weight of each row in the loss and the metrics.
        initial_epoch : int
        steps_per_epoch : int, optional
            Number of batches of an epoch, which continues where the last epoch stopped. If the data ends within an
            epoch, so does the epoch, with a warning, and the next one begins with the first batch.

        Returns
        -------
        History

        Raises
        ------
        RuntimeError
            Before `compile`.
        ValueError
            If there are no batches.
        """
        if self.optimizer is None:
            raise RuntimeError(
                f"model {self.name!r} must be compiled before fit: call model.compile(optimizer, loss)"
            )
        data = (x, y, sample_weight)
        if validation_split and not isinstance(x, Dataset):
            data, validation_data = split_rows(data, validation_split)
        rows = batches_of(data, batch_size, shuffle)
        batches: Dataset | StepsOfEpochs = rows
        if steps_per_epoch is not None:
            batches = StepsOfEpochs(rows, as_int("steps_per_epoch", steps_per_epoch))
        history = History()
        self.stop_training = False
        for epoch in range(initial_epoch, epochs):
            logs = self._epoch("train_step", batches, verbose, f"Epoch {epoch + 1}/{epochs}")
            if validation_data is not None:
                given = validation_data if isinstance(validation_data, tuple) else (validation_data,)
                found = self._epoch(
                    "test_step", batches_of((*given, None, None)[:3], batch_size, False), 0, ""
                )
                logs |= {f"val_{name}": value for name, value in found.items()}
            history.add(epoch, logs)
            _print(verbose, f"{_shown(logs)}\n")
            for callback in callbacks or ():
                if getattr(callback, "model", None) is None:
                    callback.model = self
                callback.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        return history

    def _epoch(
        self, step: str, batches: Dataset | StepsOfEpochs, verbose: Any, title: str
    ) -> dict[str, float]:
        """Run a step for all batches and return the metrics."""
        self.reset_metrics()
        logs: dict[str, Any] = {}
        total, shown, count = batches._count, 0.0, 0
        for count, batch in enumerate(batches, 1):
            if count == 1:
                self._begin(batch)
            logs = self._step(step)(batch)
            if verbose in (1, "auto") and time.monotonic() - shown > 0.1:
                shown = time.monotonic()
                of = total if total > 0 else "?"
                _print(verbose, f"\r{title} {count}/{of} {_shown(_floats(logs))}")
        if not count:
            raise ValueError(f"model {self.name!r} was given no batches")
        if title:
            _print(verbose, f"\r{title} {count}/{count} ")
        return _floats(logs)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Return the loss and the metrics of data.

        Parameters
        ----------
        x, y, batch_size, verbose, sample_weight
            As for `fit`.
        return_dict : bool
            Return the values by name instead of a list; without metrics the list is only the loss.
        """
        logs = self._epoch(
            "test_step", batches_of((x, y, sample_weight), batch_size, False), verbose, "Evaluation"
        )
        _print(verbose, f"{_shown(logs)}\n")
        if return_dict:
            return logs
        values = list(logs.values())
        return values[0] if len(values) == 1 else values

    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto") -> np.ndarray[Any, Any]:
        """Return the predictions for data as an array.

        Raises
        ------
        ValueError
            If there are no batches.
        """
        found: list[Any] = []
        for batch in batches_of((x, None, None), batch_size, False):
            found.append(self._step("predict_step")(batch))
        if not found:
            raise ValueError(f"model {self.name!r} was given no batches")
        return concat(found, 0).numpy()

    def summary(self) -> None:
        """Print the layers with the number of their parameters."""
        rows = [
            (layer.name, type(layer).__name__, layer.count_params())
            for layer in vars(self).values()
            for layer in (layer if isinstance(layer, list) else [layer])
            if isinstance(layer, Layer)
        ]
        width = max([len(name) for name, _, _ in rows], default=5)
        print(f"Model: {self.name}")
        for name, kind, count in rows:
            print(f"  {name:{width}}  {kind:22} {count:>12,}")
        trainable = sum(v.size for v in self.trainable_variables)
        print(f"Parameters: {self.count_params():,}, of which {trainable:,} are trained")


class Sequential(SequentialLayers, Model):
    """Layers applied one after another, that can be trained with `fit`.

    Parameters
    ----------
    layers : sequence of callables
        If the first is an `Input`, all layers are built at once.
    name : str, optional

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2)).astype("float32")
    >>> y = (x[:, 0] > x[:, 1]).astype("int64")
    >>> jt.random.set_seed(0)
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(16, "relu"), jt.keras.layers.Dense(2)])
    >>> loss = jt.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> model.compile(jt.keras.optimizers.Adam(0.02), loss, metrics=["accuracy"])
    >>> history = model.fit(x, y, epochs=10, verbose=0)
    >>> model.evaluate(x, y, verbose=0)[1] > 0.95
    True
    """


def _floats(logs: dict[str, Any]) -> dict[str, float]:
    return {name: float(np.asarray(value)) for name, value in logs.items()}


def _shown(logs: dict[str, float]) -> str:
    return " - ".join(f"{name}: {value:.4f}" for name, value in logs.items())


def _print(verbose: Any, text: str) -> None:
    if verbose not in (0, None):
        sys.stdout.write(text)
        sys.stdout.flush()
