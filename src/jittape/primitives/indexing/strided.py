"""strided_slice: indexing with TensorFlow's masks."""

from __future__ import annotations

from typing import Any

from jittape.core.user_calls import as_int, named
from jittape.errors import ShapeError
from jittape.primitives.identity import identity
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.shape.reshaping import as_shape, shape_of
from jittape.typing import Tensor, TensorLike

__all__ = ["strided_slice"]


def strided_slice(
    input_: TensorLike,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: None = None,
    name: str | None = None,
) -> Tensor:
    """Return the part of `input_` from `begin` to before `end` in steps of `strides`, as ``input_[key]`` does.

    Entry `i` of `begin`, `end` and `strides` describes entry `i` of the key: a slice, unless bit `i` of a mask is set.

    Parameters
    ----------
    input_ : tensor_like
        The source. The gradient flows back to the selected elements.
    begin, end : sequence of int
        Bounds, of equal length. Negative bounds count from the end.
    strides : sequence of int, optional
        Steps, which are not 0; 1 by default.
    begin_mask, end_mask : int
        Bits of the entries whose `begin` or `end` is ignored: the slice extends to the end of the dimension.
    ellipsis_mask : int
        The bit of the entry that stands for ``...``.
    new_axis_mask : int
        Bits of the entries that stand for ``jt.newaxis``.
    shrink_axis_mask : int
        Bits of the entries that stand for the index `begin`, which removes the dimension.
    var : None
        Not supported: assign to ``variable[key]`` instead.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If lengths differ, a step is 0, or `ellipsis_mask` has several bits.
    IndexError
        If an index is out of range or there are too many entries.

    Examples
    --------
    >>> x = jt.constant([[1, 2, 3], [4, 5, 6]])
    >>> jt.strided_slice(x, [1, 0], [2, 3], [1, 2]).numpy()
    array([[4, 6]], dtype=int32)
    >>> jt.strided_slice(x, [0, 1], [0, 0], shrink_axis_mask=2, begin_mask=1, end_mask=1).numpy()
    array([2, 5], dtype=int32)
    """
    if var is not None:
        raise named(TypeError("var is not supported; write `variable[key].assign(value)`"))
    starts, ends = as_shape("strided_slice", begin), as_shape("strided_slice", end)
    steps = (1,) * len(starts) if strides is None else as_shape("strided_slice", strides)
    if not len(starts) == len(ends) == len(steps):
        raise named(ShapeError(f"begin {starts}, end {ends} and strides {steps} must have equal lengths"))
    masks = {
        "begin": as_int("begin_mask", begin_mask),
        "end": as_int("end_mask", end_mask),
        "ellipsis": as_int("ellipsis_mask", ellipsis_mask),
        "new_axis": as_int("new_axis_mask", new_axis_mask),
        "shrink_axis": as_int("shrink_axis_mask", shrink_axis_mask),
    }
    if masks["ellipsis"] & (masks["ellipsis"] - 1):
        raise named(
            ValueError(f"ellipsis_mask must have at most one bit, got {masks['ellipsis']:b} in binary")
        )
    parts = zip(starts, ends, steps, strict=True)
    key = tuple(
        [_entry(*part, {n: bool(m >> i & 1) for n, m in masks.items()}) for i, part in enumerate(parts)]
    )
    plain = isinstance(input_, (list, tuple, bool, int, float, complex))
    source = identity(input_) if plain else input_
    shape_of(source)
    try:
        return getitem(source, key)
    except IndexError as error:
        raise named(error) from None


def _entry(start: int, end: int, step: int, bits: dict[str, bool]) -> Any:
    """Return the entry of a key that one entry of `begin`, `end` and `strides` stands for."""
    if bits["ellipsis"]:
        return Ellipsis
    if bits["new_axis"]:
        return None
    if step == 0 or (step < 0 and bits["shrink_axis"]):
        wanted = "must be positive for an index" if bits["shrink_axis"] else "must not be 0"
        raise named(ValueError(f"strides {wanted}, got {step}"))
    if bits["shrink_axis"]:
        return start
    return slice(None if bits["begin"] else start, None if bits["end"] else end, step)
