"""`Dataset`: a sequence of elements that is computed while it is iterated over.

A dataset is a function that begins a stream of *items*, and a function that makes an element of an item. The items of a
dataset of array rows are row numbers: `shuffle` and `take` change a stream of numbers, and a batch is one slice
or one gather of the arrays. The items of other datasets are the elements themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.data.choosing import Chosen
from jittape.data.combining import called, holds, require_callable
from jittape.data.element_specs import (
    batched,
    common_spec,
    count_of_rows,
    mapped,
    spec_of,
    spec_of_signature,
    unbatched,
)
from jittape.data.elements import as_element, element_like, rows_of, stack, unstack
from jittape.data.iteration import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from jittape.data.ordering import at_least_1
from jittape.data.prefetching import prefetched
from jittape.errors import InvalidArgumentError
from jittape.recording.convert import constant
from jittape.recording.nested import flatten

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset"]

AUTOTUNE = -1
"""Argument of `Dataset.prefetch` and `Dataset.map` that leaves the number to jittape."""

_PREFETCH_DEFAULT = 2


class Dataset(Chosen):
    """A sequence of elements, which are tensors or nested tuples and dicts of tensors.

    Make one with `from_tensor_slices`, `from_tensors`, `from_generator`, `range` or `zip`. Every method returns a new
    dataset. A ``for`` loop begins a new pass over the elements.

    Examples
    --------
    >>> import jittape as jt
    >>> data = jt.data.Dataset.range(5).map(lambda i: i * i).batch(2)
    >>> [batch.tolist() for batch in data]
    [[0, 1], [4, 9], [16]]
    """

    # ---- sources -------------------------------------------------------------------------------------------------

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Return the rows of arrays as a dataset.

        Parameters
        ----------
        tensors : tensor_like, or nested tuples and dicts of them
            All with the same first extent, which is the number of elements. A list is one array.
        name : str, optional
            Ignored; for compatibility with TensorFlow.

        Examples
        --------
        >>> data = jt.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [0, 1, 0]))
        >>> [(x.numpy().item(), y.numpy().item()) for x, y in data]
        [(1.0, 0), (2.0, 1), (3.0, 0)]
        """
        rows = rows_of("Dataset.from_tensor_slices", tensors)
        count = len(rows.arrays[0])
        return Dataset(
            lambda: iter(range(count)),
            count,
            rows.row,
            rows,
            lambda: spec_of(rows.tree.unflatten(list(rows.arrays)), rows=True),
        )

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Return a dataset with one element.

        Examples
        --------
        >>> [x.tolist() for x in jt.data.Dataset.from_tensors([1, 2])]
        [[1, 2]]
        """
        element = as_element(tensors)
        return Dataset(lambda: iter((element,)), 1, spec=lambda: spec_of(element))

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: tuple[Any, ...] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the dataset of what ``generator(*args)`` yields; it is called at the beginning of each pass.

        Parameters
        ----------
        generator : callable
            Returns an iterable of elements.
        output_types, output_shapes : nested dtypes and shapes, optional
            Dtypes of the parts of an element, to which they are converted, and their shapes, which are checked.
        args : tuple
        output_signature : nested TensorSpec, optional
            Dtypes and shapes in one.
        name : str, optional
            Ignored.

        Raises
        ------
        ValueError
            At the element that differs from the signature.

        Examples
        --------
        >>> data = jt.data.Dataset.from_generator(lambda: (n * n for n in range(3)), output_types="float32")
        >>> [x.numpy().item() for x in data]
        [0.0, 1.0, 4.0]
        """
        require_callable("from_generator", "generator", generator)
        convert = element_like(output_types, output_shapes, output_signature)
        known = spec_of_signature(output_types, output_shapes, output_signature)
        spec = None if known is None else lambda: known

        def items() -> Iterator[Any]:
            made = generator(*args or ())
            if not isinstance(made, Iterable):
                raise TypeError(
                    f"[Dataset.from_generator] generator must return something to iterate over, got {made!r}: use "
                    "yield, or return iter(...)"
                )
            return map(convert, made)

        return Dataset(items, UNKNOWN_CARDINALITY, spec=spec)

    @staticmethod
    def range(*args: int, output_type: Any = "int64", name: str | None = None) -> Dataset:
        """Return the integers of Python's ``range(*args)``.

        Raises
        ------
        ValueError
            If the step is 0.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(2, 8, 3)]
        [2, 5]
        """
        ends = [as_int("argument", a) for a in args]
        if not 1 <= len(ends) <= 3:
            raise TypeError(f"[Dataset.range] takes start, stop and step, got {len(ends)} arguments")
        if len(ends) == 3 and ends[2] == 0:
            raise InvalidArgumentError("[Dataset.range] step must not be 0")
        numbers = range(*ends)
        return Dataset.from_tensor_slices(constant(np.array(numbers, np.int64), output_type))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Return tuples of the elements of several datasets, until one of them ends.

        Examples
        --------
        >>> a, b = jt.data.Dataset.range(3), jt.data.Dataset.range(10, 12)
        >>> [(x.numpy().item(), y.numpy().item()) for x, y in jt.data.Dataset.zip(a, b)]
        [(0, 10), (1, 11)]
        """
        given: Any = args if datasets is None else (datasets,)
        if len(given) == 1 and not isinstance(given[0], Dataset):
            (given,) = given
        parts, rebuild = flatten(given)
        if not parts:
            raise ValueError("[Dataset.zip] at least one dataset is needed, got none")
        for part in parts:
            if not isinstance(part, Dataset):
                raise TypeError(f"[Dataset.zip] arguments must be datasets, got {part!r}")
        finite = [part._count for part in parts if part._count != INFINITE_CARDINALITY]
        count = (
            UNKNOWN_CARDINALITY
            if UNKNOWN_CARDINALITY in finite
            else min(finite, default=INFINITE_CARDINALITY)
        )
        return Dataset(
            lambda: (rebuild(list(e)) for e in zip(*[p._elements() for p in parts], strict=False)),
            count,
            spec=lambda: rebuild([part.element_spec for part in parts]),
        )

    # ---- functions of elements -------------------------------------------------------------------------------------

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return ``map_func(element)`` for each element; a tuple is passed as several arguments.

        Parameters
        ----------
        map_func : callable
            It is called for each element at each pass, and returns a structure of tensors; a list of them is a tuple,
            as in TensorFlow. Its ops run compiled, as everywhere. Call it on batches where that is possible:
            ``data.batch(32).map(f)``.
        num_parallel_calls, deterministic, synchronous, use_unbounded_threadpool : optional
            Accepted for compatibility with TensorFlow. Calls run one after another.
        name : str, optional
            Ignored.

        Examples
        --------
        >>> data = jt.data.Dataset.from_tensor_slices(([1.0, 2.0], [3.0, 4.0]))
        >>> [z.numpy().item() for z in data.map(lambda x, y: x * y)]
        [3.0, 8.0]
        """
        require_callable("map", "map_func", map_func)
        return Dataset(
            lambda: (as_element(_mapped(map_func, element), "map") for element in self._elements()),
            self._count,
            spec=lambda: mapped(partial(_mapped, map_func), self.element_spec, self._first(2)),
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements for which ``predicate(element)`` is true.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(5).filter(lambda i: i % 2 == 0)]
        [0, 2, 4]
        """
        require_callable("filter", "predicate", predicate)
        return Dataset(
            lambda: (element for element in self._elements() if holds("filter", predicate, element)),
            UNKNOWN_CARDINALITY if self._count else 0,
            spec=self._spec,
        )

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Return pairs of a number, counted from `start`, and an element.

        Examples
        --------
        >>> [(n.numpy().item(), x.numpy().item()) for n, x in jt.data.Dataset.range(5, 7).enumerate()]
        [(0, 5), (1, 6)]
        """
        first = as_int("start", start)
        return Dataset(
            lambda: (
                (constant(np.int64(number)), element)
                for number, element in enumerate(self._elements(), first)
            ),
            self._count,
            spec=lambda: (spec_of(constant(np.int64(0))), self.element_spec),
        )

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Return the elements of this dataset, then those of another.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(2).concatenate(jt.data.Dataset.range(7, 8))]
        [0, 1, 7]
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"[Dataset.concatenate] dataset must be a Dataset, got {dataset!r}")
        counts = (self._count, dataset._count)
        negative = [count for count in (INFINITE_CARDINALITY, UNKNOWN_CARDINALITY) if count in counts]
        return Dataset(
            lambda: itertools.chain(self._elements(), dataset._elements()),
            (*negative, sum(counts))[0],
            spec=lambda: common_spec([self, dataset]),
        )

    # ---- batches -----------------------------------------------------------------------------------------------------

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return batches of `batch_size` elements, stacked along a new first dimension.

        Rows of arrays that follow one another are views, not copies.

        Parameters
        ----------
        batch_size : int
        drop_remainder : bool
            Whether the last batch is left out if it is smaller. All batches then have one shape, so a training step is
            one program.
        num_parallel_calls, deterministic, name : optional
            Accepted for compatibility with TensorFlow.

        Raises
        ------
        ValueError
            At the batch whose elements differ in structure, shape or dtype.

        Examples
        --------
        >>> [b.tolist() for b in jt.data.Dataset.range(5).batch(2, drop_remainder=True)]
        [[0, 1], [2, 3]]
        """
        size = at_least_1("batch", "batch_size", batch_size)
        together = stack if self._rows is None else self._rows.batch

        def items() -> Iterator[Any]:
            source = self._items() if self._rows is not None else self._elements()
            while chunk := list(itertools.islice(source, size)):
                if len(chunk) == size or not drop_remainder:
                    yield together(chunk)

        whole, rest = divmod(self._count, size)
        count = self._count if self._count < 0 else whole + bool(rest and not drop_remainder)
        return Dataset(
            items, count, spec=lambda: batched(self.element_spec, size if drop_remainder else None)
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """Return the rows of the elements as elements.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(3).batch(2).unbatch()]
        [0, 1, 2]
        """
        return Dataset(
            lambda: itertools.chain.from_iterable(map(unstack, self._elements())),
            count_of_rows(self._count, self._spec),
            spec=lambda: unbatched(self.element_spec),
        )

    def prefetch(self, buffer_size: int = AUTOTUNE, name: str | None = None) -> Dataset:
        """Return the dataset with up to `buffer_size` elements computed ahead by a thread.

        Examples
        --------
        >>> [i.numpy().item() for i in jt.data.Dataset.range(3).prefetch(2)]
        [0, 1, 2]
        """
        size = as_int("buffer_size", buffer_size)
        if size < AUTOTUNE:
            raise InvalidArgumentError(
                f"[Dataset.prefetch] buffer_size must not be negative, got {buffer_size}"
            )
        if not size:
            return self
        ahead = _PREFETCH_DEFAULT if size == AUTOTUNE else size
        return Dataset(lambda: prefetched(self._elements, ahead), self._count, spec=self._spec)


def _mapped(function: Callable[..., Any], element: Any) -> Any:
    """Return the result of a function of an element.

    Raises
    ------
    TypeError
        If it is None.
    """
    found = called(function, element)
    if found is None:
        raise TypeError(
            f"[Dataset.map] map_func must return a structure of tensors, got None from {function!r}"
        )
    return tuple(found) if isinstance(found, list) else found
