"""Arrays of sequences: padding, and windows of time series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jittape.core.user_calls import as_array, as_int
from jittape.data import Dataset
from jittape.errors import ShapeError

__all__ = ["pad_sequences", "timeseries_dataset_from_array"]


def pad_sequences(
    sequences: Sequence[Any],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: float = 0.0,
) -> np.ndarray[Any, Any]:
    """Return sequences of different lengths as the rows of an array.

    Parameters
    ----------
    sequences : sequence of sequences
    maxlen : int, optional
        Length of the rows; that of the longest sequence by default.
    dtype : dtype
    padding, truncating : str
        Where values are added to short sequences and removed from long ones: ``"pre"`` or ``"post"``.
    value : float
        Value that is added.

    Raises
    ------
    ValueError
        For another place, or if the elements of sequences have different shapes.

    Examples
    --------
    >>> jt.keras.utils.pad_sequences([[1], [2, 3, 4]], padding="post")
    array([[1, 0, 0],
           [2, 3, 4]], dtype=int32)
    """
    for name, place in (("padding", padding), ("truncating", truncating)):
        if place not in ("pre", "post"):
            raise ValueError(f"[pad_sequences] {name} must be 'pre' or 'post', got {place!r}")
    if not isinstance(sequences, Iterable) or not all(
        hasattr(s, "__len__") and not isinstance(s, str) for s in sequences
    ):
        raise ValueError("[pad_sequences] sequences must be a list of lists or arrays of numbers")
    rows = [np.asarray(s) for s in sequences]
    length = max(map(len, rows), default=0) if maxlen is None else as_int("maxlen", maxlen)
    if length < 0:
        raise ValueError(f"[pad_sequences] maxlen must not be negative, got {length}")
    shapes = {row.shape[1:] for row in rows if len(row)}
    if len(shapes) > 1:
        raise ValueError(f"[pad_sequences] elements of sequences must have one shape, got {sorted(shapes)}")
    filler = as_array("value", value)
    if filler.ndim:
        raise ValueError(f"[pad_sequences] value must be a number, got {value!r}")
    result = np.full((len(rows), length, *next(iter(shapes), ())), filler, dtype)
    for i, row in enumerate(rows):
        if not len(row) or not length:
            continue
        kept = row[-length:] if truncating == "pre" else row[:length]
        result[i, slice(-len(kept), None) if padding == "pre" else slice(len(kept))] = kept
    return result


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
) -> Dataset:
    """Return a dataset of the windows of a time series, with a target for each.

    Parameters
    ----------
    data : array
        The first dimension is the time.
    targets : array or None
        ``targets[i]`` belongs to the window that begins with ``data[i]``.
    sequence_length : int
        Number of elements of a window.
    sequence_stride : int
        Distance between the beginnings of windows.
    sampling_rate : int
        Distance between the elements of a window.
    batch_size : int, optional
        None gives single windows.
    shuffle : bool
        Whether the windows are in a random order, another one in each epoch.
    seed : int, optional
    start_index, end_index : int, optional
        Part of the series that is used.

    Raises
    ------
    ValueError
        If a number is not positive, or the series has no window.
    ShapeError
        If `data` is a scalar.

    Examples
    --------
    >>> windows = jt.keras.utils.timeseries_dataset_from_array(np.arange(6), None, 3, batch_size=2)
    >>> [batch.tolist() for batch in windows.as_numpy_iterator()]
    [[[0, 1, 2], [1, 2, 3]], [[2, 3, 4], [3, 4, 5]]]
    """
    steps = {
        "sequence_length": sequence_length,
        "sequence_stride": sequence_stride,
        "sampling_rate": sampling_rate,
    }
    for name, step in steps.items():
        if as_int(name, step) < 1:
            raise ValueError(f"[timeseries_dataset_from_array] {name} must be positive, got {step}")
    series = np.asarray(data)
    if not series.ndim:
        raise ShapeError(
            "[timeseries_dataset_from_array] data must have a dimension for the time, got a scalar"
        )
    series = series[start_index:end_index]
    count = len(series) - (sequence_length - 1) * sampling_rate
    if targets is not None:
        count = min(count, len(targets))
    if count < 1:
        raise ValueError(
            f"[timeseries_dataset_from_array] data has {len(series)} elements from start_index to end_index, fewer "
            f"than a window of {(sequence_length - 1) * sampling_rate + 1}"
        )
    starts = np.arange(0, count, sequence_stride)
    offsets = np.arange(sequence_length) * sampling_rate
    answers = None if targets is None else np.asarray(targets)[start_index:end_index]

    def window(start: Any) -> Any:
        first = int(start)
        found = series[first + offsets]
        return found if answers is None else (found, answers[first])

    windows = Dataset.from_tensor_slices(starts)
    if shuffle:
        windows = windows.shuffle(len(starts), seed=seed)
    windows = windows.map(window)
    return windows if batch_size is None else windows.batch(batch_size)
