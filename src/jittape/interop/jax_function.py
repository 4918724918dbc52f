"""`jt.jax_call`: a function with its gradient as a function of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.functions.signature import TensorSpec
from jittape.interop.optional_library import imported
from jittape.interop.value_and_pullback import value_and_pullback

__all__ = ["jax_call"]


def jax_call(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JAX arrays that computes `f`, with a gradient for ``jax.grad``.

    It works inside ``jax.jit``, which calls back to the host. ``jax.vmap`` calls it for one element after the other.

    Parameters
    ----------
    f : callable
        Function of tensors that returns one tensor. It is compiled as a `jt.function`.

    Returns
    -------
    callable
        Function that takes and returns JAX arrays. It can be differentiated once, in reverse mode.

    Raises
    ------
    ImportError
        If JAX is not installed.
    """
    jax = imported("jax", "jax_call")
    compiled, value_of, pullback = value_and_pullback(f)

    def on_host(function: Callable[..., Any], results: Any, *args: Any) -> Any:
        def called(*given: Any) -> Any:
            return function(*[np.asarray(x) for x in given])

        return jax.pure_callback(called, results, *args, vmap_method="sequential")

    def gradients(cotangent: Any, *args: Any) -> tuple[Any, ...]:
        found = zip(pullback(cotangent, *args), args, strict=True)
        return tuple([np.zeros_like(x) if g is None else g for g, x in found])

    def value(*args: Any) -> Any:
        specs = [TensorSpec(x.shape, x.dtype.name) for x in map(jax.numpy.asarray, args)]
        result = compiled.get_concrete_function(*specs).structured_outputs
        return on_host(value_of, jax.ShapeDtypeStruct(tuple(result.shape), result.dtype.name), *args)

    def forward(*args: Any) -> Any:
        return value(*args), args

    def backward(args: Any, g: Any) -> Any:
        results = tuple([jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args])
        return on_host(gradients, results, g, *args)

    wrapped = jax.custom_vjp(value)
    wrapped.defvjp(forward, backward)
    return wrapped
