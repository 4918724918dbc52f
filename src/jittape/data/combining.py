"""`Combined`: datasets whose elements are made of several elements, or of other datasets."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from functools import reduce
from inspect import signature
from typing import Any, Self

import numpy as np

from jittape.core.signatures import reason_against_count
from jittape.core.user_calls import as_int
from jittape.data.element_specs import DatasetSpec, merged, padded, require_elements, scanned, spec_of
from jittape.data.elements import as_element, pad_and_stack, same_kind, split_leaves
from jittape.data.iteration import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from jittape.data.ordering import Ordered, at_least_1
from jittape.errors import InvalidArgumentError, OutOfRangeError
from jittape.recording.operators import Operators

__all__ = ["Combined", "called", "holds", "require_callable"]

_CYCLE = 4
"""Number of datasets that `Combined.interleave` reads in turn by default."""


class Combined(Ordered):
    """A dataset with methods that combine elements, or datasets made of them."""

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Return windows of elements, each as a dataset; of tuples, as tuples of datasets.

        Parameters
        ----------
        size : int
            Number of elements of a window.
        shift : int, optional
            Distance of the first elements of two windows; `size` if not given.
        stride : int
            Distance of two elements in a window.
        drop_remainder : bool
            Whether windows of fewer elements are left out.
        name : str, optional
            Ignored.

        Examples
        --------
        >>> data = jt.data.Dataset.range(5).window(3, shift=1, drop_remainder=True)
        >>> [batch.tolist() for batch in data.flat_map(lambda window: window.batch(3))]
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        length = at_least_1("window", "size", size)
        step = length if shift is None else at_least_1("window", "shift", shift)
        between = at_least_1("window", "stride", stride)
        span = (length - 1) * between + 1

        def dataset(leaves: list[Any]) -> Combined:
            spec = None if not leaves else lambda: reduce(merged, map(spec_of, leaves))
            return type(self)(lambda: iter(leaves), len(leaves), spec=spec)

        def items() -> Iterator[Any]:
            source = self._elements()
            buffer: list[Any] = []
            while True:
                buffer += itertools.islice(source, span - len(buffer))
                chosen = buffer[::between]
                if not chosen or (drop_remainder and len(chosen) < length):
                    return
                yield split_leaves(chosen, dataset)
                deque(itertools.islice(source, max(step - len(buffer), 0)), maxlen=0)
                buffer = buffer[step:]

        count = self._count
        if count >= 0:
            count = max((count - span) // step + 1, 0) if drop_remainder else -(-count // step)
        return type(self)(
            items, count, spec=lambda: split_leaves([self.element_spec], lambda leaves: DatasetSpec(*leaves))
        )

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Self:
        """Return the elements of the datasets ``map_func(element)``, one dataset after the other.

        Examples
        --------
        >>> data = jt.data.Dataset.range(1, 4).flat_map(lambda n: jt.data.Dataset.range(int(n)))
        >>> [i.numpy().item() for i in data]
        [0, 0, 1, 0, 1, 2]
        """
        require_callable("flat_map", "map_func", map_func)
        sources = self._datasets("flat_map", map_func)
        spec = self._spec_of_datasets(map_func)
        return type(self)(lambda: itertools.chain.from_iterable(sources()), UNKNOWN_CARDINALITY, spec=spec)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Return elements of several datasets ``map_func(element)`` in turn.

        Parameters
        ----------
        map_func : callable
        cycle_length : int, default 4
            Number of datasets that are read in turn.
        block_length : int, default 1
            Number of elements that are read from a dataset before the next one.
        num_parallel_calls, deterministic, name : optional
            Accepted for compatibility with TensorFlow. Calls run one after another.

        Examples
        --------
        >>> data = jt.data.Dataset.range(3).interleave(lambda i: jt.data.Dataset.from_tensors(i).repeat(2), 2)
        >>> [i.numpy().item() for i in data]
        [0, 1, 0, 1, 2, 2]
        """
        require_callable("interleave", "map_func", map_func)
        automatic = cycle_length is None or as_int("cycle_length", cycle_length) == -1
        cycle = _CYCLE if automatic else at_least_1("interleave", "cycle_length", cycle_length)
        block = 1 if block_length is None else at_least_1("interleave", "block_length", block_length)
        sources = self._datasets("interleave", map_func)
        spec = self._spec_of_datasets(map_func)
        return type(self)(lambda: _interleaved(sources(), cycle, block), UNKNOWN_CARDINALITY, spec=spec)

    def _spec_of_datasets(self, function: Callable[..., Any]) -> Callable[[], Any]:
        """Return a function that returns the specs of the elements of the first dataset of `flat_map`."""
        return lambda: called(function, self._first()[0]).element_spec

    def _first(self, number: int = 1) -> list[Any]:
        """Return the first elements, at most `number` of them, to find the specs of results of a function.

        Raises
        ------
        OutOfRangeError
            If there is none.
        SpecNeedsElements
            If no function of the user may run.
        """
        require_elements()
        found = list(itertools.islice(self._elements(), number))
        if not found:
            raise OutOfRangeError(
                "[Dataset.element_spec] the dataset has no first element to call the function with"
            )
        return found

    def _datasets(self, method: str, function: Callable[..., Any]) -> Callable[[], Iterator[Iterator[Any]]]:
        """Return a function that begins the passes over the datasets that a function makes of the elements."""

        def of(element: Any) -> Iterator[Any]:
            found = called(function, element)
            if not isinstance(found, Combined):
                raise TypeError(f"[Dataset.{method}] map_func must return a Dataset, got {found!r}; use map")
            return found._elements()

        return lambda: map(of, self._elements())

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Return batches of elements of different shapes, which are padded at their ends.

        Parameters
        ----------
        batch_size : int
        padded_shapes : nested shapes, optional
            Shapes of the padded elements; None or -1 is the greatest extent in the batch, as everywhere by default.
        padding_values : nested scalars, default 0
        drop_remainder : bool
            Whether the last batch is left out if it is smaller.
        name : str, optional
            Ignored.

        Raises
        ------
        ValueError
            At the batch with an element that is longer than its padded shape.

        Examples
        --------
        >>> rows = jt.data.Dataset.range(1, 4).map(lambda n: jt.range(int(n)))
        >>> [batch.tolist() for batch in rows.padded_batch(2)]
        [[[0, 0], [0, 1]], [[0, 1, 2]]]
        """
        size = at_least_1("padded_batch", "batch_size", batch_size)

        def items() -> Iterator[Any]:
            source = self._elements()
            while chunk := list(itertools.islice(source, size)):
                if len(chunk) == size or not drop_remainder:
                    yield pad_and_stack(chunk, padded_shapes, padding_values)

        whole, rest = divmod(self._count, size)
        return type(self)(
            items,
            self._count if self._count < 0 else whole + bool(rest and not drop_remainder),
            spec=lambda: padded(self.element_spec, padded_shapes, size if drop_remainder else None),
        )

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """Return the last of the states ``reduce_func(state, element)``, which begin with `initial_state`.

        Raises
        ------
        TypeError
            If a state has another structure or dtype than the first one.

        Examples
        --------
        >>> jt.data.Dataset.range(5).reduce(np.int64(0), lambda total, i: total + i).numpy().item()
        10
        """
        require_callable("reduce", "reduce_func", reduce_func)
        state = as_element(initial_state)
        for element in self._elements():
            state = same_kind("reduce", state, as_element(reduce_func(state, element)))
        return state

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Self:
        """Return the second results of ``state, result = scan_func(state, element)``.

        Raises
        ------
        TypeError
            If a state has another structure or dtype than the first one.

        Examples
        --------
        >>> data = jt.data.Dataset.range(4).scan(np.int64(0), lambda total, i: (total + i, total + i))
        >>> [i.numpy().item() for i in data]
        [0, 1, 3, 6]
        """
        require_callable("scan", "scan_func", scan_func)

        def after(state: Any, element: Any) -> tuple[Any, Any]:
            found = scan_func(state, element)
            if not isinstance(found, (tuple, list)) or len(found) != 2:
                raise TypeError(
                    f"[Dataset.scan] scan_func must return a pair of a state and an element, got {found!r}"
                )
            return same_kind("scan", state, as_element(found[0], "scan")), as_element(found[1], "scan")

        def items() -> Iterator[Any]:
            state = as_element(initial_state)
            for element in self._elements():
                state, result = after(state, element)
                yield result

        return type(self)(
            items,
            self._count,
            spec=lambda: scanned(after, as_element(initial_state), self.element_spec, self._first()[0]),
        )

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """Return the elements before the first for which ``predicate(element)`` is false.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(9).take_while(lambda i: i < 2)]
        [0, 1]
        """
        require_callable("take_while", "predicate", predicate)
        return type(self)(
            lambda: itertools.takewhile(lambda e: holds("take_while", predicate, e), self._elements()),
            UNKNOWN_CARDINALITY if self._count else 0,
            spec=self._spec,
        )

    def apply(self, transformation_func: Callable[[Self], Any], name: str | None = None) -> Any:
        """Return ``transformation_func(dataset)``.

        Raises
        ------
        TypeError
            If the result is no dataset.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(5).apply(lambda data: data.skip(3))]
        [3, 4]
        """
        require_callable("apply", "transformation_func", transformation_func)
        found = transformation_func(self)
        if not isinstance(found, Combined):
            raise TypeError(f"[Dataset.apply] transformation_func must return a Dataset, got {found!r}")
        return found

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Self:
        """Return every `num_shards`-th element, from the one at `index` on.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(5).shard(2, 1)]
        [1, 3]
        """
        shards, first = at_least_1("shard", "num_shards", num_shards), as_int("index", index)
        if not 0 <= first < shards:
            raise InvalidArgumentError(
                f"[Dataset.shard] index must be at least 0 and below {shards}, got {index}"
            )
        count = self._count if self._count < 0 else len(range(first, self._count, shards))
        return self._with(lambda: itertools.islice(self._items(), first, None, shards), count)

    @classmethod
    def counter(cls, start: int = 0, step: int = 1, name: str | None = None) -> Self:
        """Return the int64 numbers from `start` on, without end.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.counter(1, 2).take(3)]
        [1, 3, 5]
        """
        first, between = as_int("start", start), as_int("step", step)
        spec = spec_of(_as_int64(first))
        return cls(
            lambda: itertools.count(first, between), INFINITE_CARDINALITY, _as_int64, spec=lambda: spec
        )


def called(function: Callable[..., Any], element: Any) -> Any:
    """Call a function with an element; a tuple is passed as several arguments.

    Raises
    ------
    TypeError
        If the function cannot be called with so many arguments.
    """
    arguments = element if isinstance(element, tuple) else (element,)
    try:
        return function(*arguments)
    except TypeError:
        if not reason_against_count(function, len(arguments)):
            raise
        name = getattr(function, "__name__", repr(function))
        if isinstance(element, tuple):
            found = f"an element is a tuple of {len(element)}, passed as {len(element)} arguments"
            way = "lambda *parts: ... takes them as one"
        else:
            found, way = "an element is one value, passed as 1 argument", "lambda x: ... takes it"
        message = f"[Dataset] {found}, which {name}{signature(function)} does not take: {way}"
    raise TypeError(message)


def holds(method: str, predicate: Callable[..., Any], element: Any) -> bool:
    """Return the truth of a predicate of an element.

    Raises
    ------
    TypeError
        If it returns no bool or number.
    ValueError
        If it returns an array of several elements.
    """
    found = called(predicate, element)
    if not isinstance(found, (bool, int, float, np.generic, np.ndarray, Operators)):
        raise TypeError(f"[Dataset.{method}] predicate must return a bool, got {found!r}")
    if isinstance(found, (np.ndarray, Operators)) and found.size != 1:
        raise ValueError(
            f"[Dataset.{method}] predicate must return one bool, got an array of shape {tuple(found.shape)}: reduce it "
            "with jt.reduce_all or jt.reduce_any"
        )
    return bool(found)


def require_callable(method: str, argument: str, value: Any) -> None:
    """Raise unless a value is callable."""
    if not callable(value):
        raise TypeError(f"[Dataset.{method}] {argument} must be callable, got {value!r}")


def _as_int64(number: int) -> Any:
    return as_element(np.int64(number))


def _interleaved(sources: Iterator[Iterator[Any]], cycle: int, block: int) -> Iterator[Any]:
    """Yield up to `block` elements of each of `cycle` sources in turn; the next source replaces one that ends."""
    reading: list[Iterator[Any] | None] = [None] * cycle
    at = 0
    while True:
        if reading[at] is None:
            reading[at] = next(sources, None)
        current = reading[at]
        if current is not None:
            taken = list(itertools.islice(current, block))
            yield from taken
            if len(taken) < block:
                reading[at] = None
        elif not any(reading):
            return
        at = (at + 1) % cycle
