"""Names of ``autograd.core`` that programs use: `make_vjp` and `make_jvp` of one argument, and those of ``extend``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.autograd.extend import VSpace as VSpace
from jittape.autograd.extend import def_linear as def_linear
from jittape.autograd.extend import defjvp as defjvp
from jittape.autograd.extend import defjvp_argnum as defjvp_argnum
from jittape.autograd.extend import defjvp_argnums as defjvp_argnums
from jittape.autograd.extend import defvjp as defvjp
from jittape.autograd.extend import defvjp_argnum as defvjp_argnum
from jittape.autograd.extend import defvjp_argnums as defvjp_argnums
from jittape.autograd.extend import primitive as primitive
from jittape.autograd.extend import subval as subval
from jittape.autograd.extend import vspace as vspace
from jittape.autograd.products import make_jvp_of, make_vjp_of
from jittape.autograd.tracer import Box as Box
from jittape.autograd.tracer import getval as getval
from jittape.autograd.tracer import isbox as isbox

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "primitive",
    "subval",
    "vspace",
]


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the vector-Jacobian product of `fun` at `x`, and the value.

    Parameters
    ----------
    fun : callable
        Function of one argument. ``jittape.autograd.make_vjp`` takes functions of several.
    x : number, array or container of them

    Returns
    -------
    vjp : callable
        Function of a cotangent of the value that returns the cotangent of `x`.
    value : like the value of `fun`

    Examples
    --------
    >>> from jittape.autograd.core import make_vjp
    >>> vjp, value = make_vjp(lambda x: x**2, 3.0)
    >>> vjp(1.0), value
    (np.float64(6.0), np.float64(9.0))
    """
    vjp, value = make_vjp_of(fun, x)
    return vjp, value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function of a tangent of `x` that returns the value of `fun` at `x` and its tangent.

    Parameters
    ----------
    fun, x
        See `make_vjp`.

    Examples
    --------
    >>> from jittape.autograd.core import make_jvp
    >>> make_jvp(lambda x: x**2, 3.0)(1.0)
    (np.float64(9.0), np.float64(6.0))
    """
    found: Callable[[Any], tuple[Any, Any]] = make_jvp_of(fun, x)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
