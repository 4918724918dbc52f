"""Jacobians, Hessians and products with them, under autograd's names: `jacobian`, `hessian`, `make_vjp` and others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.autograd.containers import as_tensor, holds_boxes, mapped
from jittape.autograd.differential_operators import grad
from jittape.autograd.products import jacobian_of, make_jvp_of, make_vjp_of
from jittape.autograd.wrap_util import unary_to_nary
from jittape.numpy_api.numpy_functions import FUNCTIONS

__all__ = [
    "deriv",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "tensor_jacobian_product",
    "vector_jacobian_product",
]

Function = Callable[..., Any]


# ---- Jacobians -------------------------------------------------------------------------------------------------------


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """Return a function that computes the Jacobian of `fun`.

    Parameters
    ----------
    fun : callable
        Function that returns an array of real numbers.
    argnum : int, tuple or list of int, default 0
        See `grad`.

    Returns
    -------
    callable
        Function with the arguments of `fun` that returns an array of shape ``value.shape + argument.shape``. For an
        argument that is a container, the Jacobian is a container of such arrays.

    Raises
    ------
    ValueError
        If `fun` returns complex numbers.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import jacobian
    >>> jacobian(lambda x: x * x[0])(np.array([1.0, 2.0]))
    array([[2., 0.],
           [2., 1.]])
    """
    return jacobian_of(fun, x)


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """Return a function that computes the Hessian of `fun`.

    Parameters
    ----------
    fun : callable
        Function that returns a real number or an array of real numbers.
    argnum : int, tuple or list of int, default 0
        See `grad`.

    Returns
    -------
    callable
        Function with the arguments of `fun` that returns an array of shape
        ``value.shape + argument.shape + argument.shape``.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian_of(jacobian(fun), x)


# ---- products --------------------------------------------------------------------------------------------------------


@unary_to_nary
def make_vjp(fun: Function, x: Any) -> Any:
    """Return a function that returns a vector-Jacobian product of `fun` at a point, and the value of `fun`.

    Parameters
    ----------
    fun : callable
        Function that returns numbers, arrays or a container of them.
    argnum : int, tuple or list of int, default 0
        See `grad`.

    Returns
    -------
    callable
        ``make_vjp(fun)(x)`` returns ``(vjp, value)``; ``vjp(g)`` returns the product for the cotangent `g`, in the
        structure of `x`. It may be called repeatedly.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import make_vjp
    >>> vjp, value = make_vjp(lambda x: x**2)(np.array([1.0, 2.0]))
    >>> vjp(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    return make_vjp_of(fun, x)


@unary_to_nary
def make_jvp(fun: Function, x: Any) -> Any:
    """Return a function that returns a Jacobian-vector product of `fun` at a point.

    Parameters
    ----------
    fun, argnum
        See `make_vjp`.

    Returns
    -------
    callable
        ``make_jvp(fun)(x)(v)`` returns the value of `fun` and its derivative along `v`. `v` has the structure of `x`.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import make_jvp
    >>> make_jvp(np.sin)(0.0)(2.0)
    (np.float64(0.0), np.float64(2.0))
    """
    return make_jvp_of(fun, x)


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """Return a function that computes the derivative of `fun` along a vector of ones, in forward mode.

    Parameters
    ----------
    fun, argnum
        See `make_vjp`. For a complex argument the vector is ``1 + 1j``, as in autograd.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import deriv
    >>> deriv(np.sin)(0.0)
    np.float64(1.0)
    """
    return make_jvp_of(fun, x)(mapped(_ones_like, x))[1]


def _ones_like(leaf: Any) -> Any:
    aval = as_tensor(leaf).aval
    return np.full(aval.shape, 1 + 1j if aval.dtype.kind == "c" else 1, aval.dtype)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> Any:
    """Return a function that returns a Hessian-vector product of `fun` at a point, and the gradient there.

    Parameters
    ----------
    fun, argnum
        See `grad`.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import make_hvp
    >>> hvp, gradient = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    >>> hvp(np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    return make_vjp_of(grad(fun), x)


def _half_squared_norm(y: Any) -> Any:
    return 0.5 * FUNCTIONS[np.sum](y**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_squared_norm, f_argnum: int = 0) -> Function:
    """Return a function that returns a product of the generalized Gauss-Newton matrix with a vector.

    Parameters
    ----------
    f : callable
        Inner function, such as a model.
    g : callable, default half of the squared norm
        Outer function, such as a loss of the value of `f`.
    f_argnum : int, default 0
        Number of the argument of `f` to vary.

    Returns
    -------
    callable
        ``make_ggnvp(f, g)(x)(v)`` returns ``J^T H J v`` with the Jacobian J of `f` and the Hessian H of `g`.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import make_ggnvp
    >>> make_ggnvp(lambda x: x**2)(np.array([1.0, 2.0]))(np.array([1.0, 1.0]))
    array([ 4., 16.])
    """

    def of_point(fun: Function, x: Any) -> Any:
        f_vjp, value = make_vjp_of(fun, x)
        g_hvp, _ = make_vjp_of(grad(g), value)
        f_jvp = make_jvp_of(fun, x)
        return lambda v: f_vjp(g_hvp(f_jvp(v)[1]))

    of_point.__name__ = "_make_ggnvp"
    made: Function = unary_to_nary(of_point)(f, f_argnum)
    return made


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function that computes the product of the Hessian of `fun` with an array.

    Parameters
    ----------
    fun : callable
        See `grad`.
    argnum : int, default 0
        Number of the positional argument to vary, an array.

    Returns
    -------
    callable
        Function with the arguments of `fun` and the array as last argument.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import hessian_vector_product
    >>> hessian_vector_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    of_fun = grad(fun, argnum)

    @functools.wraps(fun)
    def vector_dot_grad(*args: Any, **kwargs: Any) -> Any:
        *args, vector = args  # type: ignore[assignment]
        return _tensordot(of_fun(*args, **kwargs), vector)

    vector_dot_grad.__name__ = "vector_dot_grad"
    product: Function = grad(vector_dot_grad, argnum)
    return product


def _tensordot(a: Any, b: Any) -> Any:
    function = FUNCTIONS[np.tensordot] if holds_boxes(a) or holds_boxes(b) else np.tensordot
    return function(a, b, min(np.ndim(a), np.ndim(b)))


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function that computes the product of an array with the Jacobian of `fun`.

    Parameters
    ----------
    fun : callable
        See `jacobian`.
    argnum : int, default 0
        Number of the positional argument to vary, an array.

    Returns
    -------
    callable
        Function with the arguments of `fun` and the array as last argument. The array has the first dimensions of the
        value of `fun`; the product is the sum over them.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import vector_jacobian_product
    >>> vector_jacobian_product(lambda x: x**2)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([ 2., 40.])
    """

    @functools.wraps(fun)
    def vector_dot_fun(*args: Any, **kwargs: Any) -> Any:
        *args, vector = args  # type: ignore[assignment]
        return _tensordot(vector, fun(*args, **kwargs))

    vector_dot_fun.__name__ = "vector_dot_fun"
    product: Function = jacobian(vector_dot_fun, argnum)
    return product


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product
