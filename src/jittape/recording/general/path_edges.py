"""The edges of a path in the trie, and what two paths have in common that differ in extents only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape.core.program import Aval, Body, Program
from jittape.core.symbolic.extents import applied
from jittape.errors import ProgramError
from jittape.recording.trie import Node
from jittape.recording.trie_insertion import Marker

__all__ = [
    "Edge",
    "are_in_trie",
    "edges_to",
    "is_same_content",
    "key_with",
    "skeleton_of",
    "value_with",
    "varying_ints",
]

Edge = tuple[tuple[Any, ...], Node]
"""The key of a call or gradient, and the node that it leads to."""


def edges_to(node: Node) -> list[Edge]:
    """Return the edges from the root to `node`; none if one of them was pruned."""
    edges: list[Edge] = []
    while (parent := node.parent) is not None:
        key = _key_of(parent, node)
        if key is None:
            return []
        edges.append((key, node))
        node = parent
    edges.reverse()
    return edges


def _key_of(parent: Node, node: Node) -> tuple[Any, ...] | None:
    """Return the key of a child, without a copy of what may be 100,000 children."""
    while True:
        try:  # a path that was just recorded is the last child everywhere
            return next((key for key, child in reversed(parent.children.items()) if child is node), None)
        except RuntimeError:  # another thread has recorded meanwhile
            continue


def are_in_trie(edges: Sequence[Edge]) -> bool:
    """Return whether none of the edges of a path was pruned."""
    return all([node.parent is not None and node.parent.children.get(key) is node for key, node in edges])


def skeleton_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the part of a key that calls with arrays of other lengths share."""
    if isinstance(key[0], str):  # a gradient: slots and positions
        return key
    operands = [
        (len(part.aval.shape), part.aval.dtype, part.trainable) if part.__class__ is Marker else part
        for part in key[2:]
    ]
    return (key[0], _without_ints(key[1]), *operands)


def _without_ints(value: Any, kinds: tuple[type, ...] = (int,)) -> Any:
    """Return a parameter with types in place of its ints; in a body, also in place of floats, such as a count."""
    if _is_plain_tuple(value):
        return (type(value), *[_without_ints(item, kinds) for item in value])
    if value.__class__ is Body:
        return (Body, _without_ints(_parts_of(value), (int, float)))
    return type(value) if type(value) in kinds else (type(value), value)


def _parts_of(body: Body) -> tuple[Any, ...]:
    """Return the contents of a body, without the source lines."""
    program = body.program
    return (
        program.inputs,
        tuple([op[:4] for op in program.ops]),
        program.outputs,
        tuple(program.avals.items()),
    )


def _is_plain_tuple(value: Any) -> bool:
    """Return whether `value` is a tuple or a named tuple; a `TensorShape` of unknown rank has no items."""
    return type(value) is tuple or hasattr(value, "_fields")


def key_with(
    first: tuple[Any, ...],
    second: tuple[Any, ...],
    number: Callable[[int, int], Any],
    body_of: Callable[[Program], Any] = Body.of,
) -> tuple[Any, ...]:
    """Return a key with ``number(a, b)`` in place of the ints `a` and `b` that differ in two keys.

    ``body_of(program)`` makes the bodies of loops and branches in which ints differ. The markers of the key are not
    shared, as `trie_insertion.marker_for` shares them.
    """
    if isinstance(first[0], str):
        return second
    operands = []
    for a, b in zip(first[2:], second[2:], strict=True):
        if a is not b and a.__class__ is Marker:
            shape = value_with(a.aval.shape, b.aval.shape, number, body_of)
            b = Marker(Aval(shape, b.aval.dtype), b.trainable)
        operands.append(b)
    return (second[0], value_with(first[1], second[1], number, body_of), *operands)


def value_with(
    first: Any, second: Any, number: Callable[[int, int], Any], body_of: Callable[[Program], Any] = Body.of
) -> Any:
    """Return `second` with ``number(a, b)`` in place of the ints that differ from those of `first`.

    Raises
    ------
    ProgramError
        If the values differ in anything else.
    """
    if first is second:
        return second
    if type(first) is not type(second):
        raise ProgramError("two calls differ in more than extents")
    if _is_plain_tuple(first) and len(first) == len(second):
        items = [value_with(a, b, number, body_of) for a, b in zip(first, second, strict=True)]
        if all([item is b for item, b in zip(items, second, strict=True)]):
            return second
        return type(second)._make(items) if hasattr(second, "_fields") else tuple(items)
    if first == second:
        return second
    if type(first) is int:
        return number(first, second)
    if type(first) is float and first.is_integer() and second.is_integer():  # such as the divisor of a mean
        return applied(float, number(int(first), int(second)))
    if type(first) is Body:
        inputs, ops, outputs, avals = value_with(_parts_of(first), _parts_of(second), number, body_of)
        made = tuple(
            [op._replace(params=parts[2]) for op, parts in zip(second.program.ops, ops, strict=True)]
        )
        return body_of(Program(inputs, made, outputs, dict(avals)))
    raise ProgramError("two calls differ in more than extents")


def varying_ints(
    first: tuple[Any, ...], second: tuple[Any, ...], other: tuple[Any, ...]
) -> list[tuple[tuple[int, int], int]]:
    """Return the ints that differ in two keys, as pairs, each with the int at its place in `other`, a third key.

    Raises
    ------
    ProgramError
        If the third key differs from the second in anything else.
    """
    found: list[tuple[tuple[int, int], int]] = []
    if len(first) != len(other) or first[0] is not other[0] or isinstance(first[0], str):
        raise ProgramError("a call of another function")
    _add_varying(found, first[1], second[1], other[1])
    for a, b, c in zip(first[2:], second[2:], other[2:], strict=True):
        if a.__class__ is Marker and c.__class__ is Marker and b.__class__ is Marker:
            if (b.aval.dtype, b.trainable) != (c.aval.dtype, c.trainable):
                raise ProgramError("an operand of another dtype")
            a, b, c = a.aval.shape, b.aval.shape, c.aval.shape
        _add_varying(found, a, b, c)
    return found


def _add_varying(found: list[tuple[tuple[int, int], int]], first: Any, second: Any, other: Any) -> None:
    if first is second is other:
        return
    if not type(first) is type(second) is type(other):
        raise ProgramError("two calls differ in more than extents")
    if _is_plain_tuple(first) and len(first) == len(second) == len(other):
        for a, b, c in zip(first, second, other, strict=True):
            _add_varying(found, a, b, c)
    elif type(first) is int and first != second:
        found.append(((first, second), other))
    elif type(first) is Body:
        _add_varying(found, _parts_of(first), _parts_of(second), _parts_of(other))
    elif type(first) is float and first != second:
        pass  # it depends on the ints
    elif not first == second == other:
        raise ProgramError("two calls differ in more than extents")


def is_same_content(one: Node, other: Node) -> bool:
    """Return whether two nodes have the same contents, except for the source lines."""
    if [op[:4] for op in one.ops] != [op[:4] for op in other.ops]:
        return False
    return all([getattr(one, name) == getattr(other, name) for name in _CONTENT])


_CONTENT = (
    *(
        "inputs",
        "scalars",
        "takes_scalars_as_given",
        "conversions",
        "op_avals",
        "slot",
        "aval",
        "results",
    ),
    *("n_slots", "n_inputs", "n_ops", "nbytes", "is_whole_gradient", "unknown"),
)
