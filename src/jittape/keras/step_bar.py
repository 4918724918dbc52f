"""`Progbar`: the progress bar of training loops of one's own, as in Keras."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.keras.training.epochs import shown_logs

__all__ = ["Progbar"]


class Progbar:
    """A line with the number of steps that are done and the means of values such as losses.

    Parameters
    ----------
    target : int or None
        Number of steps; None if it is not known.
    width : int
        Ignored: the line has no bar.
    verbose : {0, 1, 2}
        Print nothing, print the line again at most every `interval` seconds, or print it once at the end.
    interval : float
        Shortest time between two lines, in seconds.
    stateful_metrics : iterable of str, optional
        Values that are shown as they are; the means of all others are shown.
    unit_name : str
        Ignored.

    Raises
    ------
    TypeError
        If the number of steps is no integer.

    Notes
    -----
    As in Keras, the last line has the values of the last step.

    Examples
    --------
    >>> bar = jt.keras.utils.Progbar(3, verbose=2)
    >>> for step in range(3):
    ...     bar.update(step + 1, [("loss", 1.0 / (step + 1))])
    3/3 loss: 0.3333
    """

    def __init__(
        self,
        target: int | None,
        width: int = 20,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target = None if target is None else as_int("target", target)
        self.verbose, self.interval = verbose, interval
        self.stateful_metrics = set(stateful_metrics or ())
        self._sums: dict[str, tuple[float, int]] = {}
        self._done = 0
        self._printed_at = -np.inf

    def update(
        self, current: int, values: Iterable[tuple[str, Any]] | None = None, finalize: bool | None = None
    ) -> None:
        """Set the number of steps that are done.

        Parameters
        ----------
        current : int
        values : iterable of (str, value), optional
            Values of the steps since the last update.
        finalize : bool, optional
            Whether this is the last update; by default, whether `current` is the target.
        """
        current = as_int("current", current)
        ends = self.target is not None and current >= self.target if finalize is None else bool(finalize)
        steps = max(current - self._done, 1)
        for name, value in values or ():
            number = float(np.mean(value))
            total, count = self._sums.get(name, (0.0, 0))
            alone = ends or name in self.stateful_metrics
            self._sums[name] = (number, 1) if alone else (total + steps * number, count + steps)
        self._done = current
        if self.verbose == 1 and (ends or time.monotonic() - self._printed_at >= self.interval):
            self._print("\r", "\n" if ends else "")
        elif self.verbose == 2 and ends:
            self._print("", "\n")

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Add to the number of steps that are done; `values` are those of `update`."""
        self.update(self._done + as_int("n", n), values)

    def _print(self, before: str, after: str) -> None:
        means = shown_logs({name: total / count for name, (total, count) in self._sums.items()})
        target = "?" if self.target is None else self.target
        sys.stdout.write(f"{before}{self._done}/{target} {means}{after}")
        sys.stdout.flush()
        self._printed_at = time.monotonic()
