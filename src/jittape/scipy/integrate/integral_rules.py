"""Integrals: fixed Gauss-Kronrod and Gauss rules of functions, and rules for samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import broadcast_to, reshape
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import floating_operand, known_values
from jittape.scipy.scipy_parameters import in_scipys_order

__all__ = ["cumulative_trapezoid", "fixed_quad", "quad", "romb", "simpson", "trapezoid"]

KRONROD = np.array(
    [0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
     0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
     0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
     0.148874338981631210884826001129720, 0.0]
)  # fmt: skip
KRONROD_WEIGHTS = np.array(
    [0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
     0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
     0.123491976262065851077958109831074, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
     0.147739104901338491374841515972068, 0.149445554002916905664936468389821]
)  # fmt: skip
NODES = np.concatenate([-KRONROD, KRONROD[-2::-1]])
WEIGHTS = np.concatenate([KRONROD_WEIGHTS, KRONROD_WEIGHTS[-2::-1]])


def _gauss_weights() -> Any:
    """Return the weights of the 10-point Gauss rule at the nodes of the Kronrod rule."""
    weights = np.zeros(21)
    weights[1::2] = np.polynomial.legendre.leggauss(10)[1]
    return weights


# ---- functions -------------------------------------------------------------------------------------------------------


def _is_infinite(x: Any) -> bool:
    known = known_values(x)
    return known is not None and known.ndim == 0 and known.dtype.kind == "f" and bool(np.isinf(known))


@in_scipys_order(
    "func a b args full_output epsabs epsrel limit points weight wvar wopts maxp1 limlst complex_func",
    hint=": the points are fixed, and panels= sets their number",
    ignored="limlst maxp1",
    full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50, points=None, weight=None, wvar=None, wopts=None,
    complex_func=False,
)  # fmt: skip
def quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), *, panels: int = 20) -> tuple[Any, Any]:
    """Integrate a function from `a` to `b` with the Gauss-Kronrod rule of 21 points in each of `panels` equal parts.

    SciPy subdivides adaptively; here the points are fixed, so one call of `func` gets them all as an array. The
    integral is differentiable in the limits and in all tensors that `func` reads.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` of an array of points, elementwise, by jittape's operations.
    a, b : float or tensor
        Limits. Infinite ones must be known while the code runs; ``x = t / (1 - t**2)`` or ``x = a + t / (1 - t)`` maps
        them.
    args : tuple
        Further arguments of `func`.
    panels : int
        Number of parts.

    Returns
    -------
    integral, error : Tensor
        The integral, and the difference from the Gauss rule of 10 points as an estimate of the error.

    Examples
    --------
    >>> from jittape.scipy import integrate
    >>> import jittape as jt
    >>> round(float(integrate.quad(lambda x: jt.exp(-x * x), -float("inf"), float("inf"))[0]) ** 2, 8)
    3.14159265
    """
    panels = as_int("panels", panels)
    if panels < 1:
        raise ValueError(f"[quad] panels must be at least 1, got {panels}")
    a, b = (float(known_values(limit)) if _is_infinite(limit) else limit for limit in (a, b))
    if _is_infinite(a) and _is_infinite(b) and a == b:
        return convert_to_tensor(np.float64(0.0)), convert_to_tensor(np.float64(0.0))
    if (_is_infinite(a) and a > 0) or (_is_infinite(b) and b < 0):
        value, error = quad(func, b, a, args, panels=panels)
        return -value, error
    args = args if isinstance(args, tuple) else (args,)
    edges = np.linspace(-1.0 if _is_infinite(a) and _is_infinite(b) else 0.0, 1.0, panels + 1)
    half = 0.5 * (edges[1] - edges[0])
    t = (edges[:-1, None] + half * (1 + NODES)).ravel()
    if _is_infinite(a) and _is_infinite(b):
        x, slope = t / (1 - t * t), (1 + t * t) / (1 - t * t) ** 2
    elif _is_infinite(b):
        x, slope = floating_operand(a) + t / (1 - t), 1 / (1 - t) ** 2
    elif _is_infinite(a):
        x, slope = floating_operand(b) - t / (1 - t), 1 / (1 - t) ** 2
    else:
        a, b = floating_operand(a), floating_operand(b)
        x, slope = a + (b - a) * t, b - a
    values = func(convert_to_tensor(x), *args) * slope
    terms = reshape(broadcast_to(values, t.shape), (panels, 21))
    integral = half * reduce_sum(terms * WEIGHTS)
    error = half * reduce_sum(absolute(reduce_sum(terms * (WEIGHTS - _gauss_weights()), 1)))
    return integral, error


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """Integrate a function from `a` to `b` with the Gauss rule of `n` points.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` of a vector of points; the points are the last dimension of its result.
    a, b : float or tensor
        Finite limits.
    args : tuple
        Further arguments.
    n : int
        Number of points.

    Returns
    -------
    integral : Tensor
        Differentiable in the limits and in all tensors that `func` reads.
    none : None
        As in SciPy.

    Examples
    --------
    >>> from jittape.scipy import integrate
    >>> round(float(integrate.fixed_quad(lambda x: x**8, 0.0, 1.0)[0]), 6)
    0.111111
    """
    if _is_infinite(a) or _is_infinite(b):
        raise ValueError("[fixed_quad] Gaussian quadrature is only available for finite limits; use quad")
    nodes, weights = np.polynomial.legendre.leggauss(as_int("n", n))
    a, b = floating_operand(a), floating_operand(b)
    x = (b - a) * (nodes + 1) / 2.0 + a
    values = func(convert_to_tensor(x), *(args if isinstance(args, tuple) else (args,)))
    return (b - a) / 2.0 * reduce_sum(values * weights, -1), None


# ---- samples ---------------------------------------------------------------------------------------------------------


def _samples(function: str, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """Return the samples with `axis` last, and the widths of the intervals, or `dx`."""
    y = convert_to_tensor(floating_operand(y))
    moved = moveaxis(y, axis, -1)
    if x is None:
        return moved, floating_operand(dx)
    x = convert_to_tensor(floating_operand(x))
    if len(x.shape) == 1:
        if x.shape[0] != moved.shape[-1]:
            raise ValueError(
                f"[{function}] x must have {moved.shape[-1]} numbers, as y along axis {axis}, got {x.shape[0]}"
            )
    else:
        x = moveaxis(x, axis, -1)
    return moved, x[..., 1:] - x[..., :-1]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by the trapezoidal rule; differentiable in `y`, `x` and `dx`.

    Parameters
    ----------
    y : tensor-like
        Samples.
    x : tensor-like, optional
        Points, one-dimensional or of the shape of `y`.
    dx : float or tensor
        Distance of the points without `x`.
    axis : int
        Dimension of the samples.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> from jittape.scipy import integrate
    >>> float(integrate.trapezoid([1.0, 2.0, 3.0], dx=0.5))
    2.0
    """
    y, h = _samples("trapezoid", y, x, dx, axis)
    return reduce_sum(h * (y[..., 1:] + y[..., :-1]) / 2.0, -1)


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Integrate samples cumulatively by the trapezoidal rule; differentiable in `y`, `x` and `dx`.

    Parameters
    ----------
    y, x, dx, axis
        As in `trapezoid`.
    initial : {0, None}
        Insert 0 as the first value.

    Raises
    ------
    ValueError
        If `initial` is another number.

    Examples
    --------
    >>> from jittape.scipy import integrate
    >>> integrate.cumulative_trapezoid([1.0, 2.0, 3.0], initial=0).numpy()
    array([0. , 1.5, 4. ])
    """
    if initial is not None and initial != 0:
        raise ValueError(f"[cumulative_trapezoid] initial must be None or 0, got {initial!r}")
    y, h = _samples("cumulative_trapezoid", y, x, dx, axis)
    found = cumsum(h * (y[..., 1:] + y[..., :-1]) / 2.0, -1)
    if initial is not None:
        found = concat([y[..., :1] * 0.0, found], -1)
    return moveaxis(found, -1, axis)


def romb(y: Any, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate equidistant samples by Romberg's method; differentiable in `y` and `dx`.

    Parameters
    ----------
    y : tensor-like
        ``2**k + 1`` samples.
    dx : float or tensor
        Distance of the points.
    axis : int
        Dimension of the samples.

    Raises
    ------
    ValueError
        For another number of samples.

    Examples
    --------
    >>> from jittape.scipy import integrate
    >>> float(integrate.romb([0.0, 3.0, 12.0]))
    8.0
    """
    y = convert_to_tensor(floating_operand(y))
    y = moveaxis(y, axis, -1)
    count = int(y.shape[-1])
    if count < 2 or (count - 1) & (count - 2):
        raise ValueError(f"[romb] the number of samples must be a power of two plus one, got {count}")
    return reduce_sum(y * _romb_weights(count).astype(y.aval.dtype), -1) * dx


@cache
def _romb_weights(count: int) -> np.ndarray[Any, Any]:
    from scipy.integrate import romb as scipy_romb

    return np.asarray(scipy_romb(np.eye(count)))


def _parabolas(y: Any, h: Any) -> Any:
    """Return the integral of the parabolas through samples 0 to 2, 2 to 4, and so on."""
    h0, h1 = h[..., 0::2], h[..., 1::2]
    total, ratio = h0 + h1, divide_no_nan(h0, h1)
    left = y[..., 0:-2:2] * (2.0 - divide_no_nan(1.0, ratio))
    middle = y[..., 1:-1:2] * (total * divide_no_nan(total, h0 * h1))
    return reduce_sum(total / 6.0 * (left + middle + y[..., 2::2] * (2.0 - ratio)), -1)


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by Simpson's rule; differentiable in `y`, `x` and `dx`.

    Parameters
    ----------
    y, x, dx, axis
        As in `trapezoid`. For an even number of samples, the last interval is that of the last parabola (Cartwright,
        2017), as in SciPy.

    Raises
    ------
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> from jittape.scipy import integrate
    >>> float(integrate.simpson([0.0, 1.0, 4.0]))
    2.6666666666666665
    """
    y, h = _samples("simpson", y, x, dx, axis)
    n = y.shape[-1]
    if n < 3:
        return reduce_sum(h * (y[..., 1:] + y[..., :-1]) / 2.0, -1)
    h = h + np.zeros(n - 1)
    if n % 2:
        return _parabolas(y, h)
    h0, h1 = h[..., -2], h[..., -1]
    last = divide_no_nan(2.0 * h1 * h1 + 3.0 * h0 * h1, 6.0 * (h1 + h0)) * y[..., -1]
    last = last + divide_no_nan(h1 * h1 + 3.0 * h0 * h1, 6.0 * h0) * y[..., -2]
    last = last - divide_no_nan(h1 * h1 * h1, 6.0 * h0 * (h0 + h1)) * y[..., -3]
    return last + _parabolas(y[..., :-1], h[..., :-1])
