"""What an element of an op's result is made from: elements of its operands, and those that say where these stand."""

from __future__ import annotations

from typing import Any

from jittape.compile.indexing import (
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
from jittape.forms import Alias, Coordinate, Map, Overlay, Place, Reduce, Scatter, View
from jittape.program import Op

__all__ = ["Key", "dynamic_keys", "operand_accesses", "scattered_to"]

Key = tuple[int, Access]
"""An element of the value of a slot."""


def operand_accesses(
    op: Op, access: Access, avals: Any, extents: tuple[int, ...]
) -> tuple[tuple[int, Access], ...]:
    """The (slot, access) pairs that an element of the result of an inlined `op` is made from."""
    form = op.primitive.form
    if isinstance(form, Map):
        return tuple([(slot, access) for slot in op.args])
    if isinstance(form, Coordinate):
        return ()
    params = dict(op.params)
    result = avals[op.out]
    if isinstance(form, Overlay):
        index = form.index(avals[op.args[1]], result, **params)
        over = placed(access, index, avals[op.args[1]].shape, op.args, extents)
        starts = [(slot, EVERYWHERE) for slot in op.args[2:]]
        return ((op.args[0], access), (op.args[1], over), *starts)
    operand = avals[op.args[0]]
    if isinstance(form, Alias):
        return ((op.args[0], affine_of_alias(access, result.shape, operand.shape)),)
    if isinstance(form, Reduce):
        return tuple([(op.args[0], inner) for inner in unrolled(access, operand.shape, params["axes"])])
    index = form.index(operand, result, **params)  # type: ignore[union-attr]
    if isinstance(form, View):
        inner = viewed(access, index, operand.shape, op.args)
        extra = tuple(
            [(op.args[i.dynamic], element_of(access, i.at)) for i in index if i.dynamic is not None]
        )
    else:
        assert isinstance(form, Place), form
        inner = placed(access, index, operand.shape, op.args, extents)
        extra = tuple([(slot, EVERYWHERE) for slot in op.args[1:]])
    return ((op.args[0], inner), *extra)


def scattered_to(op: Op, avals: Any) -> tuple[Access, list[Key]]:
    """Where the nest over the second operand of a `Scatter` writes, and the elements that say so."""
    form = op.primitive.form
    assert isinstance(form, Scatter), form
    values, result = avals[op.args[1]], avals[op.out]
    index = form.index(values, result, **dict(op.params))
    place = viewed(identity(values.shape), index, result.shape, op.args)
    return place, dynamic_keys(place.positions, ())


def dynamic_keys(positions: tuple[Position, ...], conditions: tuple[Condition, ...]) -> list[Key]:
    """The scalars and elements that an address adds."""
    keys: dict[Key, None] = {}
    todo = [*positions, *[c.numerator for c in conditions]]
    while todo:
        position = todo.pop()
        if isinstance(position.variable, Quotient):
            todo.append(position.variable.numerator)
        keys.update({element: None for element, _ in position.dynamic})
    return list(keys)
