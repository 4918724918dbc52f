"""Discrete Fourier transforms, along the last dimensions or along any others.

A sum over `n` elements with the factor ``exp(-2j * pi * k * m / n)``. Lengths are structure: the operand is cropped or
padded with zeros before its transform. Real operands of a complex transform become complex; integers become float64 and
float16 becomes float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import float32, float64, info_of, is_differentiable
from jittape.core.primitive import apply
from jittape.core.user_calls import named
from jittape.errors import ShapeError
from jittape.primitives.broadcast import axis_key, cast_to, normalized_axes
from jittape.primitives.record_parts import floating
from jittape.primitives.shape.reshaping import as_shape, one_axis
from jittape.primitives.shape.views import placed, sliced
from jittape.primitives.signal.small_transforms import is_small, small_fft_op
from jittape.primitives.signal.transform_ops import DUAL, fft_op
from jittape.typing import Tensor, TensorLike

__all__ = [
    "Axes",
    "Lengths",
    "along_axes",
    "along_last",
    "complex_transform",
    "fft",
    "fft2d",
    "fft3d",
    "fftnd",
    "float_operand",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftnd",
    "lengths_key",
    "norm_key",
    "resized",
    "resized_along",
    "transform_nd",
]  # fmt: skip

Axes = int | Sequence[int] | None
Lengths = int | Sequence[int] | TensorLike | None


# ---- arguments -------------------------------------------------------------------------------------------------------


def norm_key(op: str, norm: str | None) -> str:
    """Return the normalization `norm` of NumPy; None is ``"backward"``."""
    if norm is None:
        return "backward"
    if not isinstance(norm, str) or norm not in DUAL:
        raise ValueError(f"[{op}] norm must be 'backward', 'ortho', 'forward' or None, got {norm!r}")
    return norm


def lengths_key(op: str, fft_length: Lengths) -> tuple[int, ...] | None:
    """Return `fft_length` as a tuple of positive ints; None stays None."""
    if fft_length is None:
        return None
    lengths = as_shape(op, fft_length)
    if any(n < 1 for n in lengths):
        raise named(ShapeError(f"[{op}] fft_length must be at least 1, got {lengths}"))
    return lengths


def _last(op: str, x: Any, rank: int) -> tuple[int, ...]:
    ndim = len(x.shape)
    if ndim < rank:
        raise ShapeError(
            f"[{op}] input must have at least {rank} dimension{'s' if rank > 1 else ''}, got shape {x.shape}"
        )
    return tuple(range(ndim - rank, ndim))


def _axes_in_order(op: str, x: Any, axes: Any, lengths: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return `axes` without negative ones; None is all dimensions, or as many of the last as there are lengths."""
    if axes is None:
        return _last(op, x, len(x.shape) if lengths is None else len(lengths))
    given = axes if isinstance(axes, tuple) else (axes,)
    normalized_axes(op, given, len(x.shape))
    return tuple([one_axis(op, a, len(x.shape)) for a in given])


def resized(x: Any, axis: int, n: int) -> Any:
    """Return `x` cropped, or padded with zeros at the end, to the length `n` along `axis`."""
    if n <= x.shape[axis]:
        return sliced(x, axis, 0, n)
    return placed(x, (0,) * len(x.shape), (*x.shape[:axis], n, *x.shape[axis + 1 :]))


def float_operand(x: Any) -> Any:
    """Return `x` in float32, float64 or a complex dtype: integers become float64 and float16 becomes float32."""
    if not isinstance(x, WeakScalar) and not is_differentiable(x.dtype):
        return cast_to(x, float64)
    x = floating(x)
    return cast_to(x, float32) if info_of(x.dtype).blas is None else x


# ---- bodies ----------------------------------------------------------------------------------------------------------


def along_last(x: Any, transform: Any, op: str, rank: int, lengths: Any) -> Any:
    """Return the transform of `x` along its last `rank` dimensions."""
    x = float_operand(x)
    return _checked(transform, op, x, _last(op, x, rank), lengths, "backward")


def along_axes(x: Any, transform: Any, op: str, lengths: Any, axes: Any, norm: str) -> Any:
    """Return the transform of `x` along `axes`."""
    x = float_operand(x)
    return _checked(transform, op, x, _axes_in_order(op, x, axes, lengths), lengths, norm)


def _checked(transform: Any, op: str, x: Any, axes: tuple[int, ...], lengths: Any, norm: str) -> Any:
    if not axes:
        raise ShapeError(f"[{op}] at least one dimension must be transformed, got none of shape {x.shape}")
    if lengths is not None and len(lengths) != len(axes):
        raise ShapeError(f"[{op}] fft_length must have {len(axes)} lengths, one per dimension, got {lengths}")
    return transform(op, x, axes, lengths, norm)


def resized_along(x: Any, axes: tuple[int, ...], lengths: tuple[int, ...] | None) -> Any:
    """Return `x` with each of `axes` resized to its length in `lengths`; None changes nothing."""
    if lengths is not None:
        for axis, n in zip(axes, lengths, strict=True):
            x = resized(x, axis, n)
    return x


def complex_transform(x: Any, axes: tuple[int, ...], lengths: Any, norm: str, inverse: bool) -> Any:
    """Return the complex transform of `x` along `axes`; complex `x` itself if there are none."""
    dtype = info_of(x.dtype).complex
    if dtype is not None:
        x = cast_to(x, dtype)
    if not axes:
        return x
    x = resized_along(x, axes, lengths)
    if is_small(x, axes):
        for axis in axes:
            x = small_fft_op.bind(x, axis=axis, inverse=inverse, norm=norm)
        return x
    return fft_op.bind(x, axes=tuple(sorted(axes)), inverse=inverse, norm=norm)


def _fft(op: str, x: Any, axes: tuple[int, ...], lengths: Any, norm: str) -> Any:
    return complex_transform(x, axes, lengths, norm, inverse=False)


def _ifft(op: str, x: Any, axes: tuple[int, ...], lengths: Any, norm: str) -> Any:
    return complex_transform(x, axes, lengths, norm, inverse=True)


def transform_nd(
    transform: Any, op: str, x: TensorLike, fft_length: Lengths, axes: Axes, norm: str | None
) -> Tensor:
    """Record a transform with the arguments of `fftnd`."""
    static = (transform, op, lengths_key(op, fft_length), axis_key(axes), norm_key(op, norm))
    return apply(along_axes, (x,), static)


# ---- complex transforms ----------------------------------------------------------------------------------------------


def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along the last dimension.

    Parameters
    ----------
    input : tensor_like
        A tensor of shape ``[..., n]``; real numbers become complex.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` has no dimension or its last dimension has no elements.

    Examples
    --------
    >>> jt.signal.fft([1.0, 0.0, -1.0, 0.0]).numpy()
    array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], dtype=complex64)
    """
    return apply(along_last, (input,), (_fft, "fft", 1, None))


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of `fft` along the last dimension; the sum is divided by the number of elements.

    Parameters
    ----------
    input : tensor_like
        Complex numbers, with 1 dimension or more.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` is a scalar, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.ifft(jt.signal.fft([1.0, 2.0, 3.0])).numpy().real
    array([1., 2., 3.], dtype=float32)
    """
    return apply(along_last, (input,), (_ifft, "ifft", 1, None))


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along the last two dimensions.

    Parameters
    ----------
    input : tensor_like
        Complex numbers, with 2 dimensions or more.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` has fewer than two dimensions, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.fft2d(jt.ones([2, 2], "complex64")).numpy().real
    array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return apply(along_last, (input,), (_fft, "fft2d", 2, None))


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of `fft2d` along the last two dimensions.

    Parameters
    ----------
    input : tensor_like
        Complex numbers, with 2 dimensions or more.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` has fewer than two dimensions, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.ifft2d(jt.ones([2, 2], "complex64")).numpy().real
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return apply(along_last, (input,), (_ifft, "ifft2d", 2, None))


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along the last three dimensions.

    Parameters
    ----------
    input : tensor_like
        Complex numbers, with 3 dimensions or more.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` has too few dimensions, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.fft3d(jt.ones([2, 2, 2], "complex64")).numpy()[0].real
    array([[8., 0.],
           [0., 0.]], dtype=float32)
    """
    return apply(along_last, (input,), (_fft, "fft3d", 3, None))


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of `fft3d` along the last three dimensions.

    Parameters
    ----------
    input : tensor_like
        Complex numbers, with 3 dimensions or more.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` has too few dimensions, or a transformed dimension is empty.

    Examples
    --------
    >>> jt.signal.ifft3d(jt.ones([2, 2, 2], "complex64")).numpy()[0].real
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return apply(along_last, (input,), (_ifft, "ifft3d", 3, None))


def fftnd(
    input_tensor: TensorLike,
    fft_length: Lengths = None,
    axes: Axes = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the discrete Fourier transform along any dimensions.

    Parameters
    ----------
    input_tensor : tensor_like
        A tensor with at least one dimension; real numbers become complex.
    fft_length : int or sequence of int, optional
        The length of each transformed dimension; the operand is cropped or padded with zeros at its end.
    axes : int or sequence of int, optional
        The dimensions to transform. None: as many of the last as `fft_length` has lengths, or all.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of elements: the inverse (``"backward"``, as None), the forward one,
        or both by its square root (``"ortho"``).
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If a transformed dimension has no elements, an axis is out of range or named twice, or the number of lengths
        is not that of the axes.
    ValueError
        If `norm` is unknown.

    Examples
    --------
    >>> jt.signal.fftnd([[1.0, 2.0], [3.0, 4.0]], axes=[0], norm="forward").numpy()
    array([[ 2.+0.j,  3.+0.j],
           [-1.+0.j, -1.+0.j]], dtype=complex64)
    """
    return transform_nd(_fft, "fftnd", input_tensor, fft_length, axes, norm)


def ifftnd(
    input_tensor: TensorLike,
    fft_length: Lengths = None,
    axes: Axes = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the inverse of `fftnd`, which describes the arguments.

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
    >>> jt.signal.ifftnd(jt.ones([2, 2], "complex64"), axes=[0, 1]).numpy().real
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return transform_nd(_ifft, "ifftnd", input_tensor, fft_length, axes, norm)
