"""Functions of `scipy.special` that are no ufuncs there: compositions of ufuncs, and ufuncs with options."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jittape.core.primitive import apply
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater_equal, logical_and, where
from jittape.primitives.elementwise.trigonometric import cos
from jittape.scipy.scipy_operands import as_operand, real_operands
from jittape.scipy.special.ufunc_calls import call_ufunc
from jittape.typing import Tensor, TensorLike

__all__ = [
    "assoc_laguerre", "diric", "h1vp", "h2vp", "ivp", "jvp", "kvp", "lambertw", "perm", "spherical_in", "spherical_jn",
    "spherical_kn", "spherical_yn", "yvp",
]  # fmt: skip


def _as_function(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a function its name in messages and documentation."""

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__code__ = function.__code__.replace(co_name=name)
        function.__name__ = function.__qualname__ = name
        return function

    return decorated


# ---- spherical Bessel functions --------------------------------------------------------------------------------------

SPHERICAL = """Return the spherical Bessel function {letter} of order n, or its derivative.

Parameters
----------
n : tensor-like of int
    Orders from 0 on. They have no derivative.
z : tensor-like
    Real or complex numbers.
derivative : bool
    Return the derivative in `z`.

Returns
-------
Tensor
    SciPy computes the value; differentiable in `z` to any order.

Raises
------
ValueError
    If an order is negative or no integer.

Examples
--------
>>> import scipy.special
>>> ours = jt.scipy.special.spherical_{letter}n(2, [0.5, 1.5])
>>> np.allclose(ours, scipy.special.spherical_{letter}n(2, [0.5, 1.5]))
True
"""


def _spherical(letter: str) -> Callable[..., Tensor]:
    name = f"spherical_{letter}n"

    @_as_function(name)
    def call(n: Any, z: TensorLike, derivative: bool = False) -> Any:
        return call_ufunc(f"{name}_d" if derivative else name, n, z)

    call.__doc__ = SPHERICAL.format(letter=letter)
    return call


spherical_in, spherical_jn, spherical_kn, spherical_yn = map(_spherical, "ijky")

# ---- derivatives of Bessel functions ---------------------------------------------------------------------------------

DERIVATIVE = """Return a derivative of the function `{name}` in its argument.

Parameters
----------
v : tensor-like
    Orders. They have no derivative.
z : tensor-like
    Real or complex numbers.
n : int
    Order of the derivative.

Returns
-------
Tensor
    Differentiable in `z` to any order.

Raises
------
ValueError
    If `n` is negative.

Examples
--------
>>> import scipy.special
>>> ours = jt.scipy.special.{derivative}(1.5, [0.5, 1.5], 2)
>>> np.allclose(ours, scipy.special.{derivative}(1.5, [0.5, 1.5], 2))
True
"""


def _derivative(derivative: str, name: str, sign: float, outer: float = 1.0) -> Callable[..., Tensor]:
    """Return the function for ``(outer / 2)^n sum_k binom(n, k) sign^k F_(v - n + 2 k)``, DLMF 10.6.7 and 10.29.5."""

    @_as_function(derivative)
    def call(v: Any, z: TensorLike, n: int = 1) -> Any:
        if n.__class__ is not int or n < 0:
            raise ValueError(f"[{derivative}] n must be an int from 0 on, got {n!r}")
        total, factor = call_ufunc(name, v - n if n else v, z), 1.0
        for k in range(1, n + 1):
            factor = sign * factor * (n - k + 1) / k
            total = total + factor * call_ufunc(name, v - n + 2 * k, z)
        return total * (outer / 2) ** n if n else total

    call.__doc__ = DERIVATIVE.format(name=name, derivative=derivative)
    return call


h1vp = _derivative("h1vp", "hankel1", -1.0)
h2vp = _derivative("h2vp", "hankel2", -1.0)
ivp = _derivative("ivp", "iv", 1.0)
jvp = _derivative("jvp", "jv", -1.0)
kvp = _derivative("kvp", "kv", 1.0, outer=-1.0)
yvp = _derivative("yvp", "yv", -1.0)

# ---- others ----------------------------------------------------------------------------------------------------------


def lambertw(z: TensorLike, k: Any = 0, tol: float = 1e-8) -> Any:
    """Return Lambert's W function, the solution of ``w exp(w) = z``, which is complex.

    Parameters
    ----------
    z : tensor-like
        Real or complex numbers.
    k : tensor-like of int
        Branch.
    tol : float
        Tolerance of SciPy's iteration.

    Returns
    -------
    Tensor
        Complex; use `jt.math.real` where it is real. Differentiable in `z` to any order.

    Examples
    --------
    >>> import scipy.special
    >>> np.allclose(jt.scipy.special.lambertw([0.5, 1.5]), scipy.special.lambertw([0.5, 1.5]))
    True
    """
    return call_ufunc("lambertw", z, k, tol)


def assoc_laguerre(x: TensorLike, n: Any, k: Any = 0.0) -> Any:
    """Return the generalized Laguerre polynomial ``eval_genlaguerre(n, k, x)``.

    Parameters
    ----------
    x : tensor-like
        Points.
    n, k : tensor-like
        Degree and parameter, which have no derivative.

    Raises
    ------
    DTypeError
        If `n` or `k` is complex.

    Examples
    --------
    >>> float(jt.scipy.special.assoc_laguerre(0.5, 2, 1.0))
    1.625
    """
    return call_ufunc("eval_genlaguerre", n, k, x)


def diric(x: TensorLike, n: int) -> Any:
    """Return the periodic sinc function ``sin(n x / 2) / (n sin(x / 2))``.

    Parameters
    ----------
    x : tensor-like
        Points.
    n : int
        Periodicity, positive.

    Raises
    ------
    ValueError
        If `n` is no positive integer.

    Examples
    --------
    >>> import scipy.special
    >>> np.allclose(jt.scipy.special.diric([0.0, 0.5, 1.5], 4), scipy.special.diric([0.0, 0.5, 1.5], 4))
    True
    """
    if n != int(n) or n <= 0:
        raise ValueError(f"[diric] n must be a positive integer, got {n!r}")
    return apply(_diric, (as_operand(x),), (int(n),))


def _diric(x: Any, n: int) -> Any:
    """Return the mean of cosines that the quotient is: its derivatives exist everywhere."""
    (x,) = real_operands("diric", (x,))
    frequencies = [0.5 * (2 * k - n + 1) for k in range(n)]
    return multiply(1 / n, functools.reduce(add, [cos(multiply(f, x)) for f in frequencies]))


def perm(N: TensorLike, k: Any, exact: bool = False) -> Any:
    """Return the number of ways to choose `k` of `N` things in order, ``poch(N - k + 1, k)``; 0 if there is none.

    Parameters
    ----------
    N, k : tensor-like
        Real numbers.
    exact : bool
        Must be False: Python's integers are not recorded.

    Raises
    ------
    ValueError
        For `exact`.

    Examples
    --------
    >>> float(jt.scipy.special.perm(5, 2))
    20.0
    """
    if exact:
        raise ValueError("[perm] exact=True is not supported on tensors; use math.perm for integers")
    return apply(_perm, (as_operand(N), as_operand(k)))


def _perm(N: Any, k: Any) -> Any:
    N, k = real_operands("perm", (N, k))
    possible = logical_and(logical_and(greater_equal(N, k), greater_equal(N, 0.0)), greater_equal(k, 0.0))
    N, k = where(possible, N, 1.0), where(possible, k, 1.0)
    return where(possible, call_ufunc("poch", add(subtract(N, k), 1.0), k), 0.0)
