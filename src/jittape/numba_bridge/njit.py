"""`njit_function` and `njit_value_and_grad`: functions and gradients for the user's own ``@njit`` code."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from jittape.core.user_calls import as_function, as_int
from jittape.numba_bridge.native_function import NativeFunction, unique
from jittape.numba_bridge.traced_function import Traced, trace, with_gradient

__all__ = ["njit_function", "njit_value_and_grad"]


def njit_function(f: Callable[..., Any], *specs: Any) -> NativeFunction:
    """Compile a function for use in Numba's ``@njit`` code.

    Parameters
    ----------
    f : callable
        Of tensors; it returns a tensor or a nested tuple of them. It is traced once, here.
    *specs : TensorSpec or nested tuple of them
        Shape and dtype of each argument.

    Returns
    -------
    NativeFunction
        An ``@njit`` function can call it as a global, from its closure or as an argument, in ``prange`` and with
        ``cache=True`` too. A call needs neither Python nor the GIL and may be made by many threads at a time.

    Raises
    ------
    TypeError
        If `f` does what needs Python at each call: it looks at a value, assigns a Variable, draws random numbers,
        prints, or uses an op that runs in NumPy. The message names the line.

    Notes
    -----
    In Numba's code, an argument of shape ``()`` is a number (an int where a float is wanted is taken), any other an
    array of the very dtype and shape. A wrong dtype is a typing error. A wrong shape raises ValueError, and an int that
    does not fit a narrower dtype raises OverflowError (but Numba carries no error out of a ``prange`` loop). Arrays
    that are not C-contiguous are copied. Results of shape ``()`` are numbers, the others are new arrays, or with
    ``out=`` the arrays given: one, or a tuple with one for each result that is an array, in order. They must not
    overlap.

    What `f` reads besides its arguments, Variables too, is constant from here on: its value is that of now.

    Examples
    --------
    >>> import numpy as np
    >>> import numba
    >>> import jittape as jt
    >>> gelu = jt.njit_function(jt.nn.gelu, jt.TensorSpec([3], jt.float64))
    >>> @numba.njit
    ... def twice(x):
    ...     return gelu(gelu(x))
    >>> twice(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.0693,  0.    ,  0.673 ])
    """
    as_function("f", f)
    return _made(trace(f, _name(f), _parameters(f, len(specs)), specs))


def njit_value_and_grad(
    f: Callable[..., Any], *specs: Any, argnums: int | tuple[int, ...] = 0
) -> NativeFunction:
    """Compile a function and its gradient for use in Numba's ``@njit`` code.

    Parameters
    ----------
    f : callable
        Of tensors; it returns one tensor of shape ``()``.
    *specs : TensorSpec or nested tuple of them
        Shape and dtype of each argument.
    argnums : int or tuple of int
        The arguments that the gradient is taken with respect to.

    Returns
    -------
    NativeFunction
        It returns ``(value, gradient)``: the gradient has the structure of the argument; for a tuple of `argnums`, it
        is a tuple of such. As with `njit_function`, ``out=`` says where gradients that are arrays go, which saves
        their allocation.

    Raises
    ------
    TypeError
        As `njit_function`; and if `f` returns anything but one scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import numba
    >>> import jittape as jt
    >>> def rosenbrock(x):
    ...     return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    >>> value_and_grad = jt.njit_value_and_grad(rosenbrock, jt.TensorSpec([10], jt.float64))
    >>> @numba.njit
    ... def descend(x, steps):
    ...     gradient = np.empty_like(x)
    ...     for _ in range(steps):
    ...         value_and_grad(x, out=gradient)
    ...         x -= 1e-3 * gradient
    ...     return x
    >>> descend(np.zeros(10), 100_000).round(6)
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """
    as_function("f", f)
    numbers = [as_int("argnums", i) for i in (argnums if isinstance(argnums, tuple) else (argnums,))]
    for number in numbers:
        if not -len(specs) <= number < len(specs):
            raise ValueError(
                f"[njit_value_and_grad] argnums={argnums} names argument {number}, there are {len(specs)} specs"
            )
    name, parameters = _name(f), _parameters(f, len(specs))
    return _made(trace(with_gradient(f, name, argnums), name, parameters, specs))


def _made(traced: Traced) -> NativeFunction:
    # Numba is imported by the first native function, not by `import jittape`; this makes the type known to it.
    from jittape.numba_bridge.numba_typing import dispatcher

    return unique(NativeFunction(traced, dispatcher()))


def _name(f: Callable[..., Any]) -> str:
    while isinstance(f, functools.partial):
        f = f.func
    name: str = getattr(f, "__name__", type(f).__name__)
    return name


def _parameters(f: Callable[..., Any], count: int) -> list[str]:
    """Names for `count` arguments; ``out`` has a meaning of its own."""
    named: list[str] = []
    with contextlib.suppress(TypeError, ValueError):
        for parameter in inspect.signature(f).parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                named.append(parameter.name)
    names: list[str] = []
    for i in range(count):
        name = named[i] if i < len(named) else f"argument_{i}"
        while name in (*names, "out"):
            name += "_"
        names.append(name)
    return names
