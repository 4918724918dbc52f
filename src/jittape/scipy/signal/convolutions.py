"""Convolution and correlation of arrays of any number of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.errors import ShapeError
from jittape.primitives.elementwise.complex_numbers import cast, conj, real
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.signal.fourier import fftnd, ifftnd
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import floating_operand
from jittape.scipy.scipy_parameters import in_scipys_order

__all__ = ["MODES", "central_part", "convolve", "correlate", "fftconvolve"]

MODES = ("full", "same", "valid")
METHODS = ("auto", "direct", "fft")


def _operands(function: str, in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    a, b = (convert_to_tensor(floating_operand(x)) for x in (in1, in2))
    if mode not in MODES:
        raise ValueError(f"[{function}] mode must be one of {', '.join(MODES)}, got {mode!r}")
    if len(a.shape) != len(b.shape):
        raise ShapeError(
            f"[{function}] both arrays must have the same number of dimensions, got shapes "
            f"{tuple(a.shape)} and {tuple(b.shape)}"
        )
    if 0 in tuple(a.shape) or 0 in tuple(b.shape):
        raise ShapeError(f"[{function}] an array is empty: shapes {tuple(a.shape)} and {tuple(b.shape)}")
    dtype = np.result_type(np.dtype(a.aval.dtype), np.dtype(b.aval.dtype), np.float32)
    return cast(a, dtype), cast(b, dtype)


def _full(a: Any, b: Any) -> Any:
    if not len(a.shape):
        return a * b
    lengths = [m + n - 1 for m, n in zip(a.shape, b.shape, strict=True)]
    axes = list(range(len(lengths)))
    product = fftnd(a, lengths, axes) * fftnd(b, lengths, axes)
    found = ifftnd(product, lengths, axes)
    return found if a.aval.dtype.kind == "c" else real(found)


def central_part(function: str, found: Any, a: tuple[int, ...], b: tuple[int, ...], mode: str) -> Any:
    """Return the part of a full convolution along the last axes that `mode` asks for."""
    if mode == "full":
        return found
    if mode == "same":
        sizes = a
    else:
        larger = [m >= n for m, n in zip(a, b, strict=True)]
        smaller = [m <= n for m, n in zip(a, b, strict=True)]
        if not (all(larger) or all(smaller)):
            raise ValueError(
                f"[{function}] for mode 'valid' one array must be at least as large as the other in every dimension, "
                f"got shapes {a} and {b}"
            )
        sizes = tuple([abs(m - n) + 1 for m, n in zip(a, b, strict=True)])
    lengths = tuple(found.shape)[len(found.shape) - len(sizes) :]
    starts = [(full - size) // 2 for full, size in zip(lengths, sizes, strict=True)]
    return found[(..., *[slice(s, s + size) for s, size in zip(starts, sizes, strict=True)])]


def _check_method(function: str, method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"[{function}] method must be one of {', '.join(METHODS)}, got {method!r}")


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve two arrays, by Fourier transforms; differentiable in both.

    Parameters
    ----------
    in1, in2 : tensor-like
        Real or complex arrays with the same number of dimensions. Integers become float64.
    mode : {"full", "valid", "same"}
        The whole result, the part without padding, or the center in the shape of `in1`.
    method : {"auto", "direct", "fft"}
        Without effect.

    Returns
    -------
    Tensor
        The convolution. Errors are relative to its greatest elements.

    Raises
    ------
    ValueError
        For another mode or method, or shapes that do not fit ``"valid"``.
    ShapeError
        If the numbers of dimensions differ, or an array is empty.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.convolve([1.0, 2.0, 3.0], [1.0, 1.0]).numpy().round(12)
    array([1., 3., 5., 3.])
    """
    _check_method("convolve", method)
    a, b = _operands("convolve", in1, in2, mode)
    return central_part("convolve", _full(a, b), tuple(a.shape), tuple(b.shape), mode)


@in_scipys_order("in1 in2 mode axes", hint="; jittape.autograd.scipy.signal.convolve has axes=", axes=None)
def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    """Do as `convolve`.

    Parameters
    ----------
    in1, in2 : array_like
        Arrays with equally many dimensions.
    mode : {"full", "valid", "same"}
        Part of the result.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ or an array is empty.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.fftconvolve([1.0, 2.0, 3.0], [1.0, 1.0], mode="valid").numpy().round(12)
    array([3., 5.])
    """
    a, b = _operands("fftconvolve", in1, in2, mode)
    return central_part("fftconvolve", _full(a, b), tuple(a.shape), tuple(b.shape), mode)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Return the cross-correlation of two arrays: the convolution of `in1` with the reversed conjugate of `in2`.

    Parameters
    ----------
    in1, in2, mode, method
        As in `convolve`.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ or an array is empty.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.correlate([1.0, 2.0, 3.0], [0.0, 1.0]).numpy().round(12)
    array([1., 2., 3., 0.])
    """
    _check_method("correlate", method)
    a, b = _operands("correlate", in1, in2, mode)
    turned = conj(reverse(b, list(range(len(b.shape)))))
    return central_part("correlate", _full(a, turned), tuple(a.shape), tuple(b.shape), mode)
