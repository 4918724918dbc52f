"""`while_loop` and `fori_loop`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.control.loop_parts import WHILE
from jittape.core.user_calls import as_function, as_int
from jittape.errors import ControlFlowError, DTypeError
from jittape.flow.control_recording import Loop, predicate, segment_length
from jittape.flow.structure import flatten_call, names_of, numbers_of
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
        Called as ``cond(*loop_vars)``; returns one bool.
    body : callable
        Called as ``body(*loop_vars)``; returns the next values, of the same structure, shapes and dtypes.
    loop_vars : list or tuple
        Tensors or nested structures of them to begin with.
    maximum_iterations : int, optional
        The loop ends after so many iterations in any case.
    checkpoint : int or "sqrt", optional
        Keep for a gradient only what begins each segment of so many iterations, and run the segments again.
        ``"sqrt"`` takes the root of `maximum_iterations`.
    shape_invariants, parallel_iterations, back_prop, swap_memory, name
        Accepted for TensorFlow's sake and ignored.

    Returns
    -------
    list or tuple
        The last values, in the structure of `loop_vars`.

    Raises
    ------
    ValueError
        If the condition is no scalar, `body` changes a structure or shape, or `maximum_iterations` is negative.
    TypeError
        If the condition is no bool, or `body` changes a dtype.

    Notes
    -----
    Both functions are run once, with stand-ins, and compiled. What they use from outside may be another at each call.
    The gradient, of any order, keeps what it needs of each iteration in memory that grows with the loop.

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
    leaves, structure = flatten_call(loop_vars)
    if not leaves:
        raise ControlFlowError("[while_loop] loop_vars holds no tensor: give at least one")

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        after = body(*structure.rebuilt(state))
        if len(loop_vars) == 1 and not isinstance(after, (list, tuple)):
            after = (after,)
        if type(loop_vars) in (list, tuple) and type(after) in (list, tuple):
            after = type(loop_vars)(after)
        return structure.leaves_of("while_loop", after, "what body returns"), []

    def going(state: list[Any]) -> Any:
        return predicate("while_loop", cond(*structure.rebuilt(state)))

    loop = Loop("while_loop", body, step, names_of("a loop variable", len(leaves)), going, numbers_of(leaves))
    carried = [convert_to_tensor(leaf) for leaf in leaves]
    length = segment_length("while_loop", checkpoint, limit)
    if length is None:
        carried, _ = loop.run(carried, [], WHILE, limit=limit)
    else:
        carried, _ = loop.run_while_in_segments(carried, limit, length)
    return structure.rebuilt(carried)


def _limit(maximum_iterations: Any) -> int | None:
    if maximum_iterations is None:
        return None
    limit = as_int("maximum_iterations", maximum_iterations)
    if limit < 0:
        raise ControlFlowError(
            f"[while_loop] maximum_iterations must not be negative, but is {limit}: give 0 or more, or None"
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
    """Repeat ``value = body_fun(i, value)`` for i from `lower` to below `upper`.

    Parameters
    ----------
    lower, upper : int or integer tensor
        With Python ints the number of iterations is known, and the memory for a gradient is allocated once.
    body_fun : callable
        Returns the next value, of the same structure, shapes and dtypes.
    init_val : tensor or nested structure of them
    checkpoint : int or "sqrt", optional
        Keep for a gradient only what begins each segment of so many iterations, and run the segments again;
        ``"sqrt"``: about as many segments as there are iterations in each.

    Returns
    -------
    tensor or nested structure
        The last value.

    Raises
    ------
    ValueError
        If `upper` is less than `lower`, or `body_fun` changes a structure or shape.
    TypeError
        If `body_fun` changes a dtype, or a bound is no integer.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.fori_loop(0, 10, lambda i, x: x + jt.cast(i, jt.float32), 0.0))
    45.0
    """
    as_function("body_fun", body_fun)
    leaves, structure = flatten_call(init_val)
    if not leaves:
        raise ControlFlowError("[fori_loop] init_val holds no tensor: give at least one")
    carried = [convert_to_tensor(leaf) for leaf in leaves]
    names = names_of("the value", len(leaves))
    if isinstance(lower, Operators) or isinstance(upper, Operators):
        return _between_tensors(lower, upper, body_fun, leaves, structure, names, checkpoint)
    first, last = _bound(lower), _bound(upper)
    trips = last - first
    if trips < 0:
        raise ControlFlowError(
            f"[fori_loop] upper {last} is less than lower {first}, a negative number of iterations: "
            "give an upper that is not less"
        )
    dtype = convert_to_tensor(max(abs(first), abs(last))).dtype

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        at = cast(number + first if first else number, dtype)
        after = body_fun(at, structure.rebuilt(state))
        return structure.leaves_of("fori_loop", after, "what body_fun returns"), []

    loop = Loop("fori_loop", body_fun, step, names, weak=numbers_of(leaves))
    length = segment_length("fori_loop", checkpoint, trips)
    if length is None or length >= trips:
        carried, _ = loop.run(carried, [], trips)
    else:
        carried, _ = loop.run_in_segments(carried, [], trips, False, length)
    return structure.rebuilt(carried)


def _bound(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"[fori_loop] a bound must be an integer, but is {value!r}: use int(...)") from None


def _between_tensors(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    leaves: list[Any],
    structure: Any,
    names: tuple[str, ...],
    checkpoint: Any,
) -> Any:
    """The loop with a bound that is known at run time only: a `while_loop` that counts."""
    begin, end = convert_to_tensor(lower), convert_to_tensor(upper)
    for bound in (begin, end):
        if bound.dtype.kind not in "iu" or bound.shape != ():
            raise DTypeError(
                f"[fori_loop] a bound must be an integer scalar, but is {bound.dtype.name} of shape {bound.shape}"
            )
    dtype = np.result_type(begin.dtype, end.dtype)
    begin, end = cast(begin, dtype), cast(end, dtype)

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        after = body_fun(state[-1], structure.rebuilt(state[:-1]))
        return [*structure.leaves_of("fori_loop", after, "what body_fun returns"), state[-1] + 1], []

    carried = [convert_to_tensor(leaf) for leaf in leaves]
    names = (*names, "the counter")
    loop = Loop("fori_loop", body_fun, step, names, lambda state: state[-1] < end, numbers_of(leaves))
    length = segment_length("fori_loop", checkpoint, None)
    if length is None:
        after, _ = loop.run([*carried, begin], [], WHILE)
    else:
        after, _ = loop.run_while_in_segments([*carried, begin], None, length)
    return structure.rebuilt(after[:-1])
