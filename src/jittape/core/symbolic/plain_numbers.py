"""The plain numbers of a program, which its extents must differ from."""

from __future__ import annotations

from typing import Any

from jittape.core.forms import Control
from jittape.core.program import Body, Op, Program

__all__ = ["numbers_of"]


def numbers_of(program: Program, products: bool = False) -> set[Any]:
    """Return the plain numbers of a program, from which extents must differ to be in general position.

    With `products`, these are also the extents of dimensions that loops may join.
    """
    found: set[Any] = {0, 1, 2}
    for aval in program.avals.values():
        product = 1
        for n in aval.shape:
            if type(n) is int:
                product *= n
                found.update((n, product) if products else (n,))
    for op in program.ops:
        found.update(_numbers_in(op, products))
    return found


def _numbers_in(op: Op, products: bool) -> set[Any]:
    """Return the plain numbers among the parameters of an op, and those of its bodies."""
    found: set[Any] = set()
    # The slots and the numbers of results among the parameters of a loop are no extents.
    is_loop = isinstance(op.primitive.lowering, Control)
    names = {"body", "bodies", "trips", "limit"} if is_loop else {name for name, _ in op.params}
    waiting: list[Any] = [value for name, value in op.params if name in names]
    while waiting:
        value = waiting.pop()
        if type(value) in (int, float):
            found.add(value)
        elif isinstance(value, tuple):
            waiting += value
        elif isinstance(value, Body):
            found |= numbers_of(value.program, products)
    return found
