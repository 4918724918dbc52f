"""Convolutions and filters under SciPy's names (``jittape.scipy.signal``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.signal.convolutions import choose_conv_method as choose_conv_method
from jittape.scipy.signal.convolutions import convolve as convolve
from jittape.scipy.signal.convolutions import correlate as correlate
from jittape.scipy.signal.convolutions import fftconvolve as fftconvolve
from jittape.scipy.signal.convolutions import oaconvolve as oaconvolve
from jittape.scipy.signal.convolutions_2d import convolve2d as convolve2d
from jittape.scipy.signal.convolutions_2d import correlate2d as correlate2d
from jittape.scipy.signal.filters import filtfilt as filtfilt
from jittape.scipy.signal.filters import lfilter as lfilter
from jittape.scipy.signal.filters import lfilter_zi as lfilter_zi
from jittape.scipy.signal.filters import sosfilt as sosfilt

__all__ = [
    "choose_conv_method",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "fftconvolve",
    "filtfilt",
    "lfilter",
    "lfilter_zi",
    "oaconvolve",
    "sosfilt",
]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
