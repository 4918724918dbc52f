"""`jt.jax_call`: a function with its gradient as a function of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.functions.signature import TensorSpec
from jittape.interop.optional_library import imported
from jittape.interop.value_and_pullback import ArrayFunction

__all__ = ["jax_call"]


def jax_call(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JAX arrays that computes `f`, with a gradient for ``jax.grad``.

    It works inside ``jax.jit``, which calls back to the host. ``jax.vmap`` calls it for one element after the other.

    Parameters
    ----------
    f : callable
        Function of tensors that returns one tensor, or a tuple or list of tensors. It is compiled as a `jt.function`.

    Returns
    -------
    callable
        Function that takes JAX arrays, NumPy arrays and numbers, and returns a JAX array or a tuple of them. It can be
        differentiated in reverse mode, any number of times.

    Raises
    ------
    ImportError
        If JAX is not installed.

    Notes
    -----
    Gradients of complex arguments follow JAX's convention, which is the conjugate of jittape's.
    """
    jax = imported("jax", "jax_call")
    function = ArrayFunction(f)
    of_arrays = _differentiable(jax, function)

    def called(*args: Any) -> Any:
        found = of_arrays(*[jax.numpy.asarray(x) for x in args])
        return found[0] if function.is_single else found

    return called


def _differentiable(jax: Any, function: ArrayFunction) -> Callable[..., Any]:
    """Return a function of JAX arrays that returns a tuple, with a gradient that is such a function too."""

    def host(*given: Any) -> Any:
        return function(*[np.asarray(x) for x in given])

    def value(*args: Any) -> Any:
        specs = function.result_specs([TensorSpec(x.shape, x.dtype.name) for x in args])
        results = tuple([jax.ShapeDtypeStruct(tuple(spec.shape), spec.dtype.name) for spec in specs])
        return jax.pure_callback(host, results, *args, vmap_method="sequential")

    def forward(*args: Any) -> Any:
        return wrapped(*args), args  # not `value`, whose callback has no derivative of its own

    def backward(args: Any, cotangents: Any) -> Any:
        # JAX gives float0 as the cotangent of an integer, which has no gradient
        empty = [np.zeros(x.shape, jax.dtypes.float0) for x in args]
        numbers = [i for i, x in enumerate(args) if _has_gradient(jax, x)]
        outputs = [i for i, g in enumerate(cotangents) if g.dtype != jax.dtypes.float0]
        if not numbers or not outputs:
            return tuple([x * 0 if i in numbers else empty[i] for i, x in enumerate(args)])
        pullback = _differentiable(jax, function.pullback(outputs, numbers))
        found = pullback(*[jax.numpy.conj(cotangents[i]) for i in outputs], *args)
        gradients = dict(zip(numbers, map(jax.numpy.conj, found), strict=True))
        return tuple([gradients.get(i, none) for i, none in enumerate(empty)])

    wrapped: Callable[..., Any] = jax.custom_vjp(value)
    wrapped.defvjp(forward, backward)  # type: ignore[attr-defined]
    return wrapped


def _has_gradient(jax: Any, x: Any) -> bool:
    return bool(jax.numpy.issubdtype(x.dtype, jax.numpy.inexact))
