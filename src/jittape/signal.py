"""Fourier and cosine transforms, frames and windows under TensorFlow's names (``jt.signal``).

`hfft`, `ihfft`, `fftfreq` and `rfftfreq` are NumPy's.
"""

from jittape.lazy_names import lazily as _lazily
from jittape.primitives.signal.cosine import dct as dct
from jittape.primitives.signal.cosine import idct as idct
from jittape.primitives.signal.fourier import fft as fft
from jittape.primitives.signal.fourier import fft2d as fft2d
from jittape.primitives.signal.fourier import fft3d as fft3d
from jittape.primitives.signal.fourier import fftnd as fftnd
from jittape.primitives.signal.fourier import ifft as ifft
from jittape.primitives.signal.fourier import ifft2d as ifft2d
from jittape.primitives.signal.fourier import ifft3d as ifft3d
from jittape.primitives.signal.fourier import ifftnd as ifftnd
from jittape.primitives.signal.frames import frame as frame
from jittape.primitives.signal.frames import hamming_window as hamming_window
from jittape.primitives.signal.frames import hann_window as hann_window
from jittape.primitives.signal.frames import inverse_stft as inverse_stft
from jittape.primitives.signal.frames import inverse_stft_window_fn as inverse_stft_window_fn
from jittape.primitives.signal.frames import overlap_and_add as overlap_and_add
from jittape.primitives.signal.frames import stft as stft
from jittape.primitives.signal.frequencies import fftfreq as fftfreq
from jittape.primitives.signal.frequencies import fftshift as fftshift
from jittape.primitives.signal.frequencies import ifftshift as ifftshift
from jittape.primitives.signal.frequencies import rfftfreq as rfftfreq
from jittape.primitives.signal.real_fourier import hfft as hfft
from jittape.primitives.signal.real_fourier import ihfft as ihfft
from jittape.primitives.signal.real_fourier import irfft as irfft
from jittape.primitives.signal.real_fourier import irfft2d as irfft2d
from jittape.primitives.signal.real_fourier import irfft3d as irfft3d
from jittape.primitives.signal.real_fourier import irfftnd as irfftnd
from jittape.primitives.signal.real_fourier import rfft as rfft
from jittape.primitives.signal.real_fourier import rfft2d as rfft2d
from jittape.primitives.signal.real_fourier import rfft3d as rfft3d
from jittape.primitives.signal.real_fourier import rfftnd as rfftnd

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "fftfreq", "fftnd", "fftshift", "frame", "hamming_window", "hann_window", "hfft",
    "idct", "ifft", "ifft2d", "ifft3d", "ifftnd", "ifftshift", "ihfft", "inverse_stft", "inverse_stft_window_fn",
    "irfft", "irfft2d", "irfft3d", "irfftnd", "overlap_and_add", "rfft", "rfft2d", "rfft3d", "rfftfreq", "rfftnd",
    "stft",
]  # fmt: skip

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
