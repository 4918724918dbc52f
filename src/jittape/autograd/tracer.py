"""Names of ``autograd.tracer``: `Box`, `getval` and `isbox`, and functions that see values only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jittape.autograd.containers import as_numpy, is_box
from jittape.lazy_names import lazily

__getattr__ = lazily(__name__, {"jittape.autograd.extend": ("primitive",)})
__all__ = ["Box", "getval", "isbox", "notrace_primitive"]


class _AnyTensor(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return is_box(instance)


class Box(metaclass=_AnyTensor):
    """The class of values that a derivative follows: ``isinstance(x, Box)`` asks whether `x` is one.

    jittape's tensors take the place of autograd's boxes. The class has no instances of its own.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.extend import Box
    >>> grad(lambda x: x if isinstance(x, Box) else 2.0 * x)(3.0)
    np.float64(1.0)
    >>> isinstance(3.0, Box)
    False
    """


def isbox(x: Any) -> bool:
    """Return whether a derivative may follow `x`.

    Parameters
    ----------
    x : object

    Examples
    --------
    >>> from jittape.autograd.tracer import isbox
    >>> isbox(1.0)
    False
    """
    return is_box(x)


def getval(x: Any) -> Any:
    """Return the value of `x` as an ndarray or a NumPy scalar; no derivative follows it.

    Parameters
    ----------
    x : object
        A value that a derivative follows, a container of them, or anything else, which is returned unchanged.

    Examples
    --------
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.tracer import getval
    >>> grad(lambda x: x * getval(x))(3.0)
    np.float64(3.0)
    """
    return as_numpy(x)


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f_raw` for values only: its results have no derivative.

    Parameters
    ----------
    f_raw : callable
        Function of ndarrays and numbers.

    Examples
    --------
    >>> import numpy
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.extend import notrace_primitive
    >>> floor = notrace_primitive(numpy.floor)
    >>> grad(lambda x: x * floor(x))(2.5)
    np.float64(2.0)
    """

    @functools.wraps(f_raw)
    def of_values(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*as_numpy(args), **as_numpy(kwargs))

    return of_values


def __dir__() -> list[str]:
    return sorted(__all__)
