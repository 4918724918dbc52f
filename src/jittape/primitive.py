"""The `Primitive` record, its emission forms, and the way an op gets recorded.

Everything the package knows of an op stands in one record; nothing elsewhere asks for an op's name. Read `Primitive`
first, then the forms (`Map`, `View`, ...), then `apply` and `Recorder`.

User-level functions (``multiply(x, y)``) are one line, ``apply(body, arrays, static)``. The *recorder* in charge
decides what that does: the lazy trace looks ``(body, argument slots, static)`` up in its trie and runs `body` only the
first time; a `Builder`, at work while a body or a gradient rule runs, simply calls it. A body, in turn, calls other
user-level functions or `Primitive.bind`. So a rule may be written with user-level functions and costs nothing when
repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from jittape.program import Aval, Op

__all__ = [
    "Alias",
    "Batch",
    "Call",
    "Check",
    "Checked",
    "Composed",
    "Control",
    "Coordinate",
    "Form",
    "Handle",
    "Index",
    "Join",
    "Map",
    "Overlay",
    "Place",
    "Primitive",
    "Recorder",
    "Reduce",
    "Running",
    "Scatter",
    "View",
    "active",
    "active_recorder",
    "apply",
    "recording_with",
    "replace_recorder",
    "run_key",
    "runs_of",
    "set_default_recorder",
]


class Index(NamedTuple):
    """The index into one dimension of an operand as an affine function of one loop coordinate.

    ``offset + step * coordinate[axis] + value of operand number dynamic``; `axis` and `dynamic` may be None. Where that
    operand is an array, the value is its element at the coordinates `at`.
    """

    axis: int | None = None
    step: int = 1
    offset: int = 0
    dynamic: int | None = None
    at: tuple[int, ...] = ()


@dataclass(frozen=True)
class Map:
    """Every element of the result is a scalar expression of the same element of each operand.

    `expression` is called as ``expression(m, *values, **params)`` with the math namespace `m` of the code generator
    (`m.exp`, `m.where`, ...) and values that have Python's operators. An op without operands is a constant:
    ``m.literal(value, dtype)``.
    """

    expression: Callable[..., Any]


@dataclass(frozen=True)
class View:
    """Every element of the result is some element of the first operand.

    ``index(operand aval, result aval, **params)`` gives one `Index` for every dimension of the first operand, in terms
    of the result's coordinates. Further operands are integers that an index may add (`Index.dynamic` is the operand's
    number, from 1): scalars, or arrays of which `Index.at` says which element.
    """

    index: Callable[..., tuple[Index, ...]]


@dataclass(frozen=True)
class Place:
    """The converse of `View`: the first operand is laid into zeros.

    ``index(operand aval, result aval, **params)`` gives one `Index` for every dimension of the *result*, in terms of
    the operand's coordinates; each axis of the operand appears exactly once. Elements that nothing is laid on are zero.
    """

    index: Callable[..., tuple[Index, ...]]


@dataclass(frozen=True)
class Overlay:
    """The second operand is laid over the first.

    ``index(second operand's aval, result aval, **params)`` gives one `Index` for every dimension of the result, in
    terms of the second operand's coordinates, as for `Place`. Further operands are integer scalars, numbered from 2.
    """

    index: Callable[..., tuple[Index, ...]]


@dataclass(frozen=True)
class Join:
    """Every operand is a part of the result, and every element of the result is in one of them.

    ``index(operand number, operand avals, result aval, **params)`` gives one `Index` for every dimension of the result,
    in terms of that operand's coordinates.
    """

    index: Callable[..., tuple[Index, ...]]


@dataclass(frozen=True)
class Alias:
    """The result has the very bytes of the operand in the same (C) order, under another shape."""


@dataclass(frozen=True)
class Coordinate:
    """No operands; every element is its own coordinate along the axis that the parameter `axis` names."""


@dataclass(frozen=True)
class Reduce:
    """Combine the elements along the axes that the parameter `axes` (sorted tuple) names; these go from the shape.

    `combine(m, a, b)` must be associative and commutative up to rounding; `identity(dtype)` is its neutral element.
    The accumulator has the result's dtype, to which every element is cast first.
    """

    combine: Callable[..., Any]
    identity: Callable[[np.dtype[Any]], Any]


@dataclass(frozen=True)
class Running:
    """Elements are combined one after another along the axis that the parameter `axis` names.

    ``combine(m, before, *elements)`` gives an element of the result from the one before it, which is `start` for the
    first, and the same elements of the operands.
    """

    combine: Callable[..., Any]
    start: float


@dataclass(frozen=True)
class Scatter:
    """Elements of the second operand are combined, one after another, with elements of a copy of the first.

    ``index(second operand's aval, result aval, **params)`` gives one `Index` for every dimension of the result, in
    terms of the second operand's coordinates; further operands are integers, numbered from 2. ``combining(**params)``
    is the primitive of the form `Map` that makes the new element of the old one and the value; None: the value is it.
    """

    index: Callable[..., tuple[Index, ...]]
    combining: Callable[..., Primitive | None]


@dataclass(frozen=True)
class Checked:
    """A map of its operand that exists only for values in a range.

    In machine code ``of(operand, **params)`` takes its place, written with user-level functions, `Check` among them;
    or the operand itself if it is known to be from 0 to below the parameter `size`.
    """

    of: Callable[..., Any]


@dataclass(frozen=True)
class Check:
    """Ends the run where the operand, a truth value, is true: what the program says cannot be done."""


@dataclass(frozen=True)
class Composed:
    """In machine code, other ops take its place: ``of(*handles, **params)``, written with user-level functions.

    Where it gives None, the op stays what it is.
    """

    of: Callable[..., Any]


@dataclass(frozen=True)
class Call:
    """A library routine, by the name under which the code generator knows its calling sequence (``"gemm"``).

    For dtypes that the routine does not have, `otherwise` takes its place if there is one, as in `Composed`.
    """

    routine: str
    otherwise: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Control:
    """A loop or a branch, whose parameters hold programs of their own.

    An op has one result, such a call may have many: the parameter `pick` says which of them an op is. Ops of one
    program that differ in nothing else are one *run*, which is computed once (`runs_of`).

    Attributes
    ----------
    kind : str
        Which of the code generator's calling sequences it has: ``"loop"`` or ``"branch"``.
    run : callable
        ``run(operands, picks, **params) -> list of arrays``: the evaluation by NumPy, for all results asked for.
    vjp : callable
        ``vjp(cotangents, along, operands, **params) -> cotangents by operand number``; the cotangents that come in are
        lists of parts to be added up, by pick.
    """

    kind: str
    run: Callable[..., list[Any]]
    vjp: Callable[..., Mapping[int, Any]]


Form = (
    Map | View | Place | Overlay | Join | Alias | Coordinate | Reduce | Running
    | Scatter | Checked | Check | Composed | Call | Control
)  # fmt: skip


def run_key(op: Op) -> tuple[Any, ...]:
    """What the ops of one run have in common."""
    return (op.primitive, op.args, tuple([pair for pair in op.params if pair[0] != "pick"]))


def runs_of(ops: Iterable[Op]) -> dict[int, tuple[Op, ...]]:
    """For every op of a `Control` primitive, by its slot, all ops of its run, in order."""
    runs: dict[tuple[Any, ...], list[Op]] = {}
    for op in ops:
        if isinstance(op.primitive.form, Control):
            runs.setdefault(run_key(op), []).append(op)
    return {op.out: tuple(run) for run in runs.values() for op in run}


class Batch(NamedTuple):
    """How an op runs on a stack of operands at once: it is the same op with other parameters.

    Attributes
    ----------
    params : callable
        ``params(n, params) -> params`` for operands with a first dimension of `n` more.
    operands : int or None
        So many of the operands, from the first, are stacked; the others must be the same for all. None: all are.
    """

    params: Callable[[int, dict[str, Any]], dict[str, Any]]
    operands: int | None = None


class Handle(Protocol):
    """What a body or a rule holds: a value that is not there yet."""

    @property
    def aval(self) -> Aval: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...


Rule = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Primitive:
    """One operation: all that the package knows of it.

    Attributes
    ----------
    name : str
        As printed in listings and errors.
    result : callable
        ``result(*avals, **params) -> Aval``. Raises `ShapeError` or `DTypeError`. Strict: operands of equal shape and
        dtype unless the op is about their difference.
    evaluate : callable
        ``evaluate(*arrays, **params) -> ndarray``: the NumPy evaluation, oracle for the compiled form.
    vjp : tuple of callables or None, or one callable
        One rule per operand, ``rule(g, out, *operands, **params)``, written with user-level functions; None where no
        gradient flows. One callable for an op with any number of operands: ``vjp(i, g, out, *operands, **params)``.
    form : Form or None
        How it is compiled; None: it runs as a NumPy step between kernels.
    prepare : callable or None
        Makes operands fit before the op is recorded by ``apply(primitive, ...)``: promotion and broadcasting.
    gradient_stops : str
        For an op without any `vjp`: why, as said in an explanation of a ``None``.
    simplified : callable or None
        ``simplified(op, producers) -> slot or None``: a slot that holds the very value of `op`, if there is one
        (multiplication by a literal 1, an identity, the transpose of a transpose). `producers` maps a slot to its op.
    batch : Batch, callable or None
        How it runs on a stack of operands: see `jittape.batching`. A callable is called as ``batch(n, stacked,
        *operands, **params)``, where ``stacked[i]`` says whether operand `i` has a first dimension of `n` more. None:
        an op of the form `Map` runs as it is, any other runs on one row after the other.
    linear : tuple of tuples of int
        Operands in which it is linear together, each alone or in groups, whatever the others are: of zeros it makes
        zeros, though another operand be infinite. That is where the diagonals of a Jacobian stay diagonals.
    linear_if_finite : tuple of tuples of int
        The same where the other operands are finite numbers other than zero.
    reads_variable : bool
        The result is a Variable as read after an assignment: a new slot, which a tape watches by itself.
    calls_back : bool
        The gradient is a Python function of the user's, called each time a gradient is asked for.
    ends_run : bool
        It may end the run, so it is kept though nothing needs its result.
    """

    name: str
    result: Callable[..., Aval]
    evaluate: Callable[..., Any]
    vjp: tuple[Rule | None, ...] | Callable[..., Any] = ()
    form: Form | None = None
    prepare: Callable[..., tuple[Any, ...]] | None = None
    gradient_stops: str = ""
    simplified: Callable[[Op, Mapping[int, Op]], int | None] | None = None
    batch: Batch | Callable[..., Any] | None = None
    linear: tuple[tuple[int, ...], ...] = ()
    linear_if_finite: tuple[tuple[int, ...], ...] = ()
    reads_variable: bool = False
    calls_back: bool = False
    ends_run: bool = False

    def bind(self, *operands: Handle, **params: Any) -> Any:
        """Record this op on operands that already fit; for use in bodies and rules."""
        return active.recorder.bind(self, operands, params)

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """The op as a body: make the operands fit, then record. What `apply` calls."""
        if self.prepare is not None:
            operands = self.prepare(*operands)
        return self.bind(*operands, **params)

    def rule_for(self, operand: int) -> Rule | None:
        """The gradient rule of operand number `operand`, as ``rule(g, out, *operands, **params)``."""
        if callable(self.vjp):
            rule = self.vjp
            return lambda *args, **params: rule(operand, *args, **params)
        return self.vjp[operand] if operand < len(self.vjp) else None

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"primitive {self.name} is a part of jittape's code, not data: it cannot be pickled")


class Recorder(Protocol):
    """Takes what user-level functions say: the lazy trace, the trace of a function, or a builder at work."""

    traced_in: str | None

    def apply(
        self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()
    ) -> Any: ...
    def bind(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any: ...


class _Active(threading.local):
    """The recorder in charge of this thread; `threading.local` calls `__init__` once a thread."""

    recorder: Recorder
    factory: Callable[[], Recorder] | None = None

    def __init__(self) -> None:
        if self.factory is not None:
            self.recorder = self.factory()


active = _Active()
"""``active.recorder`` is the recorder in charge of this thread."""


def set_default_recorder(factory: Callable[[], Recorder]) -> None:
    """Say what records in this thread from now on, and in every thread that has not recorded yet."""
    _Active.factory = staticmethod(factory)
    active.recorder = factory()


def apply(body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
    """Record ``body(*arrays, *static)`` with the recorder in charge.

    Parameters
    ----------
    body : callable
        A primitive or a function of handles; its identity is part of the graph signature, so it must live at module
        level.
    arrays : tuple
        Operands: tensors, Variables, ndarrays, Python scalars.
    static : tuple
        Hashable parameters that are structure: axes, shapes, dtypes.
    """
    return active.recorder.apply(body, arrays, static)


def active_recorder() -> Recorder:
    """The recorder in charge of this thread."""
    return active.recorder


def replace_recorder(recorder: Recorder) -> None:
    """Put `recorder` in charge of this thread, for good."""
    active.recorder = recorder


@contextmanager
def recording_with(recorder: Recorder) -> Iterator[Recorder]:
    """Put `recorder` in charge of this thread for a while."""
    before = active.recorder
    active.recorder = recorder
    try:
        yield recorder
    finally:
        active.recorder = before
