"""``jt.keras.utils``: names of layers, the seed of all generators, class numbers as vectors and sequences."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from jittape.core.name_scopes import clear_session as clear_session
from jittape.core.user_calls import as_array, as_int
from jittape.keras.saving import CustomObjectScope as CustomObjectScope
from jittape.keras.saving import custom_object_scope as custom_object_scope
from jittape.keras.saving import deserialize_keras_object as deserialize_keras_object
from jittape.keras.saving import get_custom_objects as get_custom_objects
from jittape.keras.saving import get_registered_name as get_registered_name
from jittape.keras.saving import get_registered_object as get_registered_object
from jittape.keras.saving import register_keras_serializable as register_keras_serializable
from jittape.keras.saving import serialize_keras_object as serialize_keras_object
from jittape.keras.sequence_data import pad_sequences as pad_sequences
from jittape.keras.sequence_data import timeseries_dataset_from_array as timeseries_dataset_from_array
from jittape.keras.step_bar import Progbar as Progbar
from jittape.keras.training.training_data import pack_x_y_sample_weight as pack_x_y_sample_weight
from jittape.keras.training.training_data import unpack_x_y_sample_weight as unpack_x_y_sample_weight
from jittape.lazy_names import lazily
from jittape.primitives.broadcast import normalized_axes
from jittape.random import source

__all__ = [
    "CustomObjectScope",
    "Progbar",
    "clear_session",
    "custom_object_scope",
    "deserialize_keras_object",
    "get_custom_objects",
    "get_registered_name",
    "get_registered_object",
    "normalize",
    "pack_x_y_sample_weight",
    "pad_sequences",
    "register_keras_serializable",
    "serialize_keras_object",
    "set_random_seed",
    "timeseries_dataset_from_array",
    "to_categorical",
    "unpack_x_y_sample_weight",
]


def set_random_seed(seed: int) -> None:
    """Seed the generators of Python's `random`, NumPy and jittape.

    Parameters
    ----------
    seed : int
        At least 0 and less than 2**32.

    Raises
    ------
    ValueError
        If it is anything else. No generator is changed.

    Examples
    --------
    >>> jt.keras.utils.set_random_seed(3)
    >>> first = jt.random.normal([2])
    >>> jt.keras.utils.set_random_seed(3)
    >>> bool(jt.reduce_all(first == jt.random.normal([2])))
    True
    """
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise ValueError(f"Expected `seed` argument to be an integer from 0 to 2**32 - 1, got {seed!r}")
    random.seed(int(seed))
    np.random.seed(int(seed))  # noqa: NPY002 - programs that use it expect its seed
    source.set_seed(int(seed))


def to_categorical(x: Any, num_classes: int | None = None) -> np.ndarray[Any, Any]:
    """Return an array with a 1 at the position of each class, and zeros.

    Parameters
    ----------
    x : array-like of int
        Class numbers. A last dimension of size 1 is dropped if there are others.
    num_classes : int, optional
        Size of the new last dimension; the greatest class plus 1 by default.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    ValueError
        If a class is negative or not less than `num_classes`.

    Examples
    --------
    >>> jt.keras.utils.to_categorical([0, 2], 3)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    classes = as_array("x", x)
    if classes.ndim > 1 and classes.shape[-1] == 1:
        classes = classes[..., 0]
    numbers = classes.astype(np.int64)
    count = int(numbers.max(initial=-1)) + 1 if num_classes is None else as_int("num_classes", num_classes)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
        raise ValueError(
            f"[to_categorical] x must be classes from 0 to {count - 1}, got {numbers.min()} to {numbers.max()}"
        )
    return np.eye(count)[numbers]


def normalize(x: Any, axis: int = -1, order: Any = 2) -> np.ndarray[Any, Any]:
    """Return an array divided by its norms along an axis; vectors of zeros remain.

    Parameters
    ----------
    x : array
    axis : int
    order : optional
        Kind of the norm; see `numpy.linalg.norm`.

    Raises
    ------
    AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> jt.keras.utils.normalize(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    array = as_array("x", x)
    (along,) = normalized_axes("normalize", as_int("axis", axis), array.ndim)
    if order is not None and not isinstance(order, (int, float)):
        raise TypeError(f"[normalize] order must be a number, got {order!r}")
    norms = np.linalg.norm(array, order, along, keepdims=True)
    return array / np.where(norms == 0, 1, norms)


__getattr__ = lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
