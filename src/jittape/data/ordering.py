"""`Ordered`: streams of items in another order, repeated or cut."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from jittape.core.user_calls import as_int
from jittape.data.dataset_iterator import Order, Orders, orders_of_thread
from jittape.data.iteration import INFINITE_CARDINALITY, Iterated
from jittape.errors import InvalidArgumentError

__all__ = ["Ordered", "at_least_1"]

_DRAWS = 256
"""Number of random places drawn at once: a single draw takes 2 µs."""


class Ordered(Iterated):
    """A dataset with methods that change the stream of items. They do not touch the elements."""

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,
        name: str | None = None,
    ) -> Self:
        """Return the elements in random order.

        Parameters
        ----------
        buffer_size : int
            Each element is drawn from the next `buffer_size` ones. With at least the number of elements, every order is
            equally likely.
        seed : int, optional
            Makes the orders repeatable. Without it they follow `jt.random.set_seed`.
        reshuffle_each_iteration : bool
            Whether each pass has another order.
        name : str, optional
            Ignored.

        Examples
        --------
        >>> sorted(i.numpy().item() for i in jt.data.Dataset.range(4).shuffle(4))
        [0, 1, 2, 3]
        """
        size = at_least_1("shuffle", "buffer_size", buffer_size)
        order = Order(seed, not reshuffle_each_iteration)

        def items() -> Iterator[Any]:
            orders = orders_of_thread.orders or Orders([])
            return _shuffled(self._items(), size, np.random.default_rng(orders.entropy(order)))

        return self._with(items, self._count)

    def repeat(self, count: int | None = None, name: str | None = None) -> Self:
        """Return the elements `count` times; without end for None or -1.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        times = -1 if count is None else as_int("count", count)
        if times >= 0:
            total = 0 if not times else self._count if self._count < 0 else times * self._count
        else:
            total = 0 if not self._count else INFINITE_CARDINALITY

        def items() -> Iterator[Any]:
            for _ in itertools.count() if times < 0 else range(times):
                empty = True
                for item in self._items():
                    empty = False
                    yield item
                if empty:
                    return

        return self._with(items, total)

    def take(self, count: int, name: str | None = None) -> Self:
        """Return the first `count` elements; all for -1.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(5).take(2)]
        [0, 1]
        """
        n = as_int("count", count)
        if n < 0:
            return self
        known = n if self._count == INFINITE_CARDINALITY else min(n, self._count)
        return self._with(lambda: itertools.islice(self._items(), n), known)

    def skip(self, count: int, name: str | None = None) -> Self:
        """Return the elements after the first `count`; none for -1.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(5).skip(3)]
        [3, 4]
        """
        n = as_int("count", count)
        if n < 0:
            return self.take(0)
        known = self._count if self._count < 0 else max(self._count - n, 0)
        return self._with(lambda: itertools.islice(self._items(), n, None), known)

    def cache(self, filename: str = "", name: str | None = None) -> Self:
        """Return the dataset with its elements kept in memory after the first complete pass.

        Raises
        ------
        ValueError
            If `filename` is given: elements are kept in memory only.

        Examples
        --------
        >>> data = jt.data.Dataset.range(3).map(lambda i: i + 1).cache()
        >>> [i.numpy().item() for i in data], [i.numpy().item() for i in data]
        ([1, 2, 3], [1, 2, 3])
        """
        if filename:
            raise ValueError(f"[Dataset.cache] elements are kept in memory only, got filename={filename!r}")
        kept: list[list[Any]] = []

        def items() -> Iterator[Any]:
            if not kept:
                found = []
                for item in self._items():
                    found.append(item)
                    yield item
                kept.append(found)
            else:
                yield from kept[0]

        return self._with(items, self._count)


def at_least_1(method: str, argument: str, value: Any) -> int:
    """Return `value` as an int; raise unless it is at least 1."""
    number = as_int(argument, value)
    if number < 1:
        raise InvalidArgumentError(f"[Dataset.{method}] {argument} must be at least 1, got {value!r}")
    return number


def _shuffled(items: Iterator[Any], size: int, generator: np.random.Generator) -> Iterator[Any]:
    """Yield `items` in random order, drawn from a buffer of `size`."""
    buffer = list(itertools.islice(items, size))
    blocks = (generator.integers(size, size=_DRAWS).tolist() for _ in itertools.count())
    for item, place in zip(items, itertools.chain.from_iterable(blocks), strict=False):
        yield buffer[place]
        buffer[place] = item
    for place in generator.permutation(len(buffer)).tolist():
        yield buffer[place]
