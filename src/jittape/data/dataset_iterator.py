"""`Iterator`: one pass over a dataset, with a position that a checkpoint can hold."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from collections.abc import Iterator as PythonIterator
from typing import Any, Self

import numpy as np

from jittape import random
from jittape.core.primitive import active_recorder
from jittape.core.user_calls import as_int
from jittape.errors import OutOfRangeError
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.variable import Variable

__all__ = ["Iterator", "Order", "Orders", "orders_of_thread", "refuse_elements"]

_SHUFFLES = 15
"""Number of shuffles whose orders the state of an iterator can hold."""


class Order:
    """The random orders of one call of `Dataset.shuffle`.

    Attributes
    ----------
    seed : int or None
        None draws from `jt.random`.
    fixed : bool
        Whether all passes have one order.
    begun : int
        Number of the passes with a seed that have begun.
    """

    def __init__(self, seed: int | None, fixed: bool) -> None:
        self.seed = None if seed is None else as_int("seed", seed) & 0xFFFF_FFFF_FFFF_FFFF
        self.fixed, self.begun = fixed, 0
        self._start = _drawn() if fixed and seed is None else 0

    def start(self) -> int:
        """Return the number that determines, with `seed`, the orders of a new iterator."""
        if self.fixed:
            return self._start
        return _drawn() if self.seed is None else self.begun

    def entropy(self, start: int, count: int) -> list[int]:
        """Return the entropy of pass `count` of the iterator that began with `start`."""
        if self.seed is None:
            return [start, 0 if self.fixed else count]
        number = 0 if self.fixed else start + count
        self.begun = max(self.begun, number + 1)
        return [self.seed, number]


def _drawn() -> int:
    return int(random.uniform([], dtype="float64").numpy() * 2**53)


class Orders:
    """The shuffles of an iterator, in the order in which their first passes began."""

    def __init__(self, starts: list[int]) -> None:
        self.starts = starts
        self._passes: dict[Order, tuple[int, PythonIterator[int]]] = {}

    def entropy(self, order: Order) -> list[int]:
        """Return the entropy of the next pass of a shuffle."""
        found = self._passes.get(order)
        if found is None:
            place = len(self._passes)
            if place == len(self.starts):
                self.starts.append(order.start())
            found = self._passes[order] = self.starts[place], itertools.count()
        return order.entropy(found[0], next(found[1]))


class _Thread(threading.local):
    """The orders of the iterator that a thread advances."""

    orders: Orders | None = None


orders_of_thread = _Thread()


def refuse_elements() -> None:
    """Raise an error where code that is traced asks for elements of a dataset: it would keep those of the first call.

    A `jt.function` then is not compiled and runs as Python at each call.
    """
    recorder = active_recorder()
    if isinstance(recorder, FunctionTrace):
        raise recorder.needed(
            "an element of a dataset, another one at each call,",
            "give the elements to the function as arguments",
        )
    if recorder.traced_in is not None:
        raise TypeError(
            f"a dataset cannot be iterated over inside {recorder.traced_in}, which would keep the elements of its "
            "first call; give the elements to it as arguments"
        )


@with_foreign_names(ATTRIBUTES_LEFT_OUT["data.Iterator"])
class Iterator:
    """One pass over the elements of a dataset; ``iter(dataset)`` makes one.

    `jt.train.Checkpoint` saves its position and the orders of its shuffles. A restored iterator begins a pass, leaves
    out the elements before the position, and continues with the next one. The functions of `Dataset.map` and
    `Dataset.filter` run again for the elements that are left out.

    Examples
    --------
    >>> iterator = iter(jt.data.Dataset.range(5).batch(2))
    >>> iterator.get_next().tolist(), next(iterator).tolist()
    ([0, 1], [2, 3])
    """

    def __init__(self, stream: Callable[[int], PythonIterator[Any]], spec: Callable[[], Any]) -> None:
        self._begin = stream
        self._spec = spec
        self._stream: PythonIterator[Any] | None = None
        self._orders = Orders([])
        self._position = 0
        self._state: Variable | None = None
        self._written: Any = None

    def __iter__(self) -> Self:
        return self

    @property
    def element_spec(self) -> Any:
        """The shapes and dtypes of the elements; see `Dataset.element_spec`."""
        return self._spec()

    def __next__(self) -> Any:
        refuse_elements()
        before, orders_of_thread.orders = orders_of_thread.orders, self._orders
        try:
            if self._state is not None:
                self._take_over(self._state.numpy())
            if self._stream is None:
                orders_of_thread.orders = self._orders
                self._stream = self._begin(self._position)
            element = next(self._stream)
        finally:
            orders_of_thread.orders = before
        self._position += 1
        return element

    def next(self) -> Any:
        """Return the next element, as ``next(iterator)`` does."""
        return self.__next__()

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element.

        Raises
        ------
        OutOfRangeError
            At the end of the dataset.
        """
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("the iterator is at the end of its dataset") from None

    def state(self) -> Variable:
        """Return the position and the orders as a Variable; another value that is assigned to it takes effect.

        Raises
        ------
        ValueError
            If the dataset has too many shuffles.
        """
        if self._state is not None and not np.array_equal(self._state.numpy(), self._written):
            return self._state
        starts = self._orders.starts
        if len(starts) > _SHUFFLES:
            raise ValueError(
                f"the state of an iterator holds at most {_SHUFFLES} shuffles, and this one has {len(starts)}: shuffle "
                "less often"
            )
        self._written = np.array([self._position, *starts, *[-1] * (_SHUFFLES - len(starts))], np.int64)
        if self._state is None:
            self._state = Variable(self._written, trainable=False, name="iterator")
        else:
            self._state.assign(self._written)
        return self._state

    def _take_over(self, state: Any) -> None:
        """Continue at an assigned state."""
        if not np.array_equal(state, self._written):
            self._written = state
            position, *starts = state.tolist()
            self._position, self._stream = position, None
            self._orders = Orders([start for start in starts if start >= 0])
