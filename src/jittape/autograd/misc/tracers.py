"""`const_graph`, under the name that it has in ``autograd.misc.tracers``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["const_graph"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Return `fun` with its first arguments given.

    In autograd the first call stores the operations of `fun`, and later calls repeat them. jittape compiles calls that
    record the same operations, so `fun` runs at each call, and may take other branches.

    Parameters
    ----------
    fun : callable
    *args, **kwargs
        First arguments and keyword arguments of `fun`.

    Examples
    --------
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.misc import const_graph
    >>> grad(const_graph(lambda a, x: a * x**2, 3.0))(2.0)
    np.float64(12.0)
    """

    @functools.wraps(fun)
    def of_rest(*rest: Any) -> Any:
        return fun(*args, *rest, **kwargs)

    return of_rest


def __dir__() -> list[str]:
    return sorted(__all__)
