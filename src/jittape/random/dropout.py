"""Dropout."""

from __future__ import annotations

from typing import Any

from jittape.core.dtypes import is_floating
from jittape.core.user_calls import as_float
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import greater_equal, where
from jittape.random.stateful import uniform
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor

__all__ = ["dropout", "dropped"]


def dropout(
    x: Any, rate: float, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Set a random fraction `rate` of the elements to 0 and scale the others up to preserve the expected sum.

    Parameters
    ----------
    x : tensor-like
        Of a floating dtype.
    rate : float
        From 0 to less than 1.
    noise_shape : sequence of int or None, optional
        Shape of the random mask, which broadcasts to the shape of `x`; by default that of `x`. None in a shape with an
        entry for each dimension is the extent of `x`.
    seed : int, optional
        Seed of a separate generator.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        For a rate out of range.
    TypeError
        For a dtype that is not floating.

    Examples
    --------
    >>> import jittape as jt
    >>> kept = jt.nn.dropout(jt.ones([1000]), rate=0.5)
    >>> sorted(set(kept.tolist()))
    [0.0, 2.0]
    """
    share = as_float("rate", rate)
    if not 0 <= share < 1:
        raise ValueError(f"[dropout] rate must be at least 0 and less than 1, got {rate}")
    values = x if isinstance(x, Operators) else convert_to_tensor(x)
    if not is_floating(values.aval.dtype):
        raise DTypeError(f"[dropout] x must have a floating dtype, got {values.dtype.name}; cast it first")
    extents = values.shape if noise_shape is None else _mask_shape(values.shape, noise_shape)
    draw = uniform(extents, dtype=values.dtype, seed=seed)
    return dropped(values, share, draw)


def _mask_shape(shape: Any, noise_shape: Any) -> Any:
    """Return the shape of a mask with the extents of `shape` in place of None.

    Raises
    ------
    ShapeError
        Unless a mask of this shape broadcasts to `shape`. `uniform` raises the other errors.
    """
    given = getattr(noise_shape, "tolist", lambda: noise_shape)()
    if not isinstance(given, (list, tuple)) or not all(n is None or isinstance(n, int) for n in given):
        return noise_shape
    pairs = zip(reversed(given), reversed(tuple(shape)), strict=False)
    has_open = None in given
    if (
        len(given) > len(shape)
        or (has_open and len(given) < len(shape))
        or any(m not in (1, None, n) for m, n in pairs)
    ):
        raise ShapeError(
            f"[dropout] noise_shape {tuple(given)} must broadcast to the shape {tuple(shape)} of x: give 1 or the "
            "length for each dimension"
        )
    return [n if m is None else m for m, n in zip(given, shape, strict=True)] if has_open else noise_shape


def dropped(values: Any, share: float, draw: Any) -> Tensor:
    """Return `values` with 0 where `draw`, which is uniform in [0, 1), is less than `share`; the others scaled up."""
    return where(greater_equal(draw, share), multiply(values, 1 / (1 - share)), 0)
