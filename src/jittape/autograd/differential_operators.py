"""Gradients as functions, under autograd's names: `grad`, `value_and_grad`, `elementwise_grad` and others.

A varied argument is a float, an array of floats or complex numbers, or a list, tuple or dict of them. The function runs
at each call and its operations are recorded; equal calls run the same compiled program.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.autograd.call_log import logs_calls
from jittape.autograd.containers import as_tensor, holds_boxes, is_box, leaves_of_value
from jittape.autograd.products import gradient_of
from jittape.autograd.wrap_util import unary_to_nary
from jittape.lazy_names import lazily
from jittape.primitives.elementwise.complex_numbers import real
from jittape.transforms.wrappers import recompute_grad

__getattr__ = lazily(
    __name__,
    {
        "jittape.autograd.jacobian_operators": (
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
        )
    },
)
__all__ = [
    "checkpoint",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "holomorphic_grad",
    "multigrad_dict",
    "value_and_grad",
]

Function = Callable[..., Any]
_OTHERS = "Try jacobian, elementwise_grad or holomorphic_grad."


# ---- gradients -------------------------------------------------------------------------------------------------------


def _scalar(of: str) -> Function:
    """Return a check that a function returned one real number."""

    def checked(value: Any) -> Any:
        if is_box(value):
            aval = value.aval
            if (aval.shape == () or aval.size == 1) and aval.dtype.kind != "c":
                return value
        elif not isinstance(value, (list, tuple, dict)):
            tensor = as_tensor(value)
            if tensor.aval.size == 1 and tensor.aval.dtype.kind != "c":
                return value
        raise TypeError(f"{of} only applies to real scalar-output functions. {_OTHERS}")

    return checked


def _real(value: Any) -> Any:
    """Check that a function returned real numbers."""
    if isinstance(value, (list, tuple, dict)) or as_tensor(value).aval.dtype.kind == "c":
        raise TypeError("Elementwise_grad only applies to real-output functions.")
    return value


_scalar_of_grad, _scalar_of_both = _scalar("Grad"), _scalar("value_and_grad")


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """Return a function that computes the gradient of `fun`.

    Parameters
    ----------
    fun : callable
        Function that returns one real number.
    argnum : int, tuple or list of int, default 0
        Number of the positional argument to vary. For several numbers the gradient is a tuple.

    Returns
    -------
    callable
        Function with the arguments of `fun` that returns the gradient: an ndarray, a NumPy scalar or a container like
        the varied argument. A leaf that the value does not depend on has gradient zero. Inside another derivative the
        gradient is a tensor, which can be differentiated again.

    Raises
    ------
    TypeError
        If the value is not one real number, or the varied argument contains other values than floating numbers.

    Notes
    -----
    For a complex argument the gradient is ``df/dx - i df/dy``, as in autograd.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import grad
    >>> grad(np.sin)(0.0)
    np.float64(1.0)
    >>> grad(lambda p: np.sum(p["w"] ** 2) * p["s"])({"w": np.array([1.0, 2.0]), "s": 3.0})
    {'w': array([ 6., 12.]), 's': np.float64(5.0)}
    """
    boxes, _, gradients = gradient_of(fun, x, _scalar_of_grad, False)
    return boxes.as_output(boxes.structured(gradients))


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> Any:
    """Return a function that computes the value of `fun` and its gradient, as ``scipy.optimize`` takes them.

    Parameters
    ----------
    fun, argnum
        See `grad`.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import value_and_grad
    >>> value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    boxes, value, gradients = gradient_of(fun, x, _scalar_of_both, True)
    return boxes.as_output(value), boxes.as_output(boxes.structured(gradients))


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """Return a function that computes the sum of each column of the Jacobian of `fun`, in one pass.

    For a function that acts on each element alone, this is the derivative at each element.

    Parameters
    ----------
    fun : callable
        Function that returns an array of real numbers.
    argnum : int, tuple or list of int, default 0
        See `grad`.

    Raises
    ------
    TypeError
        If `fun` returns complex numbers.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import elementwise_grad
    >>> elementwise_grad(lambda x: x**3)(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    boxes, _, gradients = gradient_of(fun, x, _real, False)
    return boxes.as_output(boxes.structured(gradients))


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """Return a function that computes the complex derivative of a holomorphic function.

    Parameters
    ----------
    fun : callable
        Holomorphic function of a complex number, or of an array with a complex number as its value.
    argnum : int, tuple or list of int, default 0
        See `grad`. A warning says that the argument is not complex.

    Examples
    --------
    >>> from jittape.autograd import holomorphic_grad
    >>> holomorphic_grad(lambda z: z**2)(1.0 + 2.0j)
    np.complex128(2+4j)
    """
    if not any(as_tensor(leaf).aval.dtype.kind == "c" for leaf in leaves_of_value(x)):
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)

    def checked(value: Any) -> Any:
        return _scalar_of_grad(real(value) if is_box(value) else np.real(value))

    boxes, _, gradients = gradient_of(fun, x, checked, False)
    return boxes.as_output(boxes.structured(gradients))


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> Any:
    """Return a function that computes the gradient of the first result of `fun`, and its second result.

    Parameters
    ----------
    fun : callable
        Function that returns ``(value, aux)``. The gradient of `aux` is not computed.
    argnum : int, tuple or list of int, default 0
        See `grad`.

    Raises
    ------
    TypeError
        If `fun` does not return a pair.

    Examples
    --------
    >>> from jittape.autograd import grad_and_aux
    >>> grad_and_aux(lambda x: (x**2, {"x": x}))(3.0)
    (np.float64(6.0), {'x': np.float64(3.0)})
    """

    def first(returned: Any) -> Any:
        if not (isinstance(returned, (list, tuple)) and len(returned) == 2):
            raise TypeError(
                f"[grad_and_aux] the function must return (value, aux), got {type(returned).__name__}"
            )
        return returned[0]

    boxes, (_, aux), gradients = gradient_of(fun, x, first, True)
    return boxes.as_output(boxes.structured(gradients)), boxes.as_output(aux)


def grad_named(fun: Function, argname: str) -> Function:
    """Return a function that computes the gradient with respect to the parameter named `argname`.

    Parameters
    ----------
    fun : callable
        See `grad`.
    argname : str
        Name of a positional parameter.

    Raises
    ------
    ValueError
        If `fun` has no such parameter.

    Examples
    --------
    >>> from jittape.autograd import grad_named
    >>> grad_named(lambda x, y: x * y**2, "y")(2.0, 3.0)
    np.float64(12.0)
    """
    found: Function = grad(fun, list(inspect.signature(fun).parameters).index(argname))
    return found


def multigrad_dict(fun: Function) -> Function:
    """Return a function that computes the gradients with respect to all parameters, as a dict by name.

    Parameters
    ----------
    fun : callable
        See `grad`. All arguments must be floating numbers or containers of them, default values too.

    Examples
    --------
    >>> from jittape.autograd import multigrad_dict
    >>> dict(multigrad_dict(lambda x, y=2.0: x * y**2)(3.0))
    {'x': np.float64(4.0), 'y': np.float64(12.0)}
    """
    signature = inspect.signature(fun)

    def of_arguments(arguments: dict[str, Any]) -> Any:
        bound = inspect.BoundArguments(signature, OrderedDict(arguments))
        return fun(*bound.args, **bound.kwargs)

    @functools.wraps(fun)
    def gradfun(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return OrderedDict(of_all(dict(bound.arguments)))

    of_all = grad(functools.wraps(fun)(of_arguments))
    return gradfun


def checkpoint(fun: Function) -> Function:
    """Return `fun` with a gradient that recomputes its intermediate values instead of keeping them.

    Parameters
    ----------
    fun : callable
        Function of numbers, arrays or containers of them.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import checkpoint, grad
    >>> grad(checkpoint(lambda x: np.exp(x) ** 2))(0.0)
    np.float64(2.0)
    """
    recomputed = recompute_grad(fun)

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        varied = holds_boxes(args) or holds_boxes(kwargs)
        return (recomputed if varied and not logs_calls() else fun)(*args, **kwargs)

    return checkpointed
