"""Functions of `scipy.special` that are no ufuncs: sums of exponentials, counts, and functions of an order."""

from __future__ import annotations

from typing import Any

from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.primitives.broadcast import axis_key, broadcast_operands
from jittape.primitives.elementwise import special
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import equal, greater_equal, less, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, log
from jittape.primitives.elementwise.gamma_beta import gamma
from jittape.primitives.elementwise.hyperbolic import softplus as _softplus
from jittape.primitives.elementwise.piecewise import absolute, sign
from jittape.primitives.elementwise.smooth_functions import sinc as _sinc
from jittape.primitives.identity import stop_gradient
from jittape.primitives.reduce import multivariate_gamma
from jittape.primitives.reduce.reductions import Axis, reduce_max, reduce_sum
from jittape.primitives.shape.reshaping import squeeze
from jittape.scipy.scipy_operands import as_operand, real_operands
from jittape.scipy.special.riemann_zeta import riemann_zeta
from jittape.scipy.special.ufunc_calls import call_ufunc
from jittape.typing import Tensor, TensorLike

__all__ = [
    "comb", "factorial", "log_softmax", "logsumexp", "multigammaln", "polygamma", "sinc", "softmax", "softplus", "zeta",
]  # fmt: skip


# ---- sums of exponentials --------------------------------------------------------------------------------------------


def _shifted(a: Any, axis: Any) -> tuple[Any, Any]:
    """Return `a` minus its finite maximum along `axis`, and the maximum with dimensions kept."""
    top = stop_gradient(reduce_max(a, axis, keepdims=True))
    top = where(is_finite(top), top, 0.0)
    return subtract(a, top), top


def _logsumexp_body(a: Any, b: Any, axis: Any, keepdims: bool, weighted: bool, signed: bool) -> Any:
    a, b = broadcast_operands(*real_operands("logsumexp", (a, b)), op="logsumexp")
    if weighted:
        a = where(equal(b, 0), -float("inf"), a)
    shifted, top = _shifted(a, axis)
    terms = exp(shifted)
    total = reduce_sum(multiply(b, terms) if weighted else terms, axis, keepdims=True)
    size = absolute(total) if signed else total
    out = add(log(size), top)
    results = (out, sign(total)) if signed else (out,)
    return tuple([r if keepdims else squeeze(r, axis) for r in results])


def logsumexp(
    a: TensorLike,
    axis: Axis = None,
    b: TensorLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """Return ``log(sum(b * exp(a)))`` along `axis`, without overflow.

    Parameters
    ----------
    a : tensor-like
        Real exponents.
    axis : int or sequence of int, optional
        Dimensions of the sum; all of them by default.
    b : tensor-like, optional
        Factors that broadcast with `a`; those of 0 remove their terms, also infinite ones.
    keepdims : bool
        Keep the dimensions of the sum with length 1.
    return_sign : bool
        Return the logarithm of the absolute value, and the sign. Without it a negative sum gives nan.

    Returns
    -------
    Tensor or tuple of Tensor
        The logarithm, and the sign, whose gradient is 0, with `return_sign`.

    Raises
    ------
    DTypeError
        If `a` or `b` is complex.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> float(special.logsumexp([1000.0, 1000.0]))
    1000.6931471805599
    """
    a = as_operand(a)
    operands = (a, 1.0 if b is None else as_operand(b))
    ndim = max(_ndim(x) for x in operands)
    key = tuple(range(ndim)) if axis is None else axis_key(axis)
    results = apply(_logsumexp_body, operands, (key, bool(keepdims), b is not None, bool(return_sign)))
    return tuple(results) if return_sign else results[0]


def _ndim(x: Any) -> int:
    return len(x.shape) if hasattr(x, "shape") else 0


def _softmax_body(x: Any, axis: Any) -> Any:
    (x,) = real_operands("softmax", (x,))
    terms = exp(_shifted(x, axis)[0])
    return divide(terms, reduce_sum(terms, axis, keepdims=True))


def softmax(x: TensorLike, axis: Axis = None) -> Tensor:
    """Return ``exp(x) / sum(exp(x))`` along `axis`; over all elements by default, as in SciPy.

    Parameters
    ----------
    x : tensor-like
        Real numbers.
    axis : int or sequence of int, optional
        Dimensions of the sum.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> special.softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5])
    """
    x = as_operand(x)
    return apply(_softmax_body, (x,), (tuple(range(_ndim(x))) if axis is None else axis_key(axis),))


def _log_softmax_body(x: Any, axis: Any) -> Any:
    (x,) = real_operands("log_softmax", (x,))
    shifted, _ = _shifted(x, axis)
    return subtract(shifted, log(reduce_sum(exp(shifted), axis, keepdims=True)))


def log_softmax(x: TensorLike, axis: Axis = None) -> Tensor:
    """Return the logarithm of `softmax`, without underflow.

    Parameters
    ----------
    x : tensor-like
        Real numbers.
    axis : int or sequence of int, optional
        Dimensions of the sum; all of them by default.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> special.log_softmax([0.0, 1000.0]).numpy()
    array([-1000.,     0.])
    """
    x = as_operand(x)
    return apply(_log_softmax_body, (x,), (tuple(range(_ndim(x))) if axis is None else axis_key(axis),))


# ---- counts ----------------------------------------------------------------------------------------------------------


def comb(N: TensorLike, k: TensorLike, *, exact: bool = False, repetition: bool = False) -> Tensor:
    """Return the number of combinations of `N` things taken `k` at a time, 0 where ``k > N`` or one is negative.

    Parameters
    ----------
    N, k : tensor-like
        Real numbers that broadcast; between integers the gamma function interpolates, also in the gradient.
    exact : bool
        Must be False: SciPy's exact integers have no gradient.
    repetition : bool
        Count combinations with repetition.

    Raises
    ------
    ValueError
        If `exact` is true.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> special.comb(5, [0, 2, 6]).numpy()
    array([ 1., 10.,  0.])
    """
    if exact:
        raise ValueError("[comb] exact=True is not recorded; call scipy.special.comb on Python integers")
    N, k = as_operand(N), as_operand(k)
    if repetition:
        return apply(_with_repetition, (N, k))
    return apply(_comb, (N, k))


def _comb(N: Any, k: Any) -> Any:
    N, k = real_operands("comb", (N, k))
    value = call_ufunc("binom", N, k)
    return where(less(k, 0), 0.0, where(less(N, 0), 0.0, where(less(N, k), 0.0, value)))


def _with_repetition(N: Any, k: Any) -> Any:
    N, k = real_operands("comb", (N, k))
    value = _comb(subtract(add(N, k), 1.0), k)
    return where(equal(N, 0), where(equal(k, 0), 1.0, value), value)


def _factorial(n: Any) -> Any:
    (n,) = real_operands("factorial", (n,))
    return where(greater_equal(n, 0), gamma(add(n, 1.0)), 0.0)


def factorial(n: TensorLike, exact: bool = False) -> Tensor:
    """Return ``gamma(n + 1)``, and 0 for negative numbers.

    Parameters
    ----------
    n : tensor-like
        Real numbers.
    exact : bool
        Must be False: SciPy's exact integers have no gradient.

    Raises
    ------
    ValueError
        If `exact` is true.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> special.factorial([0.0, 3.0, 4.0]).numpy()
    array([ 1.,  6., 24.])
    """
    if exact:
        raise ValueError(
            "[factorial] exact=True is not recorded; call scipy.special.factorial on Python integers"
        )
    return apply(_factorial, (as_operand(n),))


# ---- functions of an order -------------------------------------------------------------------------------------------


def _polygamma_body(n: Any, x: Any) -> Any:
    n, x = real_operands("polygamma", (n, x))
    return special.tensor_polygamma_op.bind(n, x)


def polygamma(n: TensorLike, x: TensorLike) -> Tensor:
    """Return the derivative of `digamma` of order `n`, which is a constant.

    Parameters
    ----------
    n : tensor_like of int
        Order.
    x : tensor_like
        Real numbers.

    Raises
    ------
    DTypeError
        If `n` or `x` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> special.polygamma(1, [1.0, 2.0]).numpy().round(4)
    array([1.6449, 0.6449])
    """
    return apply(_polygamma_body, (as_operand(n), as_operand(x)))


def _multigammaln_body(a: Any, d: int) -> Any:
    return multivariate_gamma.multigammaln(real_operands("multigammaln", (a,))[0], d)


def multigammaln(a: TensorLike, d: int) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension `d`.

    Parameters
    ----------
    a : tensor_like
        Real numbers greater than ``(d - 1) / 2``.
    d : int
        Dimension.

    Raises
    ------
    DTypeError
        If `a` is complex.
    ValueError
        If `d` is too small.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> round(float(special.multigammaln(3.0, 1)), 4)
    0.6931
    """
    return apply(_multigammaln_body, (as_operand(a),), (as_int("d", d),))


def _zeta_body(x: Any, q: Any) -> Any:
    return special.zeta(*real_operands("zeta", (x, q)))


def zeta(x: TensorLike, q: TensorLike | None = None) -> Tensor:
    """Return the Hurwitz zeta function for ``x > 1``, or Riemann's without `q` for any `x`.

    Parameters
    ----------
    x : tensor_like
        Real numbers; greater than 1 if `q` is given, else the result is nan.
    q : tensor_like, optional
        Positive numbers.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> round(float(special.zeta(2.0)), 4)
    1.6449
    """
    if q is None:
        return apply(riemann_zeta, (as_operand(x),))
    return apply(_zeta_body, (as_operand(x), as_operand(q)))


def _sinc_body(x: Any) -> Any:
    return _sinc(*real_operands("sinc", (x,)))


def sinc(x: TensorLike) -> Tensor:
    """Return ``sin(pi x) / (pi x)``, and 1 at 0.

    Parameters
    ----------
    x : tensor_like
        Real numbers.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> special.sinc([0.0, 1.0]).numpy()
    array([1., 0.])
    """
    return apply(_sinc_body, (as_operand(x),))


def _softplus_body(x: Any) -> Any:
    return _softplus(*real_operands("softplus", (x,)))


def softplus(x: TensorLike) -> Tensor:
    """Return ``log(1 + exp(x))``, without overflow.

    Parameters
    ----------
    x : tensor_like
        Real numbers.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> import jittape.scipy.special as special
    >>> float(special.softplus(1000.0))
    1000.0
    """
    return apply(_softplus_body, (as_operand(x),))
