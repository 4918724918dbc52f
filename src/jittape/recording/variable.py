"""`Variable`: a value that a program can assign to; tapes watch it when it is read."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.buffers import Buffer
from jittape.core.dtypes import as_dtype
from jittape.core.name_scopes import current_prefix
from jittape.core.primitive import Primitive, active, active_recorder, apply
from jittape.core.program import Aval
from jittape.core.tensor_shape import TensorShape
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.html_report import html_table, summary_of
from jittape.primitives import indexing
from jittape.primitives.elementwise import arithmetic, division
from jittape.primitives.identity import identity
from jittape.recording.convert import cast_to_dtype, constant, convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.static_info import ChangingShape
from jittape.recording.tensor import Tensor, TensorRef, holds_tensors, stacked
from jittape.recording.variable_scatter import Scattering

__all__ = ["Variable", "placeholder_for", "read_variable_op"]

_serial = itertools.count()

read_variable_op = Primitive(
    "read_variable",
    abstract_eval=lambda x, *, trainable: x,
    impl=lambda x, *, trainable: x,
    gradient_stops="the Variable was assigned, which a gradient does not flow through",
    simplified=lambda op, producers: op.args[0],
    any_dtype=True,
    reads_variable=True,
)

_NUMBER = Aval((), np.dtype(np.float64))


@with_foreign_names(ATTRIBUTES_LEFT_OUT["Variable"])
class Variable(ChangingShape, Scattering):
    """A value that can be assigned. Reads are recorded, and tapes watch trainable Variables that are read.

    Parameters
    ----------
    initial_value : tensor-like or callable
        A value as for `constant`, or a callable without arguments that returns one.
    trainable : bool, default True
        Whether tapes watch it automatically.
    name : str, optional
        Name in the printed form, after the names of the current `name_scope`.
    dtype : dtype, optional
        Dtype that the value is cast to.
    constraint : callable, optional
        Function that optimizers apply to the new value after an update.
    shape : tuple of int or None, TensorShape, optional
        Required shape of all values, by default that of `initial_value`. With None for any extent, or
        ``TensorShape(None)``, `assign` may change the shape.

    Raises
    ------
    DTypeError
        If the value is not a number or does not fit `dtype`.
    ValueError
        If the value has another shape than `shape`, or its rows have different lengths.

    Notes
    -----
    The dtype never changes, the shape only if `shape` leaves it open: a function that uses the Variable then has one
    trace for each of its shapes. ``v += x`` is ``v.assign_add(x)``. An assignment is recorded and runs with its
    step; no gradient flows through it. Only one thread at a time may use a Variable: of two simultaneous calls of
    `assign_add`, one may be lost.

    Examples
    --------
    >>> import jittape as jt
    >>> v = jt.Variable([1.0, 2.0], name="v")
    >>> v.assign_add([1.0, 1.0])
    <jt.Variable 'v:0' shape=(2,) dtype=float32, numpy=array([2., 3.], dtype=float32)>

    >>> rows = jt.Variable(np.zeros((2, 3)), shape=[None, 3])
    >>> rows.assign(np.ones((5, 3))).shape
    (5, 3)
    """

    __slots__ = (
        "__weakref__",
        "_assigned_in",
        "_constraint",
        "_declared",
        "_name",
        "_number",
        "_path",
        "_tracing",
        "_trainable",
    )

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        shape: Any = None,
        **options: Any,
    ) -> None:
        if options:
            _refuse_options(options)
        if callable(initial_value) and not isinstance(initial_value, Operators):
            initial_value = initial_value()
        if initial_value is None:
            raise ValueError("Variable needs an initial_value: a number, an array, a tensor or a callable")
        first = _initial(initial_value, dtype)
        declared = TensorShape(first.aval.shape if shape is None else shape)
        if not declared.is_compatible_with(first.aval.shape):
            raise ValueError(f"The initial value's shape ({first.shape}) is not the given shape ({declared})")
        self._declared = None if declared.is_fully_defined() else declared
        self._aval: Aval = first.aval
        recorder: Any = active_recorder()
        self._buffer: Buffer = recorder.created(first)
        self._trace: Any = None
        self._slot = -1
        self._assigned_in: Any = None
        self._marker: Any = None
        self._number = next(_serial)
        self._tracing: Any = None
        self._trainable = bool(trainable)
        self._name = f"{current_prefix()}{name or 'Variable'}:0"
        self._path: str | None = None
        self.constraint = constraint

    def __init_subclass__(cls) -> None:
        raise TypeError(
            f"{cls.__name__}: jt.Variable cannot be subclassed; keep one as an attribute of a jt.Module instead"
        )

    # A placeholder lacks what distinguishes Variables. `__getattr__` would make each look-up of an attribute slower.
    @property
    def name(self) -> str:
        """Name in the printed form."""
        try:
            return self._name
        except AttributeError:
            self._need_itself()
            raise

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """Function that optimizers apply to the new value after an update."""
        try:
            return self._constraint
        except AttributeError:
            self._need_itself()
            raise

    @constraint.setter
    def constraint(self, constraint: Callable[[Any], Any] | None) -> None:
        if constraint is not None and not callable(constraint):
            raise ValueError(f"[Variable] constraint must be callable, got {constraint!r}")
        self._constraint = constraint

    @property
    def _serial(self) -> int:
        """Number of the Variable in order of creation."""
        try:
            return self._number
        except AttributeError:
            self._need_itself()
            raise

    def _need_itself(self) -> None:
        """Ask for the Variable itself if this is its placeholder."""
        if self._tracing is not None:
            self._tracing.need_variable()

    @property
    def trainable(self) -> bool:
        """Whether tapes watch the Variable automatically; read-only."""
        return self._trainable

    # ---- reading -----------------------------------------------------------------------------------------------

    def value(self) -> Tensor:
        """Return the current value as a tensor; later assignments do not change it. The read is recorded."""
        tensor: Tensor = identity(self)
        return tensor

    def read_value(self) -> Tensor:
        """Return `value()`; TensorFlow's other name."""
        return self.value()

    def initialized_value(self) -> Tensor:
        """Return `value()`; a Variable always has a value."""
        return self.value()

    @property
    def initializer(self) -> None:
        """None, as in TensorFlow outside of graphs: a Variable has its value from the start."""
        return

    def ref(self) -> TensorRef:
        """Return a hashable reference, for dictionaries and sets; `deref` returns the Variable."""
        _ = self._serial  # a placeholder asks for the Variable itself
        return TensorRef(self)

    def experimental_ref(self) -> TensorRef:
        """Return `ref()`; TensorFlow's older name."""
        return TensorRef(self)

    def __getitem__(self, key: Any) -> Any:
        part = indexing.getitem.getitem(self, key)
        part._origin = (self, key)
        return part

    def _computed(self) -> Buffer:
        recorder: Any = active_recorder()
        if recorder.traced_in is not None:
            recorder.flush()  # the current value says nothing about later calls
        if self._assigned_in is not None:
            self._assigned_in.flush()
        return self._buffer

    # ---- assigning ---------------------------------------------------------------------------------------------

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Assign a new value.

        Parameters
        ----------
        value : tensor-like
            Value of the Variable's shape, or of another one that fits the `shape` which the Variable was made with. Its
            dtype casts to the Variable's under the "same kind" rule.
        use_locking, name, read_value
            Accepted for compatibility with TensorFlow.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        ValueError
            If the shape differs. The Variable keeps its value.
        TypeError
            If the dtype does not cast. The Variable keeps its value.
        """
        if type(value) is float and self._aval == _NUMBER and active.recorder.traced_in is None:
            self._set(Buffer(np.array(value)))  # such as a learning rate in each step: 1 µs instead of 4 µs
            return self
        tensor = value if value.__class__ is Tensor else convert_to_tensor(value, dtype_hint=self._aval.dtype)
        if self._declared is not None and self._changes_shape(tensor):
            return self
        fitted = tensor if tensor._aval is self._aval else self._fitted(tensor)
        if fitted._buffer is not None and fitted._trace is None and active_recorder().traced_in is None:
            self._set(fitted._computed())
        else:
            active_recorder().assign(self, fitted)  # type: ignore[attr-defined]
        return self

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Add `delta` to the value; the arguments are those of `assign`."""
        return self._assign_result(apply(arithmetic.add_op, (self, delta)))

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Subtract `delta` from the value; the arguments are those of `assign`."""
        return self._assign_result(apply(arithmetic.subtract_op, (self, delta)))

    def _assign_result(self, tensor: Tensor) -> Variable:
        if tensor._aval is not self._aval:
            tensor = self._fitted(tensor)
        active.recorder.assign(self, tensor)  # type: ignore[attr-defined]
        return self

    def _fitted(self, tensor: Tensor) -> Tensor:
        """Return `tensor` cast to the Variable's dtype; raise if shape or dtype do not fit."""
        if tensor._aval == self._aval:
            self._aval = tensor._aval  # one object for both, which `is` finds equal the next time
            return tensor
        if tensor._aval.shape != self._aval.shape:
            self._need_itself()  # a placeholder does not know which shapes the Variable may have
            self._refuse(tensor._aval.shape)
        return self._cast(tensor)

    def _take_shape(self, shape: tuple[int, ...]) -> None:
        """Have another shape from now on."""
        self._aval = Aval(shape, self._aval.dtype)
        self._marker = None

    def _cast(self, tensor: Tensor) -> Tensor:
        """Return `tensor` with the Variable's dtype."""
        if not np.can_cast(tensor._aval.dtype, self._aval.dtype, "same_kind"):
            raise TypeError(
                f"Cannot assign value to variable '{self._label}': a value of dtype {tensor.dtype.name} does not "
                f"cast to {self.dtype.name} by the same-kind rule; use jt.cast(value, {self.dtype.name!r})"
            )
        fitted: Tensor = cast_to_dtype(tensor, self._aval.dtype)
        return fitted

    def _set(self, buffer: Buffer) -> None:
        """Assign a computed value; ops recorded before use the old one."""
        if self._assigned_in is not None:
            self._assigned_in.forget_assignment(self)
        self._adopt(buffer)

    def _adopt(self, buffer: Buffer) -> None:
        """Set the value that an assignment has computed."""
        self._buffer = buffer
        self._assigned_in = self._trace = None
        self._slot = -1

    def _forget_assignment(self) -> None:
        """Drop the pending assignment; the next read is a new input."""
        self._assigned_in = None
        self._trace = None
        self._slot = -1

    def __setitem__(self, key: Any, value: Any) -> None:
        self._assign_result(
            indexing.getitem.setitem(self, key, stacked(value) if holds_tensors(value) else value)
        )

    def __iadd__(self, other: Any) -> Any:
        return self.assign_add(other)

    def __isub__(self, other: Any) -> Any:
        return self.assign_sub(other)

    def __imul__(self, other: Any) -> Any:
        return self._assign_result(arithmetic.multiply(self, other))

    def __itruediv__(self, other: Any) -> Any:
        return self._assign_result(division.divide(self, other))

    # ---- printing and copying ----------------------------------------------------------------------------------

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else repr(self)

    def __repr__(self) -> str:
        if active_recorder().traced_in is not None:
            return f"<jt.Variable '{self._label}' shape={self.shape} dtype={self.dtype.name}>"
        array = self.numpy()
        text = str(array) if array.ndim == 0 else repr(array)
        return f"<jt.Variable '{self._label}' shape={self.shape} dtype={self.dtype.name}, numpy={text}>"

    def _repr_html_(self) -> str:
        trainable = "trainable" if self.trainable else "not trainable"
        if active_recorder().traced_in is not None:
            return html_table(repr(self), [])
        return html_table(f"Variable '{self._label}', {trainable}", summary_of(self.numpy()))

    def __reduce__(self) -> Any:
        names = self.name, self._path
        return _unpickled, (self.numpy(), self.trainable, names, self.constraint, self._declared)


def placeholder_for(variable: Variable, tracing: Any) -> Variable:
    """Return a Variable of the same kind and value that the trace of a function uses in place of an argument.

    It lacks all attributes that distinguish Variables of one kind. Reading one calls ``tracing.need_variable()``.
    """
    if variable._assigned_in is not None:
        variable._assigned_in.flush()
    made: Any = Variable.__new__(Variable)
    made._aval, made._buffer, made._trainable = variable._aval, variable._buffer, variable._trainable
    made._trace = made._assigned_in = made._marker = None
    made._declared = None  # its shape is part of the key of the trace
    made._slot = -1
    made._tracing = tracing
    placeholder: Variable = made
    return placeholder


def _unpickled(array: Any, trainable: bool, names: Any, constraint: Any, shape: Any = None) -> Variable:
    own = np.array(array)  # the pickle may own the memory
    variable = Variable(own, trainable, constraint=constraint, shape=shape)
    variable.name, variable._path = names if isinstance(names, tuple) else (names, None)
    return variable


_IGNORED = frozenset((
    "aggregation", "autocast", "caching_device", "import_scope", "synchronization", "use_resource", "validate_shape",
    "variable_def", "experimental_enable_variable_lifting",
))  # fmt: skip
"""Arguments of TensorFlow that concern graphs and devices."""


def _refuse_options(options: dict[str, Any]) -> None:
    for name in options.keys() - _IGNORED:
        if name == "initializer":
            raise TypeError(
                "Variable has no argument 'initializer': give initial_value, such as "
                "jt.keras.initializers.get('zeros')(shape)"
            )
        raise TypeError(f"Variable() got an unexpected keyword argument {name!r}")


def _initial(value: Any, dtype: Any) -> Tensor:
    """Return the initial value of a Variable, cast if a dtype is given."""
    if not isinstance(value, Operators):
        return constant(value, dtype)
    tensor = convert_to_tensor(value)
    return tensor if dtype is None else cast_to_dtype(tensor, as_dtype(dtype))
