"""Helpers for gradients of operations that broadcast: `unbroadcast` and `unbroadcast_f`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.recording.operators import Operators

__all__ = ["metadata", "unbroadcast", "unbroadcast_f"]


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """Return the cotangent of a broadcast array as the cotangent of the array itself: sums along repeated axes.

    Parameters
    ----------
    x : array
        Cotangent of the broadcast array.
    target_meta : tuple
        What ``np.metadata`` says of the array: shape, number of dimensions, dtype and whether it is complex.
    broadcast_idx : int
        Axis at which new dimensions stand; 0 or -1.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd.numpy.numpy_vjps import unbroadcast
    >>> unbroadcast(np.ones((2, 3)), np.metadata(np.zeros((1, 3))))
    array([[2., 2., 2.]])
    """
    shape, _, dtype, is_complex = target_meta
    total, part = (FUNCTIONS[np.sum], FUNCTIONS[np.real]) if isinstance(x, Operators) else (np.sum, np.real)
    while len(x.shape) > len(shape):
        x = total(x, axis=broadcast_idx)
    repeated = tuple([i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1])
    if repeated:
        x = total(x, axis=repeated, keepdims=True)
    if x.dtype.kind == "c" and not is_complex:
        x = part(x)
    return x.astype(dtype) if is_complex and x.dtype.kind != "c" else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the rule `f` of an argument `target` for an operation that broadcasts its arguments.

    Parameters
    ----------
    target : array
        Argument of the operation.
    f : callable
        Function of the cotangent of the value that returns a cotangent of the broadcast argument.

    Examples
    --------
    >>> import numpy
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.extend import defvjp, primitive
    >>> from jittape.autograd.numpy.numpy_vjps import unbroadcast_f
    >>> product = primitive(numpy.multiply)
    >>> defvjp(product, lambda ans, x, y: unbroadcast_f(x, lambda g: y * g))
    >>> grad(lambda x: np.sum(product(x, np.arange(3.0))))(2.0)
    np.float64(3.0)
    """
    meta = metadata(target)
    return lambda g: unbroadcast(f(g), meta)


def metadata(A: Any) -> tuple[tuple[int, ...], int, Any, bool]:
    """Return shape, number of dimensions, dtype of an array, and whether it is complex.

    Parameters
    ----------
    A : array

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> np.metadata(np.zeros((2, 3)))
    ((2, 3), 2, dtype('float64'), False)
    """
    array = A if isinstance(A, Operators) else np.asarray(A)
    dtype = np.dtype(array.dtype)
    return tuple(array.shape), len(array.shape), dtype, dtype.kind == "c"


def __dir__() -> list[str]:
    return sorted(__all__)
