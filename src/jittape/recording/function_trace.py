"""`FunctionTrace`: the trace of a function that runs once with placeholders, to be compiled.

The trace records like any other but computes nothing: code that needs a value ends it with the exception
`ValueNeeded`. The inputs of the path are kept as their sources (an argument, a Variable, a draw of random numbers) and
not as values. After the trace, Variables and tensors are in their former state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from jittape.core.buffers import Buffer, owned
from jittape.core.interpret import interpret
from jittape.core.locks import rlock
from jittape.core.primitive import any_dtype
from jittape.core.program import Aval, Program
from jittape.core.symbolic.memo_keys import memo_keys
from jittape.core.traced_scalar import TracedScalar
from jittape.core.traced_scalar import static as as_static
from jittape.core.user_calls import ValueNeeded, VariableNeeded, remedy_without_values
from jittape.errors import LeakedTensorError, LeakedValueError
from jittape.recording.static_info import tracings
from jittape.recording.symbolic_trace import Draw, ShapeChanges, SymbolicTrace, line_of, repeatable
from jittape.recording.tensor import Tensor, tensor_of
from jittape.recording.trace import current_trace
from jittape.recording.trie import path_to, trie
from jittape.recording.trie_insertion import insert_call, marker_for
from jittape.recording.user_line import call_of_user, user_line
from jittape.recording.variable import Variable, placeholder_for
from jittape.transform.op_paths import cut_program
from jittape.value_classes import value_class

__all__ = [
    "Captured",
    "FunctionTrace",
    "Leaf",
    "RandomInput",
    "ValueNeeded",
    "read_each_call",
]

_one_at_a_time = rlock()
"""The lock of the current tracing, which owns all Variables. Another thread that needs a Variable waits."""


@value_class
class Leaf:
    """An input that is argument number `number`."""

    number: int


@value_class
class RandomInput:
    """An input of random numbers, drawn at each call by ``function(*arguments)``."""

    function: Draw
    arguments: tuple[Any, ...]
    aval: Aval

    def draw(self) -> np.ndarray[Any, Any]:
        """Draw the numbers."""
        return repeatable(None, lambda: self.function(*self.arguments))

    def operand(self) -> Tensor:
        """Draw the numbers as a tensor."""
        return tensor_of(self.draw())


@value_class
class Captured:
    """An input that is a tensor from outside, with its value when the function was traced."""

    buffer: Buffer
    tensor: ref[Tensor]

    def operand(self) -> Tensor:
        """Return the tensor itself, so that gradients flow to it; a constant if it is gone or has been written to."""
        tensor = self.tensor()
        return (
            tensor if tensor is not None and tensor._buffer is self.buffer else tensor_of(self.buffer.array)
        )


class FunctionTrace(SymbolicTrace):
    """The trace of one run of a function with placeholders.

    Parameters
    ----------
    name : str
        Name of the function.
    leaves : sequence
        Arguments of the traced call; an `Aval` for an argument given by a `TensorSpec`.
    may_create : bool
        Whether the function may create Variables.

    Attributes
    ----------
    made : int
        Number of Variables created during the tracing.
    computed : list of TracedScalar
        Numbers computed from other numbers, in order.
    specialized : list of (TracedScalar, value)
        Ints and bools, arguments or computed, that the trace is specialized on.
    over : bool
        Whether the tracing has ended.
    needed_value : ValueNeeded or None
        The first value that was needed; the function may have caught the exception.
    prints : list of tuples
        Arguments of `jt.print`, to print at each call.
    distinct : set of int
        Array arguments for which it matters whether another argument is the same tensor.
    reads : dict
        Identity of each Variable that was read after it had been assigned, by the slot of what was read.
    variable_placeholders : dict
        By identity, the placeholders for Variables among the arguments, with the number of the argument.
    variable_needed : bool
        Whether the function has used what distinguishes such a Variable from others of its kind.
    """

    changes_shapes = True

    def __init__(self, name: str, leaves: Sequence[Any], may_create: bool) -> None:
        super().__init__(name)
        # Shared nodes could name the source lines of another function.
        self._root = self.node = trie.separate_root()
        self.made = 0
        self.computed: list[TracedScalar] = []
        self.specialized: list[tuple[TracedScalar, Any]] = []
        self.needed_value: ValueNeeded | None = None
        self.prints: list[tuple[list[Any], dict[str, Any]]] = []
        self.distinct: set[int] = set()
        self.reads: dict[int, int] = {}
        self.variable_placeholders: dict[int, tuple[Variable, int]] = {}
        self.variable_needed = False
        self._placeholder_of: dict[int, Variable] = {}
        self._sources: dict[int, Variable] = {}
        self.shape_changes = ShapeChanges()
        self._placeholders: dict[int, list[int]] = {}
        self._leaves = leaves
        self._may_create = may_create
        self._drawn: dict[int, Any] = {}
        self._former_places: dict[int, tuple[Any, Any, int]] = {}
        self._thread = threading.get_ident()
        self.over = False

    # ---- life --------------------------------------------------------------------------------------------------

    def __enter__(self) -> FunctionTrace:
        _one_at_a_time.acquire()
        tracings.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        """Restore Variables and tensors, and end the tracing."""
        tracings.remove(self)
        for value, trace, slot in self._former_places.values():
            if value._trace is self:
                value._trace, value._slot = trace, slot
            if value.__class__ is Variable and value._assigned_in is self:
                value._assigned_in = None
        self.shape_changes.undo()
        for made, _ in self.variable_placeholders.values():
            made._assigned_in = self  # so that using it from now on is an error
        node = self.node
        self._clear()
        self.node = node
        trie.forget(self._root)
        self.pending, self.assigned, self._former_places, self._leaves = [], {}, {}, ()
        self.variable_placeholders, self._placeholder_of, self._sources = {}, {}, {}
        self.intervals.clear()
        self._itself = None
        self.over = True
        _one_at_a_time.release()

    def placeholders(
        self, avals: Sequence[tuple[int, Aval]], same: Mapping[int, int] = MappingProxyType({})
    ) -> dict[int, Tensor]:
        """Return a tensor for each array argument by its number; `same` maps repeated arguments to the first one."""
        avals = [(number, aval) for number, aval in avals if number not in same]
        if not avals:
            return {}
        with memo_keys():
            markers = [marker_for(aval, None) for _, aval in avals]
        key = (_arguments, (), *markers)
        node = self.node.children.get(key)
        self.node = insert_call(self.node, key) if node is None else node
        self.inputs.extend([Leaf(number) for number, _ in avals])
        made = dict(zip([number for number, _ in avals], self.tensors_at(self.node), strict=True))
        made |= {number: made[first] for number, first in same.items()}
        for number, tensor in made.items():
            self._placeholders.setdefault(tensor._slot, []).append(number)
        return made

    def variable_placeholder(self, number: int, variable: Variable) -> Variable:
        """Return the placeholder for a Variable that is argument `number`; a repeated Variable has one placeholder."""
        made = self._placeholder_of.get(id(variable))
        if made is None:
            made = self._placeholder_of[id(variable)] = placeholder_for(variable, self)
            self.variable_placeholders[id(made)] = made, number
        return made

    def has_placeholder(self, variable: Variable) -> bool:
        """Return whether `variable` has a placeholder."""
        return id(variable) in self._placeholder_of

    def need_variable(self) -> NoReturn:
        """Raise `VariableNeeded`: the function uses what distinguishes an argument from other Variables of its kind."""
        if self.over:
            raise LeakedTensorError(
                f"a Variable among the arguments of the function {self.traced_in!r} is used outside of it, where it is "
                "only a placeholder: keep the Variable that was passed"
            )
        self.variable_needed = True
        raise VariableNeeded

    def note_variable(self, variable: Variable) -> None:
        """Note that the function differentiates with respect to `variable`, or that its shape matters."""
        if self.shape_changes and threading.get_ident() != self._thread:
            self.flush()
        self._sources[id(variable)] = variable

    def outer_variables(self) -> list[Variable]:
        """Return the Variables from outside that the function has read or assigned, or that were noted."""
        places = {key: a for key, (a, _, _) in self._former_places.items() if isinstance(a, Variable)}
        return [v for key, v in (places | self._sources).items() if key not in self.variable_placeholders]

    def note_source(self, tensor: Tensor) -> None:
        """Note that it matters whether other arguments are the same as `tensor`, if it is an argument."""
        slot = self.slot_of(tensor)
        self.distinct.update(() if slot is None else self._placeholders.get(slot, ()))

    def number(self, leaf: int, now: Any, text: str) -> TracedScalar:
        """Return the traced scalar of a number among the arguments."""
        return TracedScalar(self, now, text, leaf)

    def program(self, outputs: tuple[int, ...]) -> tuple[Program, list[Any]]:
        """Return the program that computes `outputs`, and the sources of its inputs."""
        path = path_to(self.node)
        program = cut_program(path, outputs, ())
        sources = dict(zip(path.inputs, self.inputs, strict=True))
        return program, [sources[slot] for slot in program.inputs]

    def owns(self, value: Any) -> bool:
        """Return whether `value` is a tensor of this trace."""
        return value.__class__ is Tensor and value._trace is self and value._buffer is None

    # ---- recording ---------------------------------------------------------------------------------------------

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Record a call, as `Trace.apply` does; parameters may be traced numbers."""
        return super().apply(body, arrays, as_static(static))

    def _import(self, a: Tensor | Variable, slot: int) -> None:
        self._remember(a)
        super()._import(a, slot)
        self.inputs[-1] = a if isinstance(a, Variable) else Captured(self.inputs[-1], ref(a))

    def _remember(self, a: Tensor | Variable) -> None:
        if id(a) not in self._former_places:
            self._former_places[id(a)] = (a, a._trace, a._slot)

    def assign(self, variable: Variable, value: Tensor) -> None:
        """Assign to `variable`, as `Trace.assign` does, until the end of the tracing."""
        if variable._assigned_in is not None and variable._assigned_in is not self:
            variable._assigned_in.flush()
        self._remember(variable)
        super().assign(variable, value)

    def _read_version(self, variable: Variable) -> None:
        super()._read_version(variable)
        self.reads[variable._slot] = id(variable)

    def assign_shape(self, variable: Variable, value: Tensor) -> None:
        """Assign a value of any shape, which the Variable has until the end of the tracing."""
        is_used = id(variable) in self._former_places or id(variable) in self._sources
        self.shape_changes.change(variable, value.aval.shape, is_used)
        self.assign(variable, value)

    def forget_assignment(self, variable: Variable) -> None:
        """Let another thread, which assigns to `variable`, wait for the end of the tracing."""
        self.flush()

    def draw(self, draw: Draw, arguments: tuple[Any, ...], aval: Aval) -> Tensor:
        """Return a tensor that ``draw(*arguments)`` computes at each call."""
        key = (_random_input, (), marker_for(aval, None))
        node = self.node.children.get(key)
        self.node = insert_call(self.node, key) if node is None else node
        self.inputs.append(RandomInput(draw, arguments, aval))
        return self.tensors_at(self.node)[0]

    def array_ufunc(self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Any) -> Any:
        """Record a NumPy function of numbers and arrays."""
        from jittape.numpy_api.numpy_protocol import array_ufunc  # its tables take 13 ms to import

        return array_ufunc(ufunc, method, *inputs, **kwargs)

    def _known_source(self, source: Any) -> list[Any] | None:
        return (
            source.buffer.array.ravel().tolist()
            if isinstance(source, Captured)
            else super()._known_source(source)
        )

    # ---- needed values -----------------------------------------------------------------------------------------

    def flush(self, wanted: Tensor | None = None) -> None:
        """Raise `ValueNeeded`, or an error after the end of the tracing. Another thread waits for the end instead."""
        if self.over:
            raise self._leaked(wanted)
        if threading.get_ident() != self._thread:
            with _one_at_a_time:
                return
        raise self.needed("a traced tensor" if wanted is not None else "a Variable")

    def demanded(self, number: TracedScalar) -> Any:
        """Return the value of an int or bool and specialize the trace on it; raise `ValueNeeded` for a float."""
        if self.over:
            raise LeakedTensorError(
                f"the {number.described} of the function {self.traced_in!r} is used outside of it, where it has no "
                "value: return it instead"
            )
        if not number.steady:
            raise self.needed(f"the {number.described}, which may be another at each call,")
        if not number.specialized:
            number.specialized = True
            self.specialized.append((number, number.now))
        return number.now

    def failed(self, number: TracedScalar) -> None:
        """Specialize the trace on a number that causes an error, as the function may handle the error."""
        if number.steady:
            self.demanded(number)
        else:
            self.needed(f"the {number.described}, which may be another at each call,")

    def needed(self, of: str, remedy: str | None = None) -> ValueNeeded:
        """Return the `ValueNeeded` to raise if the value `of` is needed. The default remedy depends on the function."""
        action = call_of_user()
        signal = ValueNeeded(action, of, user_line(), remedy or remedy_without_values(action))
        if self.needed_value is None:
            self.needed_value = signal
        return signal

    def _leaked(self, tensor: Tensor | None) -> LeakedValueError:
        made = None if tensor is None else line_of(self.node, tensor._slot)
        where = "" if made is None else f", made at {made.link},"
        return LeakedValueError(
            f"a tensor of the function {self.traced_in!r}{where} is used outside of the function, where it has "
            "no value: return it from the function instead of keeping it elsewhere"
        )

    def _refuse_write(self, tensor: Tensor) -> NoReturn:
        raise ValueError(
            f"[function] {self.traced_in!r} writes to a tensor from outside, {tensor.aval}, at {user_line()}: a traced "
            "function changes nothing outside except Variables; write to a copy (`t = copy.copy(t)`), return the new "
            "value, or make the tensor a jt.Variable"
        )

    def created(self, initial: Tensor) -> Buffer:
        """Return the initial value of a Variable that is created in the function."""
        if not self._may_create:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable "
                "is only created once or created outside tf.function. "
                f"Here {self.traced_in!r} makes a jt.Variable each time it is traced, at {user_line()}: make it "
                "before, or once and keep it (`if self.v is None: self.v = jt.Variable(...)`)"
            )
        self.made += 1
        return self._value_now(initial) if self.owns(initial) else initial._computed()

    def _value_now(self, tensor: Tensor) -> Buffer:
        """Return the value of `tensor` in the traced call."""
        program, sources = self.program((tensor._slot,))
        (array,) = interpret(program, [self._source_now(source) for source in sources])
        return owned(np.array(array))

    def _source_now(self, source: Any) -> Any:
        if isinstance(source, Leaf):
            leaf = self._leaves[source.number]
            if isinstance(leaf, Aval):
                raise ValueError(
                    f"the first value of a jt.Variable made in {self.traced_in!r} depends on an argument that is only "
                    "described by a jt.TensorSpec: call the function with values first"
                )
            return leaf._computed().array if isinstance(leaf, Tensor) else np.asarray(leaf)
        if isinstance(source, RandomInput):
            if id(source) not in self._drawn:
                self._drawn[id(source)] = source.draw()
            return self._drawn[id(source)]
        if isinstance(source, TracedScalar):
            return source.now
        source = source._buffer if isinstance(source, Variable) else source
        value = source.buffer if isinstance(source, Captured) else source
        return value.array if isinstance(value, Buffer) else value


@any_dtype
def _arguments(*handles: Any) -> tuple[Any, ...]:
    return handles


@any_dtype
def _random_input(x: Any) -> Any:
    return x


def read_each_call(read: Callable[[], Any], text: str) -> Any:
    """Return the result of `read`; in a traced function, a float that is read again at each call."""
    recorder = current_trace().outermost
    now = read()
    if isinstance(recorder, FunctionTrace) and type(now) is float:
        return TracedScalar(recorder, now, text, compute=read)
    return now
