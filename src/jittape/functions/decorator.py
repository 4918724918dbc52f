"""`jt.function`, as the user calls it: what it takes, and what it refuses."""

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
    """Compile a function: it is traced once for each signature, later calls run the compiled code.

    Parameters
    ----------
    func : callable, optional
        A function or method. Without it, a decorator is returned.
    input_signature : sequence of TensorSpec or of nested structures of them, optional
        What all arguments must be; they are converted to tensors.

    Returns
    -------
    Function
        Called like `func`. It has ``trace_count``, ``signatures()``, ``explain()`` and ``get_concrete_function(...)``.

    Raises
    ------
    TypeError
        If `func` is no function, or a generator or coroutine, or `input_signature` has anything but `TensorSpec` in it.

    Notes
    -----
    Tracing runs the Python code once, with stand-ins for the arguments; they and the results are any nested structures.
    Arrays and tensors are dynamic: their shapes and dtypes make the signature. So are Python numbers; an int or bool
    that the function uses as a Python value (``range(n)``, ``if flag:``) makes the trace hold for that value only.
    Anything else (strings, None, Variables, Modules) is static: another one is another signature, and is kept alive
    with it. `jt.config.max_signatures` of them are remembered; beyond that a `FunctionWarning` says which argument
    changes and what to do about it.

    What Python does, it does while tracing only: prints, appending to lists, numbers from ``np.random``. `jt.random`
    draws anew at each call. Variables that the function reads or assigns are looked up and assigned at each call.

    If the function looks at a traced value, as in ``if loss < 1:``, a `FunctionWarning` says where, and it is recorded
    at each call instead, for this signature.

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
        raise TypeError(f"jt.function takes a function or method, got {func!r}")
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
