"""`Concrete`: one trace of a function, compiled, and the three ways to run it.

*Quick*: the binder checks the arguments and writes the slot table, the driver runs the kernels; this is what a call
costs as a rule. *General*: every input is made a buffer in Python; for what the binder does not know, and for programs
with NumPy steps. *Recorded*: where a tape is at work around the call, the program's ops become one edge of its trace.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.core.buffers import LARGE, Buffer
from jittape.core.builder import WeakScalar
from jittape.core.config import config
from jittape.core.primitive import active_recorder
from jittape.core.program import Aval, Program
from jittape.core.scalar_program import GuardFailed, ScalarProgram
from jittape.core.traced_scalar import TracedScalar, static
from jittape.functions.signature import GUARD_FAILED, Call, is_one
from jittape.recording.function_trace import Leaf, RandomInput, Tracing
from jittape.recording.tensor import FailedBuffer, Tensor, tensor_of
from jittape.recording.trace import Trace
from jittape.recording.variable import Variable
from jittape.runtime.counters import counters
from jittape.runtime.path_executable import compiled_from, interpreted

__all__ = ["Concrete"]


class Concrete:
    """A trace of a function, ready to be called with leaves that its key fits.

    Parameters
    ----------
    tracing : Tracing
        After the function has returned, before it is left.
    result : any
        What the function returned.
    keys : tuple
        Of the leaves that it was traced with.
    call : Call
        What it was traced with.
    same : mapping of int to int
        The leaves that were traced as an earlier one.

    Attributes
    ----------
    program : Program
        As recorded. Its outputs are the tensors returned and the new values of Variables.
    sources : list
        Where each of its inputs comes from: `Leaf`, `RandomInput`, `TracedScalar`, Variable, Buffer or a Python number.
    pairs : list of (int, int, bool)
        Arrays among the leaves of which the trace holds only if they are, or are not, one tensor.
    avals, assigned : lists
        Of the tensors returned; the Variables that get new values.
    rebuild_tensors : callable or None
        Puts the result together where all its leaves are tensors.
    returns_one : bool
        Whether the result is its one leaf.
    quick : callable
        The quick way; gives `GUARD_FAILED` for what it does not know.
    recordable : bool
        Whether a tape around a call may see the program in the place of the function.
    """

    def __init__(
        self, tracing: Tracing, result: Any, keys: tuple[Any, ...], call: Call, same: Mapping[int, int]
    ) -> None:
        self.keys = keys
        self.structure = call.structure
        alike = {
            (min(i, j), max(i, j)) for i in tracing.distinct for j, key in enumerate(keys) if keys[i] == key
        }
        self.pairs = [(i, j, same.get(i, i) == same.get(j, j)) for i, j in sorted(alike) if i != j]
        self._take_result(tracing, result)
        outputs = [slot for slot, _ in self._tensors.values()]
        self.assigned = [variable for variable, *_ in tracing.assigned.values()]
        outputs += [slot for _, slot, *_ in tracing.assigned.values()]
        self.prints, printed = _printing(tracing)
        self._n_printed = len(printed)
        outputs += printed
        self.program, self.sources = tracing.program(tuple(outputs))
        special = any(op.primitive.reads_variable or op.primitive.calls_back for op in self.program.ops)
        self.recordable = not (special or self.prints)
        self.settled = list(tracing.settled)
        numbers = [source for source in self.sources if isinstance(source, TracedScalar)]
        self.computed = list(tracing.computed)
        self.host = ScalarProgram([*numbers, *self._numbers.values()], self.settled, self.computed)
        self.visits = 0
        self._recordings = 0
        self.ran_compiled = True
        self._replay = _Replay(self.program)
        self._compiled: Any = None
        self._prepared = False
        self.quick: Callable[[tuple[Any, ...]], Any] = _missed

    def _take_result(self, tracing: Tracing, result: Any) -> None:
        """Which of the result's leaves are tensors, which numbers; the others are the same at each call."""
        self._rebuild: Callable[[list[Any]], Any]
        if tracing.owns(result):
            self._leaves, self._rebuild = [result], _only
        elif type(result) in (list, tuple) and all([tracing.owns(r) for r in result]):
            self._leaves, self._rebuild = list(result), type(result)
        elif result is None:
            self._leaves, self._rebuild = [None], _only
        else:
            import optree

            self._leaves, tree = optree.tree_flatten(result, none_is_leaf=True, namespace="jittape")
            self._rebuild = lambda leaves: optree.tree_unflatten(tree, leaves)
        self._tensors = {i: (t._slot, t.aval) for i, t in enumerate(self._leaves) if tracing.owns(t)}
        self._numbers = {i: n for i, n in enumerate(self._leaves) if isinstance(n, TracedScalar)}
        self._leaves = [
            None if i in self._tensors or i in self._numbers else _constant(r)
            for i, r in enumerate(self._leaves)
        ]
        self.avals = [aval for _, aval in self._tensors.values()]
        self.rebuild_tensors = self._rebuild if len(self._tensors) == len(self._leaves) else None
        self.returns_one = self._rebuild is _only and self.rebuild_tensors is not None

    @property
    def is_quick(self) -> bool:
        """Whether there is a quick way."""
        return config._native and self.quick is not _missed

    @property
    def uses(self) -> int:
        """How often it was called or recorded."""
        return self.visits + self._recordings

    def holds(self, leaves: tuple[Any, ...]) -> bool:
        """Whether the trace holds for leaves of its key."""
        try:
            self.host.check(leaves)
        except GuardFailed:
            return False
        return self.shares(leaves)

    def shares(self, leaves: tuple[Any, ...]) -> bool:
        """Whether those of `leaves` are one tensor that were when the function was traced, as far as that matters."""
        return all([is_one(leaves[i], leaves[j]) == same for i, j, same in self.pairs])

    def failure(self, leaves: tuple[Any, ...]) -> BaseException | None:
        """The error of a number that cannot be computed of `leaves`."""
        try:
            self.host.check(leaves)
        except GuardFailed as changed:
            return changed.__cause__
        return None

    @property
    def numbers_returned(self) -> Sequence[TracedScalar]:
        """The numbers among the results."""
        return list(self._numbers.values())

    # ---- calling ---------------------------------------------------------------------------------------------------

    def __call__(self, leaves: tuple[Any, ...]) -> Any:
        """The result, or `GUARD_FAILED`."""
        if config._native and not config._interpret:
            result = self.quick(leaves)
            if result is not GUARD_FAILED:
                return result
        try:
            numbers = self._numbers_at(leaves)
        except GuardFailed:
            return GUARD_FAILED
        inputs = self.inputs(leaves, numbers)
        counters.last = self
        self.visits += 1
        self.ran_compiled = not config._interpret
        if config._interpret:
            buffers = interpreted(self.program, inputs)
        else:
            # The Variable refers to a donated buffer, and `inputs`.
            buffers = self.compiled.run(inputs, 1)
            counters.compiled_runs += 1
            if self.visits > 1 and not self._prepared and config.follow_tracing():
                self._prepare()
        last = len(buffers) - self._n_printed
        for variable, buffer in zip(self.assigned, buffers[len(self.avals) : last], strict=True):
            variable._set(buffer)
        _print(self.prints, buffers[last:])
        return self.unflatten_call(buffers, numbers)

    def _numbers_at(self, leaves: tuple[Any, ...]) -> Sequence[Any]:
        """The numbers that the trace has made of its arguments, for a call that it holds for."""
        if not self.shares(leaves):
            raise GuardFailed
        return self.host.run(leaves)

    def unflatten_call(self, values: Sequence[Any], numbers: Sequence[Any]) -> Any:
        """The result: of buffers or pending tensors for its tensors, and of the last of the call's numbers."""
        tensors = [
            Tensor(None, -1, aval, value) if value.__class__ is Buffer else value
            for aval, value in zip(self.avals, values, strict=False)
        ]
        if self.rebuild_tensors is not None:
            return self.rebuild_tensors(tensors)
        leaves = [copy.copy(x) if isinstance(x, (np.ndarray, Tensor)) else x for x in self._leaves]
        for i, tensor in zip(self._tensors, tensors, strict=True):
            leaves[i] = tensor
        for i, number in zip(self._numbers, numbers[len(numbers) - len(self._numbers) :], strict=True):
            leaves[i] = number
        return self._rebuild(leaves)

    def inputs(
        self, leaves: tuple[Any, ...], numbers: Sequence[Any], drawn: Sequence[Buffer] | None = None
    ) -> list[Any]:
        """A buffer or a Python number for every input of the program.

        Random numbers, unless they are `drawn` already, come last, when nothing can be wrong with what is given.
        """
        values = iter(numbers)
        inputs: list[Any] = []
        for slot, source in zip(self.program.inputs, self.sources, strict=True):
            if isinstance(source, Leaf):
                leaf = leaves[source.number]
                inputs.append(_buffer_of(leaf) if isinstance(leaf, Tensor) else self._copied(slot, leaf))
            elif isinstance(source, TracedScalar):
                value = next(values)
                inputs.append(value.item() if isinstance(value, np.generic) else value)
            elif isinstance(source, Variable):
                inputs.append(source._computed())
            else:
                inputs.append(source)
        draws = [i for i, source in enumerate(self.sources) if isinstance(source, RandomInput)]
        if drawn is None:
            drawn = [Buffer(np.asarray(inputs[i].draw(), order="C")) for i in draws]
        for i, buffer in zip(draws, drawn, strict=True):
            inputs[i] = buffer
        return inputs

    def _copied(self, slot: int, leaf: np.ndarray[Any, Any]) -> Buffer:
        """An array of the caller's, which may write to it after the call, as a buffer."""
        return Buffer(np.array(leaf, self.program.avals[slot].dtype, order="C", subok=False))

    # ---- compiling -------------------------------------------------------------------------------------------------

    @property
    def compiled(self) -> Any:
        """The `CompiledExecutable`; made when it is first asked for."""
        if self._compiled is None:
            self._compile()
        return self._compiled

    def _compile(self) -> None:
        number = (TracedScalar, bool, int, float, complex)
        pairs = zip(self.program.inputs, self.sources, strict=True)
        scalars = frozenset(slot for slot, source in pairs if isinstance(source, number))
        self._compiled = compiled_from(self.program, scalars, self._donated(), self._constants())

    def _constants(self) -> dict[int, float]:
        """The numbers that the function itself has: they are no other at another call."""
        avals = self.program.avals
        return {
            slot: np.array(source).astype(avals[slot].dtype).item()
            for slot, source in zip(self.program.inputs, self.sources, strict=True)
            if type(source) in (int, float) and avals[slot].dtype.kind in "iuf"
        }

    def _donated(self) -> tuple[tuple[int, int], ...]:
        """Old and new values of large Variables, as positions in the program's inputs and outputs."""
        positions = {id(source): i for i, source in enumerate(self.sources) if isinstance(source, Variable)}
        first = len(self.avals)
        return tuple(
            [
                (positions[id(variable)], first + i)
                for i, variable in enumerate(self.assigned)
                if variable._aval.nbytes >= LARGE and id(variable) in positions
            ]
        )

    def _prepare(self) -> None:
        """Make the quick way, at the second call: the first binder of a machine takes 35 ms to compile."""
        from jittape.functions.fast_path import fast_call

        self._prepared = True
        self.quick = fast_call(self, self.compiled) or _missed

    # ---- under a tape ----------------------------------------------------------------------------------------------

    def record(self, trace: Trace, leaves: tuple[Any, ...]) -> Any:
        """The result as pending tensors of `trace`, or `GUARD_FAILED`."""
        try:
            numbers = self._numbers_at(leaves)
        except GuardFailed:
            return GUARD_FAILED
        self._recordings += 1
        values = iter(numbers)
        operands: list[Any] = []
        for source in self.sources:
            if isinstance(source, Leaf):
                operands.append(leaves[source.number])
            elif isinstance(source, TracedScalar):
                operands.append(next(values))
            elif isinstance(source, RandomInput):
                operands.append(tensor_of(source.draw()))
            elif isinstance(source, Buffer):
                operands.append(tensor_of(source.array))
            else:
                operands.append(source)
        made: Sequence[Tensor] = trace.apply(self._replay, tuple(operands)) if self.program.outputs else ()
        for variable, tensor in zip(self.assigned, made[len(self.avals) :], strict=True):
            trace.assign(variable, tensor)
        return self.unflatten_call(made, numbers)


class _Replay:
    """A body that records a program: one object for each program, as a body's identity is part of the path."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def __call__(self, *handles: Any) -> tuple[Any, ...]:
        program = self._program
        values: dict[int, Any] = {}
        for slot, handle in zip(program.inputs, handles, strict=True):
            values[slot] = (
                handle.resolve(program.avals[slot].dtype) if isinstance(handle, WeakScalar) else handle
            )
        builder: Any = active_recorder()
        outer = builder.source
        for op in program.ops:
            builder.source = op.source or outer
            values[op.out] = op.primitive.bind(*[values[slot] for slot in op.args], **dict(op.params))
        builder.source = outer
        return tuple([values[slot] for slot in program.outputs])


def _printing(tracing: Tracing) -> tuple[list[tuple[list[Any], dict[str, Any]]], list[int]]:
    """What is printed at each call, with a number of an output in the place of each tensor; and these outputs."""
    slots: list[int] = []
    prints: list[tuple[list[Any], dict[str, Any]]] = []
    for values, options in tracing.prints:
        pieces: list[Any] = []
        for value in values:
            if tracing.owns(value):
                pieces.append(_Printed(len(slots), value.aval))
                slots.append(value._slot)
            else:
                pieces.append(value)
        prints.append((pieces, options))
    return prints, slots


class _Printed(NamedTuple):
    """The place of a tensor in what is printed."""

    output: int
    aval: Aval


def _print(prints: list[tuple[list[Any], dict[str, Any]]], buffers: list[Buffer]) -> None:
    for pieces, options in prints:
        values = [buffers[piece.output].view() if isinstance(piece, _Printed) else piece for piece in pieces]
        print(*values, **options)


def _buffer_of(tensor: Tensor) -> Buffer:
    """The value of an argument, or the error that there was in the place of it."""
    buffer: Any = tensor._computed()
    if buffer.__class__ is FailedBuffer:
        buffer.reraise()
    found: Buffer = buffer
    return found


def _constant(leaf: Any) -> Any:
    """A leaf of the result that is the same at each call; the hash of a number in a set has told its value."""
    return type(leaf)(map(static, leaf)) if type(leaf) in (set, frozenset) else leaf


def _missed(leaves: tuple[Any, ...]) -> Any:
    return GUARD_FAILED


def _only(leaves: list[Any]) -> Any:
    return leaves[0]
