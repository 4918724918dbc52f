"""`njit_grad`: the gradient of an ``@njit`` function as an ``@njit`` function."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

from jittape.core.user_calls import as_int
from jittape.numba_ad.user_rules import add_rule

__all__ = [
    "NjitGradient", "gradient_of_dispatcher", "is_dispatcher", "njit_grad", "njit_hvp", "njit_jvp", "njit_rule",
]  # fmt: skip


class NjitGradient:
    """The gradient of an ``@njit`` function, created by `njit_grad` or `njit_value_and_grad`.

    It can be called from Python and, as a global, from a closure or as an argument, from ``@njit`` code. The code is
    derived and compiled at the first call with new types.

    Attributes
    ----------
    function : callable
        The ``@njit`` function.
    argnums : int or tuple of int
        Numbers of the arguments that are differentiated.
    """

    def __init__(
        self, function: Any, argnums: int | tuple[int, ...], returned: str, purpose: str, cache: bool
    ) -> None:
        from jittape.numba_ad.njit_callable import compute_fingerprint, register

        register(type(self))
        self._fingerprint_of = compute_fingerprint
        self.function = function
        self.argnums = argnums
        self.returned = returned
        self.purpose = purpose
        self.cache = cache
        self.boundscheck = _boundscheck(function)
        count = len(argnums) if isinstance(argnums, tuple) else 1
        self.tangent_count = count if returned in ("jvp", "tangent") else 0
        signature = signature_of(function)
        first = ["seed_"] if returned == "vjp" else [f"tangent_{i}_" for i in range(self.tangent_count)]
        new = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
        self._signature = signature.replace(parameters=[*new, *signature.parameters.values()])
        self.parameters = list(self._signature.parameters)
        self.__name__ = f"{purpose}({function_name(function)})"
        self._derived: dict[tuple[Any, ...], Any] = {}
        self._by_fingerprint: dict[bytes, Any] = {}
        self._front: Any = None
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the gradient; the arguments are those of the function."""
        if kwargs or len(args) != len(self.parameters):
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        try:
            # 0.1 us for two arrays; their Numba types take 20 us.
            fingerprint = self._fingerprint_of(args)
        except NotImplementedError:
            return self._derived_for(args)(*args)
        found = self._by_fingerprint.get(fingerprint)
        if found is None:
            found = self._by_fingerprint[fingerprint] = self._derived_for(args)
        return found(*args)

    def _derived_for(self, args: tuple[Any, ...]) -> Any:
        from jittape.numba_ad.njit_callable import types_of

        return self.derived(types_of(args))

    def derived(self, argument_types: tuple[Any, ...]) -> Any:
        """Return the ``@njit`` function for arguments of these Numba types."""
        found = self._derived.get(argument_types)
        if found is None:
            from jittape.numba_ad.njit_callable import gradient_dispatcher

            with self._lock:
                found = self._derived.get(argument_types)  # of another thread that held the lock
                if found is None:
                    own = argument_types[1:] if self.returned == "vjp" else argument_types
                    found = self._derived[argument_types] = gradient_dispatcher(self, own)
        return found

    @property
    def dispatcher(self) -> Any:
        """The Numba function that ``@njit`` code calls."""
        if self._front is None:
            from jittape.numba_ad.njit_callable import front_function

            self._front = front_function(self)
        return self._front

    def inspect(self, *args: Any) -> str:
        """Return the generated Python code for arguments like `args`; comments show the user's lines."""
        from jittape.numba_ad.njit_callable import gradient_code, types_of

        return gradient_code(self, types_of(args)).text

    def __repr__(self) -> str:
        return f"<jt.NjitGradient {self.__name__}>"


def is_dispatcher(function: Any) -> bool:
    """Return whether `function` was decorated with ``@njit``."""
    return hasattr(function, "py_func") and hasattr(function, "targetoptions")


def signature_of(function: Any) -> inspect.Signature:
    """Return the signature of an ``@njit`` function or of a gradient."""
    return function._signature if isinstance(function, NjitGradient) else inspect.signature(function.py_func)


def function_name(function: Any) -> str:
    """Return the name of an ``@njit`` function or of a gradient."""
    name: str = function.__name__ if isinstance(function, NjitGradient) else function.py_func.__name__
    return name


def _boundscheck(function: Any) -> bool | None:
    found: bool | None = (
        function.boundscheck
        if isinstance(function, NjitGradient)
        else function.targetoptions.get("boundscheck")
    )
    return found


def gradient_of_dispatcher(
    function: Any, argnums: int | tuple[int, ...], returned: str, purpose: str, cache: bool
) -> NjitGradient:
    """Return a gradient of an ``@njit`` function; `returned` is what a call returns."""
    if not (is_dispatcher(function) or isinstance(function, NjitGradient)):
        raise TypeError(
            f"[{purpose}] a function compiled by numba.njit is needed, got {function!r}. Decorate it with @numba.njit, "
            "or use jt.grad for a function of tensors"
        )
    if is_dispatcher(function) and function.targetoptions.get("forceobj"):
        raise TypeError(f"[{purpose}] object mode has no gradient; use @numba.njit")
    count = len(signature_of(function).parameters)
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
    return NjitGradient(function, selected, returned, purpose, cache)


def njit_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, cache: bool = False
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

    Returns
    -------
    NjitGradient
        Function with the arguments of `f` that returns the gradient: a float, or an array like the argument; for a
        tuple of `argnums`, a tuple of gradients. ``@njit`` code can call it. It needs neither Python nor the GIL.

    Raises
    ------
    NoGradientError
        At the first call with new types, or by `NjitGradient.inspect`, if `f` contains code without a derivative. The
        message names the file, the line, the expression and the way out.
    TypeError
        If `f` is not an ``@njit`` function, or a differentiated argument is not a float or an array of floats.
    ValueError
        If two argument arrays overlap in memory and `f` writes to one of them.

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
    return gradient_of_dispatcher(f, argnums, "gradient", "njit_grad", cache)


def njit_jvp(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, cache: bool = False
) -> NjitGradient:
    """Return the directional derivative of an ``@njit`` function, in forward mode, as compiled code.

    Parameters
    ----------
    f : callable
        An ``@njit`` function, or a gradient that `njit_grad` returned. It returns numbers, arrays or tuples of them.
    argnums : int or tuple of int
        Numbers of the arguments that have tangents: floats, or arrays of floats.
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
        At the first call with new types, if `f` contains code without a derivative.
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
    """
    return gradient_of_dispatcher(f, argnums, "jvp", "njit_jvp", cache)


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


def njit_rule(f: Callable[..., Any], vjp: Callable[..., Any]) -> None:
    """Give an ``@njit`` function of numbers a derivative that `njit_grad` uses in place of the function's source.

    Parameters
    ----------
    f : callable
        An ``@njit`` function of numbers that returns a float.
    vjp : callable
        An ``@njit`` function ``vjp(g, out, *operands)`` that returns the cotangent of the operand for the cotangent `g`
        of the result `out`; for several operands, a tuple of cotangents.

    Raises
    ------
    TypeError
        If `f` or `vjp` is not an ``@njit`` function, or `vjp` has another number of parameters.

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
    for one in (f, vjp):
        if not is_dispatcher(one):
            raise TypeError(f"[njit_rule] a function compiled by numba.njit is needed, got {one!r}")
    parameters = [len(inspect.signature(one.py_func).parameters) for one in (f, vjp)]  # type: ignore[attr-defined]
    if parameters[1] != parameters[0] + 2:
        raise TypeError(
            f"[njit_rule] vjp must take the cotangent, the result and the {parameters[0]} operands of the function; "
            f"it takes {parameters[1]} arguments"
        )
    add_rule(f, vjp, parameters[0])
