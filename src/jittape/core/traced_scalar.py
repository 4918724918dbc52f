"""`TracedScalar`: a Python or NumPy number while a function is traced, with a new value at each call.

It behaves like the number: it is weak if the number is a Python number, and it can be an operand of any operation.
Arithmetic of such numbers returns such numbers, which Python computes at each call (`core.scalar_program`). Code that
needs the value itself (``range(n)``, ``if flag:``, a key of a dictionary) asks the owner, the trace. From then on the
trace is valid for this value only.

``isinstance(n, int)`` is True, as for the number. ``type(n) is int`` and ``flag is True`` are False: the class cannot
be a subclass of `int`, because C code would read the current value without asking.
"""

from __future__ import annotations

import itertools
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from jittape.core.dtypes import as_dtype, default_dtype
from jittape.core.symbolic.extents import plain_of
from jittape.errors import InvalidIndexError

__all__ = [
    "TracedScalar",
    "derived",
    "from_front",
    "slice_length",
    "slice_start",
    "static",
    "traced_index",
    "traced_slice",
]

_PYTHON = (bool, int, float, complex)
_OF_ITS_TYPE = frozenset(("shape", "ndim", "size", "dtype", "itemsize", "nbytes"))
"""Attributes of a NumPy scalar that do not depend on its value."""
_serial = itertools.count()
_LONGEST_TEXT = 100  # of a number; repeated sums would double it each time


class Owner(Protocol):
    """The trace of the function. It is told which numbers are computed and which values are needed."""

    over: bool
    computed: list[TracedScalar]

    def demanded(self, number: TracedScalar) -> Any: ...
    def failed(self, number: TracedScalar) -> None: ...
    def array_ufunc(
        self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...


class TracedScalar:
    """A number with a new value at each call.

    Attributes
    ----------
    owner : Owner
    now : number
        Value in the call that is traced.
    kind : type or dtype
        How the number promotes: the Python type of a weak number, the dtype of a NumPy scalar.
    steady : bool
        Whether the number is computed from ints and bools alone, so that a trace may be specialized to its value.
    specialized : bool
        Whether the trace is specialized to the current value.
    leaf : int or None
        Number of the argument; None if the number is computed or read elsewhere.
    compute, parts
        How it is computed: ``compute(*parts)``; parts may be `TracedScalar` objects.
    text : str
        Description in messages.
    """

    __array_priority__ = 1000
    __slots__ = (
        "compute",
        "kind",
        "leaf",
        "now",
        "owner",
        "parts",
        "serial",
        "specialized",
        "steady",
        "text",
    )

    def __init__(
        self,
        owner: Owner,
        now: Any,
        text: str,
        leaf: int | None = None,
        compute: Callable[..., Any] | None = None,
        parts: tuple[Any, ...] = (),
    ) -> None:
        self.owner = owner
        self.now = now
        self.text = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."
        self.leaf = leaf
        self.compute = compute
        self.parts = parts
        self.kind: Any = as_dtype(now.dtype) if isinstance(now, np.generic) else type(now)
        own = isinstance(now, (bool, int, np.bool_, np.integer))
        self.steady: bool = own and all(p.steady for p in parts if isinstance(p, TracedScalar))
        self.specialized = False
        self.serial = next(_serial)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Type of the value, for `isinstance`."""
        return type(self.now)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the value, such as ``real`` or ``bit_length``."""
        if name.startswith("__") or name in TracedScalar.__slots__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self.now, name)
        return found if name in _OF_ITS_TYPE else getattr(self.concretize(), name)

    @property
    def default_dtype(self) -> np.dtype[Any]:
        """Dtype of a tensor with this number as its only value."""
        return default_dtype(self.kind) if isinstance(self.kind, type) else self.kind

    @property
    def can_index(self) -> bool:
        """Whether the number can be an index."""
        return isinstance(self.now, (int, np.integer)) and not isinstance(self.now, bool)

    def __copy__(self) -> TracedScalar:
        return self

    def __deepcopy__(self, memo: Any) -> TracedScalar:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return static, (self.concretize(),)

    # ---- the value itself is needed ----------------------------------------------------------------------------

    def concretize(self) -> Any:
        """Return the value, and specialize the trace to it."""
        return self.owner.demanded(self)

    def __repr__(self) -> str:
        return f"<traced {self.described}>" if self.owner.over else repr(self.concretize())

    @property
    def described(self) -> str:
        """Type and origin of the number, for messages."""
        return f"{type(self.now).__name__} {self.text}"

    def __bool__(self) -> bool:
        """Return whether the number is not 0; the trace is specialized to this answer only."""
        number = self if type(self.now) is bool else _binary(operator.ne, "!=", self, 0)
        return bool(number.concretize() if type(number) is TracedScalar else number)

    def __int__(self) -> int:
        return int(self.concretize())

    def __index__(self) -> int:
        return operator.index(self.concretize())

    def __float__(self) -> float:
        return float(self.concretize())

    def __complex__(self) -> complex:
        return complex(self.concretize())

    def __hash__(self) -> int:
        return hash(self.concretize())

    def __str__(self) -> str:
        return str(self.concretize())

    def __format__(self, spec: str) -> str:
        return format(self.concretize(), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.concretize(), dtype)

    # ---- arithmetic, computed by Python at each call -----------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        # NumPy converts its own scalars to arrays before it calls this method.
        inputs = tuple([x[()] if type(x) is np.ndarray and not x.shape else x for x in inputs])
        if method == "__call__" and not kwargs and all(_is_number(x) for x in inputs):
            return derived(ufunc, f"{ufunc.__name__}({', '.join(map(_text, inputs))})", *inputs)
        return self.owner.array_ufunc(ufunc, method, inputs, kwargs)

    def __add__(self, other: Any) -> Any:
        return _binary(operator.add, "+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary(operator.add, "+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary(operator.sub, "-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary(operator.sub, "-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary(operator.mul, "*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary(operator.mul, "*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary(operator.truediv, "/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary(operator.truediv, "/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _binary(operator.floordiv, "//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary(operator.floordiv, "//", other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary(operator.mod, "%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary(operator.mod, "%", other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is None:
            return _binary(operator.pow, "**", self, other)
        return derived(pow, f"pow({_text(self)}, {_text(other)}, {_text(modulus)})", self, other, modulus)

    def __rpow__(self, other: Any) -> Any:
        return _binary(operator.pow, "**", other, self)

    def __and__(self, other: Any) -> Any:
        return _binary(operator.and_, "&", self, other)

    def __rand__(self, other: Any) -> Any:
        return _binary(operator.and_, "&", other, self)

    def __or__(self, other: Any) -> Any:
        return _binary(operator.or_, "|", self, other)

    def __ror__(self, other: Any) -> Any:
        return _binary(operator.or_, "|", other, self)

    def __xor__(self, other: Any) -> Any:
        return _binary(operator.xor, "^", self, other)

    def __rxor__(self, other: Any) -> Any:
        return _binary(operator.xor, "^", other, self)

    def __lshift__(self, other: Any) -> Any:
        return _binary(operator.lshift, "<<", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _binary(operator.lshift, "<<", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _binary(operator.rshift, ">>", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _binary(operator.rshift, ">>", other, self)

    def __eq__(self, other: object) -> Any:
        return _binary(operator.eq, "==", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary(operator.ne, "!=", self, other)

    def __lt__(self, other: Any) -> Any:
        return _binary(operator.lt, "<", self, other)

    def __le__(self, other: Any) -> Any:
        return _binary(operator.le, "<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary(operator.gt, ">", self, other)

    def __ge__(self, other: Any) -> Any:
        return _binary(operator.ge, ">=", self, other)

    def __neg__(self) -> Any:
        return derived(operator.neg, f"-{self.text}", self)

    def __pos__(self) -> Any:
        return derived(operator.pos, self.text, self)

    def __abs__(self) -> Any:
        return derived(abs, f"abs({self.text})", self)

    def __invert__(self) -> Any:
        return derived(operator.invert, f"~{self.text}", self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return derived(round, f"round({self.text})", self, ndigits)

    def __trunc__(self) -> Any:
        return derived(math.trunc, f"trunc({self.text})", self)

    def __floor__(self) -> Any:
        return derived(math.floor, f"floor({self.text})", self)

    def __ceil__(self) -> Any:
        return derived(math.ceil, f"ceil({self.text})", self)


def _is_number(value: Any) -> bool:
    return type(value) in _PYTHON or isinstance(value, (np.generic, numbers.Number))


def _text(value: Any) -> str:
    return value.text if isinstance(value, TracedScalar) else repr(value)


def _binary(compute: Callable[..., Any], sign: str, a: Any, b: Any) -> Any:
    """Return ``compute(a, b)``; the other operand may be any number: an IntEnum, a Fraction, a Decimal."""
    if not (_is_number(a) and _is_number(b)):
        return NotImplemented
    return derived(compute, f"({_text(a)} {sign} {_text(b)})", a, b)


def derived(compute: Callable[..., Any], text: str, *parts: Any) -> Any:
    """Return ``compute(*parts)``, recomputed at each call; at least one of `parts` is a `TracedScalar`.

    The result is plain if the trace is specialized to all `parts`, or if no program represents it.
    """
    parts = tuple(map(plain_of, parts))
    traced = [p for p in parts if isinstance(p, TracedScalar)]
    try:
        now = compute(*[p.now if isinstance(p, TracedScalar) else p for p in parts])
    except Exception:
        for number in traced:
            number.owner.failed(number)
        raise
    if not (type(now) in _PYTHON or isinstance(now, np.generic)):
        for number in traced:
            number.concretize()
    if all([number.specialized for number in traced]):
        return now
    number = TracedScalar(traced[0].owner, now, text, compute=compute, parts=parts)
    number.owner.computed.append(number)
    return number


def static(value: Any) -> Any:
    """Return a structural parameter of a program: the value of a traced number, also within a tuple."""
    if type(value) is tuple:
        return tuple([static(v) for v in value])
    return value.concretize() if type(value) is TracedScalar else value


# ---- as a key; the common case is tested first, as `slice.indices` takes 0.3 µs --------------------------------------


def slice_start(start: Any, stop: Any, step: Any, size: int) -> int:
    """Return the first index of ``start:stop:step`` in an axis of length `size`."""
    if start.__class__ is int and step == 1 and 0 <= start <= size:
        return start
    return slice(start, stop, step).indices(size)[0]


def slice_length(start: Any, stop: Any, step: Any, size: int) -> int:
    """Return the number of elements of ``start:stop:step`` in an axis of length `size`."""
    if start.__class__ is int and stop.__class__ is int and step == 1 and 0 <= start <= stop <= size:
        return stop - start
    return len(range(*slice(start, stop, step).indices(size)))


def traced_slice(part: slice, size: int) -> tuple[Any, int, int]:
    """Return start, length and step of `part` in an axis of length `size`. Only the start may change between calls."""
    step = 1 if part.step is None else operator.index(part.step)
    text = f"{_text(part.start)}:{_text(part.stop)}"
    bounds = (part.start, part.stop, step, size)
    length = operator.index(derived(slice_length, f"the length of [{text}]", *bounds))
    return (
        derived(slice_start, f"the start of [{text}]", *bounds) if length else 0,
        length,
        step if length else 1,
    )


def traced_index(op: str, index: TracedScalar, axis: int, size: int) -> Any:
    """Return `index` counted from the front of an axis of length `size`.

    Raises
    ------
    IndexError
        If it is out of bounds, now or at a later call.
    """
    return derived(from_front, f"the index {index.text}", index, op, axis, size)


def from_front(i: Any, op: str, axis: int, size: int) -> int:
    """Return the index `i` of an axis of length `size`, not negative.

    Raises
    ------
    IndexError
        If it is out of bounds.
    """
    if not -size <= i < size:
        raise InvalidIndexError(f"[{op}] index {i} is out of bounds for axis {axis} with size {size}")
    return int(i) + size if i < 0 else int(i)
