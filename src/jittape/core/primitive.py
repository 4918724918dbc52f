"""The `Primitive` record, and how ops are recorded.

One record holds everything that the package knows about an op; no other code compares the names of ops. Read
`Primitive` first, then `jittape.core.forms` (`Map`, `View`, ...), then `apply` and `Recorder`.

A user-level function (``multiply(x, y)``) is one line, ``apply(body, arrays, static)``. The active *recorder* decides
what it does. The lazy trace looks ``(body, argument slots, static)`` up in its trie and runs `body` only the first
time. A `Builder`, which is active while a body or a gradient rule runs, simply calls it. A body calls other user-level
functions or `Primitive.bind`. So a rule may be written with user-level functions and costs nothing when repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn, Protocol, TypeVar

from jittape.core.forms import Call, Lowering
from jittape.core.program import Aval, Op
from jittape.value_classes import NamedTuple, value_class

__all__ = [
    "INTERRUPTED",
    "Batch",
    "Handle",
    "Primitive",
    "Recorder",
    "active",
    "active_recorder",
    "any_dtype",
    "apply",
    "bound",
    "recording_with",
    "replace_recorder",
    "set_default_recorder",
    "shape_tensor",
]


class Batch(NamedTuple):
    """How an op runs on a stack of operands at once: as the same op with other parameters.

    Attributes
    ----------
    params : callable
        ``params(n, params) -> params`` for operands with an additional first dimension of `n`.
    operands : int or None
        Number of leading operands that are batched; the others are the same for all rows. None means all.
    """

    params: Callable[[int, dict[str, Any]], dict[str, Any]]
    operands: int | None = None


class Handle(Protocol):
    """An operand or result in a body or a rule: a value that is not computed yet."""

    @property
    def aval(self) -> Aval: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...  # the `DType` of a tensor that a user holds


Rule = Callable[..., Any]
Body = TypeVar("Body", bound=Callable[..., Any])


@value_class
class Primitive:
    """The record of an op.

    The last attributes, from `weights` on, are *roles*. Optimizations ask for a role and never for a certain primitive,
    so a new op that declares a role gets every optimization for it.

    Attributes
    ----------
    name : str
        Name in listings and errors.
    abstract_eval : callable
        ``abstract_eval(*avals, **params) -> Aval``. Raises `ShapeError` or `DTypeError`. Operands must have equal
        shapes and dtypes, unless the op is about their difference.
    impl : callable
        ``impl(*arrays, **params) -> ndarray``: evaluation with NumPy, the reference for the compiled form.
    vjp : tuple of callables or None, or one callable
        One rule per operand, ``rule(g, out, *operands, **params)``, written with user-level functions; None if no
        gradient flows. One callable for an op with any number of operands: ``vjp(i, g, out, *operands, **params)``.
    lowering : Lowering or None
        How the op is compiled. None: it runs as a NumPy step between kernels.
    promote_args : callable or None
        Promotion and broadcasting of operands before ``apply(primitive, ...)`` records the op.
    gradient_stops : str
        Reason for the explanation of a ``None`` gradient, if the op has no `vjp`.
    simplified : callable or None
        ``simplified(op, producers) -> slot or None``: a slot with the value of `op`, if there is one
        (multiplication by a literal 1, an identity, the transpose of a transpose). `producers` maps a slot to its op.
    batch : Batch, callable or None
        How the op runs on a stack of operands: see `jittape.transform.batching`. A callable is called as
        ``batch(n, stacked, *operands, **params)``; ``stacked[i]`` says whether operand `i` has an additional first
        dimension of `n`. None: a `Map` runs unchanged, any other op runs on one row after another.
    linear : tuple of tuples of int
        Operands, alone or in groups, in which the op is linear for any values of the others: zeros give zeros even if
        another operand is infinite. Such ops keep the diagonals of a Jacobian.
    linear_if_finite : tuple of tuples of int
        The same, if the other operands are finite and not zero.
    reads_variable : bool
        The result is a Variable as read after an assignment: a new slot, which a tape watches automatically.
    opaque : bool
        The derivative is unknown, not zero: an error if the op is on one of several paths (`jittape.transform.opaque`).
    calls_back : bool
        The gradient is a Python function of the user's, called whenever a gradient is computed.
    effectful : bool
        The op may end the run, so it is kept even if its result is not used.
    any_dtype : bool
        The op is also defined for dtypes that have no arithmetic (bfloat16). All others run between casts: see
        `jittape.core.builder.computed_wide`.
    weights : tuple of float
        For a weighted sum of the operands, element by element: the weight of each operand, ``(1, -1)`` for `subtract`.
    is_multiplication : bool
        The result is the product of two operands, element by element.
    is_zero_dominant : bool
        The result is the product of a cotangent and a local derivative, zero where the cotangent is zero.
    is_even : bool
        A function of one operand that is the same for its negative.
    is_equality : bool
        The result is true where the elements of two operands are equal.
    is_identity : bool
        The result is the operand.
    is_cast : bool
        The result is the operand in another dtype.
    is_broadcast : bool
        The result is the operand, broadcast as in NumPy to the parameter `shape`.
    is_sum : bool
        A `Reduce` that adds up the elements along the parameter `axes`, in the dtype of the operand. Other parameters
        mean the same for all axes, so sums over some axes and then over others compose.
    is_gather : bool
        The result is made of elements of the first operand. The other operands are their indices.
    is_expensive : bool
        An element takes longer to compute than to store and load, so a gradient does not recompute it.
    cholesky_role : str
        Part in the gradient of a Cholesky factorization, see `compile/rewrite/cholesky_cotangents.py`: ``"pullback"``
        is the cotangent of the matrix from the factor and its cotangent, ``"solve"`` the solution of linear systems
        with the factor, ``"triangular solve"`` that with one triangle, and ``"term"``, ``"triangular"`` and
        ``"diagonal"`` are cotangents of the factor.
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
    any_dtype: bool = False
    weights: tuple[float, ...] = ()
    is_multiplication: bool = False
    is_zero_dominant: bool = False
    is_even: bool = False
    is_equality: bool = False
    is_identity: bool = False
    is_cast: bool = False
    is_broadcast: bool = False
    is_sum: bool = False
    is_gather: bool = False
    is_expensive: bool = False
    cholesky_role: str = ""

    __eq__ = object.__eq__  # compared by identity
    __hash__ = object.__hash__

    @property
    def is_addition(self) -> bool:
        """Return whether the result is the plain sum of two operands, element by element."""
        return self.weights == (1, 1)

    @property
    def is_matmul(self) -> bool:
        """Return whether the op is a matrix product of two operands, as the routine ``"gemm"`` computes it."""
        return isinstance(self.lowering, Call) and self.lowering.routine == "gemm"

    def bind(self, *operands: Handle, **params: Any) -> Any:
        """Record this op on operands that already fit; for bodies and rules."""
        return active.recorder.bind(self, operands, params)

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Promote and broadcast the operands, then record the op; called by `apply`."""
        if self.promote_args is not None:
            operands = self.promote_args(*operands)
        return self.bind(*operands, **params)

    def rule_for(self, operand: int) -> Rule | None:
        """Return the gradient rule of operand number `operand`, as ``rule(g, out, *operands, **params)``."""
        if callable(self.vjp):
            rule = self.vjp
            return lambda *args, **params: rule(operand, *args, **params)
        return self.vjp[operand] if operand < len(self.vjp) else None

    def has_rule_for(self, operand: int) -> bool:
        """Return whether a gradient flows to operand number `operand`."""
        return callable(self.vjp) or (operand < len(self.vjp) and self.vjp[operand] is not None)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"primitive {self.name} is a part of jittape's code, not data: it cannot be pickled")


class Recorder(Protocol):
    """The target of user-level functions: the lazy trace, the trace of a function, or a builder.

    Attributes
    ----------
    traced_in : str or None
        Name of the function that is traced.
    intervals : sequence of weak references
        Intervals of the active tapes.
    """

    traced_in: str | None

    @property
    def intervals(self) -> Sequence[Any]: ...
    def apply(
        self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()
    ) -> Any: ...
    def bind(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any: ...


class _FirstRecorder:
    """The recorder of a thread whose first op may be the first of the process: it imports the true one.

    As an attribute of a class, it costs later ops nothing. A method ``__getattr__`` of `_Active` would cost them 10 %.
    """

    def __getattr__(self, name: str) -> Any:
        import_module("jittape.recording.trace")  # calls `set_default_recorder`, for one thread
        if active.recorder is self and _Active.factory is not None:
            active.recorder = _Active.factory()
        return getattr(active.recorder, name)


class _Interrupted:
    """The recorder while an operation of the thread runs, which only a signal handler or a finalizer can interrupt.

    The operation is then between two states and may hold locks. The interrupting code may therefore read computed
    values, but not record.
    """

    traced_in = None
    intervals: Sequence[Any] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and its tools ask for these
            raise AttributeError(name)
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise the error."""
        raise RuntimeError(
            "a signal handler or finalizer (`__del__`) has interrupted an operation of jittape and uses tensors, "
            "Variables or functions itself; let it set a flag, and do the work after the step"
        )


INTERRUPTED: Any = _Interrupted()
"""The recorder inside of operations: ``with recording_with(INTERRUPTED)``."""


class _Active(threading.local):
    """The recorder of each thread; `threading.local` calls `__init__` once per thread."""

    recorder: Recorder = _FirstRecorder()
    factory: Callable[[], Recorder] | None = None

    def __init__(self) -> None:
        if self.factory is not None:
            self.recorder = self.factory()


active = _Active()
"""Holder of the recorder of the current thread, ``active.recorder``."""


def set_default_recorder(factory: Callable[[], Recorder]) -> None:
    """Set the recorder of this thread, and of every thread that has not recorded yet."""
    _Active.factory = staticmethod(factory)
    active.recorder = factory()


def any_dtype(body: Body) -> Body:
    """Mark a body that handles dtypes without arithmetic itself, as `Primitive.any_dtype` marks an op."""
    body.any_dtype = True  # type: ignore[attr-defined]
    return body


def apply(body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
    """Record ``body(*arrays, *static)`` with the active recorder.

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


@any_dtype
def bound(*arguments: Any) -> Any:
    """Record a primitive, which follows the operands, with its parameters: the body of a call outside any body."""
    *operands, primitive, params = arguments
    return primitive.bind(*operands, **dict(params))


def shape_tensor(numbers: Any, dtype: Any) -> Any:
    """Return known integers (an int or a tuple), such as a shape, as the active recorder's tensor."""
    recorder: Any = active.recorder
    return recorder.shape_tensor(numbers, dtype)


def active_recorder() -> Recorder:
    """Return the active recorder of this thread."""
    return active.recorder


def replace_recorder(recorder: Recorder) -> None:
    """Make `recorder` the active recorder of this thread."""
    active.recorder = recorder


@contextmanager
def recording_with(recorder: Recorder) -> Iterator[Recorder]:
    """Make `recorder` the active recorder of this thread within a ``with`` statement.

    If it was that before, its successor stays: a signal handler may begin a new step inside. The exception of a handler
    may keep the statement from ending; Python then ends it late, when the traceback is dropped. What encloses the
    statement may have restored its own recorder by then, which stays.
    """
    before = active.recorder
    active.recorder = recorder
    is_late = False
    try:
        yield recorder
    except GeneratorExit:
        is_late = True
        raise
    finally:
        if before is not recorder and (not is_late or active.recorder is recorder):
            active.recorder = before
