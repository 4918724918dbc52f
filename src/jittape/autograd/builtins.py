"""Names of ``autograd.builtins``: containers, and `isinstance` and `type` that see the value instead of the tensor."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from jittape.autograd.containers import is_box

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

dict = builtins.dict
list = builtins.list
tuple = builtins.tuple  # type: ignore[type-arg]

_AN_ARRAY = np.empty(0)


def _example(x: Any) -> Any:
    """Return an object of the type that the value of `x` has."""
    if not is_box(x):
        return x
    return x.aval.dtype.type(0) if x.aval.shape == () else _AN_ARRAY


def isinstance(x: Any, A_tuple: Any) -> bool:
    """Return whether the value of `x` is an instance of a class.

    Parameters
    ----------
    x : object
        If a derivative follows `x`, its value counts: an ndarray or a NumPy scalar.
    A_tuple : class or tuple of classes

    Examples
    --------
    >>> import numpy
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.builtins import isinstance
    >>> grad(lambda x: x**2 if isinstance(x, float) else x)(3.0)
    np.float64(6.0)
    """
    return builtins.isinstance(_example(x), A_tuple)


def type(x: Any) -> Any:
    """Return the class of the value of `x`.

    Parameters
    ----------
    x : object
        If a derivative follows `x`, the class is that of its value: ndarray or a class of NumPy scalars.

    Examples
    --------
    >>> from jittape.autograd.builtins import type
    >>> type([1.0])
    <class 'list'>
    """
    return builtins.type(_example(x))


def __dir__() -> Any:
    return sorted(__all__)
