"""Calls of SciPy's ufuncs on tensors, by name: for ``scipy.special.erf(tensor)`` and `jittape.scipy.special`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from jittape.core.dtypes import complex64
from jittape.core.primitive import apply
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.scipy.scipy_operands import as_operand, complex_operands, real_operands
from jittape.scipy.special.complex_steps import COMPLEX_STEPS
from jittape.scipy.special.ufunc_bodies import BODIES

__all__ = ["call_ufunc", "recorded_name"]


def _body(*operands_and_name: Any) -> Any:
    *operands, name = operands_and_name
    step = COMPLEX_STEPS.get(name)
    values = None if step is None else complex_operands(name, tuple(operands))
    if step is not None and values is not None:
        return step.bind(*values)
    values = real_operands(name, tuple(operands))
    if name not in BODIES:  # SciPy has it for complex numbers only
        dtype = np.result_type(complex64, values[0].dtype)
        return COMPLEX_STEPS[name].bind(*[cast(x, dtype) for x in values])
    return BODIES[name](*values)


def call_ufunc(name: str, *operands: Any) -> Any:
    """Record the ufunc `name` of SciPy on tensors, arrays, lists or numbers."""
    return apply(_body, tuple([as_operand(x) for x in operands]), (name,))


def recorded_name(ufunc: Any) -> str | None:
    """Return the name under which a ufunc of SciPy is recorded; None if it is another one."""
    name: str = ufunc.__name__
    known = getattr(sys.modules.get("scipy.special"), name, None)
    return name if known is ufunc and (name in BODIES or name in COMPLEX_STEPS) else None
