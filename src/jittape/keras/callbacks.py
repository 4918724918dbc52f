"""``jt.keras.callbacks``: objects whose methods `Model.fit`, `evaluate` and `predict` call."""

from __future__ import annotations

import csv
import inspect
import os
from collections.abc import Callable
from typing import Any

from jittape.keras.callback_base import (
    Callback,
    CallbackList,
    History,
    LambdaCallback,
    TerminateOnNaN,
)
from jittape.keras.monitoring_callbacks import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau
from jittape.lazy_names import lazily as _lazily

__all__ = [
    "CSVLogger", "Callback", "CallbackList", "EarlyStopping", "History", "LambdaCallback",
    "LearningRateScheduler", "ModelCheckpoint", "ReduceLROnPlateau", "TerminateOnNaN",
]  # fmt: skip


class LearningRateScheduler(Callback):
    """Set the learning rate at the beginning of each epoch.

    Parameters
    ----------
    schedule : callable
        ``schedule(epoch, learning_rate)``, or ``schedule(epoch)``, returns the learning rate of the epoch.
    verbose : int
        1 prints the learning rate.

    Raises
    ------
    TypeError
        If the schedule is not callable or returns no number, or the optimizer has a schedule of its own.

    Examples
    --------
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    >>> model.compile(jt.keras.optimizers.SGD(0.5), "mse")
    >>> halve = jt.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2 if epoch else rate)
    >>> history = model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=3, verbose=0, callbacks=[halve])
    >>> history.history["learning_rate"]
    [0.5, 0.25, 0.125]
    """

    def __init__(self, schedule: Callable[..., Any], verbose: int = 0) -> None:
        if not callable(schedule):
            raise TypeError(f"[LearningRateScheduler] schedule must be callable, got {schedule!r}")
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Set the learning rate."""
        optimizer = self.model.optimizer
        takes_rate = _takes_two(self.schedule)
        rate = self.schedule(epoch, float(optimizer.learning_rate)) if takes_rate else self.schedule(epoch)
        try:
            optimizer.learning_rate = float(rate)
        except TypeError as error:
            raise TypeError(f"[LearningRateScheduler] at epoch {epoch}: {error}") from None
        if self.verbose:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {float(rate)}.")

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Add the learning rate to the values of the epoch."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


def _takes_two(function: Callable[..., Any]) -> bool:
    """Return whether a function can be called with two arguments; a callable without a signature can."""
    try:
        inspect.signature(function).bind(0, 0.0)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


class CSVLogger(Callback):
    """Write the values of each epoch to a line of a file.

    Parameters
    ----------
    filename : str or path
    separator : str, default ","
    append : bool
        Continue an existing file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "log.csv")
    ...     log = jt.keras.callbacks.CSVLogger(path)
    ...     _ = model.fit(np.zeros((4, 2)), np.zeros((4, 1)), epochs=2, verbose=0, callbacks=[log])
    ...     path.read_text().splitlines()
    ['epoch,loss', '0,0.0', '1,0.0']
    """

    def __init__(self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False) -> None:
        self.filename, self.separator, self.append = os.fspath(filename), separator, bool(append)
        self._names: list[str] | None = None

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Create the file."""
        self._names = None
        if not self.append:
            with open(self.filename, "w", encoding="utf-8"):
                pass

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Write a line."""
        values = {"epoch": epoch, **(logs or {})}
        with open(self.filename, "a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=self.separator, lineterminator="\n")
            if self._names is None:
                self._names = list(values)
                if not file.tell():
                    writer.writerow(self._names)
            writer.writerow([values.get(name, "NA") for name in self._names])


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
