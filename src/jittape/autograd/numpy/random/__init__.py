"""Functions of ``numpy.random``. Random numbers have no derivative."""

from typing import Any as _Any

import numpy as _numpy

__all__ = [*_numpy.random.__all__]


def __getattr__(name: str) -> _Any:
    if name.startswith("__") or not hasattr(_numpy.random, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_numpy.random, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
