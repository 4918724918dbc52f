"""The `Primitive` record, and the way an op gets recorded.

Everything the package knows of an op stands in one record; nothing elsewhere asks for an op's name. Read `Primitive`
first, then `jittape.core.forms` (`Map`, `View`, ...), then `apply` and `Recorder`.

User-level functions (``multiply(x, y)``) are one line, ``apply(body, arrays, static)``. The *recorder* in charge
decides what that does: the lazy trace looks ``(body, argument slots, static)`` up in its trie and runs `body` only the
first time; a `Builder`, at work while a body or a gradient rule runs, simply calls it. A body, in turn, calls other
user-level functions or `Primitive.bind`. So a rule may be written with user-level functions and costs nothing when
repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from jittape.core.forms import Lowering
from jittape.core.program import Aval, Op

__all__ = [
    "Batch",
    "Handle",
    "Primitive",
    "Recorder",
    "active",
    "active_recorder",
    "apply",
    "recording_with",
    "replace_recorder",
    "set_default_recorder",
]


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
        How it runs on a stack of operands: see `jittape.transform.batching`. A callable is called as
        ``batch(n, stacked, *operands, **params)``, where ``stacked[i]`` says whether operand `i` has a first dimension
        of `n` more. None: an op of the form `Map` runs as it is, any other runs on one row after the other.
    linear : tuple of tuples of int
        Operands in which it is linear together, each alone or in groups, whatever the others are: of zeros it makes
        zeros, though another operand be infinite. That is where the diagonals of a Jacobian stay diagonals.
    linear_if_finite : tuple of tuples of int
        The same where the other operands are finite numbers other than zero.
    reads_variable : bool
        The result is a Variable as read after an assignment: a new slot, which a tape watches by itself.
    opaque : bool
        Its derivative is unknown, not zero: an error where it is one of several paths (`jittape.transform.opaque`).
    calls_back : bool
        The gradient is a Python function of the user's, called each time a gradient is asked for.
    ends_run : bool
        It may end the run, so it is kept though nothing needs its result.
    """

    name: str
    abstract_eval: Callable[..., Aval]
    impl: Callable[..., Any]
    vjp: tuple[Rule | None, ...] | Callable[..., Any] = ()
    lowering: Lowering | None = None
    promote_args: Callable[..., tuple[Any, ...]] | None = None
    gradient_stops: str = ""
    simplified: Callable[[Op, Mapping[int, Op]], int | None] | None = None
    batch: Batch | Callable[..., Any] | None = None
    linear: tuple[tuple[int, ...], ...] = ()
    linear_if_finite: tuple[tuple[int, ...], ...] = ()
    reads_variable: bool = False
    opaque: bool = False
    calls_back: bool = False
    effectful: bool = False

    def bind(self, *operands: Handle, **params: Any) -> Any:
        """Record this op on operands that already fit; for use in bodies and rules."""
        return active.recorder.bind(self, operands, params)

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """The op as a body: make the operands fit, then record. What `apply` calls."""
        if self.promote_args is not None:
            operands = self.promote_args(*operands)
        return self.bind(*operands, **params)

    def rule_for(self, operand: int) -> Rule | None:
        """The gradient rule of operand number `operand`, as ``rule(g, out, *operands, **params)``."""
        if callable(self.vjp):
            rule = self.vjp
            return lambda *args, **params: rule(operand, *args, **params)
        return self.vjp[operand] if operand < len(self.vjp) else None

    def has_rule_for(self, operand: int) -> bool:
        """Whether a gradient flows to operand number `operand`."""
        return callable(self.vjp) or (operand < len(self.vjp) and self.vjp[operand] is not None)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"primitive {self.name} is a part of jittape's code, not data: it cannot be pickled")


class Recorder(Protocol):
    """Takes what user-level functions say: the lazy trace, the trace of a function, or a builder at work.

    Attributes
    ----------
    traced_in : str or None
        The function that is traced.
    spans : sequence of weak references
        To the tapes that have been entered and not left.
    """

    traced_in: str | None

    @property
    def spans(self) -> Sequence[Any]: ...
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
