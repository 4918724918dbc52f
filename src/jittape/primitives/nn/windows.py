"""Windows that slide over the spatial dimensions of an array, for convolutions and pooling.

Arrays have the dimensions (batch, spatial..., channels). A *tap* is the part of the array that one position of the
window sees, a strided slice. Convolutions and pooling combine the taps; compiled, one loop nest reads all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jittape.core.symbolic.extent_functions import is_always
from jittape.core.user_calls import as_array, shown
from jittape.errors import InvalidArgumentError, ShapeError
from jittape.primitives.key_structure import Region
from jittape.primitives.shape.reshaping import hashable
from jittape.primitives.shape.views import pad_op, permuted, placed, slice_op

__all__ = [
    "Layout",
    "Padding",
    "Sliding",
    "Windows",
    "layout_of",
    "padding_of",
    "per_dimension",
    "sliding_of",
]

Padding = str | tuple[tuple[int, int], ...]
"""``"SAME"``, ``"VALID"``, or the number of elements before and after each spatial dimension."""


class Layout(NamedTuple):
    """Position of the channels: behind the spatial dimensions, or before them."""

    spatial: int
    channels_first: bool

    def to_last(self, x: Any) -> Any:
        """Return `x` with the channels behind the spatial dimensions."""
        return permuted(x, (0, *range(2, self.spatial + 2), 1)) if self.channels_first else x

    def from_last(self, x: Any) -> Any:
        """Return `x`, whose channels are last, in this layout."""
        return permuted(x, (0, self.spatial + 1, *range(1, self.spatial + 1))) if self.channels_first else x


def layout_of(op: str, data_format: str | None, spatial: int) -> Layout:
    """Return the layout that ``"NHWC"``, ``"NCHW"`` and so on name."""
    letters = "DHW"[3 - spatial :]
    last, first = f"N{letters}C", f"NC{letters}"
    if data_format is not None and not (isinstance(data_format, str) and data_format in (last, first)):
        raise InvalidArgumentError(
            f"[{op}] data_format must be {last!r} or {first!r}, got {shown(data_format)}"
        )
    return Layout(spatial, data_format == first)


_OPTIONAL = ("strides", "dilations", "dilation_rate")
"""Arguments whose default None means 1."""


def per_dimension(op: str, name: str, value: Any, layout: Layout, least: int = 1) -> tuple[int, ...]:
    """Return an argument such as `strides` for each spatial dimension; each is at least `least`.

    It may be one int, one for each spatial dimension, or one for each dimension of the input.
    """
    spatial = layout.spatial
    given = hashable(1 if value is None and name in _OPTIONAL else value)
    numbers = given if isinstance(given, tuple) else (given,)
    if len(numbers) == spatial + 2:
        channels = 1 if layout.channels_first else spatial + 1
        if numbers[0] != 1 or numbers[channels] != 1:
            raise InvalidArgumentError(
                f"[{op}] {name} of the batch and of the channels must be 1, got {value!r}"
            )
        numbers = numbers[2:] if layout.channels_first else numbers[1:-1]
    if len(numbers) == 1:
        numbers *= spatial
    if len(numbers) != spatial:
        raise ValueError(f"[{op}] {name} must have 1, {spatial} or {spatial + 2} entries, got {value!r}")
    if not all(isinstance(n, int) and n >= least for n in numbers):
        raise InvalidArgumentError(f"[{op}] {name} must be ints of at least {least}, got {value!r}")
    return numbers


def padding_of(op: str, padding: Any, layout: Layout) -> Padding:
    """Return `padding` in its hashable form; explicit padding names every dimension of the input."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise InvalidArgumentError(
                f"[{op}] padding must be 'SAME', 'VALID' or a list of pairs, got {padding!r}"
            )
        return padding.upper()
    if padding is None:
        raise TypeError(f"[{op}] padding must be 'SAME', 'VALID' or a list of pairs, got None")
    pairs = as_array("padding", padding)
    spatial = layout.spatial
    if pairs.shape != (spatial + 2, 2) or pairs.dtype.kind != "i" or pairs.min() < 0:
        raise InvalidArgumentError(
            f"[{op}] explicit padding must have a pair of ints of at least 0 for each of the {spatial + 2} dimensions, "
            f"got {padding!r}"
        )
    channels = 1 if layout.channels_first else spatial + 1
    if pairs[0].any() or pairs[channels].any():
        raise InvalidArgumentError(f"[{op}] the batch and the channels cannot be padded, got {padding!r}")
    inner = pairs[2:] if layout.channels_first else pairs[1:-1]
    return tuple([(int(before), int(after)) for before, after in inner])


class Sliding(NamedTuple):
    """How windows move over the spatial dimensions."""

    strides: tuple[int, ...]
    padding: Padding
    dilations: tuple[int, ...]


def sliding_of(op: str, strides: Any, padding: Any, dilations: Any, layout: Layout) -> Sliding:
    """Return the arguments of a user's call in their hashable form."""
    return Sliding(
        per_dimension(op, "strides", strides, layout),
        padding_of(op, padding, layout),
        per_dimension(op, "dilations", dilations, layout),
    )


class Windows(NamedTuple):
    """Windows over an array of known size.

    Attributes
    ----------
    extents, kernel, outputs : tuple of int
        Number of elements of the array, of a window, and of windows along each spatial dimension.
    strides, dilations : tuple of int
        Distance of neighboring windows, and of neighboring elements of a window.
    padding : tuple of (int, int)
        Elements that are added before and after the array.
    """

    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    outputs: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    @classmethod
    def over(cls, op: str, extents: Sequence[int], kernel: Sequence[int], sliding: Sliding) -> Windows:
        """Return the windows of size `kernel` over `extents`.

        With ``"SAME"`` there are ``ceil(extent / stride)`` windows, and the padding is divided equally, as in
        TensorFlow; if it is odd, there is one more element behind the array. There are no windows if up to two strides
        are missing for the first one, and more is an error: TensorFlow rounds their number toward zero.
        """
        strides, padding, dilations = sliding
        outputs, pairs = [], []
        for axis, (n, k, stride, dilation) in enumerate(
            zip(extents, kernel, strides, dilations, strict=True)
        ):
            reach = (k - 1) * dilation + 1
            if padding == "SAME":
                count = -(-n // stride)
                total = max((count - 1) * stride + reach - n, 0)
                before, after = total // 2, total - total // 2
            else:
                before, after = (0, 0) if isinstance(padding, str) else padding[axis]
                room = n + before + after - reach
                count = room // stride + 1
                if count < 1:
                    if room <= -2 * stride:
                        raise ShapeError(
                            f"[{op}] a window of {k} elements with dilation {dilation} does not fit into spatial "
                            f"dimension {axis} of {n} elements; padding='SAME' adds zeros"
                        )
                    count = 0
            outputs.append(count)
            pairs.append((before, after))
        return cls(tuple(extents), tuple(kernel), tuple(outputs), strides, dilations, tuple(pairs))

    @property
    def is_identity(self) -> bool:
        """Return whether each window is one element, and there is one for each element."""
        ones = (1,) * len(self.extents)
        return self.kernel == ones and self.outputs == self.extents and self.strides == ones

    @property
    def is_padded(self) -> bool:
        """Return whether a window reaches beyond the array."""
        return any(any(pair) for pair in self.padding)

    def pad(self, x: Any) -> Any:
        """Return `x` with zeros around its spatial dimensions."""
        shape = x.shape
        sizes = [before + n + after for n, (before, after) in zip(self.extents, self.padding, strict=True)]
        offsets = [before for before, _ in self.padding]
        return placed(x, (0, *offsets, 0), (shape[0], *sizes, shape[-1]))

    def regions(self, of_elements: bool = False) -> Iterator[Region]:
        """Yield the part of the padded array that each position of the window sees.

        With `of_elements`, yield only parts with elements of the array: a window much larger than it has few of them.
        """
        axes = tuple(range(1, len(self.kernel) + 1))
        starts = [
            [0] * k if is_always(0, count) else range(0, k * d, d)  # the empty parts begin inside the array
            for k, d, count in zip(self.kernel, self.dilations, self.outputs, strict=True)
        ]
        if of_elements:
            starts = [self._starts_at_elements(axis, found) for axis, found in enumerate(starts)]
        for offsets in itertools.product(*starts):
            yield Region(axes, offsets, self.outputs, self.strides)

    def _starts_at_elements(self, axis: int, starts: range | list[int]) -> range | list[int]:
        if isinstance(starts, list):
            return starts[:1]
        before, last = self.padding[axis][0], (self.outputs[axis] - 1) * self.strides[axis]
        seen = [s for s in starts if s < before + self.extents[axis] and s + last >= before]
        return range(seen[0], seen[-1] + 1, starts.step) if seen else starts

    def taps(self, padded: Any, of_elements: bool = False) -> list[Any]:
        """Return the taps of a padded array, each of shape ``(batch, *outputs, channels)``; see `regions`."""
        return [slice_op.bind(padded, region=region) for region in self.regions(of_elements)]

    def spread(self, taps: Sequence[Any]) -> list[Any]:
        """Return each tap at its place in zeros of the padded shape; their sum is the adjoint of `taps`."""
        batch, channels = taps[0].shape[0], taps[0].shape[-1]
        sizes = [before + n + after for n, (before, after) in zip(self.extents, self.padding, strict=True)]
        shape = (batch, *sizes, channels)
        return [pad_op.bind(tap, region=r, shape=shape) for tap, r in zip(taps, self.regions(), strict=True)]

    def crop(self, padded: Any) -> Any:
        """Return a padded array without its padding."""
        axes = tuple(range(1, len(self.extents) + 1))
        before = tuple([pair[0] for pair in self.padding])
        return slice_op.bind(padded, region=Region(axes, before, self.extents, (1,) * len(axes)))
