"""`njit_function` and `njit_value_and_grad`: functions and gradients for the user's ``@njit`` code."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from jittape.core.signatures import reason_against_count
from jittape.core.user_calls import as_function, as_int
from jittape.numba_ad import NjitGradient, gradient_of_dispatcher, is_dispatcher

if TYPE_CHECKING:
    from jittape.numba_bridge.native_function import NativeFunction
    from jittape.numba_bridge.traced_function import Traced

__all__ = ["argument_number", "check_specs", "njit_function", "njit_value_and_grad"]


def njit_function(f: Callable[..., Any], *specs: Any) -> NativeFunction:
    """Compile a function for use in Numba's ``@njit`` code.

    Parameters
    ----------
    f : callable
        Function of tensors that returns a tensor or a nested tuple of tensors. It is traced once, by this call.
    *specs : TensorSpec or nested tuple of them
        Shape and dtype of each argument.

    Returns
    -------
    NativeFunction
        Function that ``@njit`` code can call as a global, from a closure or as an argument, also in ``prange`` loops
        and with ``cache=True``. Several threads may call it concurrently. A call takes the GIL only for ops that run in
        NumPy; ``python_ops`` lists them.

    Raises
    ------
    TypeError
        If `f` needs Python at each call: it needs the value of a tensor, assigns a Variable, draws random numbers or
        prints. The message names the line.

    Notes
    -----
    In Numba code, an argument of shape ``()`` is a number; an int is accepted for a float. All other arguments are
    arrays with exactly the given dtype and shape. A wrong dtype is a typing error, a wrong shape raises ValueError, and
    an int that does not fit a narrower dtype raises OverflowError. An exception of an op that runs in NumPy is raised
    by the call. (Numba loses errors that are raised in a ``prange`` loop.) Arrays that are not C-contiguous are copied.
    Results of shape ``()`` are numbers; other results are new arrays. With ``out=``, they are written to the given
    arrays: one array, or a tuple with one array for each array-valued result, in order. These arrays must not overlap.

    Values that `f` reads besides its arguments, including Variables, become constants with their current values.

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
    from jittape.numba_bridge.traced_function import trace

    as_function("f", f)
    check_specs("njit_function", f, len(specs))
    return _native_function(trace(f, _name(f), _parameters(f, len(specs)), specs))


def njit_value_and_grad(
    f: Callable[..., Any],
    *specs: Any,
    argnums: int | tuple[int, ...] = 0,
    cache: bool = False,
    checkpoint: int | Literal["sqrt", "binomial"] | None = None,
) -> NativeFunction | NjitGradient:
    """Compile a function and its gradient for use in Numba's ``@njit`` code.

    Parameters
    ----------
    f : callable
        Function of tensors that returns one tensor of shape ``()``; or an ``@njit`` function that returns a float. Then
        there are no `specs`, and `njit_grad` describes the result.
    *specs : TensorSpec or nested tuple of them
        Shape and dtype of each argument.
    argnums : int or tuple of int
        Numbers of the arguments to differentiate with respect to.
    cache : bool
        For an ``@njit`` function: keep the compiled code on disk for other processes.
    checkpoint : int, "sqrt" or "binomial", optional
        For an ``@njit`` function: number of iterations per segment of time loops, as in `njit_grad`.

    Returns
    -------
    NativeFunction or NjitGradient
        Function that returns ``(value, gradient)``. The gradient has the structure of the argument; for a tuple of
        `argnums`, it is a tuple of gradients. ``out=`` works as in `njit_function`: array-valued gradients are written
        to the given arrays, which saves their allocation.

    Raises
    ------
    TypeError
        In the cases of `njit_function`, and if `f` does not return a single scalar.

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
    if is_dispatcher(f):
        if specs:
            raise TypeError(
                "[njit_value_and_grad] an @njit function takes no specs: its gradient is derived for the types of each "
                "call. Remove them"
            )
        return gradient_of_dispatcher(
            f, argnums, "value_and_gradient", "njit_value_and_grad", cache, checkpoint
        )
    if checkpoint is not None:
        raise TypeError(
            "[njit_value_and_grad] checkpoint is only for @njit functions; loops of tensors have their own"
        )
    # The gradient of an @njit function does without the imports of tensors, which take 0.2 s.
    from jittape.numba_bridge.traced_function import trace, with_gradient

    as_function("f", f)
    numbers = [as_int("argnums", i) for i in (argnums if isinstance(argnums, tuple) else (argnums,))]
    for number in numbers:
        if not -len(specs) <= number < len(specs):
            raise ValueError(
                f"[njit_value_and_grad] argnums={argnums} requires argument {number}, but there are {len(specs)} specs"
            )
    check_specs("njit_value_and_grad", f, len(specs))
    name, parameters = _name(f), _parameters(f, len(specs))
    return _native_function(trace(with_gradient(f, name, argnums), name, parameters, specs))


def _native_function(traced: Traced) -> NativeFunction:
    # This registers the type with Numba. The first native function imports Numba, `import jittape` does not.
    from jittape.numba_bridge.native_function import NativeFunction, unique
    from jittape.numba_bridge.numba_typing import dispatcher

    return unique(NativeFunction(traced, dispatcher()))


def _name(f: Callable[..., Any]) -> str:
    while isinstance(f, functools.partial):
        f = f.func
    name: str = getattr(f, "__name__", type(f).__name__)
    return name


def argument_number(caller: str, argnum: Any, count: int) -> int:
    """Return `argnum`, given to the function `caller`, as a number from 0 to less than `count`, the number of specs."""
    number = as_int("argnum", argnum)
    if not -count <= number < count:
        raise ValueError(
            f"[{caller}] argnum={number} requires argument {number}, but there are {count} specs"
        )
    return number % count


def check_specs(caller: str, f: Callable[..., Any], count: int) -> None:
    """Raise `TypeError` if `f`, given to the function `caller`, does not take `count` arguments by position."""
    reason = reason_against_count(f, count)
    if reason:
        raise TypeError(
            f"[{caller}] {_name(f)}({', '.join(inspect.signature(f).parameters)}) cannot be called with {count} "
            f"arguments, one for each spec: {reason}"
        )


def _parameters(f: Callable[..., Any], count: int) -> list[str]:
    """Return names for `count` arguments; the name ``out`` is reserved."""
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
