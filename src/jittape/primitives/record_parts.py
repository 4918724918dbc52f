"""Parts of primitive records: promotion of operands, abstract evaluation, NumPy evaluation, simplification.

Most helpers take the name of the op, for error messages, and return the callable for the record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from jittape.core.builder import Builder, WeakScalar, literal, literal_op
from jittape.core.dtypes import (
    KINDS,
    as_dtype,
    bool_,
    default_dtype,
    float64,
    float_result,
    info_of,
    int8,
    is_floating,
    kind_of,
    uint64,
)
from jittape.core.interpret import interpret
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Op, Program
from jittape.core.user_calls import named
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    broadcast,
    broadcast_operands,
    broadcast_to_op,
    cast_to,
    promote,
    require_differentiable,
    require_equal,
    reshape_op,
)

__all__ = [
    "AbstractEval", "PromoteArgs", "UnlikeIntegers", "by_decomposition", "by_formula", "common", "common_float",
    "common_number", "comparable", "constant_of", "filled", "floating", "highest", "in_chunks", "integer_dtype",
    "logical", "lowest", "neutral", "not_enlarged", "one", "one_float", "quotient", "real_dtype", "require_kinds",
    "same_float", "same_of_kinds", "same_real_float", "truth_of_kinds",
]  # fmt: skip

PromoteArgs = Callable[..., tuple[Any, ...]]
AbstractEval = Callable[..., Aval]


def integer_dtype(argument: str, dtype: Any) -> np.dtype[Any]:
    """Return `dtype`, given as `argument`; raise `DTypeError` unless it is an integer dtype."""
    found = as_dtype(dtype)
    if found.kind not in "iu":
        raise named(DTypeError(f"{argument} must be an integer dtype, got {found.name}"))
    return found


# ---- promotion of operands -------------------------------------------------------------------------------------------


def floating(x: Any) -> Any:
    """Return `x` in the dtype of NumPy's `sin`: integers become floats, a Python integer the default float."""
    if isinstance(x, WeakScalar):
        return x.resolve(default_dtype(x.kind if x.kind in (float, complex) else float))
    return cast_to(x, float_result(x.dtype))


def one(x: Any) -> tuple[Any, ...]:
    """Promote one operand, keeping its dtype."""
    return (as_symbol(x),)


def one_float(x: Any) -> tuple[Any, ...]:
    """Promote the operand of a function with floating results."""
    return (floating(x),)


def common(op: str) -> PromoteArgs:
    """Return the promotion to one dtype and broadcasting to one shape."""
    return lambda *operands: broadcast_operands(*promote(*operands), op=op)


class UnlikeIntegers(OverflowError):
    """Operands of uint64 and of a signed dtype: float64, their common dtype, rounds them."""


def comparable(op: str) -> PromoteArgs:
    """Return the promotion of a comparison, which raises for integers that no dtype of both holds."""
    promotion = common(op)

    def promote_args(x: Any, y: Any) -> tuple[Any, ...]:
        if not isinstance(x, WeakScalar) and not isinstance(y, WeakScalar):
            dtypes = (x.dtype, y.dtype)
            if uint64 in dtypes and "i" in [dtype.kind for dtype in dtypes]:
                raise UnlikeIntegers(op)
        return promotion(x, y)

    return promote_args


def common_number(op: str) -> PromoteArgs:
    """Return the promotion to one dtype of numbers and broadcasting; truth values become int8, as in NumPy."""

    def promote_args(*operands: Any) -> tuple[Any, ...]:
        promoted = promote(*operands)
        if promoted[0].dtype == bool_:
            promoted = tuple([cast_to(x, int8) for x in promoted])
        return broadcast_operands(*promoted, op=op)

    return promote_args


def common_float(op: str) -> PromoteArgs:
    """Return the promotion to one floating dtype and broadcasting; integers become floats as under `sin`."""

    def promote_args(*operands: Any) -> tuple[Any, ...]:
        operands = _weak_floats(operands)
        if any(isinstance(x, WeakScalar) for x in operands):
            operands = promote(*operands)
        return broadcast_operands(*promote(*[floating(x) for x in operands]), op=op)

    return promote_args


def quotient(op: str) -> PromoteArgs:
    """Return the promotion of a division: integers of any width become float64, as in NumPy."""

    def promote_args(*operands: Any) -> tuple[Any, ...]:
        operands = _weak_floats(operands)
        if all(_is_whole(x) for x in operands):  # a Python int need not fit the dtype of the integers
            return broadcast_operands(*[cast_to(x, float64) for x in operands], op=op)
        return broadcast_operands(*promote(*operands), op=op)

    return promote_args


def _is_whole(x: Any) -> bool:
    return x.kind in (int, bool) if isinstance(x, WeakScalar) else x.dtype.kind in "biu"


def _weak_floats(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert Python integers to the default float if all operands are Python scalars."""
    if all(isinstance(x, WeakScalar) for x in operands):
        return tuple([floating(x) for x in operands])
    return operands


def logical(op: str) -> PromoteArgs:
    """Return the conversion to bool (nonzero is true) and broadcasting."""
    return lambda *operands: broadcast_operands(*[cast_to(x, bool_) for x in operands], op=op)


def filled(x: Any, value: complex) -> Any:
    """Return a constant with the shape and dtype of `x`."""
    return broadcast(literal(value, x.dtype), x.shape)


def not_enlarged(op: str, argument: str, shape: tuple[int, ...], result: Any) -> Any:
    """Return `result`; raise if broadcasting with `argument` has changed the `shape` of the first operand."""
    if result.shape != shape:
        raise ShapeError(
            f"[{op}] {argument} must broadcast to the shape {shape} of the tensor, but they make it {result.shape}"
        )
    return result


# ---- abstract evaluation ---------------------------------------------------------------------------------------------


def same_float(op: str) -> AbstractEval:
    """Return the rule for one floating or complex operand; the result has its shape and dtype."""
    return lambda x: require_differentiable(op, x)


def same_real_float(op: str) -> AbstractEval:
    """Return the rule for operands of one real floating dtype; the result has their shape and dtype."""

    def abstract_eval(*avals: Aval) -> Aval:
        if not is_floating(avals[0].dtype):
            raise DTypeError(f"[{op}] needs a real floating dtype, got {avals[0].dtype.name}; cast it first")
        return require_equal(op, *avals)

    return abstract_eval


def same_of_kinds(op: str, kinds: str) -> AbstractEval:
    """Return the rule for operands of one dtype with `numpy.dtype.kind` in `kinds`; the result is like them."""

    def abstract_eval(*avals: Aval) -> Aval:
        return require_kinds(op, kinds, require_equal(op, *avals))

    return abstract_eval


def truth_of_kinds(op: str, kinds: str) -> AbstractEval:
    """Return the rule for operands of one dtype with kind in `kinds`; the result is bool."""

    def abstract_eval(*avals: Aval) -> Aval:
        return Aval(require_kinds(op, kinds, require_equal(op, *avals)).shape, bool_)

    return abstract_eval


def require_kinds(op: str, kinds: str, aval: Aval) -> Aval:
    """Return `aval`; raise `DTypeError` unless the kind of its dtype is in `kinds`."""
    if kind_of(aval.dtype) not in kinds:
        allowed = ", ".join(KINDS[kind].name for kind in kinds)
        raise DTypeError(f"[{op}] is not defined for {aval.dtype.name}, only for {allowed}; cast it first")
    return aval


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the real part of a value of `dtype`."""
    return info_of(dtype).real


# ---- evaluation ------------------------------------------------------------------------------------------------------


def in_chunks(
    function: Callable[..., Any], operands: Sequence[Any], dtype: np.dtype[Any], elements: int
) -> np.ndarray[Any, Any]:
    """Return the results of an elementwise function as an array of `dtype`, computed for `elements` at a time."""
    flat = [x.reshape(-1) for x in operands]
    result = np.empty(operands[0].shape, dtype)
    out = result.reshape(-1)
    for begin in range(0, out.size, elements):
        part = slice(begin, begin + elements)
        out[part] = function(*[x[part] for x in flat])
    return result


BLOCK = 8192
"""Elements that the interpreter computes at a time, so that intermediate results stay in the cache.

A million values of `bessel_j0` take 0.5 s instead of 1.9.
"""


def by_formula(name: str) -> Callable[..., Any]:
    """Return the NumPy evaluation by the formula `name` of compiled code, which is more accurate than NumPy or SciPy.

    float16 is computed in float32. For complex numbers NumPy's function is used.
    """

    def impl(*operands: Any, **params: Any) -> Any:
        dtype = operands[0].dtype
        if dtype.kind == "c":
            return getattr(np, name)(*operands)
        from jittape.vectormath import NumPyMath  # imported on first use, not with the package

        wide = [x.astype(info_of(dtype).work, copy=False) for x in operands]
        formula = partial(getattr(NumPyMath(), name), **params)
        if operands[0].size <= BLOCK:
            return np.asarray(formula(*wide)).astype(dtype)
        result = np.empty(operands[0].size, dtype)
        flat = [np.broadcast_to(x, operands[0].shape).ravel() for x in wide]
        for start in range(0, result.size, BLOCK):
            result[start : start + BLOCK] = formula(*[x[start : start + BLOCK] for x in flat])
        return result.reshape(operands[0].shape)

    return impl


def by_decomposition(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the NumPy evaluation by `function`, a composition of ops that is also the op's lowering."""

    @cache
    def program(avals: tuple[Aval, ...], params: tuple[tuple[str, Any], ...]) -> Program:
        builder = Builder(0)
        inputs = [builder.new_slot(aval) for aval in avals]
        with recording_with(builder):
            output = function(*inputs, **dict(params))
        return Program(tuple([x.slot for x in inputs]), tuple(builder.ops), (output.slot,), builder.avals)

    def impl(*operands: Any, **params: Any) -> Any:
        avals = tuple([Aval(x.shape, x.dtype) for x in operands])
        (result,) = interpret(program(avals, tuple(params.items())), operands)
        return result

    return impl


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the least value of a real or bool dtype, the neutral element of the maximum."""
    if is_floating(dtype):
        return -np.inf
    return False if dtype.kind == "b" else int(np.iinfo(dtype).min)


def highest(dtype: np.dtype[Any]) -> Any:
    """Return the greatest value of a real or bool dtype, the neutral element of the minimum."""
    if is_floating(dtype):
        return np.inf
    return True if dtype.kind == "b" else int(np.iinfo(dtype).max)


# ---- simplification --------------------------------------------------------------------------------------------------


def constant_of(slot: int, producers: Mapping[int, Op]) -> Any:
    """Return the number that all elements of `slot` are known to have, or None."""
    op = producers.get(slot)
    while op is not None and op.primitive in (broadcast_to_op, reshape_op):
        op = producers.get(op.args[0])
    if op is None or op.primitive is not literal_op:
        return None
    params = dict(op.params)
    # A complex product with 1 is no identity: inf and nan propagate from one part to the other.
    return None if params["dtype"].kind == "c" else params["value"]


def neutral(value: float, *operands: int) -> Callable[[Op, Mapping[int, Op]], int | None]:
    """Return a `Primitive.simplified` rule: if one of the `operands` is `value`, the result is the other one."""

    def simplified(op: Op, producers: Mapping[int, Op]) -> int | None:
        for i in operands:
            if constant_of(op.args[i], producers) == value:
                return op.args[1 - i]
        return None

    return simplified
