"""Recording the body of a loop or a branch: a Python function, run once with stand-ins, becomes a `Body`.

What the function uses from outside (tensors, Variables, Python numbers) becomes an operand of the loop, so its value is
no part of the path. What would need a value (``if x > 0:``) or change something outside (assigning a Variable) is an
error that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Program
from jittape.core.traced_scalar import TracedScalar
from jittape.core.traced_scalar import static as as_static
from jittape.errors import ControlFlowError, LeakedTensorError
from jittape.recording.convert import convert_to_tensor
from jittape.recording.symbolic_trace import SymbolicTrace
from jittape.recording.tensor import FailedBuffer, Tensor
from jittape.recording.trace import Trace
from jittape.recording.trie import cut_program, path_to
from jittape.recording.trie_insertion import insert_call, marker_for
from jittape.recording.user_line import call_of_user, user_line
from jittape.recording.variable import Variable

__all__ = ["BodyTrace", "Recorded", "Row"]


class Row(NamedTuple):
    """An input that is another row of a stack in each iteration: random numbers."""

    stack: Tensor


class _Given(NamedTuple):
    """An input that is stand-in number `number`."""

    number: int


class Recorded(NamedTuple):
    """What recording a function gave.

    Attributes
    ----------
    program : Program
        Its inputs are the stand-ins, the rows and the captured values, in this order.
    rows, captured : tuples
        What the inputs after the stand-ins are: stacks of which each iteration has a row, and values from outside.
    result : tuple
        The tensors that the function returned.
    bodies : dict
        For whoever makes bodies of the program: they are kept with the path.
    """

    program: Program
    rows: tuple[Tensor, ...]
    captured: tuple[Any, ...]
    result: tuple[Any, ...]
    bodies: dict[Any, Any]


class _Known(NamedTuple):
    """What a path knows of the program that ends there: which of the inputs are rows, and which captured."""

    program: Program
    rows: list[int]
    captured: list[int]
    bodies: dict[Any, Any]


class BodyTrace(SymbolicTrace):
    """The trace of one run of a body.

    Parameters
    ----------
    op : str
        What the body belongs to, as the user calls it.
    outer : Trace
        The trace that the loop itself is recorded in.
    function : callable
        The body; like paths of other functions are kept apart, so that errors name the right lines.
    trips : int or None
        The number of iterations, None if it is not known or there are none.
    """

    _imports_values = False

    def __init__(self, op: str, outer: Trace, function: Callable[..., Any], trips: int | None) -> None:
        super().__init__(f"the body of {op}")
        self.op = op
        self.outer = outer
        self.over = False
        self._trips = trips
        self._first_handles: dict[int, Tensor] = {}
        self._code: Any = getattr(function, "__code__", type(function))

    def record(
        self,
        function: Callable[[list[Tensor]], Any],
        avals: Sequence[Aval],
        flatten: Callable[[Any], list[Any]],
    ) -> tuple[list[Tensor], Any]:
        """Run `function` on stand-ins; what `flatten` makes of its result, as tensors, and the result."""
        markers = [marker_for(aval, None) for aval in avals]
        key = (_given, (self._code,), *markers)
        node = self.node.children.get(key)
        self.node = insert_call(self.node, key) if node is None else node
        self.inputs.extend([_Given(i) for i in range(len(avals))])
        stand_ins = self.tensors_at(self.node)
        with recording_with(self):
            result = function(stand_ins)
            tensors = [convert_to_tensor(leaf) for leaf in flatten(result)]
            for tensor in tensors:
                self.import_tensor(tensor)
        return tensors, result

    def finished(self, results: Sequence[Tensor], count: int) -> Recorded:
        """The program that computes `results`, tensors of this trace; `count` stand-ins were given."""
        slots = tuple([self.import_tensor(tensor) for tensor in results])
        node = self.node
        if node.bodies is None:
            node.bodies = {}
        known = node.bodies.get((slots, count))
        if known is None:
            known = node.bodies[slots, count] = self._program(slots, count)
        inputs = self.inputs
        return Recorded(
            known.program,
            tuple([inputs[i].stack for i in known.rows]),
            tuple([inputs[i] for i in known.captured]),
            tuple(results),
            known.bodies,
        )

    def _program(self, slots: tuple[int, ...], count: int) -> _Known:
        path = path_to(self.node)
        program = cut_program(path, slots, ())
        used = set(program.inputs)
        sources = [
            (i, s, v) for i, (s, v) in enumerate(zip(path.inputs, self.inputs, strict=True)) if s in used
        ]
        rows = [(i, slot) for i, slot, source in sources if isinstance(source, Row)]
        captured = [(i, slot) for i, slot, source in sources if not isinstance(source, (Row, _Given))]
        inputs = (*path.inputs[:count], *[slot for _, slot in rows], *[slot for _, slot in captured])
        avals = {**program.avals, **{slot: path.avals[slot] for slot in inputs}}
        program = Program(inputs, program.ops, slots, avals)
        return _Known(program, [i for i, _ in rows], [i for i, _ in captured], {})

    def close(self) -> None:
        """Nothing more is recorded here."""
        self.over = True
        self.spans.clear()
        self._itself = None

    @property
    def outermost(self) -> Trace:
        """The trace around all bodies."""
        return self.outer.outermost

    # ---- recording ---------------------------------------------------------------------------------------------

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """As `Trace.apply`, but what comes in from outside stays what it is there."""
        return super().apply(body, arrays, as_static(static))

    def _recordable(self, a: Any) -> Any:
        if isinstance(a, (TracedScalar, Variable)):
            return a
        if isinstance(a, Tensor):
            if a._buffer.__class__ is FailedBuffer:
                a._buffer.reraise()
            if isinstance(a._trace, BodyTrace) and a._trace.over and a._buffer is None:
                a._trace.flush(a)
            return self._first_handle(a)
        return super()._recordable(a)

    def _first_handle(self, tensor: Tensor) -> Tensor:
        """The first of several handles to a value from outside that came in: they are one operand."""
        if tensor._trace is self or id(tensor) in self.imported:
            return tensor
        slot = self.outer.slot_of(tensor)
        known = self.outer.imported.get(id(tensor))
        if slot is None or slot < 0 or (known is not None and known[2] is not tensor._buffer):
            return tensor
        return self._first_handles.setdefault(slot, tensor)

    def slot_of(self, tensor: Tensor) -> int | None:
        """As `Slots.slot_of`, for any handle to a value that has come in."""
        return super().slot_of(self._first_handle(tensor))

    def note_constant(self, tensor: Tensor) -> None:
        """As `SymbolicTrace.note_constant`, for what is around the body as well."""
        super().note_constant(tensor)
        if isinstance(self.outer, SymbolicTrace):
            self.outer.note_constant(tensor)

    def note_source(self, tensor: Tensor) -> None:
        """As `SymbolicTrace.note_source`: the tensor may be an argument of the function around the body."""
        if isinstance(self.outer, SymbolicTrace):
            self.outer.note_source(tensor)

    def _import(self, a: Tensor | Variable, slot: int) -> None:
        # The body may write to a constant of its own, but what it takes in is the value before.
        written = id(a) in self._own_constants and isinstance(a, Tensor)
        self.inputs.append(Tensor(None, -1, a._aval, a._buffer) if written else a)
        self.imported[id(a)] = (slot, a, a._buffer)  # type: ignore[assignment]
        if isinstance(a, Variable):
            self._add_version(a, slot)

    def import_tensor(self, tensor: Tensor) -> int:
        """The slot of `tensor`, which comes in as an input if it is not in the trace yet."""
        slot = self.slot_of(tensor)
        if slot is None:
            with recording_with(self):
                self.apply(_captured, (tensor,))
            slot = self.slot_of(tensor)
            assert slot is not None
        return slot

    def draw(self, draw: Callable[[], np.ndarray[Any, Any]], aval: Aval) -> Tensor:
        """Random numbers: others in each iteration, drawn before the loop begins."""
        if self._trips is None:
            if self.op in ("cond", "case", "switch_case"):
                return self.outer.draw(draw, aval)
            raise ControlFlowError(
                f"[{self.op}] random numbers in the body, at {user_line()}: how many iterations there will be is not "
                "known, and all would get the same; draw them before, or use jt.scan or jt.fori_loop"
            )
        trips = self._trips

        def rows() -> np.ndarray[Any, Any]:
            return np.array([draw() for _ in range(trips)], aval.dtype).reshape(trips, *aval.shape)

        stack = self.outer.draw(rows, Aval((trips, *aval.shape), aval.dtype))
        key = (_given, ("row",), marker_for(aval, None))
        node = self.node.children.get(key)
        self.node = insert_call(self.node, key) if node is None else node
        self.inputs.append(Row(stack))
        (tensor,) = self.tensors_at(self.node)
        return tensor

    # ---- what a body cannot do ---------------------------------------------------------------------------------

    def assign(self, variable: Variable, value: Tensor) -> None:
        """A body cannot assign."""
        raise ControlFlowError(
            f"[{self.op}] the body assigns variable '{variable.name}' at {user_line()}: a compiled loop or branch "
            "changes nothing outside; return the new value and assign what comes out"
        )

    def _refuse_write(self, tensor: Tensor) -> NoReturn:
        raise ControlFlowError(
            f"[{self.op}] the body writes to a tensor from outside, {tensor.aval}, at {user_line()}: a compiled loop "
            "or branch changes nothing outside; write to a copy (`t = copy.copy(t)`) and return it"
        )

    def created(self, initial: Tensor) -> NoReturn:
        """A body cannot make a Variable."""
        raise ControlFlowError(
            f"[{self.op}] the body makes a jt.Variable at {user_line()}: make it before, and let the loop carry its "
            "value"
        )

    def flush(self, wanted: Tensor | None = None) -> None:
        """A value is needed, which a body has none of."""
        if self.over:
            raise LeakedTensorError(
                f"a tensor of {self.traced_in} is used outside of it, where it has no value: return it from the body"
            )
        raise ControlFlowError(
            f"[{self.op}] the body needs the value of a tensor for {call_of_user()}() at {user_line()}: it is run "
            "once, to be compiled, and has no values; use jt.where, jt.cond or jt.while_loop for what depends on them"
        )


def _given(*handles: Any) -> tuple[Any, ...]:
    """Stand-ins; the last argument keeps paths apart."""
    return handles[:-1]


def _captured(x: Any) -> Any:
    return x
