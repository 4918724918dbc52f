"""Batches of `Model.fit`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from jittape.core.symbolic.extents import applied
from jittape.core.user_calls import as_int, stack_level
from jittape.data import Dataset
from jittape.data.elements import flatten_element
from jittape.errors import ShapeError
from jittape.primitives.shape.joining import concat

__all__ = [
    "StepsOfEpochs",
    "batch_size_of",
    "batches_of",
    "count_of",
    "joined",
    "one_batch",
    "pack_x_y_sample_weight",
    "some_batches",
    "split_rows",
    "training_batches",
    "unpack_x_y_sample_weight",
    "validation_of",
    "with_class_weights",
]


def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """Return inputs, true values and weights of a batch, with None for those that it lacks.

    Parameters
    ----------
    data : x, (x,), (x, y) or (x, y, sample_weight)
        What `train_step` is called with.

    Raises
    ------
    ValueError
        If there are more parts.

    Examples
    --------
    >>> jt.keras.utils.unpack_x_y_sample_weight((1.0, 2.0))
    (1.0, 2.0, None)
    """
    if not isinstance(data, (tuple, list)):
        return data, None, None
    if not 1 <= len(data) <= 3:
        raise ValueError(f"a batch must be (x,), (x, y) or (x, y, sample_weight), got {len(data)} parts")
    x, y, weight = (*data, None, None)[:3]
    return x, y, weight


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Return a batch as steps get it from `fit`: inputs without true values are no tuple.

    Parameters
    ----------
    x, y, sample_weight : tensors or nested structures of tensors

    Examples
    --------
    >>> jt.keras.utils.pack_x_y_sample_weight(1.0), jt.keras.utils.pack_x_y_sample_weight(1.0, 2.0)
    (1.0, (1.0, 2.0))
    """
    if y is None:
        return (x,) if isinstance(x, (tuple, list)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def _require_equal_rows(method: str, data: tuple[Any, Any, Any]) -> None:
    """Raise unless inputs, true values and weights have equally many rows."""
    counts = {
        name: sorted({len(leaf) for leaf in flatten_element(part)[0] if np.ndim(leaf)})
        for name, part in zip(("x", "y", "sample_weight"), data, strict=True)
        if part is not None
    }
    if len({count for found in counts.values() for count in found}) > 1:
        found = ", ".join(f"{' and '.join(map(str, rows))} of {name}" for name, rows in counts.items())
        raise ShapeError(f"[{method}] all arrays must have the same number of rows, got {found}")


def _rows_of(method: str, data: tuple[Any, Any, Any]) -> Dataset:
    try:
        return Dataset.from_tensor_slices(pack_x_y_sample_weight(*data))
    except ShapeError:
        _require_equal_rows(method, data)
        raise


def _separated(data: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Return inputs, true values and weights with tuples in place of lists with an array for each input or output."""
    x, y, weight = data
    if isinstance(x, list) and any([np.ndim(part) and hasattr(part, "shape") for part in x]):
        x = tuple(x)
    leaves = [leaf for leaf in flatten_element(x)[0] if np.ndim(leaf)]
    rows = len(leaves[0]) if leaves else 0

    def separate(part: Any) -> Any:
        if not isinstance(part, list) or not all([getattr(p, "shape", ()) for p in part]):
            return part
        are_rows = len(part) == rows and len({tuple(p.shape) for p in part}) == 1
        return part if are_rows else tuple(part)

    return x, separate(y), separate(weight)


def batches_of(
    data: tuple[Any, Any, Any], batch_size: int | None, shuffle: bool, method: str = "fit"
) -> Dataset:
    """Return data as a dataset of batches: arrays, a dataset of batches, or a generator of them, which runs once.

    Raises
    ------
    ValueError
        If arrays have different numbers of rows, `x` is None, `y`, weights or a batch size are given with a dataset, or
        weights without `y`.
    """
    x, y, weight = data
    if isinstance(x, Iterator):
        batches = x
        x = Dataset.from_generator(lambda: batches)
    if isinstance(x, Dataset):
        if y is not None:
            raise ValueError("y must not be given with a dataset, whose elements are (x, y)")
        if weight is not None:
            raise ValueError(
                f"[{method}] sample_weight must not be given with a dataset: its batches are (x, y, sample_weight)"
            )
        if batch_size is not None:
            raise ValueError(
                f"[{method}] batch_size must not be given with a dataset, got {batch_size!r}: use dataset.batch(n)"
            )
        return x
    if x is None:
        raise ValueError(f"[{method}] x must be arrays or a dataset of batches, got None")
    if y is None and weight is not None:
        raise ValueError(
            f"[{method}] sample_weight needs y: the losses of a step without true values have no rows"
        )
    rows = _rows_of(method, _separated(data))
    if shuffle:
        rows = rows.shuffle(max(len(rows), 1))
    return rows.batch(32 if batch_size is None else batch_size)


def one_batch(data: tuple[Any, Any, Any], class_weight: Any = None) -> tuple[Any, Any, Any]:
    """Return arrays as one batch ``(x, y, sample_weight)``, with None for those that are not given."""
    rows = Dataset.from_tensors(tuple([part for part in _separated(data) if part is not None]))
    x, *others = next(iter(rows if class_weight is None else with_class_weights(rows, class_weight)))
    y = None if data[1] is None else others.pop(0)
    x = list(x) if isinstance(data[0], list) and isinstance(x, tuple) else x
    return x, y, others[0] if others else None


def with_class_weights(batches: Dataset, class_weight: Any) -> Dataset:
    """Return batches ``(x, y)`` with the weights of the classes `y`, which are numbers or one-hot rows.

    Raises
    ------
    TypeError
        If `class_weight` is no dict of numbers by classes.
    ValueError
        If a class is negative, or the batches have weights of their own.
    """
    if not isinstance(class_weight, Mapping):
        raise TypeError(f"[fit] class_weight must be a dict of weights by classes, got {class_weight!r}")
    classes = [as_int("class_weight", number) for number in class_weight]
    if min(classes, default=0) < 0:
        raise ValueError(f"[fit] the classes of class_weight must not be negative, got {min(classes)}")
    table = np.ones(max(classes, default=-1) + 2)
    table[classes] = list(class_weight.values())

    def weighted(*batch: Any) -> tuple[Any, ...]:
        if len(batch) != 2:
            raise ValueError(
                f"[fit] class_weight needs batches (x, y), got {len(batch)} parts; multiply the weights of the rows"
            )
        if isinstance(batch[1], (tuple, dict)):
            raise ValueError("[fit] class_weight needs one output; give sample_weight for several outputs")
        y = np.asarray(batch[1])
        labels = y.argmax(-1) if y.ndim > 1 and y.shape[-1] > 1 else y.reshape(len(y))
        return (*batch, table[np.minimum(labels.astype(np.int64), len(table) - 1)])

    return batches.map(weighted)


class StepsOfEpochs:
    """A dataset of batches whose passes have a fixed number of batches and continue where the last one stopped.

    If the data ends within a pass, so does the pass, with a warning; the next one begins with the first batch.
    """

    def __init__(self, batches: Dataset, steps: int) -> None:
        self._batches = batches
        self._count = _at_least_1("steps_per_epoch", steps)
        self._iterator: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        for step in range(self._count):
            try:
                batch = next(self._iterator or iter(()))
            except StopIteration:
                self._iterator = None
                if step:
                    warnings.warn(
                        f"[fit] the dataset ended after {step} of {self._count} steps of this epoch; give fewer "
                        "steps_per_epoch, or a dataset that ends later, such as dataset.repeat()",
                        stacklevel=stack_level(),
                    )
                    return
                self._iterator = iter(self._batches)
                batch = next(self._iterator, None)
                if batch is None:
                    return
            yield batch


def training_batches(
    data: tuple[Any, Any, Any],
    batch_size: int | None,
    shuffle: bool,
    class_weight: Any,
    steps_per_epoch: int | None,
) -> Dataset | StepsOfEpochs:
    """Return the batches of an epoch of `Model.fit`, whose arguments these are."""
    rows = batches_of(data, batch_size, shuffle)
    if class_weight is not None:
        rows = with_class_weights(rows, class_weight)
    return rows if steps_per_epoch is None else StepsOfEpochs(rows, steps_per_epoch)


def some_batches(
    data: tuple[Any, Any, Any], batch_size: int | None, method: str, steps: int | None
) -> Dataset:
    """Return the first `steps` batches, by default all of them, for a method of a model."""
    batches = batches_of(data, batch_size, False, method)
    return batches if steps is None else batches.take(_at_least_1("steps", steps, method))


def count_of(batches: Any) -> int | None:
    """Return the number of batches; None if it is unknown or there is no end."""
    count: int = batches._count
    return count if count > 0 else None


def split_rows(
    data: tuple[Any, Any, Any], validation_data: Any, fraction: float
) -> tuple[tuple[Any, Any, Any], Any]:
    """Return data to train with and data for validation: `validation_data`, or the last `fraction` of the rows.

    Raises
    ------
    ValueError
        If the fraction is not between 0 and 1, or the rows are those of a dataset.
    """
    if not fraction or validation_data is not None:
        return data, validation_data
    if isinstance(data[0], Dataset):
        raise ValueError("[fit] validation_split needs arrays; give a dataset as validation_data")
    if not 0 < fraction < 1:
        raise ValueError(f"validation_split must be between 0 and 1, got {fraction}")
    structures = [None if part is None else flatten_element(part) for part in _separated(data)]
    arrays = [None if found is None else [np.asarray(leaf) for leaf in found[0]] for found in structures]
    count = len(next(found[0] for found in arrays if found))
    kept = int(count * (1 - fraction))
    first, last = (
        [
            None if leaves is None or found is None else found[1].unflatten([leaf[part] for leaf in leaves])
            for leaves, found in zip(arrays, structures, strict=True)
        ]
        for part in (slice(kept), slice(kept, None))
    )
    return (first[0], first[1], first[2]), tuple(last)


def validation_of(
    data: Any, batch_size: int | None, steps: int | None, freq: Any
) -> Callable[[int], Dataset | None]:
    """Return a function of the number of an epoch, from 1: the batches that are evaluated after it, or None.

    Raises
    ------
    TypeError
        If `steps` or `freq` is no integer.
    ValueError
        If one is less than 1, there are steps without data, or the data has more than three parts.
    """
    if data is None:
        if steps is not None:
            raise ValueError("[fit] validation_steps needs validation_data")
        return lambda epoch: None
    parts = tuple(data) if isinstance(data, (tuple, list)) else (data,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            f"[fit] validation_data must be a Dataset, (x, y) or (x, y, sample_weight), got {len(parts)} parts"
        )
    size = None if isinstance(parts[0], Dataset) else batch_size
    batches = batches_of((*parts, None, None)[:3], size, False)
    if steps is not None:
        batches = batches.take(_at_least_1("validation_steps", steps))
    if isinstance(freq, (list, tuple, set)):
        return lambda epoch: batches if epoch in freq else None
    every = _at_least_1("validation_freq", freq)
    return lambda epoch: batches if epoch % every == 0 else None


def _at_least_1(argument: str, value: Any, method: str = "fit") -> int:
    number = as_int(argument, value)
    if number < 1:
        raise ValueError(f"[{method}] {argument} must be at least 1, got {number}")
    return number


def joined(batches: list[Any]) -> Any:
    """Return the results of batches as one array, or as one for each part of a list, tuple or dict."""
    first = batches[0]
    if isinstance(first, dict):
        return {key: joined([batch[key] for batch in batches]) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)([joined(list(parts)) for parts in zip(*batches, strict=True)])
    return concat(batches, 0).numpy()


def batch_size_of(x: Any) -> float:
    """Return the number of rows of a batch."""
    while isinstance(x, (tuple, list, dict)):
        x = next(iter(x.values() if isinstance(x, dict) else x))
    rows: float = applied(float, x.shape[0]) if x.shape else 1.0
    return rows
