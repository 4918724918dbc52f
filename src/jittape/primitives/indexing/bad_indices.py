"""The policy of `gather_nd`, `scatter_nd` and their relatives for indices that are out of range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.errors import InvalidArgumentError
from jittape.primitives.broadcast import to_shape
from jittape.primitives.elementwise.comparison import greater_equal, less, logical_and, where

__all__ = ["ignores_bad_indices", "valued_within", "within"]


def ignores_bad_indices(op: str, policy: str) -> bool:
    """Return whether `policy` is to ignore indices out of range.

    Raises
    ------
    InvalidArgumentError
        If there is no such policy.
    """
    if not isinstance(policy, str) or policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(
            f"[{op}] bad_indices_policy must be 'ERROR' or 'IGNORE', or '' for 'ERROR', got {policy!r}"
        )
    return policy == "IGNORE"


def within(coordinates: Sequence[Any], shape: Sequence[int]) -> tuple[Any, list[Any]]:
    """Return a mask of the coordinates that lie within an array of `shape`, and coordinates with 0 for the others."""
    inside: Any = None
    for indices, extent in zip(coordinates, shape, strict=False):
        fits = logical_and(greater_equal(indices, 0), less(indices, extent))
        inside = fits if inside is None else logical_and(inside, fits)
    return inside, [where(inside, indices, 0) for indices in coordinates]


def valued_within(inside: Any, values: Any) -> Any:
    """Return `values`, an element or slice for each element of the mask `inside`, with 0 where that is false."""
    dims = len(values.shape) - len(inside.shape)
    return where(to_shape(inside, (*inside.shape, *[1] * dims)), values, 0)
