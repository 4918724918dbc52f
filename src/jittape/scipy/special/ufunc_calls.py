"""Calls of SciPy's ufuncs on tensors, by name: for ``scipy.special.erf(tensor)`` and `jittape.scipy.special`."""

from __future__ import annotations

import sys
from typing import Any

from jittape.core.primitive import apply
from jittape.scipy.scipy_operands import as_operand, real_operands
from jittape.scipy.special.ufunc_bodies import BODIES

__all__ = ["call_ufunc", "recorded_name"]


def _body(*operands_and_name: Any) -> Any:
    *operands, name = operands_and_name
    return BODIES[name](*real_operands(name, tuple(operands)))


def call_ufunc(name: str, *operands: Any) -> Any:
    """Record the ufunc `name` of SciPy on tensors, arrays, lists or numbers."""
    return apply(_body, tuple([as_operand(x) for x in operands]), (name,))


def recorded_name(ufunc: Any) -> str | None:
    """Return the name under which a ufunc of SciPy is recorded; None if it is another one."""
    name: str = ufunc.__name__
    known = getattr(sys.modules.get("scipy.special"), name, None)
    return name if known is ufunc and name in BODIES else None
