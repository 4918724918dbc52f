"""What many records have in common: how operands are prepared, result and evaluation, which operand is neutral.

Most helpers take the op's name, for the error message, and return the callable that the record holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar, literal, literal_op
from jittape.core.dtypes import KINDS, bool_, default_dtype, float64, float_result, info_of, is_differentiable
from jittape.core.program import Aval, Op
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import (
    broadcast,
    broadcast_operands,
    broadcast_to_op,
    cast_to,
    promote,
    require_differentiable,
    require_equal,
    settle,
)

Prepare = Callable[..., tuple[Any, ...]]
Result = Callable[..., Aval]


# ---- preparing operands ----------------------------------------------------------------------------------------------


def floating(x: Any) -> Any:
    """`x` as NumPy's `sin` takes it: integers become floats, a Python integer on its own the default float."""
    if isinstance(x, WeakScalar):
        return x.resolve(default_dtype(x.kind if x.kind in (float, complex) else float))
    return cast_to(x, float_result(x.dtype))


def one(x: Any) -> tuple[Any, ...]:
    """Prepare one operand whose dtype stays."""
    return (settle(x),)


def one_float(x: Any) -> tuple[Any, ...]:
    """Prepare one operand of a function that gives floats."""
    return (floating(x),)


def common(op: str) -> Prepare:
    """Prepare operands of one dtype and shape: promotion and broadcasting."""
    return lambda *operands: broadcast_operands(*promote(*operands), op=op)


def common_float(op: str) -> Prepare:
    """Prepare operands of one floating dtype and shape; each integer becomes a float as under `sin`."""

    def prepare(*operands: Any) -> tuple[Any, ...]:
        operands = _weak_floats(operands)
        if any(isinstance(x, WeakScalar) for x in operands):
            operands = promote(*operands)
        return broadcast_operands(*promote(*[floating(x) for x in operands]), op=op)

    return prepare


def quotient(op: str) -> Prepare:
    """Prepare the operands of a division: as NumPy has it, integers of any width become float64."""

    def prepare(*operands: Any) -> tuple[Any, ...]:
        promoted = promote(*_weak_floats(operands))
        if not is_differentiable(promoted[0].dtype):
            promoted = tuple([cast_to(x, float64) for x in promoted])
        return broadcast_operands(*promoted, op=op)

    return prepare


def _weak_floats(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Python integers among themselves are floats in the default dtype."""
    if all(isinstance(x, WeakScalar) for x in operands):
        return tuple([floating(x) for x in operands])
    return operands


def logical(op: str) -> Prepare:
    """Prepare operands that are true or false: nonzero is true."""
    return lambda *operands: broadcast_operands(*[cast_to(x, bool_) for x in operands], op=op)


def filled(x: Any, value: complex) -> Any:
    """A constant in the shape and dtype of `x`."""
    return broadcast(literal(value, x.dtype), x.shape)


def not_enlarged(op: str, argument: str, shape: tuple[int, ...], result: Any) -> Any:
    """Return `result`, if broadcasting with `argument` has left it the `shape` of the first operand."""
    if result.shape != shape:
        raise ShapeError(
            f"[{op}] {argument} must broadcast to the shape {shape} of the tensor, but they make it {result.shape}"
        )
    return result


# ---- results ---------------------------------------------------------------------------------------------------------


def same_float(op: str) -> Result:
    """One floating or complex operand; the result is like it."""
    return lambda x: require_differentiable(op, x)


def same_real_float(op: str) -> Result:
    """Operands of one real floating dtype; the result is like them."""

    def result(*avals: Aval) -> Aval:
        if avals[0].dtype.kind != "f":
            raise DTypeError(f"[{op}] needs a real floating dtype, got {avals[0].dtype.name}; cast it first")
        return require_equal(op, *avals)

    return result


def same_of_kinds(op: str, kinds: str) -> Result:
    """Operands of one dtype whose `numpy.dtype.kind` is in `kinds`; the result is like them."""

    def result(*avals: Aval) -> Aval:
        return require_kinds(op, kinds, require_equal(op, *avals))

    return result


def truth_of_kinds(op: str, kinds: str) -> Result:
    """Operands of one dtype whose kind is in `kinds`; the result is a bool."""

    def result(*avals: Aval) -> Aval:
        return Aval(require_kinds(op, kinds, require_equal(op, *avals)).shape, bool_)

    return result


def require_kinds(op: str, kinds: str, aval: Aval) -> Aval:
    """`aval`, if its dtype is of one of `kinds`."""
    if aval.dtype.kind not in kinds:
        allowed = ", ".join(KINDS[kind].name for kind in kinds)
        raise DTypeError(f"[{op}] is not defined for {aval.dtype.name}, only for {allowed}; cast it first")
    return aval


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real part of a value of `dtype`."""
    return info_of(dtype).real


# ---- evaluation ------------------------------------------------------------------------------------------------------


def by_formula(name: str) -> Callable[..., Any]:
    """Evaluate the formula `name` of compiled loops on NumPy arrays, for functions that NumPy and SciPy round badly.

    float16 is computed in float32. Of complex numbers, it is NumPy's function.
    """

    def evaluate(x: Any) -> Any:
        if x.dtype.kind == "c":
            return getattr(np, name)(x)
        from jittape.vectormath import NumPyMath  # when the first of them runs, not with the package

        wide = x.astype(info_of(x.dtype).work, copy=False)
        return np.asarray(getattr(NumPyMath(), name)(wide)).astype(x.dtype)

    return evaluate


# ---- simplification --------------------------------------------------------------------------------------------------


def constant_of(slot: int, producers: Mapping[int, Op]) -> Any:
    """The number that every element of `slot` is known to be, or None."""
    op = producers.get(slot)
    while op is not None and op.primitive is broadcast_to_op:
        op = producers.get(op.args[0])
    if op is None or op.primitive is not literal_op:
        return None
    params = dict(op.params)
    # A complex product with 1 is no identity: inf and nan spread from one part to the other.
    return None if params["dtype"].kind == "c" else params["value"]


def neutral(value: float, *operands: int) -> Callable[[Op, Mapping[int, Op]], int | None]:
    """A `Primitive.simplified`: where one of the `operands` is `value`, the other one is the result."""

    def simplified(op: Op, producers: Mapping[int, Op]) -> int | None:
        for i in operands:
            if constant_of(op.args[i], producers) == value:
                return op.args[1 - i]
        return None

    return simplified
