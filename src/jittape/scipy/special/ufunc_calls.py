"""Calls of SciPy's ufuncs on tensors, by name: for ``scipy.special.erf(tensor)`` and `jittape.scipy.special`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import complex64, complex128
from jittape.core.primitive import apply
from jittape.errors import DTypeError
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.special import zeta
from jittape.scipy.scipy_operands import as_operand, complex_operands, real_operands
from jittape.scipy.special.bessel_steps import spherical_slope
from jittape.scipy.special.complex_steps import COMPLEX_STEPS, NOT_REAL, REAL_ARGUMENTS, complex_body
from jittape.scipy.special.riemann_zeta import riemann_zeta
from jittape.scipy.special.ufunc_bodies import BODIES

__all__ = ["call_ufunc", "recorded_name"]


PRIVATE = {
    "_lambertw": "lambertw",
    "_riemann_zeta": "zeta",
    "_zeta": "zeta",
    **{f"_spherical_{kind}n{end}": f"spherical_{kind}n{end}" for kind in "ijky" for end in ("", "_d")},
}
"""SciPy's private ufuncs, which its functions of the same names call."""
DOUBLE = ("lambertw",)
"""Functions that SciPy computes in double precision for operands of all dtypes."""


def _body(*operands_and_name: Any) -> Any:
    *operands, name = operands_and_name
    if name.endswith("n_d"):
        return spherical_derivative(name[:-2], *operands)
    if name == "zeta":
        return riemann_zeta(*operands) if len(operands) == 1 else zeta(*real_operands(name, tuple(operands)))
    values = complex_operands(name, tuple(operands)) if name in COMPLEX_STEPS else None
    if values is not None and name in DOUBLE:
        values = tuple([cast(x, complex128) for x in values])
    if values is not None:
        for x in operands[: REAL_ARGUMENTS.get(name, 0)]:
            if np.dtype(x.kind if isinstance(x, WeakScalar) else x.dtype).kind == "c":
                raise DTypeError(f"[{name}] only the last argument may be complex, as in SciPy")
        return complex_body(name, *values)
    values = real_operands(name, tuple(operands))
    if name in NOT_REAL:
        dtype = np.result_type(complex64, values[0].dtype)
        dtype = complex128 if name in DOUBLE else dtype
        return complex_body(name, *[cast(x, dtype) for x in values])
    return BODIES[name](*values)


def spherical_derivative(name: str, n: Any, z: Any) -> Any:
    """Return the derivative of a spherical Bessel function, as a composition: its derivatives exist."""
    operands = complex_operands(name, (n, z)) or real_operands(name, (n, z))
    return spherical_slope(name, *operands)


def call_ufunc(name: str, *operands: Any) -> Any:
    """Record the ufunc `name` of SciPy on tensors, arrays, lists or numbers."""
    return apply(_body, tuple([as_operand(x) for x in operands]), (name,))


def recorded_name(ufunc: Any) -> str | None:
    """Return the name under which a ufunc of SciPy is recorded; None if it is another one."""
    name: str = ufunc.__name__
    if name in PRIVATE:
        return PRIVATE[name]
    known = getattr(sys.modules.get("scipy.special"), name, None)
    return name if known is ufunc and (name in BODIES or name in COMPLEX_STEPS) else None
