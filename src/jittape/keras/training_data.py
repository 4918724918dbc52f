"""Batches of `Model.fit`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from jittape.core.symbolic.extents import applied
from jittape.core.user_calls import stack_level
from jittape.data import Dataset

__all__ = ["StepsOfEpochs", "batch_size_of", "batches_of", "split_rows", "unpacked"]


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
