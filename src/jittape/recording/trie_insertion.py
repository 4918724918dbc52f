"""How the trie grows: the first time that a call is recorded at some place of some path.

`grow` runs the call's body with a builder, so that shapes and dtypes are inferred and checked, on the user's own line,
and keeps the ops in a new node.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.core.builder import Builder, Symbol, WeakScalar
from jittape.core.config import config
from jittape.core.dtypes import float64
from jittape.core.primitive import recording_with
from jittape.core.program import Aval
from jittape.core.user_calls import argument_of_user, named
from jittape.errors import DTypeError
from jittape.primitives.identity import identity_op
from jittape.recording.trie import UNPLACED, Node, ScalarInput, trie
from jittape.recording.user_line import user_line
from jittape.transform.templates import Memory, Template, is_pure, kinds_of

__all__ = [
    "Marker",
    "imported",
    "insert_call",
    "insert_node",
    "insert_ops",
    "marker_for",
    "refuse_parameters",
]


class Marker:
    """What a key says of an input that comes in: its aval, and whether it is a Variable's and trainable.

    There is one object for each such kind, so that a key hashes and compares it by identity.
    """

    __slots__ = ("aval", "trainable")

    def __init__(self, aval: Aval, trainable: bool | None) -> None:
        self.aval = aval
        self.trainable = trainable


_markers: dict[tuple[Aval, bool | None], Marker] = {}


def marker_for(aval: Aval, trainable: bool | None) -> Marker:
    """The marker of an input; `trainable` is None for what is no Variable."""
    marker = _markers.get((aval, trainable))
    if marker is None:
        marker = _markers.setdefault((aval, trainable), Marker(aval, trainable))
    return marker


def insert_call(parent: Node, key: tuple[Any, ...], arrays: Sequence[Any] = ()) -> Node:
    """Make the child of `parent` for a call.

    The first call of a step also chooses the root, by the user's line, and may find its child there. A call like one
    that was recorded at another place is only renumbered, see `jittape.transform.templates`.

    Parameters
    ----------
    parent : Node
    key : tuple
        ``(body, static, *operands)``; an operand is a slot, a `Marker` for what comes in here, the type of a Python
        scalar, or the dtype of a NumPy scalar.
    arrays : sequence
        The operands themselves; not asked for where none is a slot.
    """
    if parent is UNPLACED:
        parent = trie.root(sys._getframe(1))
        child = parent.children.get(key)
        if child is not None:
            return child
    template_key = _template_key(parent, key, arrays)
    known = None if template_key is None else _calls.find(template_key)
    if known is None:
        node, builder = _run(parent, key, arrays)
        attached = insert_ops(parent, key, node, builder)
        if template_key is not None and is_pure(key[0]):
            _calls.keep(template_key, _Call.of(node, key, parent.n_slots), node.n_slots - parent.n_slots)
        return attached
    node = Node(parent)
    node.source = user_line()
    known.put(node, key, parent.n_slots)
    return insert_node(parent, key, node)


def _template_key(parent: Node, key: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Any, ...] | None:
    """The key with avals in the place of slots; None for parameters that are not plain data."""
    static = key[1]
    kinds = kinds_of(static) if static else ()
    if kinds is None:
        return None
    parts: list[Any] = [key[0], static, kinds, config._default_float]
    seen: dict[int, int] = {}
    for i, part in enumerate(key[2:]):
        if part.__class__ is not int:
            parts.append(part)
        elif part >= parent.n_slots:
            parts.append(parent.n_slots - part - 1)  # one that comes in, once more
        else:
            first = seen.setdefault(part, i)
            parts.append(arrays[i]._aval if first == i else first)
    return tuple(parts)


def _run(parent: Node, key: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Node, Builder]:
    """The node of a call whose body is run, and the ops that it has recorded."""
    node = Node(parent)
    node.source = user_line()
    builder = Builder(parent.n_slots, node.source)
    body, static, *operands = key
    entering = [builder.new_slot(part.aval) for part in operands if part.__class__ is Marker]
    scalars = _ScalarInputs(builder)
    arriving = iter(entering)
    own = {symbol.slot: symbol for symbol in entering}
    handles: list[Any] = []
    for i, part in enumerate(operands):
        if part.__class__ is int:
            handles.append(own[part] if part in own else Symbol(part, arrays[i]._aval))
        elif part.__class__ is Marker:
            handles.append(next(arriving))
        else:
            handles.append(scalars.handle(part))
    with recording_with(builder):
        try:
            result = body(*handles, *static)
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            named(error)
            raise
        results: Sequence[Any] = result if isinstance(result, (tuple, list)) else (result,)
        if body is not imported:
            results = _separate(results, builder)
    settled = tuple([None if r is None else (r.slot, r.aval) for r in results])
    if isinstance(result, (tuple, list)):
        node.results = settled
    elif settled[0] is not None:
        node.slot, node.aval = settled[0]
    node.inputs = (
        *_arriving(operands, parent.n_slots),
        *[(slot, aval, None) for slot, aval in scalars.inputs],
    )
    node.scalars = tuple(scalars.wanted)
    in_order = [position for position, _ in scalars.wanted] == [*range(scalars.count)]
    # `is` and not `==`: NumPy says that np.dtype("float64") == None.
    node.takes_scalars_as_given = in_order and all(dtype is None for _, dtype in scalars.wanted)
    one = scalars.wanted[0][1] if in_order and scalars.count == 1 else None
    node.takes_one_float = one is not None and one == float64
    return node, builder


def _arriving(operands: Iterable[Any], first: int) -> list[tuple[int, Aval, bool | None]]:
    """The inputs of a node that are arrays or Variables: one for each marker, from slot `first` on."""
    markers = [part for part in operands if part.__class__ is Marker]
    return [(first + i, marker.aval, marker.trainable) for i, marker in enumerate(markers)]


class _Call(NamedTuple):
    """What a call has made of its node, for any slots.

    Attributes
    ----------
    ops : Template
        The slots that are given are those of the operands.
    inputs : tuple of (int, Aval, None)
        Those of its scalars.
    scalars, takes_scalars_as_given, takes_one_float
        As in the node.
    result : tuple of (int, Aval) or None
        What it gave; None for nothing or for a tuple.
    results : tuple of (int, Aval) or None, or None
        The tuple that it gave.
    """

    ops: Template
    inputs: tuple[tuple[int, Aval, bool | None], ...]
    scalars: tuple[ScalarInput, ...]
    takes_scalars_as_given: bool
    takes_one_float: bool
    result: tuple[int, Aval] | None
    results: tuple[tuple[int, Aval] | None, ...] | None

    @classmethod
    def of(cls, node: Node, key: tuple[Any, ...], first: int) -> _Call:
        """What the call of `key` has made of `node`, whose slots begin at `first`."""
        results = node.results
        arrays = len(node.inputs) - len(node.scalars)
        return cls(
            Template.of(node.ops, node.op_avals, first, node.n_slots, key[2:]),
            tuple([(slot - first, aval, None) for slot, aval, _ in node.inputs[arrays:]]),
            node.scalars,
            node.takes_scalars_as_given,
            node.takes_one_float,
            None if node.slot < 0 else (node.slot - first, node.aval),
            None if results is None else tuple([r and (r[0] - first, r[1]) for r in results]),
        )

    def put(self, node: Node, key: tuple[Any, ...], first: int) -> None:
        """Make the same of the `node` of a call of `key`."""
        template, inputs, node.scalars = self.ops, self.inputs, self.scalars
        node.takes_scalars_as_given, node.takes_one_float = self.takes_scalars_as_given, self.takes_one_float
        result, results = self.result, self.results
        operands = key[2:]
        node.ops = tuple(template.at(template.slots(first, operands), node.source))
        node.op_avals = template.avals
        node.n_slots = first + template.n_new
        entering = template.n_new - len(inputs) - len(template.ops)
        if entering or inputs:
            scalars = [(first + slot, aval, None) for slot, aval, _ in inputs]
            node.inputs = (*(_arriving(operands, first) if entering else ()), *scalars)
        if result is not None:
            node.slot, node.aval = first + result[0], result[1]
        if results is not None:
            node.results = tuple([r and (first + r[0], r[1]) for r in results])


_calls: Memory[_Call] = Memory()


def imported(x: Any) -> Any:
    """The body of a call that does nothing but give its operand a slot."""
    return x


def _separate(results: Sequence[Any], builder: Builder) -> list[Any]:
    """The results of a body, each a value of its own: a reshape to the same shape is a tensor beside its operand."""
    settled = [r.default() if isinstance(r, WeakScalar) else r for r in results]
    made = {op.out for op in builder.ops}
    return [r if r is None or r.slot in made else identity_op.bind(r) for r in settled]


def insert_ops(parent: Node, key: tuple[Any, ...], node: Node, builder: Builder) -> Node:
    """Finish `node` with what `builder` has recorded, and put it into the trie."""
    node.ops = tuple(builder.ops)
    node.op_avals = tuple([builder.avals[op.out] for op in builder.ops])
    node.n_slots = builder.next_slot
    return insert_node(parent, key, node)


def insert_node(parent: Node, key: tuple[Any, ...], node: Node) -> Node:
    """Put `node`, whose ops are known, into the trie; the one that another thread has put there meanwhile wins."""
    assert parent is not UNPLACED
    node.n_inputs = parent.n_inputs + len(node.inputs)
    node.n_ops = parent.n_ops + len(node.ops)
    arrays = len(node.inputs) - len(node.scalars)
    if arrays:
        node.nbytes += sum([aval.nbytes for _, aval, _ in node.inputs[:arrays]])
    kept = parent.children.setdefault(key, node)
    if kept is node:
        trie.added(node)
    return kept


def refuse_parameters(static: tuple[Any, ...]) -> None:
    """Raise `TypeError` for the first of `static` that cannot be a part of a key."""
    for value in static:
        try:
            hash(value)
        except TypeError:
            kind = type(value).__name__
            raise named(
                DTypeError(
                    f"{argument_of_user(value)}no parameter can be of type {kind!r}: it is part of a program's "
                    "structure, so give a Python number, a string or a tuple of these, such as int(x) of a tensor"
                )
            ) from None


class _ScalarInputs:
    """Turns the Python scalars of a call into input slots, in the dtypes that its body asks for."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.inputs: list[tuple[int, Any]] = []
        self.wanted: list[ScalarInput] = []
        self.count = 0

    def handle(self, part: Any) -> WeakScalar | Symbol:
        """A handle for the next scalar; `part` is its Python type, or the dtype of a NumPy scalar."""
        position = self.count
        self.count += 1
        made: dict[np.dtype[Any], Symbol] = {}

        def resolve(dtype: np.dtype[Any]) -> Symbol:
            symbol = made.get(dtype)
            if symbol is None:
                symbol = made[dtype] = self.builder.new_slot(Aval((), dtype))
                self.inputs.append((symbol.slot, symbol.aval))
                self.wanted.append((position, dtype if dtype.kind in "iu" or part is int else None))
            return symbol

        return WeakScalar(part, resolve) if isinstance(part, type) else resolve(part)
