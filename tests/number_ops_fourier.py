"""Transforms and frames of signals, for `test_number_ops.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

import jittape as jt
from number_ops import NumberOp, normal, np_parts, parts

sg, sf = jt.signal, scipy.fft


def both(x: Any, y: Any) -> Any:
    return jt.complex(x, y)


FOURIER = (
    *(
        op
        for n in (5, 8, 12)
        for op in (
            NumberOp(
                f"fft {n}",
                lambda x, y: parts(sg.fft(both(x, y))),
                normal((n,), (n,)),
                lambda x, y: np_parts(sf.fft(x + 1j * y)),
            ),
            NumberOp(
                f"ifft {n}",
                lambda x, y: parts(sg.ifft(both(x, y))),
                normal((n,), (n,)),
                lambda x, y: np_parts(sf.ifft(x + 1j * y)),
            ),
            NumberOp(f"rfft {n}", lambda x: parts(sg.rfft(x)), normal((n,)), lambda x: np_parts(sf.rfft(x))),
            NumberOp(
                f"irfft {n}",
                lambda x, y, n=n: sg.irfft(both(x, y), [2 * n - 2]),
                normal((n,), (n,)),
                lambda x, y: sf.irfft(x + 1j * y),
            ),
            NumberOp(
                f"hfft {n}",
                lambda x, y: sg.hfft(both(x, y)),
                normal((n,), (n,)),
                lambda x, y: sf.hfft(x + 1j * y),
            ),
            NumberOp(
                f"ihfft {n}", lambda x: parts(sg.ihfft(x)), normal((n,)), lambda x: np_parts(sf.ihfft(x))
            ),
        )
    ),
    *(
        NumberOp(
            f"{name} {type}{' ortho' if norm else ''} of {n}",
            lambda x, f=name, t=type, o=norm: getattr(sg, f)(x, type=t, norm=o),
            normal((n,)),
            lambda x, f=name, t=type, o=norm, n=n: (
                getattr(sf, f)(x, t, norm=o) * (1 if o or f == "dct" else 2 * n - 2 * (t == 1))
            ),
        )
        for name in ("dct", "idct")
        for type in (1, 2, 3, 4)
        for norm in (None, "ortho")
        for n in (6, 8)
        if (type, norm) != (1, "ortho")
    ),
    NumberOp(
        "fft2d",
        lambda x, y: parts(sg.fft2d(both(x, y))),
        normal((4, 3), (4, 3)),
        lambda x, y: np_parts(sf.fft2(x + 1j * y)),
    ),
    NumberOp(
        "ifft3d",
        lambda x, y: parts(sg.ifft3d(both(x, y))),
        normal((2, 4, 3), (2, 4, 3)),
        lambda x, y: np_parts(sf.ifftn(x + 1j * y, axes=(-3, -2, -1))),
    ),
    NumberOp("rfft2d", lambda x: parts(sg.rfft2d(x)), normal((4, 6)), lambda x: np_parts(sf.rfft2(x))),
    NumberOp(
        "irfft2d",
        lambda x, y: sg.irfft2d(both(x, y)),
        normal((4, 3), (4, 3)),
        lambda x, y: sf.irfft2(x + 1j * y),
    ),
    NumberOp(
        "rfft3d",
        lambda x: parts(sg.rfft3d(x)),
        normal((2, 4, 6)),
        lambda x: np_parts(sf.rfftn(x, axes=(-3, -2, -1))),
    ),
    NumberOp(
        "fftnd",
        lambda x, y: parts(sg.fftnd(both(x, y), axes=[0, 1])),
        normal((4, 3), (4, 3)),
        lambda x, y: np_parts(sf.fftn(x + 1j * y, axes=[0, 1])),
        leading=False,
    ),
    NumberOp(
        "rfftnd",
        lambda x: parts(sg.rfftnd(x, axes=[0, 1])),
        normal((4, 3)),
        lambda x: np_parts(sf.rfftn(x, axes=[0, 1])),
        leading=False,
    ),
    NumberOp(
        "fftshift", lambda x: sg.fftshift(x, axes=-1), normal((3, 5)), lambda x: sf.fftshift(x, axes=-1)
    ),
    NumberOp(
        "ifftshift", lambda x: sg.ifftshift(x, axes=-1), normal((3, 5)), lambda x: sf.ifftshift(x, axes=-1)
    ),
    NumberOp("stft", lambda x: parts(sg.stft(x, 8, 4)), normal((20,)), None),
    NumberOp("inverse_stft", lambda x: sg.inverse_stft(sg.stft(x, 8, 4), 8, 4), normal((20,)), None),
    NumberOp(
        "frame",
        lambda x: sg.frame(x, 8, 4),
        normal((20,)),
        lambda x: np.stack([x[..., 4 * i : 4 * i + 8] for i in range(4)], -2),
    ),
    NumberOp("overlap_and_add", lambda x: sg.overlap_and_add(x, 2), normal((4, 5)), None),
)
