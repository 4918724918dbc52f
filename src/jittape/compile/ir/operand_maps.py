"""Index maps of ops: the operand elements that an element of the result depends on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jittape.compile.ir.index_maps import (
    EVERYWHERE,
    Access,
    Condition,
    Position,
    Quotient,
    affine_of_alias,
    element_of,
    identity,
    placed,
    unrolled,
    viewed,
)
from jittape.core.forms import Alias, DynamicUpdateSlice, Index, Iota, Map, Pad, Reduce, Scatter, View
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op

__all__ = ["Key", "dynamic_keys", "index_of", "operand_accesses", "scattered_to"]

Key = tuple[int, Access]
"""A slot and an access: an element of the slot's value."""


def operand_accesses(
    op: Op, access: Access, avals: Mapping[int, Aval], extents: tuple[int, ...]
) -> tuple[Key, ...]:
    """Return the elements that an element of the result of an inlined `op` depends on."""
    form = op.primitive.lowering
    if isinstance(form, Map):
        return tuple([(slot, access) for slot in op.args])
    if isinstance(form, Iota):
        return ()
    first = 1 if isinstance(form, DynamicUpdateSlice) else 0
    slot, starts = op.args[first], op.args[first + 1 :]
    moved, extra = _moved(op.primitive, op.params, avals[slot], avals[op.out], starts, access, extents)
    keys = (*[(slot, inner) for inner in moved], *extra)
    return ((op.args[0], access), *keys) if first else keys


@lru_cache(4096)
def _moved(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    operand: Aval,
    result: Aval,
    starts: tuple[int, ...],
    access: Access,
    extents: tuple[int, ...],
) -> tuple[tuple[Access, ...], tuple[Key, ...]]:
    """Return the accesses to the array that an op moves, and the elements that are its indices."""
    form = primitive.lowering
    if isinstance(form, Alias):
        return (affine_of_alias(access, result.shape, operand.shape),), ()
    if isinstance(form, Reduce):
        return tuple(unrolled(access, operand.shape, dict(params)["axes"])), ()
    index = index_of(primitive, params, operand, result)
    if isinstance(form, View):
        args = (-1, *starts)
        elements = [(args[i.dynamic], element_of(access, i.at)) for i in index if i.dynamic is not None]
        return (viewed(access, index, operand.shape, args),), tuple(elements)
    args = (-1, *starts) if isinstance(form, Pad) else (-1, -1, *starts)
    elements = [(slot, EVERYWHERE) for slot in starts]
    return (placed(access, index, operand.shape, args, extents),), tuple(elements)


@lru_cache(4096)
def index_of(
    primitive: Primitive, params: tuple[tuple[str, Any], ...], operand: Aval, result: Aval
) -> tuple[Index, ...]:
    """Return the index map of a view from its operand, or of a placed operand into the result."""
    form = primitive.lowering
    assert isinstance(form, View | Pad | DynamicUpdateSlice), form
    return form.index(operand, result, **dict(params))


def scattered_to(op: Op, avals: Any) -> tuple[Access, tuple[Key, ...]]:
    """Return the access by which a `Scatter` writes, in the nest over its second operand, and its index elements."""
    form = op.primitive.lowering
    assert isinstance(form, Scatter), form
    values, result = avals[op.args[1]], avals[op.out]
    index = form.index(values, result, **dict(op.params))
    place = viewed(identity(values.shape), index, result.shape, op.args)
    return place, dynamic_keys(place.positions, ())


@lru_cache(4096)
def dynamic_keys(positions: tuple[Position, ...], conditions: tuple[Condition, ...]) -> tuple[Key, ...]:
    """Return the elements that an address or its conditions read as indices."""
    keys: dict[Key, None] = {}
    todo = [*positions, *[c.numerator for c in conditions]]
    while todo:
        position = todo.pop()
        if isinstance(position.variable, Quotient):
            todo.append(position.variable.numerator)
        keys.update({element: None for element, _ in position.dynamic})
    return tuple(keys)
