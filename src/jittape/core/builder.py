"""The `Builder`: appends ops to an op list while a body or a gradient rule runs.

A body holds `Symbol` handles (slot and aval) and `WeakScalar` handles (a Python scalar whose dtype is not decided yet).
Python scalars that a body writes itself are structure: they become literals of the program. Python scalars that the
user passed become inputs: their `WeakScalar` asks the builder for an input slot once its dtype is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import WEAK_EXAMPLES, as_dtype, default_dtype
from jittape.core.forms import Map
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op, SourceLine
from jittape.errors import ShapeError

__all__ = ["Builder", "Symbol", "WeakScalar", "literal", "literal_op"]


MAX_DIMENSIONS = 32
MAX_BYTES = 2**63 - 1


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


class WeakScalar:
    """A Python scalar on its way into an op list; it takes the dtype that its neighbours suggest.

    `kind` is the Python type; `resolve(dtype)` gives the symbol.
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
        """What `numpy.result_type` is shown for it."""
        return WEAK_EXAMPLES[self.kind]

    def default(self) -> Symbol:
        """The symbol with the dtype that such a scalar has by itself."""
        return self.resolve(default_dtype(self.kind))


class Builder:
    """A recorder that appends ops to a list.

    Parameters
    ----------
    next_slot : int
        The first slot that is free.
    source : callable
        Gives the user's source line for an op when it is recorded.
    """

    traced_in: str | None = None
    spans: Sequence[Any] = ()

    def __init__(self, next_slot: int, source: SourceLine | None = None) -> None:
        self.ops: list[Op] = []
        self.avals: dict[int, Aval] = {}
        self.next_slot = next_slot
        self.source = source

    def new_slot(self, aval: Aval) -> Symbol:
        """A fresh slot that the caller defines in some other way: an input."""
        slot = self.next_slot
        self.next_slot = slot + 1
        self.avals[slot] = aval
        return Symbol(slot, aval)

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Run `body` here and now: within a body nothing needs to be remembered."""
        return body(*[self.lifted(a) for a in arrays], *static)

    def lifted(self, value: Any) -> Symbol | WeakScalar:
        """`value` as a handle; Python and NumPy scalars become literals."""
        if isinstance(value, (Symbol, WeakScalar)):
            return value
        if type(value) in WEAK_EXAMPLES:
            return WeakScalar(type(value), lambda dtype: literal(value, dtype))
        if isinstance(value, np.generic):
            return literal(value.item(), as_dtype(value.dtype))
        raise TypeError(f"a rule may use handles and scalars only, got {type(value).__name__}")

    def bind(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Symbol:
        """Append one op; the result's aval is inferred by the primitive's rule."""
        symbols = [o if o.__class__ is Symbol else self._settled(o) for o in operands]
        aval = primitive.abstract_eval(*[s.aval for s in symbols], **params)
        if not symbols or aval is not symbols[0].aval:
            _require_possible(primitive, aval)
        key = tuple(sorted(params.items())) if params else ()
        return self.append(primitive, tuple([s.slot for s in symbols]), key, aval)

    def append(
        self, primitive: Primitive, args: tuple[int, ...], params: tuple[tuple[str, Any], ...], aval: Aval
    ) -> Symbol:
        """Append one op that is known to give `aval`."""
        out = self.new_slot(aval)
        self.ops.append(Op(primitive, args, params, out.slot, self.source))
        return out

    def _settled(self, operand: Any) -> Symbol:
        handle = self.lifted(operand)
        return handle.default() if isinstance(handle, WeakScalar) else handle


def _require_possible(primitive: Primitive, aval: Aval) -> None:
    if len(aval.shape) > MAX_DIMENSIONS:
        raise ShapeError(
            f"[{primitive.name}] gives a value with {len(aval.shape)} dimensions; "
            f"NumPy computes with {MAX_DIMENSIONS} at most: reshape it"
        )
    if aval.nbytes > MAX_BYTES:
        raise ShapeError(
            f"[{primitive.name}] gives a value of shape {aval.shape}, more than memory has addresses"
        )


def _literal_result(*, value: Any, dtype: np.dtype[Any]) -> Aval:
    return Aval((), dtype)


def _literal_evaluate(*, value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.array(_number(value), dtype)


def _number(value: Any) -> Any:
    if isinstance(value, str):
        return complex(value) if "j" in value else float(value)
    return value


literal_op = Primitive(
    "literal",
    abstract_eval=_literal_result,
    impl=_literal_evaluate,
    lowering=Map(lambda m, *, value, dtype: m.literal(_number(value), dtype)),
    gradient_stops="it is a constant",
)


def literal(value: complex, dtype: np.dtype[Any]) -> Symbol:
    """A 0-d constant that is part of the program's structure."""
    if isinstance(value, (float, complex)) and _has_negative_zero(value):
        # 0.0 == -0.0, and equal parameters make equal ops.
        symbol: Symbol = literal_op.bind(value=str(value), dtype=dtype)
    else:
        symbol = literal_op.bind(value=value, dtype=dtype)
    return symbol


def _has_negative_zero(value: complex) -> bool:
    return any(part == 0 and math.copysign(1.0, part) < 0 for part in (value.real, value.imag))
