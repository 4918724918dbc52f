"""Functions of ``numpy.linalg`` that record if an argument is followed by a derivative."""

import numpy as _numpy

from jittape.lazy_names import made_at_first_use as _made_at_first_use

__all__ = [*_numpy.linalg.__all__]

__getattr__ = _made_at_first_use("jittape.autograd.numpy.numpy_wrapper", "namespace", _numpy.linalg, __name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
