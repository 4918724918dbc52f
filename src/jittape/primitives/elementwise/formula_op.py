"""`formula_op`: the record of a function of one real number, computed everywhere by one formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.core.forms import Map
from jittape.core.primitive import Primitive
from jittape.primitives.elementwise.arithmetic import zero_dominant_multiply
from jittape.primitives.record_parts import by_formula, one_float, same_real_float

__all__ = ["formula_op"]


def formula_op(name: str, derivative: Callable[[Any, Any], Any]) -> Primitive:
    """Return the record of the math namespace's function `name`; ``derivative(out, x)`` uses user-level functions."""
    return Primitive(
        name,
        abstract_eval=same_real_float(name),
        impl=by_formula(name),
        vjp=(lambda g, out, x: zero_dominant_multiply(g, derivative(out, x)),),
        lowering=Map(lambda m, x: getattr(m, name)(x)),
        promote_args=one_float,
    )
