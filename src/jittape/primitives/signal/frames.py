"""Overlapping frames of signals, window functions and short-time Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, float32, float64, info_of, is_floating
from jittape.core.primitive import apply
from jittape.core.user_calls import as_flag, as_int
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    broadcast,
    cast_to,
    iota,
    one_axis_key,
    sum_over,
    to_shape,
)
from jittape.primitives.elementwise.arithmetic import multiply, square, subtract
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.elementwise.trigonometric import cos
from jittape.primitives.shape.creation import ones
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.shape.views import permuted, sliced
from jittape.primitives.signal.fourier import resized
from jittape.primitives.signal.real_fourier import irfft, rfft
from jittape.typing import Tensor, TensorLike

__all__ = [
    "frame", "hamming_window", "hann_window", "inverse_stft", "inverse_stft_window_fn", "overlap_and_add", "stft",
]  # fmt: skip

Window = Callable[..., Any]


def _at_least_one(op: str, argument: str, value: Any) -> int:
    number = as_int(argument, value)
    if number < 1:
        raise ShapeError(f"[{op}] {argument} must be at least 1, got {number}")
    return number


# ---- windows ---------------------------------------------------------------------------------------------------------


def _raised_cosine(n: int, period: int, a: float, b: float, dtype: np.dtype[Any]) -> Any:
    angle = multiply(iota((n,), 0, float64), 2 * math.pi / period)
    return cast_to(subtract(a, multiply(b, cos(angle))), dtype)


def _window(op: str, length: Any, periodic: Any, dtype: Any, a: float, b: float) -> Tensor:
    n = as_int("window_length", length)
    wanted = as_dtype(dtype)
    if n < 0:
        raise ShapeError(f"[{op}] window_length must not be negative, got {n}")
    if not is_floating(wanted):
        raise DTypeError(f"[{op}] dtype must be a real floating dtype, got {wanted.name}")
    if n < 2:
        return ones((n,), wanted)
    period = n if as_flag("periodic", periodic) and n % 2 == 0 else n - 1
    return apply(_raised_cosine, (), (n, period, a, b, wanted))


def hann_window(
    window_length: int, periodic: bool = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return a Hann window, ``0.5 - 0.5 * cos(2 * pi * k / period)``.

    Parameters
    ----------
    window_length : int
        The number of elements.
    periodic : bool
        Whether the period is `window_length` instead of one less. A window of odd length is always symmetric, as in
        TensorFlow.
    dtype : dtype
        Floating dtype of the result.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `window_length` is negative.

    Examples
    --------
    >>> jt.signal.hann_window(4).numpy()
    array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _window("hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: int, periodic: bool = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return a Hamming window, ``0.54 - 0.46 * cos(2 * pi * k / period)``; `hann_window` describes the arguments.

    Parameters
    ----------
    window_length : int
        Number of values.
    periodic : bool
        Leave out the last value of a symmetric window, as spectra need it.
    dtype : dtype
        A float.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `window_length` is negative.

    Examples
    --------
    >>> jt.signal.hamming_window(4).numpy()
    array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _window("hamming_window", window_length, periodic, dtype, 0.54, 0.46)


# ---- frames ----------------------------------------------------------------------------------------------------------
# Let S be the number of steps per frame, rounded up, F the number of frames, and let the signal be F + S - 1 blocks of
# one step. Frame f is the blocks f to f + S - 1. In S copies of the blocks, one after another, block f + s of copy s is
# number s * (F + S - 1) + f + s = s * (F + S) + f, element (s, f) of a table with rows of F + S blocks. So frames are a
# broadcast, a padding, a crop and a transpose; `overlap_and_add` is the same in the other direction, with a sum over s.


def _frame(x: Any, pad_value: Any, length: int, step: int, pad_end: bool, axis: int) -> Any:
    x = as_symbol(x)
    a = one_axis("frame", axis, len(x.shape))
    samples, inner = x.shape[a], x.shape[a + 1 :]
    frames = -(-samples // step) if pad_end else max(0, 1 + (samples - length) // step)
    if pad_end:
        missing = max(0, length + step * (frames - 1) - samples)
        filling = broadcast(cast_to(pad_value, x.dtype), (*x.shape[:a], missing, *inner))
        x = concat([x, filling], a)
    per_frame = -(-length // step)
    x = resized(x, a, (frames + per_frame - 1) * step)
    outer = x.shape[:a]
    blocks = to_shape(x, (*outer, 1, frames + per_frame - 1, step, *inner))
    copies = broadcast(blocks, (*outer, per_frame, frames + per_frame - 1, step, *inner))
    line = to_shape(copies, (*outer, per_frame * (frames + per_frame - 1), step, *inner))
    table = resized(line, a, per_frame * (frames + per_frame))
    table = to_shape(table, (*outer, per_frame, frames + per_frame, step, *inner))
    table = _exchanged(sliced(table, a + 1, 0, frames), a)
    return sliced(to_shape(table, (*outer, frames, per_frame * step, *inner)), a + 1, 0, length)


def _exchanged(x: Any, axis: int) -> Any:
    """Return `x` with the dimensions `axis` and ``axis + 1`` exchanged."""
    perm = list(range(len(x.shape)))
    perm[axis : axis + 2] = axis + 1, axis
    return permuted(x, tuple(perm))


def frame(
    signal: TensorLike,
    frame_length: int,
    frame_step: int,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Cut a signal into overlapping frames.

    Parameters
    ----------
    signal : tensor_like
        A tensor with at least one dimension.
    frame_length : int
        The number of samples of a frame.
    frame_step : int
        The number of samples from the beginning of a frame to that of the next.
    pad_end : bool
        Whether frames that extend beyond the end are kept, padded with `pad_value`.
    pad_value : tensor_like
        One number.
    axis : int
        The dimension to cut; it becomes two, ``[frames, frame_length]``.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `signal` has no dimension, or `frame_length` or `frame_step` is less than 1.

    Examples
    --------
    >>> jt.signal.frame([1.0, 2.0, 3.0, 4.0, 5.0], 3, 2).numpy()
    array([[1., 2., 3.],
           [3., 4., 5.]], dtype=float32)
    """
    length = _at_least_one("frame", "frame_length", frame_length)
    step = _at_least_one("frame", "frame_step", frame_step)
    static = (length, step, as_flag("pad_end", pad_end), one_axis_key(axis))
    return apply(_frame, (signal, pad_value), static)


def _overlap_and_add(x: Any, step: int) -> Any:
    x = as_symbol(x)
    if len(x.shape) < 2:
        raise ShapeError(f"[overlap_and_add] signal must have at least 2 dimensions, got shape {x.shape}")
    *lead, frames, length = x.shape
    a = len(lead)
    if not frames:
        raise ShapeError(f"[overlap_and_add] signal must have at least 1 frame, got shape {x.shape}")
    per_frame = -(-length // step)
    x = resized(resized(x, a, frames + per_frame), a + 1, per_frame * step)
    table = _exchanged(to_shape(x, (*lead, frames + per_frame, per_frame, step)), a)
    line = to_shape(table, (*lead, per_frame * (frames + per_frame), step))
    line = sliced(line, a, 0, per_frame * (frames + per_frame - 1))
    blocks = sum_over(to_shape(line, (*lead, per_frame, frames + per_frame - 1, step)), (a,))
    return resized(
        to_shape(blocks, (*lead, (frames + per_frame - 1) * step)), a, (frames - 1) * step + length
    )


def overlap_and_add(signal: TensorLike, frame_step: int, name: str | None = None) -> Tensor:
    """Add up overlapping frames of shape ``[..., frames, frame_length]`` into signals.

    Parameters
    ----------
    signal : tensor_like
        A tensor with at least two dimensions.
    frame_step : int
        The number of samples from the beginning of a frame to that of the next.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `signal` has fewer than two dimensions or no frames, or `frame_step` is less than 1.

    Examples
    --------
    >>> jt.signal.overlap_and_add([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], 2).numpy()
    array([ 1.,  2., 13., 20., 30.], dtype=float32)
    """
    return apply(_overlap_and_add, (signal,), (_at_least_one("overlap_and_add", "frame_step", frame_step),))


# ---- short-time Fourier transforms -----------------------------------------------------------------------------------


def _fft_length(op: str, fft_length: Any, frame_length: int) -> int:
    """Return `fft_length`, or the smallest power of two that is not less than `frame_length`."""
    if fft_length is None:
        return int(1 << (frame_length - 1).bit_length())
    return _at_least_one(op, "fft_length", fft_length)


def _window_of(window_fn: Window | None, length: int, dtype: np.dtype[Any]) -> Any:
    floating = dtype if is_floating(dtype) else float64
    return ones((length,), floating) if window_fn is None else window_fn(length, dtype=floating)


def _spectra(frames: Any, window: Any, n: int) -> Any:
    return rfft(multiply(frames, window), [n])


def stft(
    signals: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the short-time Fourier transform: `rfft` of windowed frames.

    Parameters
    ----------
    signals : tensor_like
        A float32 or float64 tensor of shape ``[..., samples]``.
    frame_length, frame_step : int
        Length and distance of the frames, in samples, as in `frame`.
    fft_length : int, optional
        The length of each transform. None: the smallest power of two that is not less than `frame_length`.
    window_fn : callable, optional
        ``window_fn(frame_length, dtype=dtype)`` returns a window. None: no window.
    pad_end : bool
        Whether frames that extend beyond the end are kept, padded with zeros.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        Complex spectra of shape ``[..., frames, fft_length // 2 + 1]``.

    Raises
    ------
    DTypeError
        If `signals` is complex.
    AxisError
        If `signals` is a scalar.
    ShapeError
        If `frame_length` or `frame_step` is less than 1.

    Examples
    --------
    >>> jt.signal.stft([0.0, 1.0, 0.0, -1.0, 0.0, 1.0], 4, 2).numpy().round(3)
    array([[0.+0.j, 0.-1.j, 0.+0.j],
           [0.+0.j, 0.+1.j, 0.+0.j]], dtype=complex64)
    """
    length = _at_least_one("stft", "frame_length", frame_length)
    n = _fft_length("stft", fft_length, length)
    frames = frame(signals, length, _at_least_one("stft", "frame_step", frame_step), pad_end)
    window = _window_of(window_fn, length, frames.aval.dtype)
    return apply(_spectra, (frames, window), (n,))


def _signals(spectra: Any, window: Any, length: int, step: int, n: int) -> Any:
    frames = irfft(spectra, [n])
    frames = resized(frames, len(frames.shape) - 1, length)
    return _overlap_and_add(multiply(frames, window), step)


def inverse_stft(
    stfts: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Return signals from their short-time Fourier transform: windowed frames, added up.

    The signals are those given to `stft`, except near the ends, if `window_fn` is
    ``inverse_stft_window_fn(frame_step)``.

    Parameters
    ----------
    stfts : tensor_like
        Complex spectra of shape ``[..., frames, fft_length // 2 + 1]``.
    frame_length, frame_step, fft_length, window_fn
        As in `stft`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `stfts` has fewer than two dimensions, or has no frame, or `frame_length` or `frame_step` is less than
        1.

    Examples
    --------
    >>> x = np.arange(8.0)
    >>> y = jt.signal.inverse_stft(jt.signal.stft(x, 4, 2), 4, 2, window_fn=jt.signal.inverse_stft_window_fn(2))
    >>> y.numpy()[2:6].round(12)
    array([2., 3., 4., 5.])
    """
    length = _at_least_one("inverse_stft", "frame_length", frame_length)
    step = _at_least_one("inverse_stft", "frame_step", frame_step)
    n = _fft_length("inverse_stft", fft_length, length)
    window = _window_of(
        window_fn, length, info_of(as_dtype(stfts.dtype)).real if hasattr(stfts, "dtype") else float32
    )
    return apply(_signals, (stfts, window), (length, step, n))


def _corrected(window: Any, step: int) -> Any:
    (length,) = window.shape
    overlaps = -(-length // step)
    squares = to_shape(resized(square(window), 0, overlaps * step), (overlaps, step))
    total = broadcast(to_shape(sum_over(squares, (0,)), (1, step)), (overlaps, step))
    return divide_no_nan(window, sliced(to_shape(total, (overlaps * step,)), 0, 0, length))


def inverse_stft_window_fn(
    frame_step: int, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """Return the window function with which `inverse_stft` inverts `stft` with `forward_window_fn`.

    The window is divided by the sum of the squares of the windows that overlap (Griffin and Lim, IEEE Transactions on
    Acoustics, Speech, and Signal Processing 32, 1984, equation 7).

    Parameters
    ----------
    frame_step : int
        Distance of frames, in samples.
    forward_window_fn : callable
        The window function of `stft`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `frame_step` is less than 1.

    Examples
    --------
    >>> jt.signal.inverse_stft_window_fn(2)(4, dtype=jt.float64).numpy()
    array([0., 1., 1., 1.])
    """
    step = _at_least_one("inverse_stft_window_fn", "frame_step", frame_step)

    def window_fn(window_length: int, dtype: Any = float32) -> Tensor:
        """Return the corrected window of `window_length` elements."""
        return apply(_corrected, (forward_window_fn(window_length, dtype=dtype),), (step,))

    return window_fn
