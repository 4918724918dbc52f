"""``jittape.numpy.fft``: NumPy's discrete Fourier transforms, for tensors that record."""

import numpy as _numpy

from jittape.numpy.namespaces import names_of as _names_of
from jittape.numpy.namespaces import namespace as _namespace
from jittape.numpy.standard_functions import FREQUENCIES as _FREQUENCIES

__all__ = _names_of(_numpy.fft, _FREQUENCIES)
__getattr__ = _namespace(__name__, _numpy.fft, _FREQUENCIES, (), __all__)


def __dir__() -> list[str]:
    return __all__
