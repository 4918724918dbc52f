"""Callbacks that compare a value of each epoch with the best one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.keras.callback_base import Callback
from jittape.keras.metrics.metric_base import Metric

__all__ = ["EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau"]


class _Monitor(Callback):
    """A callback that compares a value of each epoch with the best one."""

    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0) -> None:
        owner = type(self).__name__
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"[{owner}] mode must be 'auto', 'min' or 'max', got {mode!r}")
        self.monitor, self.mode, self.min_delta = monitor, mode, abs(float(min_delta))

    def _value(self, logs: dict[str, float] | None) -> float:
        """Return the value of this epoch.

        Raises
        ------
        ValueError
            If there is none of this name.
        """
        if logs is None or self.monitor not in logs:
            raise ValueError(
                f"[{type(self).__name__}] monitor={self.monitor!r} is none of the values of an epoch, "
                f"{', '.join(logs or {})}; val_ values need validation_data"
            )
        return logs[self.monitor]

    def _is_better(self, value: float, best: float | None) -> bool:
        if best is None:
            return True
        if self._is_increasing():
            return value - self.min_delta > best
        return value + self.min_delta < best

    def _is_increasing(self) -> bool:
        if self.mode == "auto":
            self.mode = self._mode_of_metric(self.monitor.removeprefix("val_"))
        return self.mode == "max"

    def _mode_of_metric(self, name: str) -> str:
        if name == "loss":
            return "min"
        given = getattr(self.model, "metrics", ())
        for metric in [one for part in given for one in getattr(part, "metrics", (part,))]:
            if isinstance(metric, Metric) and metric.name == name and metric.direction is not None:
                return "max" if metric.direction == "up" else "min"
        raise ValueError(
            f"[{type(self).__name__}] mode='auto' knows no direction of {self.monitor!r}; give mode='min' or 'max'"
        )


class EarlyStopping(_Monitor):
    """End the training when a value no longer improves.

    Parameters
    ----------
    monitor : str, default "val_loss"
        Name of the value.
    min_delta : float
        Smallest improvement that counts.
    patience : int
        Number of epochs without an improvement after which the training ends.
    verbose : int
        1 prints the epoch.
    mode : {"auto", "min", "max"}
        Whether smaller or greater values are better; "auto" asks the metric.
    baseline : float, optional
        Value that must be reached within `patience` epochs.
    restore_best_weights : bool
        Assign the weights of the best epoch at the end.
    start_from_epoch : int
        Number of the first epoch that counts.

    Raises
    ------
    ValueError
        For another mode, or at the end of the first epoch if there is no such value.

    Examples
    --------
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    >>> model.compile(jt.keras.optimizers.SGD(0.0), "mse")
    >>> stop = jt.keras.callbacks.EarlyStopping("loss", patience=2)
    >>> model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=9, verbose=0, callbacks=[stop]).epoch
    [0, 1, 2]
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience, self.start_from_epoch = (
            as_int("patience", patience),
            as_int("start_from_epoch", start_from_epoch),
        )
        self.verbose, self.baseline = verbose, baseline
        self.restore_best_weights = bool(restore_best_weights)

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Begin again."""
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best: float | None = None
        self.best_weights: list[np.ndarray[Any, Any]] | None = None

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Compare the value of the epoch."""
        value = self._value(logs)
        if epoch < self.start_from_epoch:
            return
        if self._is_better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            self.wait = 0 if self.baseline is None or self._is_better(value, self.baseline) else self.wait + 1
            return
        self.wait += 1
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: dict[str, float] | None = None) -> None:
        """Restore the best weights."""
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.restore_best_weights and self.best_weights is not None:
            self.model.set_weights(self.best_weights)


class ReduceLROnPlateau(_Monitor):
    """Multiply the learning rate by a factor when a value no longer improves.

    Parameters
    ----------
    monitor : str, default "val_loss"
    factor : float
        Below 1.
    patience : int
        Number of epochs without an improvement.
    verbose : int
    mode : {"auto", "min", "max"}
    min_delta : float
        Smallest improvement that counts.
    cooldown : int
        Number of epochs after a reduction that do not count.
    min_lr : float
        Smallest learning rate.

    Raises
    ------
    ValueError
        If `factor` is at least 1, for another mode, or if there is no such value.

    Examples
    --------
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    >>> model.compile(jt.keras.optimizers.SGD(0.5), "mse")
    >>> model.layers[0].trainable = False
    >>> reduce = jt.keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=2)
    >>> history = model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=3, verbose=0, callbacks=[reduce])
    >>> float(model.optimizer.learning_rate)
    0.25
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        if not factor < 1.0:
            raise ValueError(f"[ReduceLROnPlateau] factor must be less than 1, got {factor}")
        self.factor, self.min_lr, self.verbose = factor, min_lr, verbose
        self.patience, self.cooldown = as_int("patience", patience), as_int("cooldown", cooldown)

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Begin again."""
        self.best: float | None = None
        self.wait = self.cooldown_counter = 0

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Compare the value of the epoch."""
        value, optimizer = self._value(logs), self.model.optimizer
        rate = float(optimizer.learning_rate)
        if logs is not None:
            logs["learning_rate"] = rate
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._is_better(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience and rate > self.min_lr:
                optimizer.learning_rate = max(rate * self.factor, self.min_lr)
                if self.verbose:
                    print(
                        f"\nEpoch {epoch + 1}: reducing the learning rate to {float(optimizer.learning_rate)}."
                    )
                self.cooldown_counter, self.wait = self.cooldown, 0


class ModelCheckpoint(_Monitor):
    """Write the weights of the model to a file at the end of epochs.

    Parameters
    ----------
    filepath : str or path
        Ends in ``.npz``, or in ``.safetensors`` or ``.weights.h5`` if safetensors or h5py is installed. It may contain
        ``{epoch}``, counted from 1, and the names of the values of an epoch, such as ``{val_loss:.2f}``.
    monitor : str, default "val_loss"
        Name of the value that `save_best_only` compares.
    verbose : int
        1 prints the name of each file.
    save_best_only : bool
        Write the weights only if the value is better than all before.
    save_weights_only : bool
        Accepted for compatibility with TensorFlow: the files contain the weights in either case.
    mode : {"auto", "min", "max"}
        Whether smaller or greater values are better; "auto" asks the metric.
    save_freq : "epoch" or int
        An int is a number of batches between two files.
    initial_value_threshold : float, optional
        Value that the first file must improve.

    Raises
    ------
    ValueError
        For another extension, such as ``.keras``, or an argument out of its range.
    KeyError
        If the name contains a value that an epoch does not have.

    Examples
    --------
    >>> import os, tempfile
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = jt.keras.callbacks.ModelCheckpoint(os.path.join(folder, "{epoch}.npz"))
    ...     _ = model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=2, verbose=0, callbacks=[saved])
    ...     sorted(os.listdir(folder))
    ['1.npz', '2.npz']
    """

    def __init__(
        self,
        filepath: str | os.PathLike[str],
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        initial_value_threshold: float | None = None,
    ) -> None:
        super().__init__(monitor, mode)
        self.filepath = os.fspath(filepath)
        if not self.filepath.endswith((".npz", ".safetensors", ".h5")):
            raise ValueError(
                f"[ModelCheckpoint] filepath must end in .npz, .safetensors or .weights.h5, got {self.filepath!r}: the "
                "files contain weights, which Model.load_weights reads"
            )
        self.verbose, self.save_best_only = verbose, bool(save_best_only)
        self._every = 0 if save_freq == "epoch" else as_int("save_freq", save_freq)
        if self._every < 1 and save_freq != "epoch":
            raise ValueError(f"[ModelCheckpoint] save_freq must be 'epoch' or at least 1, got {save_freq!r}")
        if self._every:
            self.on_train_batch_end = self._after_batch
        self.best = initial_value_threshold
        self._batches = self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Keep the number of the epoch."""
        self._epoch = epoch

    def _after_batch(self, batch: int, logs: dict[str, float] | None = None) -> None:
        self._batches += 1
        if self._batches >= self._every:
            self._batches = 0
            self._save(self._epoch, logs)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Write the weights after an epoch."""
        if not self._every:
            self._save(epoch, logs)

    def _save(self, epoch: int, logs: dict[str, float] | None) -> None:
        if self.save_best_only:
            value = self._value(logs)
            if not self._is_better(value, self.best):
                return
            self.best = value
        try:
            path = self.filepath.format(epoch=epoch + 1, **(logs or {}))
        except KeyError as error:
            raise KeyError(
                f"[ModelCheckpoint] filepath {self.filepath!r} contains {error}, which is none of the values of an "
                f"epoch: {', '.join(['epoch', *(logs or {})])}"
            ) from None
        self.model.save_weights(path)
        if self.verbose:
            print(f"\nEpoch {epoch + 1}: saved the weights to {path}")
