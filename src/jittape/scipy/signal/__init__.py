"""Convolutions under SciPy's names (``jittape.scipy.signal``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.signal.convolutions import convolve as convolve
from jittape.scipy.signal.convolutions import correlate as correlate
from jittape.scipy.signal.convolutions import fftconvolve as fftconvolve

__all__ = ["convolve", "correlate", "fftconvolve"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
