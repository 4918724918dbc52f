"""Insertion of new nodes into the trie, when a call is recorded for the first time at its place.

`insert_call` runs the call's body with a builder, which infers and checks shapes and dtypes on the user's own line, and
keeps the ops in a new node.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from jittape.core.buffers import LARGE, Buffer, copied
from jittape.core.builder import Builder, Symbol, WeakScalar
from jittape.core.config import config
from jittape.core.dtypes import KINDS, SUPPORTED, as_dtype, int64, kind_of
from jittape.core.primitive import any_dtype, recording_with
from jittape.core.program import Aval, Op
from jittape.core.symbolic.extents import open_extents
from jittape.core.symbolic.memo_keys import decisive_keys, memo_keys
from jittape.core.user_calls import argument_of_user, named
from jittape.errors import DTypeError
from jittape.primitives.identity import identity_op
from jittape.recording.convert import converted_array
from jittape.recording.tensor import Tensor
from jittape.recording.trie import UNPLACED, Node, ScalarInput, trie
from jittape.recording.user_line import recording_line
from jittape.runtime.gc_tracking import untrack, untrack_all, untrack_child
from jittape.transform.templates import Memory, Template, is_pure, shared_parameters, types_of
from jittape.value_classes import NamedTuple

__all__ = [
    "ARRAY_AVALS",
    "Marker",
    "imported",
    "insert_call",
    "insert_node",
    "insert_ops",
    "marked",
    "marker_for",
    "new_entry",
    "operand_of",
    "refuse_parameters",
    "result_dtypes",
]


class Marker:
    """The part of a key for an imported input: its aval, and whether it is a trainable Variable.

    Equal markers are one object, so a key hashes and compares them by identity.
    """

    __slots__ = ("aval", "trainable")

    def __init__(self, aval: Aval, trainable: bool | None) -> None:
        self.aval = aval
        self.trainable = trainable


_markers: dict[tuple[Aval, bool | None], Marker] = {}


def marker_for(aval: Aval, trainable: bool | None) -> Marker:
    """Return the marker of an input; `trainable` is None if the input is not a Variable."""
    kind = aval, trainable
    marker = _markers.get(kind)
    if marker is None:
        marker = _markers.setdefault(kind, Marker(aval, trainable))
        untrack_all([kind, aval, marker])  # kept for ever
    return marker


def marked(a: Any) -> Marker:
    """Return the marker of a tensor or Variable and keep it there."""
    marker = marker_for(a._aval, getattr(a, "trainable", None))
    a._marker = marker
    return marker


def insert_call(parent: Node, key: tuple[Any, ...], arrays: Sequence[Any] = ()) -> Node:
    """Insert the child of `parent` for a call.

    The first call of a step also chooses the root, by the user's line, and the child may exist there. If an equal call
    was recorded at another place, its ops are renumbered: see `jittape.transform.templates`.

    Parameters
    ----------
    parent : Node
    key : tuple
        ``(body, static, *operands)``. An operand is a slot, the `Marker` of an imported value, the type of a Python
        scalar, or the dtype of a NumPy scalar.
    arrays : sequence
        The operands; unused if none is a slot.
    """
    if parent is UNPLACED:
        parent = trie.root(sys._getframe(1))
        if (child := parent.children.get(key)) is not None:
            return child
    kinds = types_of(key[1]) if key[1] else ()
    key = key[0], shared_parameters(key[1], kinds), *key[2:]
    if parent.families is not None or parent.derivation is not None:
        child = trie.derived_child(parent, key)
        if child is not None:
            return child
    template_key = None if kinds is None else _template_key(parent, key, kinds, arrays)
    known = None if template_key is None else _calls.find(template_key)
    if known is None:
        node, builder = _run(parent, key, arrays)
        attached = insert_ops(parent, key, node, builder)
        if template_key is not None and is_pure(key[0]):
            _calls.keep(template_key, _Call.of(node, key, parent.n_slots), node.n_slots - parent.n_slots)
        return attached
    node = Node(parent)
    node.source = recording_line()
    known.put(node, key, parent.n_slots)
    return insert_node(parent, key, node)


def result_dtypes(key: tuple[Any, ...]) -> list[np.dtype[Any]]:
    """Return the dtypes of the results of a call without recording it; `key` contains no slots."""
    node, _ = _run(UNPLACED, key, ())
    return [aval.dtype for _, aval in filter(None, node.results or ((0, node.aval),))]


def _template_key(
    parent: Node, key: tuple[Any, ...], kinds: tuple[Any, ...], arrays: Sequence[Any]
) -> tuple[Any, ...]:
    """Return the key with avals instead of slots, and with the `kinds` of its parameters: see `types_of`."""
    parts: list[Any] = [key[0], key[1], kinds, config._default_float]
    seen: dict[int, int] = {}
    for i, part in enumerate(key[2:]):
        if part.__class__ is not int:
            parts.append(part)
        elif part >= parent.n_slots:
            parts.append(parent.n_slots - part - 1)  # an imported value that occurs again
        else:
            first = seen.setdefault(part, i)
            parts.append(arrays[i]._aval if first == i else first)
    return tuple(parts)


def _run(parent: Node, key: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Node, Builder]:
    """Run the body of a call; return its node and the builder with the recorded ops."""
    node = Node(parent)
    node.source = recording_line()
    builder = Builder(parent.n_slots, node.source)
    scalars = _ScalarInputs(builder)
    body, static, *operands = key
    handles = _handles(operands, arrays, builder, scalars)
    with recording_with(builder), decisive_keys():
        try:
            result = builder.apply(body, tuple(handles), static)
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            named(error)
            raise
        results: Sequence[Any] = result if isinstance(result, (tuple, list)) else (result,)
        results = _separate(results, builder)
    slots = tuple([None if r is None else (r.slot, r.aval) for r in results])
    if isinstance(result, (tuple, list)):
        node.results = slots
    elif slots[0] is not None:
        node.slot, node.aval = slots[0]
    node.inputs = tuple(_array_inputs(operands, parent.n_slots))
    scalars.add_to(node)
    return node, builder


def _handles(
    operands: Sequence[Any], arrays: Sequence[Any], builder: Builder, scalars: _ScalarInputs
) -> list[WeakScalar | Symbol]:
    """Return the builder's handles to the operands of a key. The imported ones get the first new slots."""
    imports = [builder.new_slot(part.aval) for part in operands if part.__class__ is Marker]
    by_slot = {symbol.slot: symbol for symbol in imports}
    unused = iter(imports)
    handles: list[WeakScalar | Symbol] = []
    for i, part in enumerate(operands):
        if part.__class__ is int:
            handles.append(by_slot[part] if part in by_slot else Symbol(part, arrays[i]._aval))
        elif part.__class__ is Marker:
            handles.append(next(unused))
        else:
            handles.append(scalars.handle(part))
    return handles


def _array_inputs(operands: Iterable[Any], first: int) -> list[tuple[int, Aval, bool | None]]:
    """Return the inputs of a node that are arrays or Variables: one for each marker, from slot `first` on."""
    markers = [part for part in operands if part.__class__ is Marker]
    return [(first + i, marker.aval, marker.trainable) for i, marker in enumerate(markers)]


class _Call(NamedTuple):
    """The contents of a call's node, for any slots.

    Attributes
    ----------
    ops : Template
        Ops of the node; its parameters are the slots of the operands.
    inputs : tuple of (int, Aval, None)
        Inputs of the node that are scalars.
    scalars, takes_scalars_as_given, conversions
        Those of the node.
    result : tuple of (int, Aval) or None
        The only result; None for no result or a tuple.
    results : tuple of (int, Aval) or None, or None
        The results if the call returned a tuple.
    """

    ops: Template
    inputs: tuple[tuple[int, Aval, bool | None], ...]
    scalars: tuple[ScalarInput, ...]
    takes_scalars_as_given: bool
    conversions: tuple[type | tuple[int, int], ...] | None
    result: tuple[int, Aval] | None
    results: tuple[tuple[int, Aval] | None, ...] | None

    @classmethod
    def of(cls, node: Node, key: tuple[Any, ...], first: int) -> _Call:
        """Return the contents of `node`, whose call has `key` and whose slots begin at `first`."""
        results = node.results
        arrays = len(node.inputs) - len(node.scalars)
        return cls(
            Template.of(node.ops, node.op_avals, first, node.n_slots, key[2:]),
            tuple([(slot - first, aval, None) for slot, aval, _ in node.inputs[arrays:]]),
            node.scalars,
            node.takes_scalars_as_given,
            node.conversions,
            None if node.slot < 0 else (node.slot - first, node.aval),
            None if results is None else tuple([r and (r[0] - first, r[1]) for r in results]),
        )

    def put(self, node: Node, key: tuple[Any, ...], first: int) -> None:
        """Copy the contents to the `node` of a call with `key`."""
        template, inputs, node.scalars = self.ops, self.inputs, self.scalars
        node.takes_scalars_as_given, node.conversions = self.takes_scalars_as_given, self.conversions
        result, results, operands = self.result, self.results, key[2:]
        ops = tuple(template.at(template.slots(first, operands), node.source))
        node.set_ops(ops, template.avals)
        node.n_slots = first + template.n_new
        imported_symbols = template.n_new - len(inputs) - len(template.ops)
        if imported_symbols or inputs:
            scalars = [(first + slot, aval, None) for slot, aval, _ in inputs]
            node.inputs = (*(_array_inputs(operands, first) if imported_symbols else ()), *scalars)
        if result is not None:
            node.slot, node.aval = first + result[0], result[1]
        if results is not None:
            node.results = tuple([r and (first + r[0], r[1]) for r in results])
        # Plain data, in no cycle.
        untrack_all([ops, *ops, node.inputs, *node.inputs, node.results, *(node.results or ())])


_calls: Memory[_Call] = Memory()


@any_dtype
def imported(x: Any) -> tuple[()]:
    """Return nothing: the body of a call that only gives its operand a slot."""
    return ()


def _separate(results: Sequence[Any], builder: Builder) -> list[Any]:
    """Return the results of a body as separate values: a result that is an operand becomes a copy of it."""
    values = [r.default() if isinstance(r, WeakScalar) else r for r in results]
    made = {op.out for op in builder.ops}
    return [r if r is None or r.slot in made else identity_op.bind(r) for r in values]


def insert_ops(parent: Node, key: tuple[Any, ...], node: Node, builder: Builder) -> Node:
    """Insert `node` with the ops that `builder` has recorded."""
    node.set_ops(tuple(builder.ops), tuple([builder.avals[op.out] for op in builder.ops]))
    node.n_slots = builder.next_slot
    _untrack_plain(node.ops)
    return insert_node(parent, key, node)


def _untrack_plain(ops: tuple[Op, ...]) -> None:
    """Exclude ops whose parameters are plain data, and are in no cycle, from garbage collection.

    The gradient of an LSTM of 1,024 steps has 98,000 ops, which a full collection visited in 0.03 s.
    """
    is_plain: dict[int, bool] = {}
    for op in ops:
        known = is_plain.get(id(op.params))
        if known is None:
            known = is_plain[id(op.params)] = types_of(op.params) is not None
        if known:
            untrack(op)
    if all(is_plain.values()):
        untrack(ops)


def insert_node(parent: Node, key: tuple[Any, ...], node: Node) -> Node:
    """Insert `node`, whose ops are set; return the node that another thread inserted meanwhile, if there is one."""
    assert parent is not UNPLACED
    node.n_inputs = parent.n_inputs + len(node.inputs)
    node.n_ops = parent.n_ops + len(node.ops)
    arrays = len(node.inputs) - len(node.scalars)
    if arrays:
        node.nbytes += sum([aval.nbytes for _, aval, _ in node.inputs[:arrays]])
    with memo_keys() if open_extents else nullcontext():  # `memo_keys` takes 1 µs
        kept = parent.children.setdefault(key, node)
    if kept is node:
        trie.added(node)
        untrack_child(parent, key, node)
    return kept


def refuse_parameters(static: tuple[Any, ...]) -> None:
    """Raise `TypeError` for the first of `static` that cannot be part of a key."""
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
    """The input slots for the Python scalars of a call, in the dtypes that its body requests."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.inputs: list[tuple[int, Any]] = []
        self.wanted: list[ScalarInput] = []
        self.count = 0

    def handle(self, part: Any) -> WeakScalar | Symbol:
        """Return a handle for the next scalar; `part` is its Python type, or the dtype of a NumPy scalar."""
        position = self.count
        self.count += 1
        made: dict[np.dtype[Any], Symbol] = {}

        def resolve(dtype: np.dtype[Any]) -> Symbol:
            symbol = made.get(dtype)
            if symbol is None:
                symbol = made[dtype] = self.builder.new_slot(Aval((), dtype))
                self.inputs.append((symbol.slot, symbol.aval))
                is_checked = isinstance(part, type) and (dtype.kind in "iu" or part is int)
                self.wanted.append((position, dtype if is_checked else None))
            return symbol

        return WeakScalar(part, resolve) if isinstance(part, type) else resolve(part)

    def add_to(self, node: Node) -> None:
        """Append the inputs to those of `node`, in the order of the operands, which machine code needs."""
        order = sorted(range(len(self.wanted)), key=lambda i: self.wanted[i][0])
        self.inputs, self.wanted = [self.inputs[i] for i in order], [self.wanted[i] for i in order]
        node.inputs = (*node.inputs, *[(slot, aval, None) for slot, aval in self.inputs])
        node.scalars = tuple(self.wanted)
        in_order = [position for position, _ in self.wanted] == [*range(self.count)]
        # `is` and not `==`: for NumPy, np.dtype("float64") == None is True.
        node.takes_scalars_as_given = in_order and all(dtype is None for _, dtype in self.wanted)
        kinds = [object if dtype is None else _MACHINE_CONVERSIONS.get(dtype) for _, dtype in self.wanted]
        node.conversions = tuple(kinds) if in_order and None not in kinds else None  # type: ignore[arg-type]


def _machine_conversion(dtype: np.dtype[Any]) -> type | tuple[int, int]:
    """Return the type of numbers that machine code converts to `dtype`, or the range of ints that fit into it."""
    if dtype.kind not in "iu":
        return float
    limits = np.iinfo(dtype)
    return int if dtype == int64 else (int(limits.min), min(int(limits.max), 2**63 - 1))


_MACHINE_CONVERSIONS = {dtype: _machine_conversion(dtype) for dtype in SUPPORTED if dtype.kind in "iufc"}
"""How machine code converts numbers by the dtype of the input: see `Node.conversions`."""


# ---- arrays as operands ----------------------------------------------------------------------------------------------

ARRAY_AVALS: dict[tuple[tuple[int, ...], np.dtype[Any]], tuple[Aval, Marker]] = {}
"""Aval and marker of arrays by shape and dtype; making them takes 0.9 µs."""
_LIMIT = 4096


def operand_of(array: Any) -> Any:
    """Return an ndarray as a tensor with the marker that machine code needs to import it; any other operand unchanged.

    A large array that is read-only is not copied. ``x * array`` takes 4.1 µs; with `converted_array`, and recorded by
    Python, it takes 7.5 µs.
    """
    if array.__class__ is not np.ndarray:
        return array
    known = ARRAY_AVALS.get((array.shape, array.dtype)) or new_entry(array)
    is_small = array.nbytes < LARGE
    if known is None or not (is_small or array.flags.writeable):
        tensor = converted_array(array)
        marked(tensor)
        return tensor
    aval, marker = known
    values = array.copy() if is_small else copied(array, array.dtype)
    tensor = Tensor(None, -1, aval, Buffer(values))
    tensor._marker = marker
    return tensor


def new_entry(array: np.ndarray[Any, Any]) -> tuple[Aval, Marker] | None:
    """Remember and return the aval and the marker of arrays like `array`; None if its dtype needs a conversion."""
    dtype = array.dtype
    if kind_of(dtype) not in KINDS or as_dtype(dtype) != dtype:
        return None
    if len(ARRAY_AVALS) >= _LIMIT:
        ARRAY_AVALS.clear()
    aval = Aval(array.shape, as_dtype(dtype))
    kind, entry = (array.shape, dtype), (aval, marker_for(aval, None))
    ARRAY_AVALS[kind] = entry
    untrack_all([kind, entry])
    return entry
