"""How the trie grows: the first time that a call is recorded at some place of some path.

`grow` runs the call's body with a builder, so that shapes and dtypes are inferred and checked, on the user's own line,
and keeps the ops in a new node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.builder import Builder, Symbol, WeakScalar
from jittape.calls import argument_of_user, named
from jittape.errors import DTypeError
from jittape.primitive import recording_with
from jittape.primitives.custom import identity_op
from jittape.program import Aval
from jittape.recording.source import user_line
from jittape.recording.trie import Node, ScalarInput, aval_of, trie

__all__ = ["Marker", "attach", "entered", "grow", "join", "marker_for", "refuse_parameters"]


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


def grow(parent: Node, key: tuple[Any, ...], body: Callable[..., Any], static: tuple[Any, ...]) -> Node:
    """Make the child of `parent` for a call of `body`.

    Parameters
    ----------
    parent : Node
    key : tuple
        ``(body, static, *operands)``; an operand is a slot, a `Marker` for what comes in here, the type of a Python
        scalar, or the dtype of a NumPy scalar.
    body : callable
    static : tuple
        Its last arguments.
    """
    node = Node(parent)
    node.source = user_line()
    builder = Builder(parent.n_slots, node.source)
    operands = key[2:]
    entering = [builder.new_slot(part.aval) for part in operands if part.__class__ is Marker]
    trainable = [part.trainable for part in operands if part.__class__ is Marker]
    scalars = _ScalarInputs(builder)
    arriving = iter(entering)
    own = {symbol.slot: symbol for symbol in entering}
    handles: list[Any] = []
    for part in operands:
        if part.__class__ is int:
            handles.append(own[part] if part in own else Symbol(part, aval_of(parent, part)))
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
        if body is not entered:
            results = _separate(results, builder)
    settled = tuple([None if r is None else (r.slot, r.aval) for r in results])
    if isinstance(result, (tuple, list)):
        node.results = settled
    elif settled[0] is not None:
        node.slot, node.aval = settled[0]
    arrays = [(s.slot, s.aval, t) for s, t in zip(entering, trainable, strict=True)]
    node.inputs = (*arrays, *((slot, aval, None) for slot, aval in scalars.inputs))
    node.scalars = tuple(scalars.wanted)
    node.takes_scalars_as_given = scalars.wanted == [(i, None) for i in range(scalars.count)]
    return attach(parent, key, node, builder)


def entered(x: Any) -> Any:
    """The body of a call that does nothing but give its operand a slot."""
    return x


def _separate(results: Sequence[Any], builder: Builder) -> list[Any]:
    """The results of a body, each a value of its own: a reshape to the same shape is a tensor beside its operand."""
    settled = [r.default() if isinstance(r, WeakScalar) else r for r in results]
    made = {op.out for op in builder.ops}
    return [r if r is None or r.slot in made else identity_op.bind(r) for r in settled]


def attach(parent: Node, key: tuple[Any, ...], node: Node, builder: Builder) -> Node:
    """Finish `node` with what `builder` has recorded, and put it into the trie."""
    node.ops = tuple(builder.ops)
    node.op_avals = tuple([builder.avals[op.out] for op in builder.ops])
    node.n_slots = builder.next_slot
    return join(parent, key, node)


def join(parent: Node, key: tuple[Any, ...], node: Node) -> Node:
    """Put `node`, whose ops are known, into the trie; the one that another thread has put there meanwhile wins."""
    node.n_inputs = parent.n_inputs + len(node.inputs)
    node.n_ops = parent.n_ops + len(node.ops)
    arrays = node.inputs[: len(node.inputs) - len(node.scalars)]
    node.nbytes = parent.nbytes + sum([aval.nbytes for _, aval, _ in arrays])
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
