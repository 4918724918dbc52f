"""The rows of Fourier and cosine transforms and of frames, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.fft

from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.complex_numbers import complex as complex_of
from jittape.primitives.elementwise.complex_numbers import imag, real
from jittape.primitives.signal import cosine as co
from jittape.primitives.signal import direct_convolution as dc
from jittape.primitives.signal import fourier as fo
from jittape.primitives.signal import frames as fr
from jittape.primitives.signal import frequencies as fq
from jittape.primitives.signal import real_fourier as rf
from primitive_table import Array, Row, normal

ROUNDING = 1e-13
FLOATS = ("float64", "float32")
NORMS = ("backward", "ortho", "forward")


def parts(w: Any) -> Any:
    """Return a real tensor that depends on both parts of a complex one; a real tensor is unchanged."""
    return add(real(w), multiply(imag(w), 2.0)) if w.dtype.kind == "c" else w


def numpy_parts(w: Array) -> Array:
    return w.real + 2 * w.imag if w.dtype.kind == "c" else w


def of_complex(
    name: str, function: Callable[..., Any], reference: Callable[..., Any], *shape: int, **options: Any
) -> Row:
    """Return a row for a function of complex numbers as a real function of both parts."""
    return Row(
        name,
        lambda x, y: parts(function(complex_of(x, y))),
        normal(shape, shape),
        lambda x, y: numpy_parts(reference(x + 1j * y)),
        dtypes=FLOATS,
        rtol=ROUNDING,
        **options,
    )


def of_real(
    name: str, function: Callable[..., Any], reference: Callable[..., Any], *shape: int, **options: Any
) -> Row:
    """Return a row for a function of real numbers; a complex result becomes a real function of both parts."""
    return Row(
        name,
        lambda x: parts(function(x)),
        normal(shape),
        lambda x: numpy_parts(reference(x)),
        dtypes=FLOATS,
        rtol=ROUNDING,
        **options,
    )


def transforms() -> Iterator[Row]:
    """Return rows for even and odd lengths, for cropped and padded ones, and for each normalization."""
    yield of_complex("fft2d", fo.fft2d, np.fft.fft2, 2, 3, 4)
    yield of_complex("ifft3d", fo.ifft3d, lambda z: np.fft.ifftn(z, axes=(-3, -2, -1)), 2, 3, 2)
    empty = (np.zeros((0, 3)), np.zeros((0, 3)))
    yield of_complex("fft", fo.fft, np.fft.fft, 2, 3, edges=(empty,))
    yield of_complex("irfft", rf.irfft, np.fft.irfft, 2, 4, edges=(empty,))
    yield of_complex(
        "irfft2d", lambda z: rf.irfft2d(z, [2, 5]), lambda z: np.fft.irfft2(z, (2, 5), (-2, -1)), 3, 4
    )
    yield of_real("rfft", rf.rfft, np.fft.rfft, 2, 5, edges=((np.zeros((0, 3)),),))
    yield of_real("rfft3d", rf.rfft3d, lambda x: np.fft.rfftn(x, axes=(-3, -2, -1)), 2, 3, 4)
    for n in (2, 4, 8):
        for function, reference in ((fo.fft, np.fft.fft), (fo.ifft, np.fft.ifft)):
            yield of_complex(f"{reference.__name__} of {n}", function, reference, 3, n)
    for norm in NORMS:
        kwargs: dict[str, Any] = {"norm": norm}
        yield of_complex(
            f"small ifftnd {norm}",
            lambda z, k=kwargs: fo.ifftnd(z, [4, 2], [0, -1], **k),
            lambda z, k=kwargs: np.fft.ifftn(z, (4, 2), (0, -1), **k),
            3,
            3,
        )
        yield of_complex(
            f"fftnd {norm}",
            lambda z, k=kwargs: fo.fftnd(z, [2, 5], [0, -1], **k),
            lambda z, k=kwargs: np.fft.fftn(z, (2, 5), (0, -1), **k),
            3,
            2,
            4,
        )
        yield of_complex(
            f"ifftnd {norm}",
            lambda z, k=kwargs: fo.ifftnd(z, **k),
            lambda z, k=kwargs: np.fft.ifftn(z, **k),
            3,
            4,
        )
        for n in (2, 4, 5, 7):
            yield of_real(
                f"rfft of {n}, {norm}",
                lambda x, n=n, k=kwargs: rf.rfftnd(x, n, 0, **k),
                lambda x, n=n, k=kwargs: np.fft.rfft(x, n, 0, **k),
                5,
                2,
            )
            yield of_complex(
                f"irfft of {n}, {norm}",
                lambda z, n=n, k=kwargs: rf.irfftnd(z, n, 0, **k),
                lambda z, n=n, k=kwargs: np.fft.irfft(z, n, 0, **k),
                3,
                2,
            )
        yield of_complex(
            f"hfft {norm}",
            lambda z, k=kwargs: rf.hfft(z, 5, **k),
            lambda z, k=kwargs: np.fft.hfft(z, 5, **k),
            4,
        )
        yield of_real(
            f"ihfft {norm}",
            lambda x, k=kwargs: rf.ihfft(x, axis=0, **k),
            lambda x, k=kwargs: np.fft.ihfft(x, axis=0, **k),
            4,
            2,
        )


def cosines() -> Iterator[Row]:
    for kind in (1, 2, 3, 4):
        for norm in (None, "ortho") if kind > 1 else (None,):
            yield of_real(
                f"dct {kind} {norm}",
                lambda x, kind=kind, norm=norm: co.dct(x, kind, norm=norm),
                lambda x, kind=kind, norm=norm: scipy.fft.dct(x, kind, norm=norm),
                2,
                5,
            )
    for kind, n in ((1, 9), (1, 8), (2, 8), (2, 14), (3, 12), (3, 16), (4, 6), (4, 16), (2, 18)):
        norm = "ortho" if n % 4 == 0 and kind > 1 else None
        yield of_real(
            f"dct {kind} of {n}",
            lambda x, kind=kind, norm=norm: co.dct(x, kind, axis=0, norm=norm),
            lambda x, kind=kind, norm=norm: scipy.fft.dct(x, kind, axis=0, norm=norm),
            n,
            2,
        )
    yield of_real("idct", lambda x: co.idct(x, n=6, axis=0), lambda x: scipy.fft.dct(x, 3, 6, 0), 4, 2)


def cut(x: Array, length: int, step: int) -> Array:
    return np.lib.stride_tricks.sliding_window_view(x, length, -1)[..., ::step, :]


def added_up(frames: Array, step: int) -> Array:
    *lead, count, length = frames.shape
    total = np.zeros((*lead, (count - 1) * step + length), frames.dtype)
    for i in range(count):
        total[..., i * step : i * step + length] += frames[..., i, :]
    return total


FRAMES = (
    of_real("frame", lambda x: fr.frame(x, 5, 2), lambda x: cut(x, 5, 2), 2, 13),
    of_real(
        "frame along 0",
        lambda x: fr.frame(x, 2, 3, axis=0),
        lambda x: np.stack([x[0:2], x[3:5], x[6:8]]),
        8,
        2,
    ),
    of_real("overlap_and_add", lambda x: fr.overlap_and_add(x, 2), lambda x: added_up(x, 2), 2, 3, 5),
    of_real("overlap_and_add apart", lambda x: fr.overlap_and_add(x, 4), lambda x: added_up(x, 4), 3, 2),
    of_real(
        "fftshift",
        lambda x: fq.ifftshift(fq.fftshift(x, 0)),
        lambda x: np.fft.ifftshift(np.fft.fftshift(x, 0)),
        5,
        4,
    ),
)


def convolutions() -> Iterator[Row]:
    for mode in ("full", "valid"):
        yield Row(
            f"direct_convolution {mode}",
            lambda x, y, mode=mode: dc.direct_convolution(x, y, 1, mode),
            normal((7,), (3,)),
            lambda x, y, mode=mode: np.convolve(x, y, mode),
            dtypes=FLOATS,
            rtol=ROUNDING,
        )


ROWS: tuple[Row, ...] = (*transforms(), *cosines(), *FRAMES, *convolutions())
