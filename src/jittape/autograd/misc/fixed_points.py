"""`fixed_point`, whose derivative is that of the implicit function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.autograd.containers import as_numpy, holds_boxes
from jittape.autograd.extend import defvjp, primitive, vspace
from jittape.autograd.products import make_vjp_of

__all__ = ["fixed_point"]

Function = Callable[..., Any]


def _iterated(f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Any:
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


_fixed_point = primitive(_iterated)


def _rule(ans: Any, f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Function:
    """Return the vector-Jacobian product for `a`: the cotangent of the fixed point is a fixed point too."""

    def product(g: Any) -> Any:
        at_x, _ = make_vjp_of(f(a), ans)
        at_a, _ = make_vjp_of(lambda b: f(b)(ans), a)
        space = vspace(ans)
        before, w = as_numpy(g), space.add(at_x(g), g)
        while distance(now := as_numpy(w), before) > tol:
            before, w = now, space.add(at_x(w), g)
        return at_a(w)

    return product


defvjp(_fixed_point, None, _rule, None)


def fixed_point(f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Any:
    """Return a fixed point of ``f(a)``, found by iteration from `x0`.

    Parameters
    ----------
    f : callable
        ``f(a)`` returns a function whose fixed point depends on `a`. It must contract near the fixed point.
    a : float, ndarray or container of them
        Parameters. The derivative with respect to them is that of the implicit function; `x0` has none.
    x0 : float, ndarray or container of them
        Start of the iteration.
    distance : callable
        ``distance(x, y)`` returns the distance of two points, a number.
    tol : float
        The iteration ends if two points are as close as this.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.misc.fixed_points import fixed_point
    >>> def root(a):
    ...     return fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: abs(x - y), 1e-12)
    >>> print(f"{root(2.0):.6f} {grad(root)(2.0):.6f}")
    1.414214 0.353553
    """
    if holds_boxes(a):
        return _fixed_point(f, a, as_numpy(x0), distance, tol)
    return _iterated(f, a, x0, distance, tol)


def __dir__() -> list[str]:
    return sorted(__all__)
