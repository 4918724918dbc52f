"""Tracing of the body of a loop or branch: a Python function runs once with placeholders and becomes a program.

Values that the function uses from outside (tensors, Variables, Python numbers) become operands of the loop and are not
part of the path. Code that needs a value (``if x > 0:``) or changes something outside (an assignment to a Variable)
raises an error, which says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from jittape.core.primitive import any_dtype, recording_with
from jittape.core.program import Aval, Program
from jittape.core.symbolic.affine_integers import AffineInteger, affine_integer
from jittape.core.symbolic.extents import Extent, open_extents
from jittape.core.symbolic.memo_keys import memo_keys
from jittape.core.traced_scalar import TracedScalar
from jittape.core.traced_scalar import static as as_static
from jittape.errors import ControlFlowError, LeakedValueError
from jittape.recording.convert import convert_to_tensor
from jittape.recording.general.path_families import note_path
from jittape.recording.symbolic_trace import SymbolicTrace, reserved
from jittape.recording.tensor import FailedBuffer, Tensor
from jittape.recording.trace import Trace
from jittape.recording.trie import Node, path_to
from jittape.recording.trie_insertion import insert_call, marker_for
from jittape.recording.user_line import call_of_user, user_line
from jittape.recording.variable import Variable
from jittape.transform.op_paths import Path, cut_program

__all__ = ["BodyTrace", "Recorded", "Row"]


class Row(NamedTuple):
    """An input of random numbers, which takes another row of a stack in each iteration."""

    stack: Tensor


class _Placeholder(NamedTuple):
    """An input that is placeholder number `number`."""

    number: int


class Recorded(NamedTuple):
    """A recorded function.

    Attributes
    ----------
    rows, captured : tuples
        Inputs after the placeholders: stacks, of which each iteration takes a row, and values from outside.
    result : tuple
        Tensors that the function returned.
    bodies : dict
        Bodies of the program, which the caller keeps with the path.
    """

    rows: tuple[Tensor, ...]
    captured: tuple[Any, ...]
    result: tuple[Any, ...]
    bodies: dict[Any, Any]
    origin: Program | _Derived

    @property
    def program(self) -> Program:
        """The program. Its inputs are the placeholders, the rows and the captured values, in this order."""
        return self.arranged("program", lambda program: program)

    @property
    def is_derived(self) -> bool:
        """Whether the program was not recorded, but follows from that of arrays of other lengths."""
        return isinstance(self.origin, _Derived)

    def arranged(self, key: Any, arrange: Callable[[Program], Program]) -> Program:
        """Return ``arrange(program)``; `key` identifies what `arrange` does, which depends on no length."""
        origin = self.origin
        if isinstance(origin, Program):
            return arrange(origin)
        _, at_values = origin.path.part(origin.at, (origin.key, key), lambda path: arrange(origin.general))
        made: Program = at_values(*origin.values)
        return made


class _Derived(NamedTuple):
    """A program of a general path: for values of the extents of `general`, the part `key` of the path to node `at`."""

    path: Any
    at: int
    key: Any
    general: Program
    values: Sequence[int]


class _Known(NamedTuple):
    """The program that ends at a node, and the positions of the rows and captured values among the inputs."""

    origin: Program | _Derived
    rows: list[int]
    captured: list[int]
    bodies: dict[Any, Any]


class BodyTrace(SymbolicTrace):
    """The trace of one run of a body.

    Parameters
    ----------
    op : str
        Public name of the function that the body belongs to.
    outer : Trace
        Trace that records the loop itself.
    function : callable
        The body. Equal paths of different functions are separate, so that errors name the right lines.
    trips : int or None
        Number of iterations; None if it is unknown or the body is a branch.
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
        """Run `function` with placeholders; return the tensors that `flatten` finds in its result, and the result."""
        with self.deriving(), memo_keys():
            markers = [marker_for(aval, None) for aval in avals]
            key = (_placeholders, (self._code,), *markers)
            node = self.node.children.get(key)
            self.node = insert_call(self.node, key) if node is None else node
        self.inputs.extend([_Placeholder(i) for i in range(len(avals))])
        placeholders = self.tensors_at(self.node)
        with recording_with(self):
            result = function(placeholders)
            tensors = [convert_to_tensor(leaf) for leaf in flatten(result)]
            for tensor in tensors:
                self.import_tensor(tensor)
        return tensors, result

    def finished(self, results: Sequence[Tensor], count: int) -> Recorded:
        """Return the program that computes `results`, tensors of this trace; `count` inputs are placeholders."""
        slots = tuple([self.import_tensor(tensor) for tensor in results])
        node = self.node
        if node.bodies is None:
            node.bodies = {}
        known = node.bodies.get((slots, count))
        if known is None:
            _note_end(node)
            known = node.bodies[slots, count] = self._known(slots, count)
        inputs = self.inputs
        return Recorded(
            tuple([inputs[i].stack for i in known.rows]),
            tuple([inputs[i] for i in known.captured]),
            tuple(results),
            known.bodies,
            known.origin,
        )

    def _known(self, slots: tuple[int, ...], count: int) -> _Known:
        if self.node.derivation is None:
            return _Known(*self._parts(path_to(self.node), slots, count), {})
        path, values = self.node.derivation
        at = path.number_of(self.node)
        key = slots, count
        (general, rows, captured), _ = path.part(at, key, lambda found: self._parts(found, *key))
        return _Known(_Derived(path, at, key, general, values), rows, captured, {})

    def _parts(self, path: Path, slots: tuple[int, ...], count: int) -> tuple[Program, list[int], list[int]]:
        """Return the program, and the positions of the rows and captured values among the inputs."""
        program = cut_program(path, slots, ())
        used = set(program.inputs)
        sources = [
            (i, s, v) for i, (s, v) in enumerate(zip(path.inputs, self.inputs, strict=True)) if s in used
        ]
        rows = [(i, slot) for i, slot, source in sources if isinstance(source, Row)]
        captured = [(i, slot) for i, slot, source in sources if not isinstance(source, (Row, _Placeholder))]
        inputs = (*path.inputs[:count], *[slot for _, slot in rows], *[slot for _, slot in captured])
        avals = {**program.avals, **{slot: path.avals[slot] for slot in inputs}}
        program = Program(inputs, program.ops, slots, avals)
        return program, [i for i, _ in rows], [i for i, _ in captured]

    def close(self) -> None:
        """End the recording."""
        self.over = True
        self.intervals.clear()
        self._itself = None

    @property
    def outermost(self) -> Trace:
        """The trace outside all bodies."""
        return self.outer.outermost

    # ---- recording ---------------------------------------------------------------------------------------------

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Record a call, as `Trace.apply` does; values from outside stay in their trace."""
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
        """Return the first imported handle to the value of `tensor`, so that several handles are one operand."""
        if tensor._trace is self or id(tensor) in self.imported:
            return tensor
        slot = self.outer.slot_of(tensor)
        known = self.outer.imported.get(id(tensor))
        if slot is None or slot < 0 or (known is not None and known[2] is not tensor._buffer):
            return tensor
        return self._first_handles.setdefault(slot, tensor)

    def slot_of(self, tensor: Tensor) -> int | None:
        """Return the slot of `tensor`, as `Slots.slot_of` does, for any handle to an imported value."""
        return super().slot_of(self._first_handle(tensor))

    def note_constant(self, tensor: Tensor) -> None:
        """Remember a computed value that was created here, also in the traces around the body."""
        super().note_constant(tensor)
        if isinstance(self.outer, SymbolicTrace):
            self.outer.note_constant(tensor)

    def note_source(self, tensor: Tensor) -> None:
        """Note a tensor in the traces around the body, as it may be an argument of the traced function."""
        if isinstance(self.outer, SymbolicTrace):
            self.outer.note_source(tensor)

    def note_variable(self, variable: Variable) -> None:
        """Note a Variable in the traces around the body, as it may be an argument of the traced function."""
        if isinstance(self.outer, SymbolicTrace):
            self.outer.note_variable(variable)

    def _import(self, a: Tensor | Variable, slot: int) -> None:
        # The body may write to a constant that it created; the input is the value before the write.
        written = id(a) in self._own_constants and isinstance(a, Tensor)
        self.inputs.append(Tensor(None, -1, a._aval, a._buffer) if written else a)
        self.imported[id(a)] = (slot, a, a._buffer)  # type: ignore[assignment]
        if isinstance(a, Variable):
            self.variables[id(a)] = self._with_version(a, slot)

    def import_tensor(self, tensor: Tensor) -> int:
        """Return the slot of `tensor`; import the tensor as an input if it has none."""
        slot = self.slot_of(tensor)
        if slot is None:
            with recording_with(self):
                self.apply(_captured, (tensor,))
            slot = self.slot_of(tensor)
            assert slot is not None
        return slot

    def draw(
        self, draw: Callable[..., np.ndarray[Any, Any]], arguments: tuple[Any, ...], aval: Aval
    ) -> Tensor:
        """Return random numbers that differ in each iteration; all are drawn before the loop begins."""
        outermost = self.outermost

        def stacked(lead: tuple[int, ...]) -> Tensor:
            return outermost.draw(draw, (*arguments, lead), Aval((*lead, *aval.shape), aval.dtype))

        return self.reserve(stacked)

    def reserve(self, make: Callable[[tuple[int, ...]], Tensor], lead: tuple[int, ...] = ()) -> Tensor:
        """Return a tensor that differs in each iteration: a row of ``make(lead)``, which runs before the loop."""
        if self._trips is None:
            if self.op in ("cond", "case", "switch_case"):
                with recording_with(self.outer):
                    return reserved(make, self.outer, lead)
            raise ControlFlowError(
                f"[{self.op}] random numbers in the body, at {user_line()}: the number of iterations is not known, so "
                "all would get the same numbers; draw them before, or use jt.scan or jt.fori_loop, or pass a seed of "
                "the iteration to a function such as jt.random.stateless_normal"
            )
        with recording_with(self.outer):
            stack = reserved(make, self.outer, (self._trips, *lead))
        aval = Aval(stack.aval.shape[1:], stack.aval.dtype)
        key = (_placeholders, ("row",), marker_for(aval, None))
        node = self.node.children.get(key)
        self.node = insert_call(self.node, key) if node is None else node
        self.inputs.append(Row(stack))
        (tensor,) = self.tensors_at(self.node)
        return tensor

    def _known_source(self, source: Any) -> list[Any] | None:
        if not isinstance(source, Tensor):
            return super()._known_source(source)
        if source._buffer is not None:
            return source._buffer.array.ravel().tolist()
        find = getattr(source._trace, "known_numbers", None)
        return None if find is None else find(source)

    # ---- integers without a value ------------------------------------------------------------------------------

    def affine(self, value: Any, exact: bool = False) -> AffineInteger | None:
        """Return what is known of `value`, as `AffineRecorder` says."""
        if not isinstance(value, Tensor) or value.aval.shape or value.aval.dtype.kind not in "iu":
            return None
        if value._buffer is not None or not isinstance(value._trace, BodyTrace) or value._trace.over:
            return None
        slot = self.import_tensor(value)
        path = path_to(self.node)
        numbers = {}
        for s, number in zip(path.inputs, self.inputs, strict=True):
            if exact and type(number) is TracedScalar and number.can_index:
                number = number.concretize()
            if type(number) in (int, Extent) or isinstance(number, np.integer):
                numbers[s] = number
        with self.deriving():
            return affine_integer(slot, path.ops, path.avals, numbers)

    # ---- errors ------------------------------------------------------------------------------------------------

    def assign(self, variable: Variable, value: Tensor) -> None:
        """Raise an error for an assignment in a body."""
        raise ControlFlowError(
            f"[{self.op}] the body assigns variable '{variable._label}' at {user_line()}: a compiled loop or branch "
            "changes nothing outside; return the new value and assign the result"
        )

    def _refuse_write(self, tensor: Tensor) -> NoReturn:
        raise ControlFlowError(
            f"[{self.op}] the body writes to a tensor from outside, {tensor.aval}, at {user_line()}: a compiled loop "
            "or branch changes nothing outside; write to a copy (`t = copy.copy(t)`) and return it"
        )

    def created(self, initial: Tensor) -> NoReturn:
        """Raise an error for a Variable that is created in a body."""
        raise ControlFlowError(
            f"[{self.op}] the body creates a jt.Variable at {user_line()}: create it before, and let the loop carry "
            "its value"
        )

    def flush(self, wanted: Tensor | None = None) -> None:
        """Raise an error, as a body has no values."""
        if self.over:
            raise LeakedValueError(
                f"a tensor of {self.traced_in} is used outside of it, where it has no value: return it from the body"
            )
        call = call_of_user()
        arrays = (
            "; to index a NumPy array by a tensor, use jt.constant(array)[index]" if call == "array" else ""
        )
        raise ControlFlowError(
            f"[{self.op}] the body needs the value of a tensor for {call}() at {user_line()}: it is run "
            "once, to be compiled, and has no values; use jt.where, jt.cond or jt.while_loop for what depends on them"
            + arrays
        )


def _note_end(node: Node) -> None:
    """Note that a body ends at `node`, so that bodies of other lengths are derived from recorded ones."""
    if node.derivation is not None:
        node.derivation[0].is_used = True
    elif not open_extents:
        note_path(node)


@any_dtype
def _placeholders(*handles: Any) -> tuple[Any, ...]:
    """Return placeholders; the last argument distinguishes paths."""
    return handles[:-1]


@any_dtype
def _captured(x: Any) -> Any:
    return x
