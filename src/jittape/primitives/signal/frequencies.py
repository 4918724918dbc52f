"""The frequencies of a Fourier transform, and the order in which they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.dtypes import int64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import axis_key, cast_to, iota, normalized_axes
from jittape.primitives.elementwise.arithmetic import multiply, subtract
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.record_parts import floating
from jittape.primitives.shape.reordering import roll
from jittape.typing import Tensor, TensorLike

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


# ---- frequencies -----------------------------------------------------------------------------------------------------


def _frequencies(d: Any, op: str, n: int, real: bool) -> Any:
    d = floating(d)
    if d.shape or d.dtype.kind != "f":
        raise (ShapeError if d.shape else DTypeError)(
            f"[{op}] d must be one real number, got shape {d.shape} and dtype {d.dtype.name}"
        )
    count = n // 2 + 1 if real else n
    k = iota((count,), 0, int64)
    if not real:
        k = where(less(k, (n + 1) // 2), k, subtract(k, n))
    return multiply(cast_to(k, d.dtype), reciprocal(multiply(d, float(n))))


def _count(op: str, n: Any) -> int:
    count = as_int("n", n)
    if count < 1:
        raise ShapeError(f"[{op}] n must be at least 1, got {count}")
    return count


def fftfreq(n: int, d: TensorLike = 1.0) -> Tensor:
    """Return the frequencies of the elements of `fft`, in cycles per unit of the sample spacing `d`.

    Parameters
    ----------
    n : int
        The number of samples.
    d : tensor_like
        The sample spacing, one real number. The result has its dtype and is differentiable in `d`.

    Raises
    ------
    DTypeError
        If `d` is complex.
    ShapeError
        If `n` is less than 1 or `d` is not a scalar.

    Examples
    --------
    >>> jt.signal.fftfreq(4, d=0.5).numpy()
    array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    return apply(_frequencies, (d,), ("fftfreq", _count("fftfreq", n), False))


def rfftfreq(n: int, d: TensorLike = 1.0) -> Tensor:
    """Return the frequencies of the elements of `rfft`, from 0 to the middle; see `fftfreq`.

    Parameters
    ----------
    n : int
        Length of the signal.
    d : float
        Distance of samples, in units of time; frequencies are in cycles per unit.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `d` is complex.
    ShapeError
        If `n` is too small, or `d` is not a scalar.

    Examples
    --------
    >>> jt.signal.rfftfreq(4, d=0.5).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    return apply(_frequencies, (d,), ("rfftfreq", _count("rfftfreq", n), True))


# ---- order -----------------------------------------------------------------------------------------------------------


def _shifted(x: Any, op: str, axes: Any, inverse: bool) -> Any:
    chosen = normalized_axes(op, axes, len(x.shape))
    middles = [x.shape[axis] // 2 for axis in chosen]
    return roll(x, [-m if inverse else m for m in middles], chosen)


def fftshift(x: TensorLike, axes: int | Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """Move the frequency zero from the beginning to the middle of `axes`; None are all dimensions.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    axes : int or sequence of int, optional
        The dimensions to shift; all of them by default.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axes` is out of range.

    Examples
    --------
    >>> jt.signal.fftshift(jt.signal.fftfreq(5, d=0.2)).numpy()
    array([-2., -1.,  0.,  1.,  2.], dtype=float32)
    """
    return apply(_shifted, (x,), ("fftshift", axis_key(axes), False))


def ifftshift(x: TensorLike, axes: int | Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """Undo `fftshift`; the two differ for odd lengths.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    axes : int or sequence of int, optional
        The dimensions to shift; all of them by default.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axes` is out of range.

    Examples
    --------
    >>> jt.signal.ifftshift([-2.0, -1.0, 0.0, 1.0, 2.0]).numpy()
    array([ 0.,  1.,  2., -2., -1.], dtype=float32)
    """
    return apply(_shifted, (x,), ("ifftshift", axis_key(axes), True))
