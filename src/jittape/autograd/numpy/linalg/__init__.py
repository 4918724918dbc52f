"""Functions of ``numpy.linalg`` that record if an argument is followed by a derivative."""

import numpy as _numpy

from jittape.autograd.numpy.numpy_wrapper import namespace as _namespace

__all__ = [*_numpy.linalg.__all__]

__getattr__ = _namespace(_numpy.linalg, __name__, {})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
