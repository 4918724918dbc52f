"""Losses that layers have beside those of predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jittape.recording.variable import Variable

__all__ = ["Losses", "Penalty"]


class Penalty(NamedTuple):
    """A weight and its regularizer."""

    weight: Variable
    regularizer: Callable[[Any], Any]


class Losses:
    """Penalties and other losses of a layer. It is no container, so its Variables are not counted twice.

    Attributes
    ----------
    call : int
        Number of the last call; see `jittape.keras.layers.layer`.
    added : list of (int, Tensor)
        Losses with the numbers of their calls.
    """

    def __init__(self) -> None:
        self.penalties: list[Penalty] = []
        self.added: list[tuple[int, Any]] = []
        self.call = -1

    def begin(self, call: int) -> None:
        """Drop the losses of earlier calls."""
        if call != self.call:
            self.call = call
            self.added.clear()
