"""Small tensors of a trace as numbers and extents, for code that needs the numbers while nothing is computed.

A shape, the bound of a slice or a branch may depend on ``jt.maximum(jt.shape(x)[0], 3)``. The ops on the path that
compute such a tensor are evaluated here: ops that move elements and integer arithmetic on extents, everything else as a
function of the extents that is recomputed for other lengths.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, reduce
from typing import Any

import numpy as np

from jittape.core.forms import Alias, Concatenate, Control, Map, Reduce, View
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op
from jittape.core.symbolic.extents import Extent, applied, hint_of

__all__ = ["known_numbers"]

_MOST = 64
"""Maximum number of elements of a tensor whose elements are followed."""
_PARAMS = tuple[tuple[str, Any], ...]


class _Selections:
    """The functions that the `combine` of a reduction calls, for numbers that may be extents."""

    add = operator.add
    multiply = operator.mul
    maximum = staticmethod(lambda a, b: a if a >= b else b)
    minimum = staticmethod(lambda a, b: a if a <= b else b)
    logical_and = staticmethod(lambda a, b: a and b)
    logical_or = staticmethod(lambda a, b: a or b)


_COMPARISONS: dict[Any, Callable[..., Any]] = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}
_ARITHMETIC: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
    np.square: lambda n: n * n,
    np.maximum: _Selections.maximum,
    np.minimum: _Selections.minimum,
    np.where: lambda condition, a, b: a if condition else b,
}
"""NumPy's functions, as functions of integers that may be extents. A comparison becomes a guard."""


def known_numbers(
    slot: int, ops: Sequence[Op], avals: Mapping[int, Aval], given: Callable[[int], Any]
) -> list[Any] | None:
    """Return the elements of the tensor in `slot` as numbers and extents; None if they depend on other values.

    ``given(slot)`` returns the elements of an input as a list, or None if they are not known.
    """
    needed = {slot}
    used: list[Op] = []
    for op in reversed(ops):
        if op.out in needed:
            if not _is_followed(op, avals):
                return None
            needed.update(op.args)
            used.append(op)
    made = {op.out for op in used}
    known: dict[int, Any] = {s: given(s) if _is_small(avals[s]) else None for s in needed - made}
    if any([elements is None for elements in known.values()]):
        return None
    try:
        for op in reversed(used):
            known[op.out] = _result(
                op, [known[s] for s in op.args], [avals[s] for s in op.args], avals[op.out]
            )
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    found: list[Any] = known[slot]
    return found


def _is_small(aval: Aval) -> bool:
    """Return whether the number of elements is known and small."""
    sizes = all([type(n) is int for n in aval.shape])
    return sizes and aval.dtype.kind in "biuf" and aval.size <= _MOST


def _is_followed(op: Op, avals: Mapping[int, Aval]) -> bool:
    primitive = op.primitive
    has_effects = primitive.effectful or primitive.calls_back or primitive.opaque or primitive.reads_variable
    return _is_small(avals[op.out]) and not has_effects and not isinstance(primitive.lowering, Control)


def _result(op: Op, operands: list[list[Any]], avals: list[Aval], aval: Aval) -> list[Any]:
    """Return the elements of the result of `op`.

    Raises
    ------
    ValueError
        If they cannot be expressed.
    """
    primitive, params = op.primitive, op.params
    if not op.args and type(value := dict(params).get("value")) is Extent:
        return [value]
    if any([_holds_extent(value) for _, value in params]):
        raise ValueError
    if not any(map(_holds_extent, operands)):
        return _evaluated(primitive, params, avals, operands).ravel().tolist()
    if primitive.is_identity:
        return operands[0]
    if primitive.is_cast:
        return [_cast(primitive, params, avals[0], n, aval.dtype) for n in operands[0]]
    if isinstance(primitive.lowering, (View, Alias, Concatenate)) or primitive.is_gather:
        return _moved(primitive, params, avals, operands)
    if isinstance(primitive.lowering, Map):
        return _mapped(primitive, params, avals, operands, aval)
    if isinstance(primitive.lowering, Reduce) and aval.dtype.kind in "iub":
        return _fitting(_reduced(primitive.lowering, dict(params)["axes"], avals[0], operands[0]), aval.dtype)
    numbers = [n for operand in operands for n in operand]
    return [applied(_element(primitive, params, tuple(avals), i), *numbers) for i in range(aval.size)]


def _holds_extent(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_extent, value))
    return value.__class__ is Extent


def _evaluated(
    primitive: Primitive, params: _PARAMS, avals: Iterable[Aval], operands: Iterable[list[Any]]
) -> np.ndarray[Any, Any]:
    """Return the result for plain numbers."""
    arrays = [np.array(n, aval.dtype).reshape(aval.shape) for n, aval in zip(operands, avals, strict=True)]
    with np.errstate(all="ignore"):
        return np.asarray(primitive.impl(*arrays, **dict(params)))


@cache
def _element(primitive: Primitive, params: _PARAMS, avals: tuple[Aval, ...], i: int) -> Callable[..., Any]:
    """Return the function of all elements of the operands that gives element `i` of the result."""

    def element(*numbers: Any) -> Any:
        given = iter(numbers)
        operands = [[next(given) for _ in range(aval.size)] for aval in avals]
        return _evaluated(primitive, params, avals, operands).ravel()[i].item()

    return element


def _cast(primitive: Primitive, params: _PARAMS, given: Aval, number: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number in another dtype; an integer stays as it is if it fits."""
    if type(hint_of(number)) is int and dtype.kind in "iuf":
        return _fitting([number], dtype)[0]
    return applied(_element(primitive, params, (Aval((), given.dtype),), 0), number)


def _fitting(numbers: list[Any], dtype: np.dtype[Any]) -> list[Any]:
    """Return integers that the dtype can hold exactly, by guards for extents; raise `ValueError` for others."""
    if dtype.kind == "f":
        most = 2 ** (np.finfo(dtype).nmant + 1)
        least = -most
    elif dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    else:
        return numbers
    if not all([least <= n <= most for n in numbers]):
        raise ValueError
    return numbers


def _moved(primitive: Primitive, params: _PARAMS, avals: list[Aval], operands: list[list[Any]]) -> list[Any]:
    """Return the elements where an op moves them, which it shows by moving their positions."""
    count = len(operands) if isinstance(primitive.lowering, Concatenate) else 1
    if any(map(_holds_extent, operands[count:])):
        raise ValueError
    elements: list[Any] = []
    positions: list[list[Any]] = []
    for operand in operands[:count]:
        positions.append(list(range(len(elements), len(elements) + len(operand))))
        elements += operand
    moving = [Aval(aval.shape, np.dtype(np.int64)) for aval in avals[:count]] + avals[count:]
    places = _evaluated(primitive, params, moving, positions + operands[count:])
    return [elements[place] for place in places.ravel().tolist()]


def _mapped(
    primitive: Primitive, params: _PARAMS, avals: list[Aval], operands: list[list[Any]], aval: Aval
) -> list[Any]:
    """Return the results of an elementwise op."""
    compare = _COMPARISONS.get(primitive.impl)
    if compare is not None:
        return [compare(*numbers) for numbers in zip(*operands, strict=True)]
    compute = _ARITHMETIC.get(primitive.impl)
    if compute is not None and aval.dtype.kind in "iu":
        return _fitting([compute(*numbers) for numbers in zip(*operands, strict=True)], aval.dtype)
    scalars = tuple([Aval((), a.dtype) for a in avals])
    return [
        applied(_element(primitive, params, scalars, 0), *numbers) for numbers in zip(*operands, strict=True)
    ]


def _reduced(form: Reduce, axes: tuple[int, ...], aval: Aval, elements: list[Any]) -> list[Any]:
    """Return the results of a reduction."""
    positions = np.arange(len(elements)).reshape(aval.shape)
    rows = np.moveaxis(positions, axes, range(-len(axes), 0)).reshape(
        -1, math.prod([aval.shape[axis] for axis in axes])
    )
    combine = partial(form.combine, _Selections)
    return [reduce(combine, [elements[i] for i in row]) for row in rows.tolist()]
