"""The `Builder`: appends ops to an op list while a body or a gradient rule runs, casts among them.

A body holds `Symbol` handles (slot and aval) and `WeakScalar` handles (a Python scalar whose dtype is still open).
Python scalars in the code of a body are structure: they become literals of the program. Python scalars that the user
passed become inputs: their `WeakScalar` asks the builder for an input slot once its dtype is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import (
    WEAK_EXAMPLES,
    WIDENED,
    as_dtype,
    default_dtype,
    float32,
    info_of,
    int64,
    is_floating,
    narrowed,
    uint64,
    widened,
)
from jittape.core.forms import Map
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op, SourceLine
from jittape.core.symbolic.extents import Extent, hint_of
from jittape.errors import DTypeError, ShapeError

__all__ = ["Builder", "Symbol", "WeakScalar", "cast_op", "literal", "literal_op"]


MAX_DIMENSIONS = 32
"""Maximum number of dimensions of a NumPy array."""
MAX_BYTES = 2**63 - 1
"""Maximum size, in bytes, of a value that memory addresses can cover."""


def _cast_impl(x: Any, *, dtype: np.dtype[Any]) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x.real if dtype.kind != "b" else x != 0
        if dtype.kind in "iu" and is_floating(x.dtype):
            return _float_to_integer(x.astype(widened(x.dtype), copy=False), dtype)
        if dtype in WIDENED and x.dtype.kind == "f":
            # As in compiled code; ml_dtypes rounds once since its version 0.7.
            x = x.astype(widened(dtype), copy=False)
        return x.astype(dtype)


def _float_to_integer(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return `x` truncated to integers; floats out of range give the same result as in compiled code.

    C and NumPy leave the result undefined. Here a float saturates to the range of `DTypeInfo.saturates`, int32 or
    int64, and the integer is then truncated to the width of the dtype: -1.0 becomes 255 as uint8. A nan becomes 0.
    """
    if dtype == uint64:
        return np.where(x < 0, _saturated(x, int64).astype(uint64), _saturated(x, uint64))
    return _saturated(x, info_of(dtype).saturates).astype(dtype)


def _saturated(x: Any, integer: np.dtype[Any]) -> Any:
    limits = np.iinfo(integer)
    if x.size and limits.min <= x.min() and x.max() < limits.max:
        return x.astype(integer)
    wide = np.where(np.isnan(x), 0, x).astype(np.float64)
    low, high = wide < float(limits.min), wide >= float(limits.max)
    inside = np.where(low | high, 0, wide).astype(integer)
    return np.where(low, limits.min, np.where(high, limits.max, inside))


def _cast_vjp(g: Any, out: Any, x: Any, *, dtype: np.dtype[Any]) -> Any:
    return cast_op.bind(g, dtype=x.dtype)


def _simplified(op: Op, producers: Mapping[int, Op]) -> int | None:
    """Return the slot that was cast to float32 and is cast back to its own dtype, which is exact."""
    before = producers.get(op.args[0])
    if before is None or before.primitive is not cast_op or dict(before.params)["dtype"] != float32:
        return None
    return before.args[0] if dict(op.params)["dtype"] in WIDENED else None


cast_op = Primitive(
    "cast",
    abstract_eval=lambda x, *, dtype: Aval(x.shape, dtype),
    impl=_cast_impl,
    vjp=(_cast_vjp,),
    lowering=Map(lambda m, x, *, dtype: m.cast(x, dtype)),
    simplified=_simplified,
    linear=((0,),),
    any_dtype=True,
    is_cast=True,
)


class Symbol:
    """A handle to a slot of the op list that is being built."""

    __slots__ = ("aval", "slot")

    def __init__(self, slot: int, aval: Aval) -> None:
        self.slot = slot
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"%{self.slot}: {self.aval}"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a body cannot read the value of an operand")


class WeakScalar:
    """A Python scalar in a body; it takes the dtype of the operands that it is combined with.

    `kind` is the Python type; `resolve(dtype)` returns the symbol.
    """

    __slots__ = ("kind", "resolve")

    def __init__(self, kind: type, resolve: Callable[[np.dtype[Any]], Symbol]) -> None:
        self.kind = kind
        self.resolve = resolve

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def example(self) -> Any:
        """The scalar that represents this one in `numpy.result_type`."""
        return WEAK_EXAMPLES[self.kind]

    def default(self) -> Symbol:
        """Return the symbol with the default dtype of a Python scalar."""
        return self.resolve(default_dtype(self.kind))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a body cannot read the value of an operand")


class Builder:
    """A recorder that appends ops to a list.

    Parameters
    ----------
    next_slot : int
        First free slot.
    source : SourceLine, optional
        Source line of all ops.
    """

    traced_in: str | None = None
    intervals: Sequence[Any] = ()

    def __init__(self, next_slot: int, source: SourceLine | None = None) -> None:
        self.ops: list[Op] = []
        self.avals: dict[int, Aval] = {}
        self.next_slot = next_slot
        self.source = source

    def new_slot(self, aval: Aval) -> Symbol:
        """Return a fresh slot without an op, such as an input."""
        slot = self.next_slot
        self.next_slot = slot + 1
        self.avals[slot] = aval
        return Symbol(slot, aval)

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Run `body` immediately; ops inside a body are not cached."""
        handles = [self.lifted(a) for a in arrays]
        if WIDENED and not getattr(body, "any_dtype", False) and _has_widened(handles, static):
            return computed_wide(body, handles, static)
        return body(*handles, *static)

    def lifted(self, value: Any) -> Symbol | WeakScalar:
        """Return `value` as a handle; Python and NumPy scalars, and arrays of shape (), become literals."""
        if isinstance(value, (Symbol, WeakScalar)):
            return value
        if type(value) in WEAK_EXAMPLES:
            return WeakScalar(type(value), lambda dtype: literal(value, dtype))
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.shape):
            return literal(value.item(), as_dtype(value.dtype))
        if value.__class__ is Extent:
            return WeakScalar(type(hint_of(value)), lambda dtype: literal(value, dtype))
        raise TypeError(
            f"a rule may use handles and scalars only, got {type(value).__name__}; a signal handler or finalizer that "
            "interrupts it must not use tensors"
        )

    def bind(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Symbol:
        """Append one op; its primitive infers the aval of the result."""
        symbols = [o if o.__class__ is Symbol else self._as_symbol(o) for o in operands]
        if WIDENED and not primitive.any_dtype and _has_widened(symbols, params.values()):
            names = tuple(params)

            def call(*given: Any) -> Any:
                n = len(symbols)
                return self.bind(primitive, given[:n], dict(zip(names, given[n:], strict=True)))

            found: Symbol = computed_wide(call, symbols, tuple(params.values()))
            return found
        aval = primitive.abstract_eval(*[s.aval for s in symbols], **params)
        if not symbols or aval is not symbols[0].aval:
            _require_possible(primitive, aval)
        key = tuple(sorted(params.items())) if params else ()
        return self.append(primitive, tuple([s.slot for s in symbols]), key, aval)

    def append(
        self, primitive: Primitive, args: tuple[int, ...], params: tuple[tuple[str, Any], ...], aval: Aval
    ) -> Symbol:
        """Append one op whose result has the aval `aval`."""
        out = self.new_slot(aval)
        self.ops.append(Op(primitive, args, params, out.slot, self.source))
        return out

    def _as_symbol(self, operand: Any) -> Symbol:
        handle = self.lifted(operand)
        return handle.default() if isinstance(handle, WeakScalar) else handle


# ---- bfloat16 --------------------------------------------------------------------------------------------------------


def _has_widened(handles: Iterable[Any], static: Iterable[Any]) -> bool:
    """Return whether an operand or a parameter is of a dtype that is computed in another one."""
    return any(isinstance(h, Symbol) and h.aval.dtype in WIDENED for h in handles) or any(
        isinstance(s, np.dtype) and s in WIDENED for s in static
    )


def computed_wide(
    body: Callable[..., Any], handles: Sequence[Symbol | WeakScalar], static: tuple[Any, ...]
) -> Any:
    """Run a body on bfloat16 in float32 and round its results once.

    A Python scalar is rounded too, as in NumPy and TensorFlow. Results keep float32 if an operand or a parameter asks
    for it.
    """
    known = [h.aval.dtype for h in handles if isinstance(h, Symbol)]
    chosen = [s for s in static if isinstance(s, np.dtype)]
    narrow = narrowed(float32, chosen if any(s in WIDENED for s in chosen) else (*known, *chosen))

    def wide(handle: Symbol | WeakScalar) -> Symbol | WeakScalar:
        if isinstance(handle, WeakScalar):
            return handle if narrow == float32 else WeakScalar(handle.kind, _rounded(handle.resolve, narrow))
        return _cast(handle, widened(handle.aval.dtype))

    def rounded(result: Any) -> Any:
        if result is None or isinstance(result, WeakScalar) or result.aval.dtype != float32:
            return result
        return _cast(result, narrow)

    operands = [wide(h) for h in handles]
    try:
        results = body(*operands, *[widened(s) if isinstance(s, np.dtype) else s for s in static])
    except DTypeError as error:
        if "bfloat16" not in str(error):
            error.args = (f"{error} (an operand is bfloat16, which is computed in float32)",)
        raise
    return tuple(map(rounded, results)) if isinstance(results, (tuple, list)) else rounded(results)


def _rounded(
    resolve: Callable[[np.dtype[Any]], Symbol], narrow: np.dtype[Any]
) -> Callable[[np.dtype[Any]], Symbol]:
    """Return `resolve` with float32 numbers rounded to the dtype `narrow`."""
    return lambda dtype: _cast(_cast(resolve(dtype), narrow), dtype) if dtype == float32 else resolve(dtype)


def _cast(symbol: Symbol, dtype: np.dtype[Any]) -> Symbol:
    if symbol.aval.dtype == dtype:
        return symbol
    found: Symbol = cast_op.bind(symbol, dtype=dtype)
    return found


def _require_possible(primitive: Primitive, aval: Aval) -> None:
    if len(aval.shape) > MAX_DIMENSIONS:
        raise ShapeError(
            f"[{primitive.name}] the result has {len(aval.shape)} dimensions; "
            f"NumPy supports at most {MAX_DIMENSIONS}: reshape it"
        )
    if aval.nbytes > MAX_BYTES:
        raise ShapeError(
            f"[{primitive.name}] the result has shape {aval.shape}, more than memory has addresses"
        )


def _literal_abstract_eval(*, value: Any, dtype: np.dtype[Any]) -> Aval:
    return Aval((), dtype)


def _literal_impl(*, value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.array(_number(value), dtype)


def _number(value: Any) -> Any:
    if isinstance(value, str):
        return complex(value) if "j" in value else float(value)
    return value


literal_op = Primitive(
    "literal",
    abstract_eval=_literal_abstract_eval,
    impl=_literal_impl,
    lowering=Map(lambda m, *, value, dtype: m.literal(_number(value), dtype)),
    gradient_stops="it is a constant",
    any_dtype=True,
)


def literal(value: complex | Extent, dtype: np.dtype[Any]) -> Symbol:
    """Record a 0-d constant that is part of the program's structure."""
    if isinstance(value, (float, complex)) and _has_negative_zero(value):
        # 0.0 == -0.0, and ops with equal parameters are merged.
        symbol: Symbol = literal_op.bind(value=str(value), dtype=dtype)
    else:
        symbol = literal_op.bind(value=value, dtype=dtype)
    return symbol


def _has_negative_zero(value: complex) -> bool:
    return any(part == 0 and math.copysign(1.0, part) < 0 for part in (value.real, value.imag))
