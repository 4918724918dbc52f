"""`jt.function`: the decorator that compiles a function, with its argument checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from jittape.core.user_calls import function_name
from jittape.functions.function import Function
from jittape.functions.signature import checked_signature

__all__ = ["function"]

_ATTRIBUTES = frozenset(
    (
        "_OutputsOnOpDevice",
        "_disable_acd",
        "_implements",
        "_noinline",
        "_tf_data_function",
        "api_implements",
        "api_preferred_device",
        "disable_summaries_at_runtime",
        "experimental_ints_on_device",
        "function_runs_at_most_once",
        "go_backwards",
        "runtime_constant_optimization",
        "time_major",
    )
)
"""Names that TensorFlow 2.21 accepts as `experimental_attributes`. They are notes for its graph optimizer."""


@overload
def function(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Function: ...
@overload
def function(func: None = None, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Function]: ...
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Mapping[str, Any] | None = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Compile a function. It is traced once per signature; later calls run the compiled code.

    Parameters
    ----------
    func : callable, optional
        Function or method to compile. Without it, a decorator is returned.
    input_signature : sequence of TensorSpec or of nested structures of them, optional
        Required shapes and dtypes of all arguments. Arguments are converted to tensors.
    autograph, experimental_autograph_options
        Ignored: there is no AutoGraph. A function that branches on a tensor is recorded at each call instead of
        compiled, with a warning that names the line.
    jit_compile, experimental_compile : bool, optional
        Ignored: every function is compiled, whatever the value.
    reduce_retracing, experimental_relax_shapes : bool
        Ignored: a trace serves other lengths where it can, and all traces share the machine code.
    experimental_implements, experimental_attributes, experimental_follow_type_hints
        Ignored: notes for TensorFlow's graph optimizer, and an option that TensorFlow 2.21 ignores too.

    Returns
    -------
    Function
        Function that is called like `func`. It also has ``get_concrete_function(...)``, ``trace_count``,
        ``signatures()`` and ``explain()``. Without `func`, a decorator.

    Raises
    ------
    TypeError
        If `func` is not a function, or is a generator or coroutine, or `input_signature` contains anything but
        `TensorSpec`.
    ValueError
        If both `jit_compile` and `experimental_compile` are given, or `experimental_attributes` has a name that
        TensorFlow does not know.

    Notes
    -----
    Tracing runs the Python code once, with placeholders for the arguments. Arguments and results may be any nested
    structures. Arrays and tensors are dynamic: their shapes and dtypes are part of the signature. Python numbers are
    dynamic too, but an int or bool that the function uses as a Python value (``range(n)``, ``if flag:``) restricts the
    trace to that value. Variables are dynamic as well, unless the function uses a name, a constraint or an identity of
    a Variable. All other objects (strings, None, Modules) are static: a different object is a different signature,
    which keeps the object alive. At most `jt.config.max_signatures` signatures are kept; beyond
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
    if jit_compile is not None and experimental_compile is not None:
        raise ValueError("Cannot specify both 'experimental_compile' and 'jit_compile'.")
    unknown = sorted(set(experimental_attributes or ()) - _ATTRIBUTES)
    if unknown:
        raise ValueError(f"{unknown[0]} is not supported by jt.function as an attribute")
    if func is None:
        return lambda f: function(f, input_signature)
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
