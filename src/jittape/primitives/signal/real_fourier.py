"""Discrete Fourier transforms of real tensors, which return half of the spectrum, and of real spectra."""

from __future__ import annotations

from typing import Any

from jittape.core.dtypes import complex_of
from jittape.core.primitive import apply
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import cast_to, conj, one_axis_key
from jittape.primitives.elementwise.complex_numbers import real
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.views import sliced
from jittape.primitives.signal.fourier import (
    Axes,
    Lengths,
    along_axes,
    along_last,
    complex_transform,
    float_operand,
    lengths_key,
    norm_key,
    resized,
    resized_along,
    transform_nd,
)
from jittape.primitives.signal.small_transforms import is_small_length, small_fft_op
from jittape.primitives.signal.transform_ops import DUAL, irfft_op, rfft_op
from jittape.typing import Tensor, TensorLike

__all__ = ["hfft", "ihfft", "irfft", "irfft2d", "irfft3d", "irfftnd", "rfft", "rfft2d", "rfft3d", "rfftnd"]


# ---- bodies ----------------------------------------------------------------------------------------------------------


def _rfft(op: str, x: Any, axes: tuple[int, ...], lengths: Any, norm: str) -> Any:
    if x.dtype.kind == "c":
        instead = "ifft" if op == "ihfft" else op[1:]
        raise DTypeError(f"[{op}] needs a real dtype, got {x.dtype.name}; use {instead}, or the real part")
    x = resized_along(x, axes, lengths)
    last = axes[-1]
    small = is_small_length(x.shape[last], complex_of(x.dtype))
    half = _small_rfft(x, last, norm) if small else rfft_op.bind(x, axis=last, norm=norm)
    return complex_transform(half, axes[:-1], None, norm, inverse=False)


def _small_rfft(x: Any, axis: int, norm: str) -> Any:
    whole = small_fft_op.bind(cast_to(x, complex_of(x.dtype)), axis=axis, inverse=False, norm=norm)
    return sliced(whole, axis, 0, x.shape[axis] // 2 + 1)


def _irfft(op: str, x: Any, axes: tuple[int, ...], lengths: Any, norm: str) -> Any:
    *others, last = axes
    n = 2 * (x.shape[last] - 1) if lengths is None else lengths[-1]
    if n < 1:
        raise ShapeError(
            f"[{op}] {x.shape[last]} frequencies along axis {last} of shape {x.shape} give no elements; "
            "set the last length of fft_length to 1 for a result of one element"
        )
    x = complex_transform(x, tuple(others), None if lengths is None else lengths[:-1], norm, inverse=True)
    x = resized(x, last, n // 2 + 1)
    if is_small_length(n, x.dtype):
        return _small_irfft(x, last, norm)
    return irfft_op.bind(x, n=n, axis=last, norm=norm)


def _small_irfft(x: Any, axis: int, norm: str) -> Any:
    others = [conj(sliced(x, axis, k, 1)) for k in range(x.shape[axis] - 2, 0, -1)]
    return real(small_fft_op.bind(concat([x, *others], axis), axis=axis, inverse=True, norm=norm))


# ---- real transforms -------------------------------------------------------------------------------------------------


def rfft(input_tensor: TensorLike, fft_length: Lengths = None, name: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of real numbers along the last dimension.

    The frequencies above the middle are the conjugates of those below, so only ``n // 2 + 1`` of them are returned.

    Parameters
    ----------
    input_tensor : tensor_like
        A real tensor of shape ``[..., m]``.
    fft_length : sequence of one int, optional
        The length `n` of the transform; `input_tensor` is cropped or padded with zeros. None: its own length.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input_tensor` has no dimension, its last dimension has no elements, or `fft_length` is less than 1.
    DTypeError
        If `input_tensor` is complex.

    Examples
    --------
    >>> jt.signal.rfft([1.0, 0.0, -1.0, 0.0]).numpy()
    array([0.+0.j, 2.+0.j, 0.+0.j], dtype=complex64)
    """
    return apply(along_last, (input_tensor,), (_rfft, "rfft", 1, lengths_key("rfft", fft_length)))


def irfft(input_tensor: TensorLike, fft_length: Lengths = None, name: str | None = None) -> Tensor:
    """Return the inverse of `rfft` along the last dimension.

    The imaginary parts of the first frequency and, if `n` is even, of the last one are ignored.

    Parameters
    ----------
    input_tensor : tensor_like
        A tensor of shape ``[..., m]``, half of a spectrum.
    fft_length : sequence of one int, optional
        The length `n` of the result; the spectrum is cropped or padded with zeros to ``n // 2 + 1``. None:
        ``2 * (m - 1)``.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input_tensor` has no dimension or the result would have no elements.

    Examples
    --------
    >>> jt.signal.irfft(jt.signal.rfft([1.0, 2.0, 3.0]), fft_length=[3]).numpy()
    array([1., 2., 3.], dtype=float32)
    """
    return apply(along_last, (input_tensor,), (_irfft, "irfft", 1, lengths_key("irfft", fft_length)))


def rfft2d(input_tensor: TensorLike, fft_length: Lengths = None, name: str | None = None) -> Tensor:
    """Return the transform of real numbers along the last two dimensions: `rfft`, then `fft` along the other one.

    Parameters
    ----------
    input_tensor : tensor_like
        Real numbers, with 2 dimensions or more.
    fft_length : sequence of int, optional
        Length of the transform along each dimension.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `input_tensor` is complex.
    ShapeError
        If `input_tensor` has fewer than two dimensions, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.rfft2d(jt.ones([2, 2])).shape
    (2, 2)
    """
    return apply(along_last, (input_tensor,), (_rfft, "rfft2d", 2, lengths_key("rfft2d", fft_length)))


def irfft2d(input_tensor: TensorLike, fft_length: Lengths = None, name: str | None = None) -> Tensor:
    """Return the inverse of `rfft2d` along the last two dimensions; `fft_length` are the lengths of the result.

    Parameters
    ----------
    input_tensor : tensor_like
        Complex numbers, with 2 dimensions or more.
    fft_length : sequence of int, optional
        Length of the transform along each dimension.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input_tensor` has fewer than two dimensions, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.irfft2d(jt.ones([2, 2], "complex64")).shape
    (2, 2)
    """
    return apply(along_last, (input_tensor,), (_irfft, "irfft2d", 2, lengths_key("irfft2d", fft_length)))


def rfft3d(input_tensor: TensorLike, fft_length: Lengths = None, name: str | None = None) -> Tensor:
    """Return the transform of real numbers along the last three dimensions: `rfft`, then `fft` along the others.

    Parameters
    ----------
    input_tensor : tensor_like
        Real numbers, with 3 dimensions or more.
    fft_length : sequence of int, optional
        Length of the transform along each dimension.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `input_tensor` is complex.
    ShapeError
        If `input_tensor` has too few dimensions, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.rfft3d(jt.ones([2, 2, 2])).shape
    (2, 2, 2)
    """
    return apply(along_last, (input_tensor,), (_rfft, "rfft3d", 3, lengths_key("rfft3d", fft_length)))


def irfft3d(input_tensor: TensorLike, fft_length: Lengths = None, name: str | None = None) -> Tensor:
    """Return the inverse of `rfft3d` along the last three dimensions; `fft_length` are the lengths of the result.

    Parameters
    ----------
    input_tensor : tensor_like
        Complex numbers, with 3 dimensions or more.
    fft_length : sequence of int, optional
        Length of the transform along each dimension.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input_tensor` has too few dimensions, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.irfft3d(jt.ones([2, 2, 2], "complex64")).shape
    (2, 2, 2)
    """
    return apply(along_last, (input_tensor,), (_irfft, "irfft3d", 3, lengths_key("irfft3d", fft_length)))


def rfftnd(
    input_tensor: TensorLike,
    fft_length: Lengths = None,
    axes: Axes = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the transform of real numbers along any dimensions: `rfft` along the last of `axes`, then `fftnd`.

    Parameters
    ----------
    input_tensor : tensor_like
        Real numbers.
    fft_length, axes, norm
        See `fftnd`.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `input_tensor` is complex.
    AxisError
        If `axes` is out of range.
    ShapeError
        If a transformed dimension is empty, or `axes` is empty or names a dimension twice.

    Examples
    --------
    >>> jt.signal.rfftnd(jt.ones([2, 2]), axes=[0, 1]).shape
    (2, 2)
    """
    return transform_nd(_rfft, "rfftnd", input_tensor, fft_length, axes, norm)


def irfftnd(
    input_tensor: TensorLike,
    fft_length: Lengths = None,
    axes: Axes = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the inverse of `rfftnd`; `fft_length` are the lengths of the result along `axes`.

    Parameters
    ----------
    input_tensor : tensor_like
        Complex numbers.
    fft_length, axes, norm
        See `fftnd`.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axes` is out of range.
    ShapeError
        If a transformed dimension is empty, or `axes` is empty or names a dimension twice.

    Examples
    --------
    >>> jt.signal.irfftnd(jt.ones([2, 2], "complex64"), axes=[0, 1]).shape
    (2, 2)
    """
    return transform_nd(_irfft, "irfftnd", input_tensor, fft_length, axes, norm)


# ---- spectra that are real -------------------------------------------------------------------------------------------


def _hfft(a: Any, n: Any, axis: int, norm: str) -> Any:
    return along_axes(conj(float_operand(a)), _irfft, "hfft", n, axis, DUAL[norm])


def hfft(a: TensorLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the real spectrum of a signal of which half is given: the other half are the conjugates.

    Parameters
    ----------
    a : tensor_like
        The elements from 0 to the middle of the signal, along `axis`.
    n : int, optional
        The length of the result; `a` is cropped or padded with zeros to ``n // 2 + 1``. None: ``2 * (m - 1)`` for `m`
        elements.
    axis : int
        The dimension to transform.
    norm : {'backward', 'ortho', 'forward'}, optional
        The normalization, as in `fftnd`.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If the result would be empty.

    Examples
    --------
    >>> jt.signal.hfft([1.0, 2.0, 3.0]).numpy()
    array([ 8., -2.,  0., -2.], dtype=float32)
    """
    lengths = lengths_key("hfft", n)
    return apply(_hfft, (a,), (lengths, one_axis_key(axis), norm_key("hfft", norm)))


def _ihfft(a: Any, n: Any, axis: int, norm: str) -> Any:
    return conj(along_axes(a, _rfft, "ihfft", n, axis, DUAL[norm]))


def ihfft(a: TensorLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of `hfft`: half of the signal whose spectrum is the real tensor `a`.

    Parameters
    ----------
    a : tensor_like
        Real numbers.
    n : int, optional
        Length of the transform.
    axis : int
        The dimension to transform.
    norm : str, optional
        ``"ortho"`` or ``"forward"``.

    Raises
    ------
    DTypeError
        If `a` is complex.
    AxisError
        If `axis` is out of range.
    ShapeError
        If a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.ihfft([8.0, -2.0, 0.0, -2.0]).numpy().real
    array([1., 2., 3.], dtype=float32)
    """
    lengths = lengths_key("ihfft", n)
    return apply(_ihfft, (a,), (lengths, one_axis_key(axis), norm_key("ihfft", norm)))
