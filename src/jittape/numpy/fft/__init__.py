"""``jittape.numpy.fft``: NumPy's discrete Fourier transforms, for tensors that record."""

from typing import Any as _Any

import numpy as _numpy

from jittape.numpy.array_arguments import as_result as _as_result
from jittape.numpy.array_arguments import check_device as _check_device
from jittape.numpy.namespaces import names_of as _names_of
from jittape.numpy.namespaces import namespace as _namespace


def _fftfreq(n: int, d: float = 1.0, device: _Any = None) -> _Any:
    """Return the frequencies of a Fourier transform; see `numpy.fft.fftfreq`."""
    _check_device(device)
    return _as_result(_numpy.fft.fftfreq(n, d))


def _rfftfreq(n: int, d: float = 1.0, device: _Any = None) -> _Any:
    """Return the frequencies of a Fourier transform of real numbers; see `numpy.fft.rfftfreq`."""
    _check_device(device)
    return _as_result(_numpy.fft.rfftfreq(n, d))


_OWN = {"fftfreq": _fftfreq, "rfftfreq": _rfftfreq}
__all__ = _names_of(_numpy.fft, _OWN)
__getattr__ = _namespace(__name__, _numpy.fft, _OWN, (), __all__)


def __dir__() -> list[str]:
    return __all__
