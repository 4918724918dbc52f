"""One pass of a model over batches, and the line that shows its progress."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from jittape.core.user_calls import stack_level
from jittape.data import Dataset
from jittape.keras.callback_base import CallbackList
from jittape.keras.training.training_data import StepsOfEpochs

__all__ = ["finish_line", "floats", "run_batches", "shown_logs", "warn_of_nan"]


def run_batches(
    model: Any,
    kind: str,
    batches: Dataset | StepsOfEpochs,
    callbacks: CallbackList,
    verbose: Any = 0,
    title: str = "",
) -> dict[str, float]:
    """Run the training or the evaluation of a model for all batches and return the metrics.

    Parameters
    ----------
    model : Model
    kind : {"train", "test"}
    batches : Dataset
    callbacks : CallbackList
    verbose, title
        1 or "auto" prints a line that begins with `title` and grows with each batch.

    Raises
    ------
    ValueError
        If there are no batches.
    """
    model.reset_metrics()
    begins, ends = callbacks.has(f"on_{kind}_batch_begin"), callbacks.has(f"on_{kind}_batch_end")
    logs: dict[str, Any] = {}
    total, shown, count = batches._count, 0.0, 0
    for count, batch in enumerate(batches, 1):
        if count == 1:
            model._begin(batch)
        if begins:
            callbacks.call(f"on_{kind}_batch_begin", count - 1, {})
        logs = model._step(f"{kind}_step")(batch)
        if ends:
            logs = floats(logs)
            callbacks.call(f"on_{kind}_batch_end", count - 1, logs)
        if verbose in (1, "auto") and time.monotonic() - shown > 0.1:
            shown = time.monotonic()
            of = total if total > 0 else "?"
            _print(verbose, f"\r{title} {count}/{of} {shown_logs(floats(logs))}")
        if ends and model.stop_training and kind == "train":
            break
    if not count:
        raise ValueError(f"model {model.name!r} was given no batches")
    if title:
        _print(verbose, f"\r{title} {count}/{count} ")
    return floats(logs)


def finish_line(logs: dict[str, Any], verbose: Any) -> None:
    """Print the values at the end of the line."""
    _print(verbose, f"{shown_logs(logs)}\n")


def floats(logs: dict[str, Any]) -> dict[str, Any]:
    """Return losses and metrics as Python numbers, also those in dicts, in one dict; as in Keras, sorted by name.

    A metric with several values, such as an F1Score of each class, is an array.
    """
    found: dict[str, Any] = {}
    for name, value in sorted(logs.items()):
        if isinstance(value, dict):
            found |= floats(value)
        else:
            array = np.asarray(value)
            found[name] = array if array.ndim else float(array)
    return found


def warn_of_nan(loss: float) -> None:
    """Warn of a training that ended with a loss that is nan or infinite, and say how to find the cause."""
    if not math.isfinite(loss):
        infinities = "" if math.isnan(loss) else "infinities=True"
        warnings.warn(
            f"the training ended with a loss of {loss}: fit a new model within `with jt.debugging.trace_nans("
            f"{infinities}):`, which names the operation that made the first one, and its line",
            RuntimeWarning,
            stack_level(),
        )


def shown_logs(logs: Mapping[str, Any]) -> str:
    """Return names and means of values as a text."""
    numbers = [(name, float(np.mean(value))) for name, value in logs.items()]
    return " - ".join(
        [f"{name}: {x:.4e}" if 0 < abs(x) < 1e-3 else f"{name}: {x:.4f}" for name, x in numbers]
    )


def _print(verbose: Any, text: str) -> None:
    if verbose not in (0, None):
        sys.stdout.write(text)
        sys.stdout.flush()
