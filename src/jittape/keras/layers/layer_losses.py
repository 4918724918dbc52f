"""Losses that layers have beside those of predictions, and the calls that they belong to."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, NamedTuple

from jittape.keras.true_and_predicted import as_tensor
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.recording.nested import flatten
from jittape.recording.variable import Variable

__all__ = ["Losses", "Penalty", "building", "calls", "in_own_path", "numbers", "penalize"]


class Penalty(NamedTuple):
    """A weight and its regularizer."""

    weight: Variable
    regularizer: Callable[[Any], Any]


class Losses:
    """Penalties and other losses of a layer. It is no container, so its Variables are not counted twice.

    Attributes
    ----------
    call : int
        Number of the last call; see `numbers`.
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


numbers = itertools.count(time.time_ns())
"""Numbers of calls. They begin with the time, since a layer from a pickle has numbers of an earlier process."""


class _Calls(threading.local):
    """The call of the outermost layer of a thread: its number, -1 outside, and the value of ``training``."""

    number = -1
    training: bool | None = None

    def __init__(self) -> None:
        self.layers: list[Any] = []
        """The layers that are being called, the outermost first."""


calls = _Calls()


@contextmanager
def building(layer: Any) -> Iterator[None]:
    """Let the paths of weights that are created meanwhile begin with the name of `layer`."""
    calls.layers.append(layer)
    try:
        yield
    finally:
        del calls.layers[-1]


def in_own_path(build: Callable[..., None]) -> Callable[..., None]:
    """Return a method `build` that creates weights whose paths begin with the name of the layer."""

    @wraps(build)
    def build_in_path(self: Any, *args: Any, **kwargs: Any) -> None:
        with nullcontext() if calls.layers and calls.layers[-1] is self else building(self):
            build(self, *args, **kwargs)

    return build_in_path


def penalize(layer: Any, regularizer: Callable[[Any], Any], result: Any) -> None:
    """Add a loss for each tensor in the result of a call; the mean over the examples, as in Keras since 3.13."""
    for output in flatten(result)[0]:
        loss = regularizer(output)
        output = as_tensor(output)
        if output.ndim:
            loss = divide_no_nan(loss, output.shape[0])
        layer.add_loss(loss)
