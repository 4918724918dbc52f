"""Array names that a branch binds, as in ``if c: x = a else: x = b``: memory of their own, which each side fills.

In Python, the name then refers to one of two arrays. Its memory may be written only if no other name refers to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from jittape.numba_ad.lower.array_names import is_live, is_shared
from jittape.numba_ad.lower.build_ir import Builder
from jittape.numba_ad.lower.whole_arrays import assign
from jittape.numba_ad.scalar_rules import BINARY, FUNCTIONS
from jittape.numba_ad.structured_ir import Array, Block, Constant, Dim, Op, Root, Value, View

__all__ = ["is_inside", "merged_arrays"]

_PURE = (*[BINARY[name] for name in ("Add", "Sub", "Mult")], FUNCTIONS[min], FUNCTIONS[max])
"""Rules of operations on sizes that may run before the branch."""


def merged_arrays(
    lowering: Any, sides: list[tuple[Block, dict[str, Any]]], no_value: Callable[[Any], bool]
) -> dict[str, Array]:
    """Return memory for the names that are different arrays on the sides of a branch and may be read later.

    The statements that write it are appended to the blocks of the sides. Names whose sizes are not known before the
    branch are left out.
    """
    found: dict[str, Array] = {}
    if len(sides) < 2:
        return found
    builder = lowering.builder
    for name in dict.fromkeys([name for _, variables in sides for name in variables]):
        values = [variables.get(name) for _, variables in sides]
        used = [side for side, value in zip(sides, values, strict=True) if isinstance(value, Array)]
        if not used or values[0] is values[1] or not is_live(lowering.frame, name):
            continue
        unset = any(getattr(value, "unset", False) for value in values)
        if (
            len(used) == 1
            and not unset
            and (builder.block.loop is not None or not any(map(no_value, values)))
        ):
            continue
        pairs = [(block, variables[name]) for block, variables in used]
        kinds = {(array.type.dtype, array.type.ndim) for _, array in pairs}
        sizes = _sizes(builder, pairs) if len(kinds) == 1 else None
        if sizes is not None:
            origins = [one for _, variables in used for one in _origins(lowering, name, variables)]
            found[name] = _memory(builder, name, pairs, sizes)
            found[name].root.origins = tuple(origins)
    return found


def _origins(lowering: Any, name: str, variables: dict[str, Any]) -> tuple[tuple[Root, int], ...]:
    """Return the memory that other names may refer to if `name` has its value on one side of the branch."""
    frame, root = lowering.frame, variables[name].root
    before, frame.variables = frame.variables, variables
    shared = is_shared(frame, root, name)
    frame.variables = before
    return (*root.origins, (root, root.epoch)) if shared else ()


def _memory(builder: Builder, name: str, pairs: list[tuple[Block, Array]], sizes: list[Any]) -> Array:
    """Append the allocation, and a copy at the end of each side."""
    layouts = {array.type.layout for _, array in pairs}
    memory = builder.alloc(name, pairs[0][1].type.dtype, sizes, layout=min(layouts))
    if len(layouts) > 1:  # Numba's array has no known order, so that a ravel copies it
        memory.type = memory.type.copy(layout="A")
    for block, array in pairs:
        builder.inside(block, partial(_copy, builder, name, memory, array, sizes))
    return memory


def _copy(builder: Builder, name: str, memory: Array, array: Array, sizes: list[Any]) -> None:
    where = builder.where
    message = (
        f"{where.file}:{where.line}: the array {name.strip('%')} has another shape on another path (gradients need "
        "one)"
    )
    for axis, size in enumerate(sizes):
        own = builder.dim(array, axis)
        if own is not size and not (
            isinstance(own, Constant) and isinstance(size, Constant) and own.value == size.value
        ):
            builder.effect(f"if {{0}} != {{1}}: raise ValueError({message!r})", [own, size])
    assign(builder, memory, array)


def _sizes(builder: Builder, pairs: list[tuple[Block, Array]]) -> list[Any] | None:
    """Return the sizes of one of the arrays, computed before the branch; None if no array has such sizes."""
    for block, array in pairs:
        found: list[Any] = []
        for axis in range(array.type.ndim):
            size = array.dims[axis] if array.dims and is_inside(array.block, block) else None
            known = None if size is None else _before(builder, block, size)
            found.append(_size_before(builder, block, array, axis) if known is None else known)
        if None not in found:
            return found
    return None


def _before(builder: Builder, block: Block, size: Any) -> Any:
    """Return a size that a side of the branch computes, computed before the branch; None if that is impossible."""
    if isinstance(size, Constant) or (isinstance(size, Value) and not is_inside(size.block, block)):
        return size
    statement = getattr(size, "statement", None)
    if isinstance(statement, Dim):
        return _size_before(builder, block, statement.array, statement.axis)
    if isinstance(statement, Op) and (statement.rule in _PURE or _is_division(statement)):
        operands = [_before(builder, block, x) for x in statement.operands]
        return None if None in operands else builder.op(statement.rule, operands)
    return None


def _is_division(statement: Op) -> bool:
    """Return whether a statement divides ints by a number that is not zero."""
    if statement.rule not in (BINARY["FloorDiv"], BINARY["Mod"]):
        return False
    divisor = statement.operands[1]
    return isinstance(divisor, Constant) and divisor.value != 0


def _size_before(builder: Builder, block: Block, array: Array, axis: int) -> Any:
    """Return the size of an array along an axis, computed before the branch; None if that is impossible."""
    found = _with_size(builder, block, array, axis)
    return None if found is None else builder.dim(*found)


def _with_size(builder: Builder, block: Block, array: Array, axis: int) -> tuple[Array, int] | None:
    """Return an array from before the branch, and its axis that has the size of an axis of `array`."""
    if not is_inside(array.block, block):
        return array, axis
    view = array.statement
    if not isinstance(view, View):
        return None
    if view.template == ".T":
        return _with_size(builder, block, view.base, array.type.ndim - 1 - axis)
    if not view.template.startswith("[") or "None" in view.template:
        return None
    # Without the ints among the indices, which may be out of bounds if this side does not run.
    parts = [*enumerate(view.template[1:-1].split(", "))]
    slices = [(own, part) for own, part in parts if ":" in part]
    slices += [(own, ":") for own in range(len(parts), view.base.type.ndim)]
    own, bounds = slices[axis]
    found = _with_size(builder, block, view.base, own)
    if found is None or not bounds.strip(":"):
        return found
    used = [int(number) for number in re.findall(r"\d+", bounds)]
    operands = [_before(builder, block, view.operands[k]) for k in used]
    if None in operands:
        return None
    base, axis = found
    names = {k: f"{{{place}}}" for place, k in enumerate(used)}
    bounds = bounds.format(*[names.get(k) for k in range(len(view.operands))])
    kind = base.type.copy(layout="A")
    return builder.view(base, f"[{':, ' * axis}{bounds}]", operands, kind, [None] * kind.ndim), axis


def is_inside(block: Block | None, outer: Block) -> bool:
    """Return whether `block` is `outer` or a block inside it."""
    while block is not None:
        if block is outer:
            return True
        block = block.parent
    return False
