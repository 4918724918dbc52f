"""`while_loop` and `fori_loop`: loops over carried values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape.control.loop_parts import WHILE
from jittape.core.dtypes import common_dtype
from jittape.core.symbolic.extent_functions import index_of
from jittape.core.user_calls import as_function, as_int
from jittape.errors import ControlFlowError, DTypeError
from jittape.flow.array_variables import AsGiven, grows, tensors_of, with_carried_arrays
from jittape.flow.control_recording import Loop, predicate, segment_length
from jittape.flow.structure import flatten_tree, leaf_names, leaves_like, python_numbers
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators

__all__ = ["fori_loop", "while_loop"]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: int | None = None,
    name: str | None = None,
    *,
    checkpoint: int | str | None = None,
) -> Any:
    """Repeat `body` while `cond` is true.

    Parameters
    ----------
    cond : callable
        Called as ``cond(*loop_vars)``; must return a bool scalar.
    body : callable
        Called as ``body(*loop_vars)``; must return the next values with the same structure, shapes and dtypes.
    loop_vars : list or tuple
        Initial values: tensors or nested structures of tensors. With a `TensorArray` that has ``dynamic_size=True`` and
        no size, the loop runs in Python.
    maximum_iterations : int, optional
        Upper limit of the number of iterations.
    checkpoint : int or "sqrt", optional
        Number of iterations per segment. A gradient keeps only the values at the start of each segment and recomputes
        the segments. ``"sqrt"`` uses the square root of `maximum_iterations`.
    shape_invariants, parallel_iterations, back_prop, swap_memory, name
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    list or tuple
        The final values, in the structure of `loop_vars`.

    Raises
    ------
    ValueError
        If the condition is not a scalar, `body` changes a structure or shape, or `maximum_iterations` is negative.
    TypeError
        If the condition is not a bool, or `body` changes a dtype.

    Notes
    -----
    Both functions are traced once, with placeholders, and compiled. Values that they capture from outside may differ
    between calls. Gradients of any order store the values they need from each iteration; this memory grows with the
    number of iterations.

    Examples
    --------
    >>> import jittape as jt
    >>> x, n = jt.while_loop(lambda x, n: x > 1.0, lambda x, n: (x / 2, n + 1), (jt.constant(10.0), 0))
    >>> float(x), int(n)
    (0.625, 4)
    """
    as_function("cond", cond)
    as_function("body", body)
    if not isinstance(loop_vars, (list, tuple)):
        loop_vars = (loop_vars,)
    limit = _limit(maximum_iterations)
    leaves, tree = flatten_tree(loop_vars)
    if not leaves:
        raise ControlFlowError("[while_loop] loop_vars has no tensors: pass at least one")

    def after(given: list[Any]) -> list[Any]:
        found = body(*tree.unflatten(given))
        if len(loop_vars) == 1 and not isinstance(found, (list, tuple)):
            found = (found,)
        if type(loop_vars) in (list, tuple) and type(found) in (list, tuple):
            found = type(loop_vars)(found)
        return leaves_like(tree, "while_loop", found, "the result of body")

    def is_going(given: list[Any]) -> Any:
        return predicate("while_loop", cond(*tree.unflatten(given)))

    if any(map(grows, leaves)):  # the condition needs values: a `jt.function` is recorded at each call
        given, count = [x if grows(x) else convert_to_tensor(x) for x in leaves], 0
        while (limit is None or count < limit) and is_going(given):
            given, count = after(given), count + 1
        return tree.unflatten(given)

    def run(tensors: list[Any], as_given: AsGiven) -> list[Any]:
        def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
            return tensors_of(after(as_given(state))), []

        def going(state: list[Any]) -> Any:
            return is_going(as_given(state))

        names = leaf_names("a loop variable", len(leaves))
        loop = Loop("while_loop", body, step, names, going, python_numbers(leaves))
        carried = [convert_to_tensor(leaf) for leaf in tensors]
        length = segment_length("while_loop", checkpoint, limit)
        if length is None:
            carried, _ = loop.run(carried, [], WHILE, limit=limit)
        else:
            carried, _ = loop.run_while_in_segments(carried, limit, length)
        return carried

    return tree.unflatten(with_carried_arrays(leaves, run))


def _limit(maximum_iterations: Any) -> int | None:
    if maximum_iterations is None:
        return None
    limit = as_int("maximum_iterations", maximum_iterations)
    if limit < 0:
        raise ControlFlowError(
            f"[while_loop] maximum_iterations must not be negative, but is {limit}: pass 0 or more, or None"
        )
    return limit


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    checkpoint: int | str | None = None,
) -> Any:
    """Repeat ``value = body_fun(i, value)`` for each `i` in ``range(lower, upper)``.

    Parameters
    ----------
    lower, upper : int or integer tensor
        Bounds of `i`. If both are Python ints, the number of iterations is known, and the memory for a gradient is
        allocated once.
    body_fun : callable
        Called as ``body_fun(i, value)``; must return the next value with the same structure, shapes and dtypes.
    init_val : tensor or nested structure of tensors
        Initial value. A `TensorArray` in it needs its size.
    checkpoint : int or "sqrt", optional
        Number of iterations per segment. A gradient keeps only the values at the start of each segment and recomputes
        the segments. ``"sqrt"`` uses the square root of the number of iterations.

    Returns
    -------
    tensor or nested structure
        The final value.

    Raises
    ------
    ValueError
        If `upper` is less than `lower`, or `body_fun` changes a structure or shape.
    TypeError
        If `body_fun` changes a dtype, or a bound is not an integer.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.fori_loop(0, 10, lambda i, x: x + jt.cast(i, jt.float32), 0.0))
    45.0
    """
    as_function("body_fun", body_fun)
    leaves, tree = flatten_tree(init_val)
    if not leaves:
        raise ControlFlowError("[fori_loop] init_val has no tensors: pass at least one")
    bounded = not (isinstance(lower, Operators) or isinstance(upper, Operators))

    def run(tensors: list[Any], as_given: AsGiven) -> list[Any]:
        def body(at: Any, state: Sequence[Any]) -> list[Any]:
            after = body_fun(at, tree.unflatten(as_given(state)))
            return tensors_of(leaves_like(tree, "fori_loop", after, "the result of body_fun"))

        kind = _fori if bounded else _fori_as_while
        return kind(lower, upper, body_fun, body, tensors, checkpoint)

    return tree.unflatten(with_carried_arrays(leaves, run))


Body = Callable[[Any, Sequence[Any]], list[Any]]
"""``body(i, leaves)`` returns the next leaves."""


def _fori(
    lower: Any, upper: Any, function: Callable[..., Any], body: Body, leaves: list[Any], checkpoint: Any
) -> list[Any]:
    """Run a `fori_loop` whose number of iterations is known, and return the final leaves."""
    carried = [convert_to_tensor(leaf) for leaf in leaves]
    first, last = _bound(lower), _bound(upper)
    trips: Any = last - first
    if trips < 0:
        raise ControlFlowError(
            f"[fori_loop] upper {last} is less than lower {first}, a negative number of iterations: "
            "pass an upper that is at least lower"
        )
    dtype = convert_to_tensor(max(abs(first), abs(last))).dtype

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        at = cast(number + first if first else number, dtype)
        return body(at, state), []

    loop = Loop(
        "fori_loop", function, step, leaf_names("the value", len(leaves)), weak=python_numbers(leaves)
    )
    length = segment_length("fori_loop", checkpoint, trips)
    if length is None or length >= trips:
        carried, _ = loop.run(carried, [], trips)
    else:
        carried, _ = loop.run_in_segments(carried, [], trips, False, length)
    return carried


def _bound(value: Any) -> int:
    try:
        return index_of(value)
    except TypeError:
        raise DTypeError(f"[fori_loop] a bound must be an integer, but is {value!r}: use int(...)") from None


def _fori_as_while(
    lower: Any, upper: Any, function: Callable[..., Any], body: Body, leaves: list[Any], checkpoint: Any
) -> list[Any]:
    """Run a `fori_loop` with a bound that is known only at run time, as a `while_loop` with a counter."""
    begin, end = convert_to_tensor(lower), convert_to_tensor(upper)
    for bound in (begin, end):
        if bound.aval.dtype.kind not in "iu" or bound.aval.shape != ():
            raise DTypeError(
                f"[fori_loop] a bound must be an integer scalar, but is {bound.dtype.name} of shape {bound.shape}"
            )
    dtype = common_dtype(begin.aval.dtype, end.aval.dtype)
    begin, end = cast(begin, dtype), cast(end, dtype)

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        return [*body(state[-1], state[:-1]), state[-1] + 1], []

    carried = [convert_to_tensor(leaf) for leaf in leaves]
    names = (*leaf_names("the value", len(leaves)), "the counter")
    loop = Loop("fori_loop", function, step, names, lambda state: state[-1] < end, python_numbers(leaves))
    length = segment_length("fori_loop", checkpoint, None)
    if length is None:
        after, _ = loop.run([*carried, begin], [], WHILE)
    else:
        after, _ = loop.run_while_in_segments([*carried, begin], None, length)
    return after[:-1]
