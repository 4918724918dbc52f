"""Layers that pad, crop and enlarge sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from jittape.core.user_calls import as_int
from jittape.keras.layers.data_formats import format_name, format_of, require_dimensions
from jittape.keras.layers.layer import Layer
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.repetition import pad, repeat
from jittape.recording.convert import constant
from jittape.recording.tensor import Tensor

__all__ = [
    "Cropping1D", "Cropping2D", "Cropping3D", "UpSampling1D", "UpSampling2D", "UpSampling3D", "ZeroPadding1D",
    "ZeroPadding2D", "ZeroPadding3D",
]  # fmt: skip


class _Spatial(Layer):
    """A layer that changes the extents of the spatial dimensions."""

    spatial: ClassVar[int]

    def __init__(self, data_format: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._format = format_of(type(self).__name__, data_format, self.spatial)
        self.data_format = format_name(self._format)

    def _value_of(self, name: str) -> Any:
        """Return an argument; that of one dimension is not nested, as in Keras."""
        value = super()._value_of(name)
        return value[0] if self.spatial == 1 and name in ("padding", "cropping", "size") else value

    def _spread(self, inputs: Any, parts: Sequence[Any], other: Any) -> list[Any]:
        """Return one of `parts` for each spatial dimension of the inputs, and `other` for batch and channels."""
        require_dimensions(self.name, inputs.shape, self.spatial)
        first = self._format.startswith("NC")
        return [other, other, *parts] if first else [other, *parts, other]


def _ends(owner: str, name: str, given: Any, spatial: int) -> tuple[tuple[int, int], ...]:
    """Return the numbers before and after each spatial dimension."""
    parts = [given] * spatial if not isinstance(given, Sequence) else list(given)
    if spatial == 1 and len(parts) == 2 and not isinstance(parts[0], Sequence):
        parts = [parts]
    pairs = [tuple(part) if isinstance(part, Sequence) else (part, part) for part in parts]
    if len(pairs) != spatial or any(
        len(pair) != 2 or min(as_int(name, n) for n in pair) < 0 for pair in pairs
    ):
        raise ValueError(
            f"[{owner}] {name} must be an int, or an int or a pair of ints for each of {spatial} dimensions, at "
            f"least 0, got {given!r}"
        )
    return tuple([(int(a), int(b)) for a, b in pairs])


class _ZeroPadding(_Spatial):
    """Zeros before and after the spatial dimensions."""

    def __init__(self, padding: Any = 1, data_format: str | None = None, **options: Any) -> None:
        super().__init__(data_format, **options)
        self.padding = _ends(type(self).__name__, "padding", padding, self.spatial)

    def call(self, inputs: Any) -> Tensor:
        """Return the padded `inputs`."""
        return pad(inputs, self._spread(inputs, self.padding, (0, 0)))


class _Cropping(_Spatial):
    """The inside of the spatial dimensions."""

    def __init__(self, cropping: Any = 1, data_format: str | None = None, **options: Any) -> None:
        super().__init__(data_format, **options)
        self.cropping = _ends(type(self).__name__, "cropping", cropping, self.spatial)

    def call(self, inputs: Any) -> Tensor:
        """Return the cropped `inputs`."""
        ends = self._spread(inputs, self.cropping, (0, 0))
        if any(
            before + after >= n
            for (before, after), n in zip(ends, inputs.shape, strict=True)
            if before or after
        ):
            raise ValueError(
                f"layer {self.name!r}: cropping {self.cropping} leaves nothing of inputs of shape {tuple(inputs.shape)}"
            )
        result: Tensor = inputs[
            tuple([slice(before, n - after) for (before, after), n in zip(ends, inputs.shape, strict=True)])
        ]
        return result


class _UpSampling(_Spatial):
    """Each element repeated along the spatial dimensions."""

    _interpolations: ClassVar[tuple[str, ...]] = ("nearest",)

    def __init__(
        self, size: Any = 2, data_format: str | None = None, interpolation: str = "nearest", **options: Any
    ) -> None:
        super().__init__(data_format, **options)
        owner = type(self).__name__
        if interpolation not in self._interpolations:
            raise ValueError(
                f"[{owner}] interpolation must be {' or '.join(map(repr, self._interpolations))}, got "
                f"{interpolation!r}; other ones are missing: use a Conv2DTranspose"
            )
        sizes = tuple(size) if isinstance(size, Sequence) else (size,) * self.spatial
        if len(sizes) != self.spatial or min(as_int("size", n) for n in sizes) < 1:
            raise ValueError(f"[{owner}] size must be positive, one number or {self.spatial}, got {size!r}")
        self.size, self.interpolation = sizes, interpolation

    def call(self, inputs: Any) -> Tensor:
        """Return the enlarged `inputs`."""
        for axis, count in enumerate(self._spread(inputs, self.size, 1)):
            if count != 1:
                enlarge = repeat if self.interpolation == "nearest" else _interpolated
                inputs = enlarge(inputs, count, axis)
        result: Tensor = inputs
        return result


def _interpolated(x: Any, count: int, axis: int) -> Any:
    """Return `x` with `count` elements for each one along `axis`, on lines between the centers of its elements."""
    length = x.shape[axis]
    places = np.clip((np.arange(length * count) + 0.5) / count - 0.5, 0, length - 1)
    below = places.astype(np.int64)
    above = np.minimum(below + 1, length - 1)
    fractions = (places - below).reshape([-1 if i == axis else 1 for i in range(len(x.shape))])
    low, high = gather(x, below, axis=axis), gather(x, above, axis=axis)
    return add(low, multiply(subtract(high, low), constant(fractions, x.dtype)))


class ZeroPadding1D(_ZeroPadding):
    """Zeros before and after the spatial dimensions of sequences.

    Parameters
    ----------
    padding : int or sequence
        Number of zeros, at both ends of all dimensions; or for each dimension a number or a pair.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `padding` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.ZeroPadding1D()(jt.ones([1, 4, 1])).shape
    (1, 6, 1)
    """

    spatial = 1


class ZeroPadding2D(_ZeroPadding):
    """Zeros before and after the spatial dimensions of images.

    Parameters
    ----------
    padding : int or sequence
        Number of zeros, at both ends of all dimensions; or for each dimension a number or a pair.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `padding` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.ZeroPadding2D()(jt.ones([1, 4, 4, 1])).shape
    (1, 6, 6, 1)
    """

    spatial = 2


class ZeroPadding3D(_ZeroPadding):
    """Zeros before and after the spatial dimensions of volumes.

    Parameters
    ----------
    padding : int or sequence
        Number of zeros, at both ends of all dimensions; or for each dimension a number or a pair.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `padding` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.ZeroPadding3D()(jt.ones([1, 4, 4, 4, 1])).shape
    (1, 6, 6, 6, 1)
    """

    spatial = 3


class Cropping1D(_Cropping):
    """The inside of sequences.

    Parameters
    ----------
    cropping : int or sequence
        Number of elements cut off, at both ends of all dimensions; or for each dimension a number or a pair.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `cropping` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.Cropping1D()(jt.ones([1, 4, 1])).shape
    (1, 2, 1)
    """

    _left_out = "data_format"

    spatial = 1


class Cropping2D(_Cropping):
    """The inside of images.

    Parameters
    ----------
    cropping : int or sequence, default 0
        Number of elements cut off, at both ends of all dimensions; or for each dimension a number or a pair.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `cropping` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.Cropping2D(1)(jt.ones([1, 4, 4, 1])).shape
    (1, 2, 2, 1)
    """

    spatial = 2

    def __init__(self, cropping: Any = 0, data_format: str | None = None, **options: Any) -> None:
        super().__init__(cropping, data_format, **options)


class Cropping3D(_Cropping):
    """The inside of volumes.

    Parameters
    ----------
    cropping : int or sequence
        Number of elements cut off, at both ends of all dimensions; or for each dimension a number or a pair.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `cropping` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.Cropping3D()(jt.ones([1, 4, 4, 4, 1])).shape
    (1, 2, 2, 2, 1)
    """

    spatial = 3


class UpSampling1D(_UpSampling):
    """Each element of sequences repeated along the spatial dimensions.

    Parameters
    ----------
    size : int or sequence
        Number of repetitions, for all dimensions or for each.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `size` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.UpSampling1D()(jt.ones([1, 4, 1])).shape
    (1, 8, 1)
    """

    _left_out = "data_format interpolation"

    spatial = 1


class UpSampling2D(_UpSampling):
    """Each element of images repeated along the spatial dimensions, or values between them.

    Parameters
    ----------
    size : int or sequence
        Number of repetitions, for all dimensions or for each.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    interpolation : {"nearest", "bilinear"}
        Whether elements are repeated, or new ones lie on lines between their centers.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `size` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.UpSampling2D()(jt.ones([1, 4, 4, 1])).shape
    (1, 8, 8, 1)
    """

    _interpolations = ("nearest", "bilinear")
    spatial = 2


class UpSampling3D(_UpSampling):
    """Each element of volumes repeated along the spatial dimensions.

    Parameters
    ----------
    size : int or sequence
        Number of repetitions, for all dimensions or for each.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `size` does not fit the dimensions.

    Examples
    --------
    >>> jt.keras.layers.UpSampling3D()(jt.ones([1, 4, 4, 4, 1])).shape
    (1, 8, 8, 8, 1)
    """

    _left_out = "interpolation"

    spatial = 3
