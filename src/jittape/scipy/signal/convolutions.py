"""Convolution and correlation of arrays of any number of dimensions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import logical_and
from jittape.primitives.elementwise.complex_numbers import cast, conj, real
from jittape.primitives.elementwise.piecewise import round
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.signal.direct_convolution import direct_convolution
from jittape.primitives.signal.fourier import fftnd, ifftnd
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import as_operand

__all__ = [
    "MODES",
    "central_part",
    "choose_conv_method",
    "convolve",
    "correlate",
    "fftconvolve",
    "oaconvolve",
    "signal_operands",
    "swapped_for",
    "turned",
]

MODES = ("full", "same", "valid")
METHODS = ("auto", "direct", "fft")


def signal_operands(function: str, in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    """Return two arrays as tensors with as many dimensions; Python's numbers and lists have NumPy's dtypes."""
    a, b = (convert_to_tensor(np.asarray(x) if isinstance(x, int | float | complex) else as_operand(x))
            for x in (in1, in2))  # fmt: skip
    if mode not in MODES:
        raise ValueError(f"[{function}] mode must be one of {', '.join(MODES)}, got {mode!r}")
    if len(a.shape) != len(b.shape):
        raise ShapeError(
            f"[{function}] both arrays must have the same number of dimensions, got shapes "
            f"{tuple(a.shape)} and {tuple(b.shape)}"
        )
    if 0 in tuple(a.shape) or 0 in tuple(b.shape):
        raise ShapeError(f"[{function}] an array is empty: shapes {tuple(a.shape)} and {tuple(b.shape)}")
    return a, b


def turned(x: Any) -> Any:
    """Return the conjugate of `x` in reverse order: the kernel whose convolution is the correlation with `x`."""
    return conj(reverse(x, list(range(len(x.shape)))))


def swapped_for(function: str, a: tuple[int, ...], b: tuple[int, ...], mode: str) -> bool:
    """Return whether the operands must change places, so that the first one is larger for ``"valid"``."""
    if mode != "valid" or all(m >= n for m, n in zip(a, b, strict=True)):
        return False
    if all(m <= n for m, n in zip(a, b, strict=True)):
        return True
    raise ValueError(
        f"[{function}] for mode 'valid' one array must be at least as large as the other in every dimension, "
        f"got shapes {a} and {b}"
    )


def central_part(function: str, found: Any, a: tuple[int, ...], b: tuple[int, ...], mode: str) -> Any:
    """Return the part of a full convolution along the last axes that `mode` asks for."""
    if mode == "full":
        return found
    if mode == "same":
        sizes = a
    else:
        swapped_for(function, a, b, mode)
        sizes = tuple([abs(m - n) + 1 for m, n in zip(a, b, strict=True)])
    return _center(found, sizes)


def _center(found: Any, sizes: tuple[int, ...]) -> Any:
    """Return the center of `found` along its last dimensions, whose lengths there are `sizes`."""
    lengths = tuple(found.shape)[len(found.shape) - len(sizes) :]
    starts = [(full - size) // 2 for full, size in zip(lengths, sizes, strict=True)]
    return found[(..., *[slice(s, s + size) for s, size in zip(starts, sizes, strict=True)])]


# ---- methods ---------------------------------------------------------------------------------------------------------


@cache
def _faster_method(a: tuple[int, ...], b: tuple[int, ...], mode: str) -> str:
    """Return SciPy's choice for arrays of floats, which depends on the shapes only."""
    from scipy.signal import choose_conv_method as scipy_choice

    found: str = scipy_choice(*[np.broadcast_to(np.float64(0), shape) for shape in (a, b)], mode)
    return found


def _method(function: str, a: Any, b: Any, mode: str, method: str) -> str:
    if method not in METHODS:
        raise ValueError(f"[{function}] method must be one of {', '.join(METHODS)}, got {method!r}")
    if method != "auto":
        return method
    if not len(a.shape) or np.result_type(_dtype(a), _dtype(b)).kind in "biu":
        return "direct"
    swapped_for(function, tuple(a.shape), tuple(b.shape), mode)
    return _faster_method(tuple(a.shape), tuple(b.shape), mode)


def _dtype(x: Any) -> np.dtype[Any]:
    return np.dtype(x.aval.dtype)


def _product(a: Any, b: Any) -> Any:
    dtype = np.result_type(_dtype(a), _dtype(b))
    a, b = cast(a, dtype), cast(b, dtype)
    return logical_and(a, b) if dtype.kind == "b" else a * b


def _direct(function: str, a: Any, b: Any, mode: str) -> Any:
    rank = len(a.shape)
    if not rank:
        return _product(a, b)
    dtype = np.result_type(_dtype(a), _dtype(b))
    a, b = cast(a, dtype), cast(b, dtype)
    if swapped_for(function, tuple(a.shape), tuple(b.shape), mode):
        a, b = b, a
    found = direct_convolution(a, b, rank, "valid" if mode == "valid" else "full")
    return central_part(function, found, tuple(a.shape), tuple(b.shape), mode) if mode == "same" else found


def _by_transforms(function: str, a: Any, b: Any, mode: str, axes: list[int]) -> Any:
    """Return the convolution along `axes`; the other dimensions broadcast."""
    first, second = tuple(a.shape), tuple(b.shape)
    ends = [tuple([shape[k] for k in axes]) for shape in (first, second)]
    swapped_for(function, ends[0], ends[1], mode)
    found = _full_by_transforms(a, b, axes) if axes else _product(a, b)
    if mode == "full":
        return found
    sizes = [abs(first[k] - second[k]) + 1 if k in axes else n for k, n in enumerate(found.shape)]
    return _center(found, first if mode == "same" else tuple(sizes))


def _full_by_transforms(a: Any, b: Any, axes: list[int]) -> Any:
    from scipy.fft import next_fast_len

    dtype = np.result_type(*[x if x.kind in "fc" else np.float64 for x in (_dtype(a), _dtype(b))], np.float32)
    lengths = [a.shape[k] + b.shape[k] - 1 for k in axes]
    padded = [next_fast_len(n, False) for n in lengths]
    product = fftnd(cast(a, dtype), padded, axes) * fftnd(cast(b, dtype), padded, axes)
    found = ifftnd(product, padded, axes)
    region = [slice(None)] * len(found.shape)
    for k, n in zip(axes, lengths, strict=True):
        region[k] = slice(0, n)
    found = found[tuple(region)]
    return found if dtype.kind == "c" else real(found)


def _convolved(function: str, a: Any, b: Any, mode: str, method: str) -> Any:
    if _method(function, a, b, mode, method) == "direct":
        return _direct(function, a, b, mode)
    dtype = np.result_type(_dtype(a), _dtype(b))
    found = _by_transforms(function, a, b, mode, list(range(len(a.shape))))
    return cast(round(found) if dtype.kind in "iu" else found, dtype)


# ---- the functions ---------------------------------------------------------------------------------------------------


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve two arrays; differentiable in both.

    Parameters
    ----------
    in1, in2 : tensor-like
        Arrays with the same number of dimensions.
    mode : {"full", "valid", "same"}
        The whole result, the part without padding, or the center in the shape of `in1`.
    method : {"auto", "direct", "fft"}
        Sums of products, or Fourier transforms. ``"auto"`` is `choose_conv_method`. Errors of transforms are relative
        to the greatest elements, and a nan or an infinity makes all elements nan. SciPy computes sums between kernels.

    Returns
    -------
    Tensor
        The convolution, in NumPy's common dtype of both arrays.

    Raises
    ------
    ValueError
        For another mode or method, or shapes that do not fit ``"valid"``.
    ShapeError
        If the numbers of dimensions differ, or an array is empty.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.convolve([1, 2, 3], [1, 1]).numpy()
    array([1, 3, 5, 3])
    """
    a, b = signal_operands("convolve", in1, in2, mode)
    return _convolved("convolve", a, b, mode, method)


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
    >>> signal.correlate([1.0, 2.0, 3.0], [0.0, 1.0]).numpy()
    array([1., 2., 3., 0.])
    """
    a, b = signal_operands("correlate", in1, in2, mode)
    return _convolved("correlate", a, turned(b), mode, method)


def choose_conv_method(in1: Any, in2: Any, mode: str = "full") -> str:
    """Return the method of ``convolve(method="auto")``: ``"direct"`` or ``"fft"``.

    Integers are convolved directly, so results are exact. For floats, SciPy's estimate of the times decides, which
    depends on the shapes.

    Parameters
    ----------
    in1, in2, mode
        As in `convolve`.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ or an array is empty.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.choose_conv_method([1.0, 2.0], [1.0]), signal.choose_conv_method(np.ones(9999), np.ones(9999))
    ('direct', 'fft')
    """
    a, b = signal_operands("choose_conv_method", in1, in2, mode)
    return _method("choose_conv_method", a, b, mode, "auto")


def _along_axes(function: str, in1: Any, in2: Any, mode: str, axes: Any) -> Any:
    a, b = signal_operands(function, in1, in2, mode)
    rank, first, second = len(a.shape), tuple(a.shape), tuple(b.shape)
    named: list[int] = list(range(rank) if axes is None else [axes] if isinstance(axes, int) else axes)
    if (rank and not len(named)) or not all(-rank <= k < rank for k in named):
        raise ValueError(
            f"[{function}] axes must be dimensions of the arrays, which have {rank}, got {axes!r}"
        )
    named = [int(k) % rank for k in named]
    if len(set(named)) != len(named):
        raise ValueError(f"[{function}] all axes must be different, got {axes!r}")
    transformed = [k for k in named if first[k] != 1 and second[k] != 1]
    others = [k for k in range(rank) if k not in transformed]
    if not all(first[k] == second[k] or 1 in (first[k], second[k]) for k in others):
        raise ShapeError(f"[{function}] shapes {first} and {second} do not broadcast outside axes {named}")
    return _by_transforms(function, a, b, mode, transformed)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve two arrays by Fourier transforms; integers become float64.

    Parameters
    ----------
    in1, in2 : array_like
        Arrays with equally many dimensions.
    mode : {"full", "valid", "same"}
        Part of the result.
    axes : int or sequence of int, optional
        Dimensions that are convolved, all by default. The others broadcast.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, an array is empty, or the other dimensions do not broadcast.
    ValueError
        If `axes` are no different dimensions.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.fftconvolve([1.0, 2.0, 3.0], [1.0, 1.0], mode="valid").numpy().round(12)
    array([3., 5.])
    """
    return _along_axes("fftconvolve", in1, in2, mode, axes)


def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Do as `fftconvolve`, whose values are those of SciPy's overlap-add method up to rounding.

    Parameters
    ----------
    in1, in2, mode, axes
        As in `fftconvolve`.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ, an array is empty, or the other dimensions do not broadcast.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.oaconvolve([1.0, 2.0, 3.0], [1.0, 1.0]).numpy().round(12)
    array([1., 3., 5., 3.])
    """
    return _along_axes("oaconvolve", in1, in2, mode, axes)
