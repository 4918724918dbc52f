"""`Tracing`: the trace of a function that is run once with placeholders, to be compiled.

It records as any trace does, but computes nothing: whoever looks at a value ends it (`Look`). What the path takes in is
kept as where it comes from (an argument, a Variable, a draw of random numbers), not as a value. When it is over,
Variables and tensors are again as they were before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from jittape.core.buffers import Buffer, owned
from jittape.core.interpret import interpret
from jittape.core.locks import rlock
from jittape.core.program import Aval, Program, SourceLine
from jittape.core.traced_scalar import TracedScalar
from jittape.core.traced_scalar import static as as_static
from jittape.errors import LeakedTensorError
from jittape.numpy_api.numpy_protocol import array_ufunc
from jittape.recording.symbolic_trace import SymbolicTrace
from jittape.recording.tensor import Tensor
from jittape.recording.trace import current_trace
from jittape.recording.trie import Node, cut_program, path_to, trie
from jittape.recording.trie_insertion import insert_call, marker_for
from jittape.recording.user_line import call_of_user, user_line
from jittape.recording.variable import Variable

__all__ = ["Leaf", "Look", "RandomInput", "Tracing", "drawn", "read_each_call"]

_one_at_a_time = rlock()
"""Variables belong to the tracing while it runs; another thread that needs one waits for its end."""

_REMEDY = "use jt.where, jt.cond, jt.while_loop or jt.scan there, or return the tensor"

Draw = Callable[[], np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Leaf:
    """An input that is argument number `number`."""

    number: int


@dataclass(frozen=True)
class RandomInput:
    """An input that is drawn at every call."""

    draw: Draw
    aval: Aval


class Look(BaseException):
    """A value is needed where a function is traced. No `Exception`: the function's own handlers are not meant.

    Attributes
    ----------
    action : str
        What was called: ``bool``, ``float``, ``numpy``, ...
    of : str
        What it was called on.
    line : SourceLine or None
    remedy : str
        What to do instead.
    """

    def __init__(self, action: str, of: str, line: SourceLine | None, remedy: str) -> None:
        super().__init__(action)
        self.remedy = remedy
        self.action = action
        self.of = of
        self.line = line


class Tracing(SymbolicTrace):
    """The trace of one run of a function with placeholders.

    Parameters
    ----------
    name : str
        Of the function.
    leaves : sequence
        The arguments of the call that is traced; an `Aval` for one that is only described.
    may_create : bool
        Whether the function may make Variables.

    Attributes
    ----------
    made : int
        Variables made meanwhile.
    computed : list of HostNumber
        The numbers computed from others, in order.
    settled : list of (HostNumber, value)
        The ints and bools, arguments or computed, of which it holds for one value only.
    over : bool
        Whether the tracing has ended.
    look : Look or None
        The first value that was needed; a function may have caught it.
    prints : list of tuples
        What is to be printed at each call, see `jt.print`.
    distinct : set of int
        The arrays among the arguments of which it matters whether another argument is the same tensor.
    """

    def __init__(self, name: str, leaves: Sequence[Any], may_create: bool) -> None:
        super().__init__(name)
        self._root = self.node = trie.apart()  # shared nodes would name the lines of others
        self.made = 0
        self.computed: list[TracedScalar] = []
        self.settled: list[tuple[TracedScalar, Any]] = []
        self.look: Look | None = None
        self.prints: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.distinct: set[int] = set()
        self._placeholders: dict[int, list[int]] = {}
        self._leaves = leaves
        self._may_create = may_create
        self._drawn: dict[int, Any] = {}
        self._before: dict[int, tuple[Any, Any, int]] = {}
        self._thread = threading.get_ident()
        self.over = False

    # ---- life --------------------------------------------------------------------------------------------------

    def __enter__(self) -> Tracing:
        _one_at_a_time.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        """Put everything back."""
        for value, trace, slot in self._before.values():
            if value._trace is self:
                value._trace, value._slot = trace, slot
            if value.__class__ is Variable and value._assigned_in is self:
                value._assigned_in = None
        node = self.node
        self._clear()
        self.node = node
        trie.forget(self._root)
        self.pending, self.assigned, self._before, self._leaves = [], {}, {}, ()
        self.spans.clear()
        self._itself = None
        self.over = True
        _one_at_a_time.release()

    def placeholders(
        self, avals: Sequence[tuple[int, Aval]], same: Mapping[int, int] = MappingProxyType({})
    ) -> dict[int, Tensor]:
        """A tensor for every array among the arguments, by its number; `same` says which are an earlier one."""
        avals = [(number, aval) for number, aval in avals if number not in same]
        if not avals:
            return {}
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

    def note_source(self, tensor: Tensor) -> None:
        """As `SymbolicTrace.note_source`, of an argument."""
        slot = self.slot_of(tensor)
        self.distinct.update(() if slot is None else self._placeholders.get(slot, ()))

    def number(self, leaf: int, now: Any, text: str) -> TracedScalar:
        """A number among the arguments."""
        return TracedScalar(self, now, text, leaf)

    def program(self, outputs: tuple[int, ...]) -> tuple[Program, list[Any]]:
        """What computes `outputs`, and where each of its inputs comes from."""
        path = path_to(self.node)
        program = cut_program(path, outputs, ())
        sources = dict(zip(path.inputs, self.inputs, strict=True))
        return program, [sources[slot] for slot in program.inputs]

    def owns(self, value: Any) -> bool:
        """Whether `value` is a tensor that was traced here."""
        return value.__class__ is Tensor and value._trace is self and value._buffer is None

    # ---- recording ---------------------------------------------------------------------------------------------

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """As `Trace.apply`, for parameters that may be traced numbers."""
        return super().apply(body, arrays, as_static(static))

    def _import(self, a: Tensor | Variable, slot: int) -> None:
        self._remember(a)
        super()._import(a, slot)
        if isinstance(a, Variable):
            self.inputs[-1] = a

    def _remember(self, a: Tensor | Variable) -> None:
        if id(a) not in self._before:
            self._before[id(a)] = (a, a._trace, a._slot)

    def assign(self, variable: Variable, value: Tensor) -> None:
        """As `Trace.assign`, until the end of the tracing."""
        if variable._assigned_in is not None and variable._assigned_in is not self:
            variable._assigned_in.flush()
        self._remember(variable)
        super().assign(variable, value)

    def forget_assignment(self, variable: Variable) -> None:
        """Another thread assigns `variable`: it has to wait."""
        self.flush()

    def draw(self, draw: Draw, aval: Aval) -> Tensor:
        """A tensor that `draw` gives anew at every call."""
        key = (_random_input, (), marker_for(aval, None))
        node = self.node.children.get(key)
        self.node = insert_call(self.node, key) if node is None else node
        self.inputs.append(RandomInput(draw, aval))
        (tensor,) = self.tensors_at(self.node)
        return tensor

    def array_ufunc(
        self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A NumPy function of numbers and arrays is recorded."""
        return array_ufunc(ufunc, method, inputs, kwargs)

    # ---- values that are needed --------------------------------------------------------------------------------

    def flush(self, wanted: Tensor | None = None) -> None:
        """A value is needed: the tracing ends, or has ended, or another thread has to wait for its end."""
        if self.over:
            raise self._leaked(wanted)
        if threading.get_ident() != self._thread:
            with _one_at_a_time:
                return
        raise self.needed("a traced tensor" if wanted is not None else "a Variable")

    def demanded(self, number: TracedScalar) -> Any:
        """A number's value is needed; the trace holds for this value from now on, unless it is a float's."""
        if self.over:
            raise LeakedTensorError(
                f"the {number.described} of the function {self.traced_in!r} is used outside of it, where it has no "
                "value: return it instead"
            )
        if not number.steady:
            raise self.needed(f"the {number.described}, which may be another at each call,")
        if not number.specialized:
            number.specialized = True
            self.settled.append((number, number.now))
        return number.now

    def failed(self, number: TracedScalar) -> None:
        """An error is raised because of a number; if the function handles it, the trace holds for this value only."""
        if number.steady:
            self.demanded(number)
        else:
            self.needed(f"the {number.described}, which may be another at each call,")

    def needed(self, of: str, remedy: str = _REMEDY) -> Look:
        """What to raise where the value `of` is needed."""
        look = Look(call_of_user(), of, user_line(), remedy)
        if self.look is None:
            self.look = look
        return look

    def _leaked(self, tensor: Tensor | None) -> LeakedTensorError:
        made = None if tensor is None else _line_of(self.node, tensor._slot)
        where = "" if made is None else f", made at {made.link},"
        return LeakedTensorError(
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
        """The first value of a Variable that is made in the function."""
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
        """The value that `tensor` has in the call that is traced."""
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
        if isinstance(source, Variable):
            return source._buffer.array
        return source.array if isinstance(source, Buffer) else source


def _arguments(*handles: Any) -> tuple[Any, ...]:
    return handles


def _random_input(x: Any) -> Any:
    return x


def _line_of(node: Node | None, slot: int) -> SourceLine | None:
    """The line that made the result in `slot`."""
    while node is not None:
        if node.slot == slot or (node.results is not None and any(r and r[0] == slot for r in node.results)):
            return node.source
        node = node.parent
    return None


def drawn(draw: Draw, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    """A tensor of what `draw` gives: now, and in a traced function at every call."""
    return current_trace().draw(draw, Aval(shape, dtype))


def read_each_call(read: Callable[[], Any], text: str) -> Any:
    """What `read` gives; in a traced function a float that is read anew at every call."""
    recorder = current_trace().outermost
    now = read()
    if isinstance(recorder, Tracing) and type(now) is float:
        return TracedScalar(recorder, now, text, compute=read)
    return now
