"""`jt.jax_call`: a function with its gradient as a function of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.functions.function import Function
from jittape.functions.signature import TensorSpec
from jittape.interop.optional_library import imported
from jittape.transforms.gradients import vjp

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
    forward_of = Function(f)
    backward_of = Function(lambda g, *args: vjp(f, *args)[1](g))

    def on_host(function: Function, results: Any) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            found = function(*[np.asarray(x) for x in args])
            many = isinstance(found, (tuple, list))
            arrays = [np.array(x.numpy()) for x in (found if many else [found])]
            return tuple(arrays) if isinstance(results, tuple) else arrays[0]

        return lambda *args: jax.pure_callback(called, results, *args, vmap_method="sequential")

    def value(*args: Any) -> Any:
        specs = [TensorSpec(x.shape, x.dtype.name) for x in map(jax.numpy.asarray, args)]
        result = forward_of.get_concrete_function(*specs).structured_outputs
        return on_host(forward_of, jax.ShapeDtypeStruct(tuple(result.shape), result.dtype.name))(*args)

    def forward(*args: Any) -> Any:
        return value(*args), args

    def backward(args: Any, g: Any) -> Any:
        results = tuple([jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args])
        return on_host(backward_of, results)(g, *args)

    wrapped = jax.custom_vjp(value)
    wrapped.defvjp(forward, backward)
    return wrapped
