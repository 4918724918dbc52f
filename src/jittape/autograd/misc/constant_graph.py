"""`ConstantGraph`: the operations of one call of a function, to be repeated on other arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jittape.autograd.call_log import LoggedCall
from jittape.autograd.containers import as_numpy, as_tensor, is_box, leaves_of_value, like, mapped
from jittape.core.buffers import Buffer
from jittape.core.primitive import apply
from jittape.core.program import Op, Program
from jittape.functions.replay import Replay
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace
from jittape.recording.trie import path_to
from jittape.transform.op_paths import Path

__all__ = ["ConstantGraph"]


class _Call(NamedTuple):
    """A call of a primitive, with the slots of the tensors among its arguments and of its results."""

    logged: LoggedCall
    taken: tuple[int, ...]
    made: tuple[int, ...]

    def run(self, values: dict[int, Any], host: bool) -> None:
        """Call the primitive on `values`, which gets the results; on ndarrays if `host` is set."""
        taken = iter(self.taken)
        given = (self.logged.args, self.logged.kwargs)
        args, kwargs = mapped(lambda leaf: values[next(taken)] if is_box(leaf) else leaf, given)
        if host:
            args, kwargs = as_numpy((args, kwargs))
        answer = self.logged.function(*args, **kwargs)
        values.update(zip(self.made, map(as_tensor, leaves_of_value(answer)), strict=True))


class _Ops(NamedTuple):
    """A run of operations without a call of a primitive."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    replay: Replay

    def run(self, values: dict[int, Any], host: bool) -> None:
        """Record the operations again on `values`, which gets the results."""
        results = apply(self.replay, tuple([values[slot] for slot in self.inputs]))
        values.update(zip(self.outputs, results, strict=True))


class ConstantGraph:
    """The operations between arguments and value of a function, and the values that do not depend on the arguments.

    Parameters
    ----------
    trace : Trace
        Trace that has recorded the call.
    leaves : sequence of Tensor
        Tensors among the arguments.
    value : tensor or container of tensors
        What the function returned.
    calls : sequence of LoggedCall
        Calls of primitives, in order.

    Raises
    ------
    TypeError
        If an operation cannot be repeated.
    """

    def __init__(
        self, trace: Trace, leaves: Sequence[Tensor], value: Any, calls: Sequence[LoggedCall]
    ) -> None:
        slot = trace.import_tensor
        self._value = mapped(lambda leaf: None if is_box(leaf) else leaf, value)
        tensors = [as_tensor(leaf) if is_box(leaf) else None for leaf in leaves_of_value(value)]
        self._given = tuple([slot(leaf) for leaf in leaves])
        self._outputs = tuple([None if t is None else slot(t) for t in tensors])
        found = [
            _Call(
                call,
                tuple([slot(as_tensor(t)) for t in leaves_of_value((call.args, call.kwargs)) if is_box(t)]),
                tuple([slot(t) for t in leaves_of_value(call.answer)]),
            )
            for call in calls
        ]
        path = path_to(trace.node)
        called = {made: call for call in found for made in call.made}
        varied = self._varied(path, called)
        needed = self._needed(path, called, varied)
        self._constants = _constants(trace, path, needed - varied, called)
        self._steps = self._in_steps(path, called, varied, needed)

    def replayed(self, leaves: Sequence[Tensor], host: bool) -> Any:
        """Return the value for other arguments; primitives take ndarrays if `host` is set."""
        values = {**self._constants, **dict(zip(self._given, leaves, strict=True))}
        for step in self._steps:
            step.run(values, host)
        kept = zip(leaves_of_value(self._value), self._outputs, strict=True)
        return like(self._value, [leaf if slot is None else values[slot] for leaf, slot in kept])

    def _varied(self, path: Path, called: dict[int, _Call]) -> set[int]:
        """Return the slots that depend on the arguments."""
        varied = set(self._given)
        for op in path.ops:
            args = called[op.out].taken if op.out in called else op.args
            if not varied.isdisjoint(args):
                varied.add(op.out)
        return varied

    def _needed(self, path: Path, called: dict[int, _Call], varied: set[int]) -> set[int]:
        """Return the slots that the value depends on, as far as the arguments and the calls they do not reach."""
        needed = {slot for slot in self._outputs if slot is not None}
        for op in reversed(path.ops):
            if op.out not in needed or op.out in self._given:
                continue
            if op.out not in called:
                _require_repeatable(op)
                needed.update(op.args)
            elif op.out in varied:
                needed.update((*called[op.out].made, *called[op.out].taken))
        return needed

    def _in_steps(
        self, path: Path, called: dict[int, _Call], varied: set[int], needed: set[int]
    ) -> list[_Call | _Ops]:
        runs: list[Any] = [[]]
        done = {*self._given, *self._constants}
        for op in path.ops:
            if op.out not in needed or op.out in done:
                continue
            if op.out in called:
                runs += [called[op.out], []]
                done.update(called[op.out].made)
            else:
                runs[-1].append(op)
        wanted = {slot for slot in self._outputs if slot is not None}
        steps: list[_Call | _Ops] = []
        for run in reversed(runs):
            if isinstance(run, _Call):
                wanted.update(run.taken)
                steps.append(run)
            elif run:
                made = {op.out for op in run}
                outputs = tuple(sorted(made & wanted))
                inputs = tuple(sorted({arg for op in run for arg in op.args} - made))
                wanted = (wanted - made) | set(inputs)
                steps.append(_Ops(inputs, outputs, Replay(Program(inputs, tuple(run), outputs, path.avals))))
        return steps[::-1]


def _constants(trace: Trace, path: Path, slots: set[int], called: dict[int, _Call]) -> dict[int, Any]:
    """Return the values of inputs that are not arguments, and of primitives that depend on no argument."""
    constants: dict[int, Any] = {}
    for slot, value in zip(path.inputs, trace.inputs, strict=True):
        if slot in slots:
            if slot in path.variables:
                raise TypeError("[const_graph] the function reads a Variable: pass its value as an argument")
            is_array = isinstance(value, Buffer)
            constants[slot] = Tensor(None, -1, path.avals[slot], value) if is_array else value
    for slot, call in called.items():
        if slot in slots:
            leaf = leaves_of_value(call.logged.answer)[call.made.index(slot)]
            constants[slot] = as_tensor(as_numpy(leaf))
    return constants


def _require_repeatable(op: Op) -> None:
    if op.primitive.calls_back or op.primitive.reads_variable:
        what = "reads a Variable" if op.primitive.reads_variable else "calls a jittape.custom_gradient"
        way = (
            "pass its value as an argument"
            if op.primitive.reads_variable
            else "use autograd.extend.primitive"
        )
        raise TypeError(f"[const_graph] the function {what} at {op.source or 'an unknown line'}: {way}")
