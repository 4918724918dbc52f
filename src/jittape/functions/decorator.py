"""`jt.function`: the decorator that compiles a function, with its argument checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, overload

from jittape.core.user_calls import function_name
from jittape.functions.function import Function
from jittape.functions.signature import checked_signature

__all__ = ["function"]


@overload
def function(func: Callable[..., Any], *, input_signature: Sequence[Any] | None = None) -> Function: ...
@overload
def function(
    func: None = None, *, input_signature: Sequence[Any] | None = None
) -> Callable[[Callable[..., Any]], Function]: ...
def function(func: Callable[..., Any] | None = None, *, input_signature: Sequence[Any] | None = None) -> Any:
    """Compile a function. It is traced once per signature; later calls run the compiled code.

    Parameters
    ----------
    func : callable, optional
        Function or method to compile. Without it, a decorator is returned.
    input_signature : sequence of TensorSpec or of nested structures of them, optional
        Required shapes and dtypes of all arguments. Arguments are converted to tensors.

    Returns
    -------
    Function
        Function that is called like `func`. It also has ``trace_count``, ``signatures()``, ``explain()`` and
        ``get_concrete_function(...)``.

    Raises
    ------
    TypeError
        If `func` is not a function, or is a generator or coroutine, or `input_signature` contains anything but
        `TensorSpec`.

    Notes
    -----
    Tracing runs the Python code once, with placeholders for the arguments. Arguments and results may be any nested
    structures. Arrays and tensors are dynamic: their shapes and dtypes are part of the signature. Python numbers are
    dynamic too, but an int or bool that the function uses as a Python value (``range(n)``, ``if flag:``) restricts the
    trace to that value. All other objects (strings, None, Variables, Modules) are static: a different object is a
    different signature, which keeps the object alive. At most `jt.config.max_signatures` signatures are kept; beyond
    that, a `FunctionWarning` names the argument that changes and suggests a remedy.

    Python side effects happen only while tracing: prints, appending to lists, numbers from ``np.random``. `jt.random`
    draws new numbers at each call. Variables are read and assigned at each call.

    If the function needs a traced value, as in ``if loss < 1:``, a `FunctionWarning` names the line, and the function
    is recorded at each call with this signature instead of compiled.

    Examples
    --------
    >>> import jittape as jt
    >>> w = jt.Variable([1.0, 2.0])
    >>> @jt.function
    ... def step(x, rate):
    ...     with jt.GradientTape() as tape:
    ...         loss = jt.reduce_sum(jt.square(w * x))
    ...     w.assign_sub(rate * tape.gradient(loss, w))
    ...     return loss
    >>> [float(step(jt.constant([1.0, 1.0]), rate)) for rate in (0.25, 0.125, 0.0625)]
    [5.0, 1.25, 0.703125]
    >>> step.trace_count
    1
    """
    if func is None:
        return lambda f: function(f, input_signature=input_signature)
    name = function_name(func)
    if not callable(func) or isinstance(func, type):
        raise TypeError(f"jt.function requires a function or method, got {func!r}")
    if (
        inspect.isgeneratorfunction(func)
        or inspect.iscoroutinefunction(func)
        or inspect.isasyncgenfunction(func)
    ):
        raise TypeError(
            f"{name}: a jt.function returns its results when it is called; a generator or coroutine does not. Return a "
            "list, or call a jt.function from it"
        )
    return Function(func, checked_signature(name, input_signature))
