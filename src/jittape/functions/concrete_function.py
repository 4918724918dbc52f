"""`Concrete`: one compiled trace of a function, and three ways to run it.

*Fast path*: the argument marshaller checks the arguments and writes the slot table, and the driver runs the kernels.
Most calls take this path. *General path*: Python makes a buffer for every input. It serves arguments that the
marshaller does not support and programs with NumPy steps. *Recorded*: under a tape, the program's ops become one edge
of its trace.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from jittape.core.buffers import LARGE, Buffer
from jittape.core.config import config
from jittape.core.program import Program
from jittape.core.scalar_program import GuardFailed, ScalarProgram
from jittape.core.symbolic.extent_functions import converted
from jittape.core.symbolic.extents import Extent
from jittape.core.traced_scalar import TracedScalar, static
from jittape.functions.printing import print_values, printed_at_each_call
from jittape.functions.replay import Stages
from jittape.functions.signature import GUARD_FAILED, Call, TensorSpec, is_same_array
from jittape.functions.variable_arguments import ArgumentVariable, VariableGuard
from jittape.recording.function_trace import Captured, FunctionTrace, Leaf, RandomInput
from jittape.recording.tensor import FailedBuffer, Tensor, tensor_of
from jittape.recording.trace import Trace
from jittape.recording.variable import Variable
from jittape.runtime.counters import counters
from jittape.runtime.interpretation import interpreted
from jittape.runtime.path_executable import compiled_from

__all__ = ["Concrete", "no_fast_path"]

_only = itemgetter(0)


class Concrete:
    """A trace of a function, to be called with leaves that have its keys.

    Parameters
    ----------
    tracing : FunctionTrace
        Trace of the function, which has returned; its context must still be active.
    result : any
        Result of the function.
    keys : tuple
        Keys of the traced leaves.
    call : Call
        Traced arguments.
    same : mapping of int to int
        Leaves that were traced as the same tensor as an earlier leaf, by position.

    Attributes
    ----------
    program : Program
        The recorded program. Its outputs are the returned tensors, the new values of Variables and printed tensors.
    sources : list
        Source of each input: `Leaf`, `ArgumentVariable`, `RandomInput`, `Captured`, `TracedScalar`, Variable, Buffer or
        a Python number.
    pairs : list of (int, int, bool)
        Pairs of leaves, and whether they must be the same tensor for the trace to hold.
    avals : list of Aval
        Avals of the returned tensors.
    variables : VariableGuard
        The Variables among the arguments that the trace holds for.
    assigned : list of Variable or ArgumentVariable
        Variables that get new values.
    specialized : list of (TracedScalar, value)
        Ints and bools with the only values that the trace holds for.
    scalars : ScalarProgram
        Guards on the specialized numbers, and the computation of the other numbers.
    rebuild_tensors : callable or None
        Function that unflattens the result if all its leaves are tensors.
    returns_one : bool
        Whether the result is a single tensor.
    fast_call : callable
        The fast path; returns `GUARD_FAILED` for arguments that it does not support.
    simple_path : tuple or None
        Machine code that does all of a call: see `jittape.functions.marshaller.simple_path`.
    may_be_general : bool
        Whether a trace for other lengths is possible: it does not print, call Python or change the shape of a Variable.
        Then a tape records the program, too, instead of running the Python function.
    """

    __slots__ = ("__dict__", "__weakref__", "fast_call", "simple_path", "visits")

    def __init__(
        self, tracing: FunctionTrace, result: Any, keys: tuple[Any, ...], call: Call, same: Mapping[int, int]
    ) -> None:
        self.keys = keys
        self.structure = call.structure
        alike = {
            (min(i, j), max(i, j)) for i in tracing.distinct for j, key in enumerate(keys) if keys[i] == key
        }
        self.pairs = [(i, j, same.get(i, i) == same.get(j, j)) for i, j in sorted(alike) if i != j]
        self._take_result(tracing, result)
        outputs = [slot for slot, _ in self._tensors.values()]
        self.variables = VariableGuard(tracing, call.leaves)
        numbers_of = {key: ArgumentVariable(n) for key, (_, n) in tracing.variable_placeholders.items()}
        self.assigned = [numbers_of.get(id(variable), variable) for variable, *_ in tracing.assigned.values()]
        outputs += [slot for _, slot, *_ in tracing.assigned.values()]
        self.prints, printed = printed_at_each_call(tracing)
        self._n_printed = len(printed)
        outputs += printed
        program, sources = tracing.program(tuple(outputs))
        self._program_of: Callable[[], Program] = lambda: program
        # No cached properties: they write to the instance's dict, and each attribute of it then takes 16 ns longer.
        self._known_program: Program | None = program
        self._known_stages = dict[int, Stages]()
        self._input_dtypes = [program.avals[slot].dtype for slot in program.inputs]
        self.sources = [numbers_of.get(id(source), source) for source in sources]
        calls_back = any([op.primitive.calls_back for op in program.ops])
        self.may_be_general = not (self.prints or tracing.shape_changes or calls_back)
        numbered = {key: n for n, key in enumerate(tracing.assigned)}
        self._reads = {slot: numbered[key] for slot, key in tracing.reads.items()}
        numbers = [source for source in self.sources if isinstance(source, TracedScalar)]
        self.specialized, self.computed = list(tracing.specialized), list(tracing.computed)
        self.scalars = ScalarProgram(numbers, self.specialized, self.computed)
        self.visits = self._recordings = 0
        self.ran_compiled, self._prepared = True, False
        self._compiled: Any = None
        self._executable: Callable[[bool], Any] | None = None
        self.fast_call: Callable[[tuple[Any, ...]], Any] = no_fast_path
        self.simple_path: tuple[Any, ...] | None = None

    def _take_result(self, tracing: FunctionTrace, result: Any) -> None:
        """Find the tensors among the result's leaves; the other leaves are constant."""
        self._rebuild: Callable[[list[Any]], Any]
        if tracing.owns(result) or result is None:
            self._leaves, self._rebuild = [result], _only
        elif type(result) in (list, tuple) and all([tracing.owns(r) for r in result]):
            self._leaves, self._rebuild = list(result), type(result)
        else:
            import optree

            self._leaves, tree = optree.tree_flatten(result, none_is_leaf=True, namespace="jittape")
            self._rebuild = lambda leaves: optree.tree_unflatten(tree, leaves)
        self._tensors = {i: (t._slot, t.aval) for i, t in enumerate(self._leaves) if tracing.owns(t)}
        self._leaves = [None if i in self._tensors else _constant(r) for i, r in enumerate(self._leaves)]
        self.avals = [aval for _, aval in self._tensors.values()]
        self.rebuild_tensors = self._rebuild if len(self._tensors) == len(self._leaves) else None
        self.returns_one = self._rebuild is _only and self.rebuild_tensors is not None
        self.returns_none = result is None

    @property
    def has_fast_path(self) -> bool:
        """Whether the trace has a fast path and native code is enabled."""
        return config._native and self.fast_call is not no_fast_path

    @property
    def uses(self) -> int:
        """Number of times the trace was called or recorded."""
        return self.visits + self._recordings

    @property
    def program(self) -> Program:
        """The recorded program."""
        if self._known_program is None:
            self._known_program = self._program_of()
        return self._known_program

    def _stages(self, reads: Mapping[int, int]) -> Stages:
        """Return the object that records the program; one for each program, as its identity is part of the trie key."""
        known = self._known_stages.get(len(reads))
        return known or self._known_stages.setdefault(len(reads), Stages(self.program, reads))

    def at(
        self,
        keys: tuple[Any, ...],
        parts: tuple[Any, ...],
        program_of: Callable[[], Program],
        executable: Callable[[bool], Any],
    ) -> Concrete:
        """Return this trace, which has not run, for other extents.

        `parts` are the sources, the avals and the constant leaves in place of its own. The program is made when it is
        needed: most lengths are met once.
        """
        other = Concrete.__new__(Concrete)
        other.__dict__.update(self.__dict__)  # takes half the time of `copy`
        other._known_program, other._known_stages, other.simple_path = None, {}, None
        other.keys, other._program_of, other._executable = keys, program_of, executable
        other.visits, other.fast_call = self.visits, self.fast_call
        other.sources, other.avals, other._leaves = map(list, parts)
        return other

    @property
    def result_leaves(self) -> tuple[Any, ...]:
        """The leaves of the result that are constant, and None for the others."""
        return tuple(self._leaves)

    def holds(self, leaves: tuple[Any, ...]) -> bool:
        """Return whether the trace holds for leaves that have its keys."""
        try:
            self.scalars.check(leaves)
        except GuardFailed:
            return False
        return self.shares(leaves)

    def shares(self, leaves: tuple[Any, ...]) -> bool:
        """Return whether the leaves that must be the same tensor or Variable, or different ones, are so."""
        same_arrays = [is_same_array(leaves[i], leaves[j]) == same for i, j, same in self.pairs]
        return self.variables.holds(leaves) and all(same_arrays)

    def failure(self, leaves: tuple[Any, ...]) -> BaseException | None:
        """Return the error of a number that cannot be computed from `leaves`; None without an error."""
        try:
            self.scalars.check(leaves)
        except GuardFailed as changed:
            return changed.__cause__
        return None

    def structured_result(self) -> Any:
        """Return the structure of the result, with a `TensorSpec` for each tensor."""
        leaves = [
            TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, (Tensor, np.ndarray)) else leaf
            for leaf in self._leaves
        ]
        for i, aval in zip(self._tensors, self.avals, strict=True):
            leaves[i] = TensorSpec(aval.shape, aval.dtype)
        return self._rebuild(leaves)

    # ---- calling ---------------------------------------------------------------------------------------------------

    def __call__(self, leaves: tuple[Any, ...]) -> Any:
        """Return the result, or `GUARD_FAILED`."""
        if config._native and not config._interpret:
            result = self.fast_call(leaves)
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
            # A donated buffer has two references: its Variable and `inputs`.
            buffers = self.compiled.run(inputs, 1)
            counters.compiled_runs += 1
            if self.visits > 1 and not self._prepared and config.follow_tracing():
                self._prepare(leaves)
        last = len(buffers) - self._n_printed
        for variable, buffer in zip(self.assigned_at(leaves), buffers[len(self.avals) : last], strict=True):
            variable._set_any(buffer)
        print_values(self.prints, buffers[last:])
        return self.unflatten_result(buffers)

    def assigned_at(self, leaves: tuple[Any, ...]) -> list[Variable]:
        """Return the Variables that a call with `leaves` assigns."""
        return [leaves[v.number] if isinstance(v, ArgumentVariable) else v for v in self.assigned]

    def _numbers_at(self, leaves: tuple[Any, ...]) -> Sequence[Any]:
        """Return the numbers that the trace computes from its arguments; raise `GuardFailed` if it does not hold."""
        if not self.shares(leaves):
            raise GuardFailed
        return self.scalars.run(leaves)

    def unflatten_result(self, values: Sequence[Any]) -> Any:
        """Return the result. `values` are buffers or pending tensors."""
        tensors = [
            Tensor(None, -1, aval, value) if value.__class__ is Buffer else value
            for aval, value in zip(self.avals, values, strict=False)
        ]
        if self.rebuild_tensors is not None:
            return self.rebuild_tensors(tensors)
        leaves = [copy.copy(x) if isinstance(x, (np.ndarray, Tensor)) else x for x in self._leaves]
        for i, tensor in zip(self._tensors, tensors, strict=True):
            leaves[i] = tensor
        return self._rebuild(leaves)

    def inputs(
        self, leaves: tuple[Any, ...], numbers: Sequence[Any], drawn: Sequence[Buffer] | None = None
    ) -> list[Any]:
        """Return a buffer or a Python number for each input of the program.

        Random numbers that are not `drawn` yet are drawn last, after all arguments have been checked.
        """
        values, inputs = iter(numbers), list[Any]()
        for dtype, source in zip(self._input_dtypes, self.sources, strict=True):
            if isinstance(source, Leaf):
                leaf = leaves[source.number]
                inputs.append(_buffer_of(leaf) if isinstance(leaf, Tensor) else _copied(leaf, dtype))
            elif isinstance(source, TracedScalar):
                value = next(values)
                inputs.append(value.item() if isinstance(value, np.generic) else value)
            elif isinstance(source, Captured):
                inputs.append(source.buffer)
            elif isinstance(source, ArgumentVariable):
                inputs.append(leaves[source.number]._computed())
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

    # ---- compiling -------------------------------------------------------------------------------------------------

    @property
    def compiled(self) -> Any:
        """The `CompiledExecutable`; compiled on first access."""
        if self._compiled is None or (self._compiled.is_provisional and self.visits > 1):
            self._compile()
        return self._compiled

    def _compile(self) -> None:
        if self._executable is not None:
            self._compiled = self._executable(self.visits > 1)
            return
        inputs = self.scalar_inputs(), self.donated(), self.constants()
        self._compiled = compiled_from(self.program, *inputs)

    def scalar_inputs(self) -> frozenset[int]:
        """Return the program's inputs that are Python numbers."""
        number = (TracedScalar, bool, int, float, complex, Extent)
        pairs = zip(self.program.inputs, self.sources, strict=True)
        return frozenset([slot for slot, source in pairs if isinstance(source, number)])

    def constants(self) -> dict[int, float]:
        """Return the program's inputs that are constants of the function."""
        avals = self.program.avals
        return {
            slot: converted(_as_number, source, avals[slot].dtype)
            for slot, source in zip(self.program.inputs, self.sources, strict=True)
            if type(source) in (int, float, Extent) and avals[slot].dtype.kind in "iuf"
        }

    def donated(self) -> tuple[tuple[int, int], ...]:
        """Return the old and new values of large Variables, as positions in the program's inputs and outputs."""
        positions = {id(source): i for i, source in enumerate(self.sources) if isinstance(source, Variable)}
        first = len(self.avals)
        pairs = [
            (positions[id(new)], first + i)
            for i, new in enumerate(self.assigned)
            if isinstance(new, Variable) and new._aval.nbytes >= LARGE and id(new) in positions
        ]
        return tuple(pairs)

    def _prepare(self, leaves: tuple[Any, ...]) -> None:
        """Create the fast path: at the second call, or later if machine code must be compiled for it."""
        from jittape.functions.fast_path import fast_call
        from jittape.functions.marshaller import is_worth_compiling

        if is_worth_compiling(self.visits):
            self._prepared, self.fast_call = True, fast_call(self, self.compiled, leaves) or no_fast_path

    # ---- under a tape ----------------------------------------------------------------------------------------------

    def record(self, trace: Trace, leaves: tuple[Any, ...]) -> Any:
        """Record the program in `trace` and return the result as pending tensors, or `GUARD_FAILED`."""
        try:
            numbers = self._numbers_at(leaves)
        except GuardFailed:
            return GUARD_FAILED
        self._recordings += 1
        values = iter(numbers)
        operands: list[Any] = []
        variables = self.assigned_at(leaves)
        for source in self.sources:
            if isinstance(source, (Leaf, ArgumentVariable)):
                operands.append(leaves[source.number])
            elif isinstance(source, TracedScalar):
                operands.append(next(values))
            elif isinstance(source, (Captured, RandomInput)):
                operands.append(source.operand())
            elif isinstance(source, Buffer):
                operands.append(tensor_of(source.array))
            else:
                operands.append(source)
        results = self._stages(self._reads).record(trace, tuple(operands), variables)
        for variable, tensor in zip(variables, results[len(self.avals) :], strict=True):
            trace.assign(variable, tensor)
        return self.unflatten_result(results)


def _buffer_of(tensor: Tensor) -> Buffer:
    """Return the value of an argument; raise its error if computing it failed."""
    buffer: Any = tensor._computed()
    if buffer.__class__ is FailedBuffer:
        buffer.reraise()
    return buffer


def _copied(leaf: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Buffer:
    """Return a buffer with a copy of an array: the caller may write to the array after the call."""
    return Buffer(np.array(leaf, dtype, order="C", subok=False))


def _constant(leaf: Any) -> Any:
    """Return a constant leaf of the result. Numbers in a set become plain: hashing them has specialized the trace."""
    return type(leaf)(map(static, leaf)) if type(leaf) in (set, frozenset) else leaf


def no_fast_path(leaves: tuple[Any, ...]) -> Any:
    """Return `GUARD_FAILED`: the fast path of a trace without one."""
    return GUARD_FAILED


def _as_number(value: float, dtype: np.dtype[Any]) -> float:
    """Return a number rounded to `dtype`."""
    return np.array(value).astype(dtype).item()
