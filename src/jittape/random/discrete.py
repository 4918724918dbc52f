"""Permutations and classes, whichever source the state comes from. See `continuous`."""

from __future__ import annotations

from typing import Any

from jittape.core.primitive import apply
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.sorting import argsort
from jittape.random.continuous import Take
from jittape.random.coordinates import bits
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor

__all__ = ["draw_shuffle"]


def _shuffled(state: Any, rows: Any) -> Any:
    """Order the rows by 64 random bits each; the chance of a tie among n rows is n**2 / 2**65."""
    rows = as_symbol(rows)
    return gather(rows, argsort(bits(state, rows.shape[:1])), axis=0)


def draw_shuffle(op: str, take: Take, value: Any) -> Tensor:
    """Return the rows of `value` in random order."""
    rows = convert_to_tensor(value)
    if not rows.ndim:
        raise ShapeError(f"[random.{op}] a 0-d value has no rows")
    return apply(_shuffled, (take(rows.shape[0]), rows))
