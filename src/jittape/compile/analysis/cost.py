"""Cost of scalar expressions, counted by evaluating them over `CountingMath`; there is no list of ops to maintain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from jittape.core.dtypes import info_of
from jittape.core.forms import Map, Reduce, Scan
from jittape.core.primitive import Primitive
from jittape.core.tuning import threshold_cache, tuning
from jittape.value_classes import NamedTuple
from jittape.vectormath.counting_math import ComplexCountingMath, CountedValue, CountingMath
from jittape.vectormath.machine_math import NoFormula, NotInLanes
from jittape.vectormath.math_namespace import MathNamespace

__all__ = ["can_be_in_lanes", "computed", "cost_of_map", "has_formula", "has_loop", "narrowed", "widened"]

Params = tuple[tuple[str, Any], ...]


def computed(m: MathNamespace, primitive: Primitive, params: Params, operands: Sequence[Any]) -> Any:
    """Apply the scalar expression of a map, or combine a few elements as a reduction does.

    The result of operands that are not computed with in their own dtype (`DTypeInfo.arithmetic`) may be too wide:
    see `narrowed`.
    """
    operands = [widened(m, operand) for operand in operands]
    form = primitive.lowering
    if isinstance(form, Map):
        return form.expression(m, *operands, **dict(params))
    assert isinstance(form, Reduce), primitive
    return reduce(lambda a, b: form.combine(m, a, b), operands)


def widened(m: MathNamespace, value: Any) -> Any:
    """Return `value` in the dtype that is computed with."""
    return m.cast(value, info_of(value.dtype).arithmetic)


def narrowed(m: MathNamespace, value: Any, dtype: np.dtype[Any]) -> Any:
    """Return `value` rounded to `dtype` if this is computed with in the wider dtype of `value`."""
    return m.cast(value, dtype) if value.dtype == info_of(dtype).arithmetic else value


def cost_of_map(primitive: Primitive, params: Params, dtypes: tuple[np.dtype[Any], ...]) -> int:
    """Return the cost of one element in LLVM instructions. Slow instructions count several times; constants are free.

    Parameters
    ----------
    primitive, params
        A map, or a reduction of a few elements.
    dtypes : tuple of dtype
        The dtypes of the operands; empty for a constant.
    """
    return _counted(primitive, params, dtypes).cost if dtypes else 0


def can_be_in_lanes(primitive: Primitive, params: Params, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Return whether a scalar expression also takes vectors."""
    return _counted(primitive, params, dtypes).in_lanes if dtypes else True


def has_loop(primitive: Primitive, params: Params, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Return whether a scalar expression has a loop over a table, so that LLVM cannot vectorize loops around it."""
    return _counted(primitive, params, dtypes).has_loop if dtypes else False


def has_formula(primitive: Primitive, params: Params, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Return whether the expression of an op has a formula for complex numbers; `dtypes` ends with the result's."""
    form = primitive.lowering
    if not isinstance(form, Map | Reduce | Scan) or all(dtype.kind != "c" for dtype in dtypes):
        return True
    return _has_complex_formula(primitive, params, dtypes)


@threshold_cache(4096)
def _has_complex_formula(primitive: Primitive, params: Params, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    form = primitive.lowering
    m = ComplexCountingMath(tuning.instruction_costs)
    operands = [CountedValue(m, dtype) for dtype in dtypes[:-1]]
    try:
        match form:
            case Map():
                found = form.expression(m, *operands, **dict(params))
            case Reduce():
                found = form.combine(m, *[m.cast(x, dtypes[-1]) for x in operands * 2])
            case Scan():
                others = {name: value for name, value in params if name != "axis"}
                found = form.combine(m, CountedValue(m, dtypes[-1]), *operands, **others)
    except NoFormula:
        return False
    return bool(found.dtype == dtypes[-1])


class _Count(NamedTuple):
    """Facts about an expression: its cost, whether it takes vectors, which are counted if it does, and loops."""

    cost: int
    in_lanes: bool
    has_loop: bool


@threshold_cache(4096)
def _counted(primitive: Primitive, params: Params, dtypes: tuple[np.dtype[Any], ...]) -> _Count:
    try:
        return _count(primitive, params, dtypes, 2)
    except NotInLanes:
        return _count(primitive, params, dtypes, None)


def _count(
    primitive: Primitive, params: Params, dtypes: tuple[np.dtype[Any], ...], lanes: int | None
) -> _Count:
    m = CountingMath(tuning.instruction_costs)
    computed(m, primitive, params, [CountedValue(m, dtype, lanes) for dtype in dtypes])
    return _Count(m.cost, lanes is not None, m.has_loop)
