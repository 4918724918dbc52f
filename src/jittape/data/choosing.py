"""`Chosen`: datasets whose elements are chosen from several datasets, grouped or regrouped."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from jittape.core.user_calls import as_int
from jittape.data.combining import Combined, called, require_callable
from jittape.data.dataset_iterator import Order, Orders, orders_of_thread
from jittape.data.element_specs import batched, common_spec, padded, unbatched
from jittape.data.elements import pad_and_stack, stack, unstack
from jittape.data.iteration import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from jittape.data.ordering import at_least_1
from jittape.errors import InvalidArgumentError

__all__ = ["Chosen"]


class Chosen(Combined):
    """A dataset with methods that choose elements and form groups of them."""

    @classmethod
    def choose_from_datasets(
        cls, datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Self:
        """Return the next element of one of several datasets, whose number is the next element of `choice_dataset`.

        Parameters
        ----------
        datasets : sequence of Dataset
        choice_dataset : Dataset of int64 scalars
        stop_on_empty_dataset : bool
            Whether a choice of a dataset that has ended ends the result; such choices are left out otherwise.

        Raises
        ------
        ValueError
            At a number that is none of a dataset.

        Examples
        --------
        >>> data, numbers = jt.data.Dataset, jt.data.Dataset.from_tensor_slices([0, 1, 1])
        >>> chosen = data.choose_from_datasets([data.range(3), data.range(10, 13)], numbers)
        >>> [i.numpy().item() for i in chosen]
        [0, 10, 11]
        """
        given = _given("choose_from_datasets", datasets)
        _given("choose_from_datasets", [choice_dataset])

        def items() -> Iterator[Any]:
            sources = [data._elements() for data in given]
            for choice in choice_dataset._elements():
                number = as_int("choice_dataset", choice.numpy().item())
                if not 0 <= number < len(sources):
                    raise InvalidArgumentError(
                        f"[Dataset.choose_from_datasets] choice_dataset must have numbers from 0 to "
                        f"{len(sources) - 1}, got {number}"
                    )
                found = list(itertools.islice(sources[number], 1))
                if not found and stop_on_empty_dataset:
                    return
                yield from found

        endless = choice_dataset._count == INFINITE_CARDINALITY and _has_no_end(given, True)
        count = INFINITE_CARDINALITY if endless else UNKNOWN_CARDINALITY
        return cls(items, count, spec=lambda: common_spec(given))

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Sequence[Any],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool = True,
    ) -> Self:
        """Return elements of several datasets, each drawn from a dataset at random.

        Parameters
        ----------
        datasets : sequence of Dataset
        weights : sequence of float, optional
            Probabilities of the datasets; equal by default.
        seed : int, optional
            As for `shuffle`.
        stop_on_empty_dataset : bool
            Whether the result ends with the first dataset that ends; others go on otherwise.
        rerandomize_each_iteration : bool
            Whether each pass draws anew.

        Raises
        ------
        ValueError
            If there is no weight for each dataset, or a weight is negative.

        Examples
        --------
        >>> data = jt.data.Dataset
        >>> sampled = data.sample_from_datasets([data.range(2), data.range(10, 12)])
        >>> sorted(i.numpy().item() for i in sampled)
        [0, 1, 10, 11]
        """
        given = _given("sample_from_datasets", datasets)
        chances = np.ones(len(given)) if weights is None else np.asarray(weights, float)
        if chances.shape != (len(given),) or not np.all(chances >= 0) or not chances.sum() > 0:
            raise ValueError(
                f"[Dataset.sample_from_datasets] weights must be {len(given)} numbers of at least 0, got {weights!r}"
            )
        order = Order(seed, not rerandomize_each_iteration)

        def items() -> Iterator[Any]:
            orders = orders_of_thread.orders or Orders([])
            generator = np.random.default_rng(orders.entropy(order))
            sources, left = [data._elements() for data in given], chances.copy()
            while left.sum() > 0:
                number = int(generator.choice(len(sources), p=left / left.sum()))
                found = list(itertools.islice(sources[number], 1))
                if not found:
                    if stop_on_empty_dataset:
                        return
                    left[number] = 0.0
                yield from found

        drawn = [data for data, chance in zip(given, chances, strict=True) if chance]
        endless = _has_no_end(drawn, stop_on_empty_dataset)
        count = INFINITE_CARDINALITY if endless else UNKNOWN_CARDINALITY
        count = drawn[0]._count if len(drawn) == 1 else count
        return cls(items, count, spec=lambda: common_spec(given))

    def unique(self, name: str | None = None) -> Self:
        """Return the elements without those that occurred before. An element must be one tensor.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.from_tensor_slices([3, 1, 3]).unique()]
        [3, 1]
        """

        def items() -> Iterator[Any]:
            seen = set()
            for element in self._elements():
                if not hasattr(element, "numpy"):
                    raise TypeError(f"[Dataset.unique] an element must be one tensor, got {element!r}")
                array = element.numpy()
                key = (array.shape, array.dtype.str, array.tobytes())
                if key not in seen:
                    seen.add(key)
                    yield element

        return type(self)(items, UNKNOWN_CARDINALITY, spec=lambda: self.element_spec)

    def rebatch(
        self, batch_size: int | Sequence[int], drop_remainder: bool = False, name: str | None = None
    ) -> Self:
        """Return the rows of batches in batches of another size, or of several sizes in turn.

        Examples
        --------
        >>> [b.tolist() for b in jt.data.Dataset.range(5).batch(3).rebatch(2)]
        [[0, 1], [2, 3], [4]]
        """
        given = list(batch_size) if isinstance(batch_size, Sequence) else [batch_size]
        sizes = [at_least_1("rebatch", "batch_size", size) for size in given]
        if not sizes:
            raise ValueError("[Dataset.rebatch] batch_size must not be empty")

        def items() -> Iterator[Any]:
            rows = itertools.chain.from_iterable(map(unstack, self._elements()))
            for size in itertools.cycle(sizes):
                chunk = list(itertools.islice(rows, size))
                if not chunk or (drop_remainder and len(chunk) < size):
                    return
                yield stack(chunk)

        size = sizes[0] if len(sizes) == 1 and drop_remainder else None
        return type(self)(
            items, UNKNOWN_CARDINALITY, spec=lambda: batched(unbatched(self.element_spec), size)
        )

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element.

        Raises
        ------
        InvalidArgumentError
            If there is no element, or more than one.

        Examples
        --------
        >>> jt.data.Dataset.range(3).batch(3).get_single_element().tolist()
        [0, 1, 2]
        """
        found = list(itertools.islice(self._elements(), 2))
        if len(found) != 1:
            number = "none" if not found else "more"
            raise InvalidArgumentError(
                f"[Dataset.get_single_element] the dataset must have one element, got {number}"
            )
        return found[0]

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, Any], Any],
        window_size: int | None = None,
        window_size_func: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """Return the elements of ``reduce_func(key, dataset)`` for groups of elements with one key.

        Parameters
        ----------
        key_func : callable
            Returns an integer for an element.
        reduce_func : callable
            Returns a dataset for a key and the dataset of a group.
        window_size : int, optional
            Number of elements of a group; the last group of a key may be smaller.
        window_size_func : callable, optional
            Returns the number for a key, in place of `window_size`.
        name : str, optional
            Ignored.

        Raises
        ------
        ValueError
            Unless one of `window_size` and `window_size_func` is given.

        Examples
        --------
        >>> data = jt.data.Dataset.range(5)
        >>> groups = data.group_by_window(lambda i: i % 2, lambda key, group: group.batch(2), window_size=2)
        >>> [b.tolist() for b in groups]
        [[0, 2], [1, 3], [4]]
        """
        for argument, function in (("key_func", key_func), ("reduce_func", reduce_func)):
            require_callable("group_by_window", argument, function)
        if (window_size is None) == (window_size_func is None):
            raise ValueError("[Dataset.group_by_window] give either window_size or window_size_func")
        size = None if window_size is None else at_least_1("group_by_window", "window_size", window_size)

        def wanted(key: Any) -> Any:
            return size if window_size_func is None else int(window_size_func(key))

        def reduced(key: Any, group: list[Any]) -> Combined:
            data = type(self)(partial(iter, group), len(group), spec=self._spec)
            found = reduce_func(key, data)
            if not isinstance(found, Combined):
                raise TypeError(f"[Dataset.group_by_window] reduce_func must return a Dataset, got {found!r}")
            return found

        def items() -> Iterator[Any]:
            for key, group in self._grouped(lambda element: called(key_func, element), wanted):
                yield from reduced(key, group)._elements()

        def spec() -> Any:
            (first,) = self._first()
            return reduced(called(key_func, first), [first]).element_spec

        return type(self)(items, UNKNOWN_CARDINALITY, spec=spec)

    def _grouped(
        self, key_of: Callable[[Any], Any], size_of: Callable[[Any], Any], drop_remainder: bool = False
    ) -> Iterator[tuple[Any, list[Any]]]:
        """Yield each key with elements of it as soon as there are ``size_of(key)``, and at the end with the rest."""
        groups: dict[int, tuple[Any, list[Any]]] = {}
        for element in self._elements():
            key = key_of(element)
            if getattr(key, "dtype", np.asarray(key).dtype).kind not in "iub":
                raise TypeError(
                    f"[Dataset.group_by_window] key_func must return an integer, got {key!r}: use // or jt.cast"
                )
            number = int(key)
            _, group = groups.setdefault(number, (key, []))
            group.append(element)
            if len(group) == size_of(key):
                del groups[number]
                yield key, group
        if not drop_remainder:
            yield from groups.values()

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Return padded batches of elements of similar lengths.

        Parameters
        ----------
        element_length_func : callable
            Returns the length of an element.
        bucket_boundaries : sequence of int
            Lengths at which the next bucket begins, in increasing order.
        bucket_batch_sizes : sequence of int
            Size of the batches of each bucket: one more than there are boundaries.
        padded_shapes, padding_values : optional
            As for `padded_batch`.
        pad_to_bucket_boundary : bool
            Must be False: batches are padded to their longest element.
        no_padding : bool
            Whether elements have equal shapes and are stacked as they are.
        drop_remainder : bool
            Whether batches that are not full are left out.
        name : str, optional
            Ignored.

        Raises
        ------
        ValueError
            If the numbers of boundaries and sizes do not fit, or the boundaries do not increase.

        Examples
        --------
        >>> rows = jt.data.Dataset.from_tensor_slices([1, 4, 2]).map(lambda n: jt.range(int(n)))
        >>> batches = rows.bucket_by_sequence_length(lambda x: len(x), [3], [2, 2])
        >>> [b.tolist() for b in batches]
        [[[0, 0], [0, 1]], [[0, 1, 2, 3]]]
        """
        op = "bucket_by_sequence_length"
        require_callable(op, "element_length_func", element_length_func)
        bounds = [as_int("bucket_boundaries", bound) for bound in bucket_boundaries]
        sizes = [at_least_1(op, "bucket_batch_sizes", size) for size in bucket_batch_sizes]
        if len(sizes) != len(bounds) + 1 or bounds != sorted(set(bounds)):
            raise ValueError(
                f"[Dataset.{op}] bucket_boundaries must increase, and bucket_batch_sizes have one number more, got "
                f"{bounds} and {sizes}"
            )
        if pad_to_bucket_boundary:
            raise ValueError(
                f"[Dataset.{op}] pad_to_bucket_boundary must be False; give padded_shapes instead"
            )

        def bucket_of(element: Any) -> int:
            return int(np.searchsorted(bounds, int(called(element_length_func, element)), "right"))

        def items() -> Iterator[Any]:
            for _, group in self._grouped(bucket_of, sizes.__getitem__, drop_remainder):
                yield stack(group) if no_padding else pad_and_stack(group, padded_shapes, padding_values)

        def spec() -> Any:
            size = sizes[0] if drop_remainder and len(set(sizes)) == 1 else None
            own = self.element_spec
            return batched(own, size) if no_padding else padded(own, padded_shapes, size)

        return type(self)(items, UNKNOWN_CARDINALITY, spec=spec)


def _has_no_end(datasets: Sequence[Combined], stops: bool) -> bool:
    """Return whether draws from datasets never end; `stops` if they end with the first dataset."""
    return (all if stops else any)([data._count == INFINITE_CARDINALITY for data in datasets])


def _given(method: str, datasets: Sequence[Any]) -> list[Combined]:
    """Return datasets as a list.

    Raises
    ------
    TypeError
        If one is none.
    ValueError
        If there are none.
    """
    found = list(datasets)
    if not found:
        raise ValueError(f"[Dataset.{method}] datasets must not be empty")
    for data in found:
        if not isinstance(data, Combined):
            raise TypeError(f"[Dataset.{method}] datasets must be datasets, got {data!r}")
    return found
