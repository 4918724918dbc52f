"""Adapters of ``numpy.fft``: NumPy's signatures with the transforms of `jittape.primitives.signal`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.errors import AxisError, DTypeError, ShapeError
from jittape.numpy_api.numpy_operands import dtype_of, reject, shape_of, strong
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.identity import identity

__all__ = ["FOURIER"]


_MODULES = {
    "fftnd": "fourier",
    "fftshift": "frequencies",
    "hfft": "real_fourier",
    "ifftnd": "fourier",
    "ifftshift": "frequencies",
    "ihfft": "real_fourier",
    "irfftnd": "real_fourier",
    "rfftnd": "real_fourier",
}
"""The module of `jittape.primitives.signal` of each transform; it is imported at the first call."""


def _signal(transform: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(
        import_module(f"jittape.primitives.signal.{_MODULES[transform]}"), transform
    )
    return function


def _operand(name: str, a: Any) -> Any:
    a = strong(a)
    if name in ("rfft", "rfftn", "rfft2", "ihfft") and dtype_of(a).kind == "c":
        raise DTypeError(f"[np.fft.{name}] transforms real numbers, got {dtype_of(a).name}; use np.fft.fft")
    return a


def _of_one_axis(transform: str, name: str) -> Callable[..., Any]:
    """Return a transform along one axis."""

    def transformed(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        reject(f"fft.{name}", out=out)
        a, axis = _operand(name, a), as_int("axis", axis)
        _check_lengths(name, [n])
        half = dtype_of(a) == np.float16
        lengths = n if transform in ("hfft", "ihfft") or n is None else [as_int("n", n)]
        axes = axis if transform in ("hfft", "ihfft") else [axis]
        return _real_as_in_numpy(transform, half, _signal(transform)(a, lengths, axes, norm))

    return transformed


def _of_axes(transform: str, name: str, last_two: bool = False) -> Callable[..., Any]:
    """Return a transform along several axes."""

    def transformed(
        a: Any, s: Any = None, axes: Any = (-2, -1) if last_two else None, norm: Any = None, out: Any = None
    ) -> Any:
        reject(f"fft.{name}", out=out)
        a = _operand(name, a)
        s = None if s is None else list(s)
        _check_lengths(name, s or [])
        rank = len(shape_of(a))
        axes = list(range(rank))[rank - len(s) if s is not None else 0 :] if axes is None else list(axes)
        if s is not None and len(s) != len(axes):
            raise ShapeError(f"[np.fft.{name}] Shape and axes have different lengths: {len(s)}, {len(axes)}")
        if s is not None:
            s = [shape_of(a)[axis] if n == -1 else n for n, axis in zip(s, axes, strict=True)]
        if not axes and transform in ("rfftnd", "irfftnd"):
            raise AxisError(f"[np.fft.{name}] axes must name the axis of the real transform, got none")
        half = dtype_of(a) == np.float16 and len(axes) == 1  # the other transforms give complex64
        return _real_as_in_numpy(transform, half, _by_axes(transform, name, a, s, axes, norm))

    return transformed


def _by_axes(transform: str, name: str, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Return the transform along `axes`; NumPy repeats an axis that is named twice, the real transform comes first."""
    rank = len(shape_of(a))
    if not axes:
        return identity(a)
    if not all(-rank <= axis < rank for axis in axes):
        raise AxisError(f"[np.fft.{name}] axes {axes} are out of range for shape {shape_of(a)}")
    if len({axis % rank for axis in axes}) == len(axes):
        return _signal(transform)(a, s, axes, norm)
    lengths = s or [shape_of(a)[axis] for axis in axes]
    if s is None and transform == "irfftnd":
        lengths[-1] = 2 * (lengths[-1] - 1)
    steps = list(zip(axes, lengths, strict=True))
    complex_one = "ifftnd" if transform in ("ifftnd", "irfftnd") else "fftnd"
    first, rest = (transform, complex_one) if transform != "irfftnd" else ("ifftnd", "ifftnd")
    steps = steps if transform == "irfftnd" else steps[::-1]
    for i, (axis, n) in enumerate(steps):
        last_real = transform == "irfftnd" and i == len(steps) - 1
        function = "irfftnd" if last_real else first if i == 0 else rest
        a = _signal(function)(a, [n], [axis], norm)
    return a


def _real_as_in_numpy(transform: str, half: Any, result: Any) -> Any:
    """Return a real `result` in float16 if the operand has this dtype; the transform computes in float32."""
    return cast(result, np.float16) if half and transform in ("irfftnd", "hfft") else result


def _check_lengths(name: str, lengths: Any) -> None:
    for n in lengths:
        if n is not None and n != -1 and as_int("n", n) < 1:
            raise ShapeError(
                f"[np.fft.{name}] Invalid number of FFT data points ({n}) specified; it must be at least 1"
            )


def _shift(name: str) -> Callable[..., Any]:
    """Return ``np.fft.fftshift`` or its inverse."""

    def shift(x: Any, axes: Any = None) -> Any:
        x = strong(x)
        if not shape_of(x):
            raise ShapeError(f"[np.fft.{name}] x must have at least 1 dimension, got a scalar")
        return _signal(name)(x, axes)

    return shift


FOURIER: dict[Any, Callable[..., Any]] = {
    np.fft.fft: _of_one_axis("fftnd", "fft"),
    np.fft.fft2: _of_axes("fftnd", "fft2", True),
    np.fft.fftn: _of_axes("fftnd", "fftn"),
    np.fft.fftshift: _shift("fftshift"),
    np.fft.hfft: _of_one_axis("hfft", "hfft"),
    np.fft.ifft: _of_one_axis("ifftnd", "ifft"),
    np.fft.ifft2: _of_axes("ifftnd", "ifft2", True),
    np.fft.ifftn: _of_axes("ifftnd", "ifftn"),
    np.fft.ifftshift: _shift("ifftshift"),
    np.fft.ihfft: _of_one_axis("ihfft", "ihfft"),
    np.fft.irfft: _of_one_axis("irfftnd", "irfft"),
    np.fft.irfft2: _of_axes("irfftnd", "irfft2", True),
    np.fft.irfftn: _of_axes("irfftnd", "irfftn"),
    np.fft.rfft: _of_one_axis("rfftnd", "rfft"),
    np.fft.rfft2: _of_axes("rfftnd", "rfft2", True),
    np.fft.rfftn: _of_axes("rfftnd", "rfftn"),
}
