"""Batches of `Model.fit`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jittape.core.symbolic.extents import applied
from jittape.core.user_calls import as_int, stack_level
from jittape.data import Dataset

__all__ = [
    "StepsOfEpochs",
    "batch_size_of",
    "batches_of",
    "one_batch",
    "split_rows",
    "unpacked",
    "with_class_weights",
]


def unpacked(data: Any) -> tuple[Any, Any, Any]:
    """Return inputs, true values and weights; None for those that are not given."""
    if not isinstance(data, tuple):
        return data, None, None
    if not 1 <= len(data) <= 3:
        raise ValueError(f"a batch must be (x,), (x, y) or (x, y, sample_weight), got {len(data)} parts")
    x, y, weight = (*data, None, None)[:3]
    return x, y, weight


def batches_of(data: tuple[Any, Any, Any], batch_size: int | None, shuffle: bool) -> Dataset:
    """Return data, arrays or a dataset of batches, as a dataset of batches."""
    x, y, weight = data
    if isinstance(x, Dataset):
        if y is not None:
            raise ValueError("y must not be given with a dataset, whose elements are (x, y)")
        return x
    parts = tuple([part for part in (x, y, weight) if part is not None])
    rows = Dataset.from_tensor_slices(parts)
    if shuffle:
        rows = rows.shuffle(max(len(rows), 1))
    return rows.batch(32 if batch_size is None else batch_size)


def one_batch(data: tuple[Any, Any, Any], class_weight: Any = None) -> tuple[Any, ...]:
    """Return arrays as one batch."""
    rows = Dataset.from_tensors(tuple([part for part in data if part is not None]))
    weighted = rows if class_weight is None else with_class_weights(rows, class_weight)
    return tuple(next(iter(weighted)))


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
        y = np.asarray(batch[1])
        labels = y.argmax(-1) if y.ndim > 1 and y.shape[-1] > 1 else y.reshape(len(y))
        return (*batch, table[np.minimum(labels.astype(np.int64), len(table) - 1)])

    return batches.map(weighted)


class StepsOfEpochs:
    """A dataset of batches whose passes have a fixed number of batches and continue where the last one stopped.

    If the data ends within a pass, so does the pass, with a warning; the next one begins with the first batch.
    """

    def __init__(self, batches: Dataset, steps: int) -> None:
        if steps < 1:
            raise ValueError(f"[fit] steps_per_epoch must be at least 1, got {steps}")
        self._batches = batches
        self._count = steps
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


def split_rows(data: tuple[Any, Any, Any], fraction: float) -> tuple[tuple[Any, Any, Any], tuple[Any, ...]]:
    """Return the rows of data before and after the last `fraction`."""
    if not 0 < fraction < 1:
        raise ValueError(f"validation_split must be between 0 and 1, got {fraction}")
    arrays = [None if part is None else np.asarray(part) for part in data]
    count = len(next(array for array in arrays if array is not None))
    kept = int(count * (1 - fraction))
    first, last = (
        [None if a is None else a[part] for a in arrays] for part in (slice(kept), slice(kept, None))
    )
    return (first[0], first[1], first[2]), tuple(last)


def batch_size_of(x: Any) -> float:
    """Return the number of rows of a batch."""
    while isinstance(x, (tuple, list, dict)):
        x = next(iter(x.values() if isinstance(x, dict) else x))
    rows: float = applied(float, x.shape[0]) if x.shape else 1.0
    return rows
