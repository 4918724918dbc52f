"""Functions of ``numpy.linalg`` that record if an argument is followed by a derivative."""

from collections.abc import Callable as _Callable
from functools import cache as _cache
from typing import Any as _Any

import numpy as _numpy

__all__ = [*_numpy.linalg.__all__]


@_cache
def _finder() -> _Callable[[str], _Any]:
    from jittape.autograd.numpy.numpy_wrapper import namespace

    return namespace(_numpy.linalg, __name__, {})


def __getattr__(name: str) -> _Any:
    """Find a name. Its first use imports what records."""
    return _finder()(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
