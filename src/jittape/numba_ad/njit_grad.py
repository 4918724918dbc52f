"""`njit_grad`: the gradient of an ``@njit`` function as an ``@njit`` function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

from jittape.core.user_calls import as_int
from jittape.numba_ad.gradient_function import NjitGradient, function_name, is_dispatcher, parameter_names

__all__ = ["gradient_of_dispatcher", "njit_grad", "njit_hvp", "njit_jvp", "njit_rule"]


def gradient_of_dispatcher(
    function: Any,
    argnums: int | tuple[int, ...],
    returned: str,
    purpose: str,
    cache: bool,
    checkpoint: int | str | None = None,
    tangents: int | None = None,
) -> NjitGradient:
    """Return a gradient of an ``@njit`` function; `returned` is what a call returns."""
    if checkpoint not in (None, "sqrt", "binomial") and (
        isinstance(checkpoint, (bool, str)) or not isinstance(checkpoint, int) or checkpoint < 1
    ):
        raise ValueError(
            f"[{purpose}] checkpoint must be 'sqrt', 'binomial' or a positive number of iterations, "
            f"but is {checkpoint!r}"
        )
    if not (is_dispatcher(function) or isinstance(function, NjitGradient)):
        raise TypeError(
            f"[{purpose}] a function compiled by numba.njit is needed, got {function!r}. Decorate it with @numba.njit, "
            "or use jt.grad for a function of tensors"
        )
    if is_dispatcher(function) and function.targetoptions.get("forceobj"):
        raise TypeError(f"[{purpose}] object mode has no gradient; use @numba.njit")
    count = len(parameter_names(function))
    numbers = [as_int("argnums", i) for i in (argnums if isinstance(argnums, tuple) else (argnums,))]
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(
                f"[{purpose}] argnums={argnums} requires argument {number}, but {function_name(function)} has {count}"
            )
    if not numbers or len({number % count for number in numbers}) < len(numbers):
        raise ValueError(f"[{purpose}] argnums={argnums} must name at least one argument, and each once")
    positive = tuple([number % count for number in numbers])
    selected = positive if isinstance(argnums, tuple) else positive[0]
    gradient = NjitGradient(function, selected, returned, purpose, cache, checkpoint, tangents)
    gradient.check()
    return gradient


def njit_grad(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    cache: bool = False,
    checkpoint: int | Literal["sqrt", "binomial"] | None = None,
) -> NjitGradient:
    """Return the gradient of an ``@njit`` function, with its loops and in-place updates, as compiled code.

    Parameters
    ----------
    f : callable
        An ``@njit`` function that returns a float. Its other arguments are numbers, arrays and tuples of them.
    argnums : int or tuple of int
        Numbers of the arguments to differentiate with respect to: floats, or arrays of floats.
    cache : bool
        Keep the generated and compiled code on disk, so that another process compiles nothing. The folder is that of
        jittape's kernels.
    checkpoint : int, "sqrt" or "binomial", optional
        Number of iterations per segment of outermost loops over ranges that have no ``break`` and record values. Such a
        loop keeps its state before each segment, and the backward pass runs each segment again. ``"sqrt"`` is the
        square root of the number of iterations. ``"binomial"`` keeps the fewest states, some ``log2(n) / 2`` of n
        iterations, and records one iteration; it runs each iteration again up to as many times.

    Returns
    -------
    NjitGradient
        Function with the arguments of `f` that returns the gradient: a float, or an array like the argument; for a
        tuple of `argnums`, a tuple of gradients. ``@njit`` code can call it. It needs neither Python nor the GIL.

    Raises
    ------
    NoGradientError
        If `f` contains code without a derivative. The message names the file, the line, the expression and the way out.
        Code that has none for any types raises it here, and so does a function with explicit signatures. Otherwise it
        comes at the first call with new types, or by `NjitGradient.inspect`.
    TypeError
        If `f` is not an ``@njit`` function, or a differentiated argument is not a float or an array of floats.
    MemoryError
        If recorded values do not fit in memory. A call from Python then leaves argument arrays as `f` does.
    ValueError
        If `f` writes to an argument array that overlaps another one, or itself, in memory, or `checkpoint` is invalid.

    Notes
    -----
    The code is derived by reverse-mode source transformation (Griewank and Walther, Evaluating Derivatives, 2008).
    Array arguments hold after the call what `f` leaves in them. The gradient is with respect to their values before it.
    A division by zero gives inf or nan, as in NumPy, and ``fastmath`` is not used.

    Examples
    --------
    >>> import numba
    >>> import numpy as np
    >>> import jittape as jt
    >>> @numba.njit
    ... def smoothed(a, sweeps):
    ...     for _ in range(sweeps):
    ...         for i in range(1, len(a) - 1):
    ...             a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0
    ...     return np.sum(a * a)
    >>> jt.njit_grad(smoothed)(np.array([1.0, 2.0, 4.0, 8.0]), 1).round(3)
    array([ 4.617,  2.617,  5.802, 19.185])
    """
    return gradient_of_dispatcher(f, argnums, "gradient", "njit_grad", cache, checkpoint)


def njit_jvp(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    tangents: int | None = None,
    cache: bool = False,
) -> NjitGradient:
    """Return the directional derivative of an ``@njit`` function, in forward mode, as compiled code.

    Parameters
    ----------
    f : callable
        An ``@njit`` function, or a gradient that `njit_grad` returned. It returns numbers, arrays or tuples of them.
    argnums : int or tuple of int
        Numbers of the arguments that have tangents: floats, or arrays of floats.
    tangents : int, optional
        Number of tangents that one call propagates. Each tangent has them along a first axis of this size, and so has
        the derivative that is returned. Values are computed once for all of them.
    cache : bool
        Keep the generated and compiled code on disk.

    Returns
    -------
    NjitGradient
        Function ``(*tangents, *args)`` that returns the value of `f` and its derivative along the tangents, which have
        the shapes of the arguments. ``@njit`` code can call it. An argument array holds after the call what `f` leaves
        in it; tangents are not changed.

    Raises
    ------
    NoGradientError
        If `f` contains code without a derivative: here if no types have one, else at the first call with new types.
    TypeError
        If an argument or a tangent is not a float or an array of floats.
    ValueError
        If a tangent has another shape than its argument.

    Notes
    -----
    Nothing is recorded. For the derivatives of one number with respect to many, `njit_grad` is faster (Griewank and
    Walther, Evaluating Derivatives, 2008, chapter 3).

    Examples
    --------
    >>> import numba
    >>> import numpy as np
    >>> import jittape as jt
    >>> @numba.njit
    ... def trajectory(speed, steps):
    ...     x = np.zeros(steps)
    ...     for i in range(1, steps):
    ...         x[i] = x[i - 1] + 0.1 * (speed - x[i - 1] ** 2)
    ...     return x
    >>> value, tangent = jt.njit_jvp(trajectory)(1.0, 2.0, 4)
    >>> tangent.round(3)
    array([0.   , 0.1  , 0.196, 0.28 ])
    >>> jt.njit_jvp(trajectory, tangents=2)(np.array([1.0, -2.0]), 2.0, 4)[1].round(3)
    array([[ 0.   ,  0.1  ,  0.196,  0.28 ],
           [ 0.   , -0.2  , -0.392, -0.561]])
    """
    if tangents is not None and as_int("tangents", tangents) < 1:
        raise ValueError(f"[njit_jvp] tangents must be at least 1, got {tangents}")
    return gradient_of_dispatcher(f, argnums, "jvp", "njit_jvp", cache, tangents=tangents)


def njit_hvp(f: Callable[..., Any], argnum: int = 0, *, cache: bool = False) -> NjitGradient:
    """Return the product of the Hessian of an ``@njit`` function with a vector, as compiled code.

    Parameters
    ----------
    f : callable
        An ``@njit`` function that returns a float.
    argnum : int
        Number of the argument to differentiate with respect to: a float, or an array of floats.
    cache : bool
        Keep the generated and compiled code on disk.

    Returns
    -------
    NjitGradient
        Function ``(v, *args)`` that returns the Hessian with respect to the argument, times `v`. The product has the
        shape of the argument.

    Raises
    ------
    NoGradientError, TypeError, ValueError
        As `njit_grad` and `njit_jvp`.

    Notes
    -----
    The product is the tangent of the gradient along `v`: forward mode over reverse mode.

    Examples
    --------
    >>> import numba
    >>> import numpy as np
    >>> import jittape as jt
    >>> @numba.njit
    ... def energy(x):
    ...     total = 0.0
    ...     for i in range(1, len(x)):
    ...         total += (x[i] - x[i - 1]) ** 4
    ...     return total
    >>> jt.njit_hvp(energy)(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 3.0]))
    array([ 12., -12.,   0.])
    """
    gradient = gradient_of_dispatcher(f, argnum, "gradient", "njit_hvp", False)
    return gradient_of_dispatcher(gradient, argnum, "tangent", "njit_hvp", cache)


def njit_rule(f: Callable[..., Any], vjp: Callable[..., Any], jvp: Callable[..., Any] | None = None) -> None:
    """Give an ``@njit`` function a derivative that `njit_grad` uses in place of the function's source.

    Parameters
    ----------
    f : callable
        An ``@njit`` function of numbers and arrays that returns a float or a new array of floats. It must not write its
        arguments: gradients of code that calls such a function raise an error.
    vjp : callable
        An ``@njit`` function ``vjp(g, out, *operands)`` that returns the cotangent of the operand for the cotangent `g`
        of the result `out`; for several operands, a tuple of cotangents. A cotangent has the shape of its operand; that
        of an operand without a derivative is ignored.
    jvp : callable, optional
        An ``@njit`` function ``jvp(out, *operands, *tangents)`` that returns the tangent of the result. Forward mode
        requires it for functions of arrays. The tangents of operands without a derivative are zero.

    Raises
    ------
    TypeError
        If `f`, `vjp` or `jvp` is not an ``@njit`` function, or has another number of parameters.

    Examples
    --------
    >>> import numba
    >>> import jittape as jt
    >>> @numba.njit
    ... def cube_root(x):
    ...     y = 1.0
    ...     for _ in range(60):
    ...         y -= (y - x / (y * y)) / 3.0
    ...     return y
    >>> @numba.njit
    ... def cube_root_vjp(g, out, x):
    ...     return g * out / (3.0 * x)
    >>> jt.njit_rule(cube_root, cube_root_vjp)
    >>> @numba.njit
    ... def length(x):
    ...     return 2.0 * cube_root(x)
    >>> round(jt.njit_grad(length)(8.0), 6)
    0.166667
    """
    functions = [f, vjp] + ([] if jvp is None else [jvp])
    for one in functions:
        if not is_dispatcher(one):
            raise TypeError(f"[njit_rule] a function compiled by numba.njit is needed, got {one!r}")
    count, *others = [len(inspect.signature(one.py_func).parameters) for one in functions]  # type: ignore[attr-defined]
    if others[0] != count + 2:
        raise TypeError(
            f"[njit_rule] vjp must take the cotangent, the result and the {count} operands of the function; "
            f"it takes {others[0]} arguments"
        )
    if jvp is not None and others[1] != 2 * count + 1:
        raise TypeError(
            f"[njit_rule] jvp must take the result, the {count} operands of the function and as many tangents; "
            f"it takes {others[1]} arguments"
        )
    # A process that loads gradients from the disk needs no rules.
    from jittape.numba_ad.user_rules import add_rule

    add_rule(f, vjp, count, jvp)
