"""`scan`, `foldl`, `foldr`, `map_fn` and `vectorized_map`: loops along the first axis of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.control.batched_control import stacked_body
from jittape.control.body import body_of, inlined
from jittape.core.dtypes import as_dtype
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag, as_function
from jittape.errors import ControlFlowError, DTypeError
from jittape.flow.control_recording import Loop, segment_length, settled_for
from jittape.flow.structure import flatten_call, names_of, numbers_of, stacks_of
from jittape.functions.signature import TensorSpec
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import expand_dims
from jittape.recording.body_tracing import BodyTrace
from jittape.recording.convert import convert_to_tensor
from jittape.recording.trace import current_trace

__all__ = ["foldl", "foldr", "map_fn", "scan", "vectorized_map"]


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
    *,
    checkpoint: int | str | None = None,
) -> Any:
    """``a = fn(a, elem)`` along the first axis of `elems`; all values of `a`, stacked.

    Parameters
    ----------
    fn : callable
        Called as ``fn(a, elem)``; returns the next `a`, of the same structure, shapes and dtypes.
    elems : tensor or nested structure of them
        All equally long along their first axis; `fn` is given the structure of their elements.
    initializer : tensor or nested structure of them, optional
        The first `a`; the first element of `elems` if not given, which is then the first value of the result, too.
    reverse : bool
        Begin with the last element. The result stands in the order of `elems`.
    checkpoint : int or "sqrt", optional
        Keep for a gradient only what begins each segment of so many iterations, and run the segments again;
        ``"sqrt"``: about as many segments as there are iterations in each.
    parallel_iterations, back_prop, swap_memory, infer_shape, name
        Accepted for TensorFlow's sake and ignored.

    Returns
    -------
    tensor or nested structure
        Of the structure of `a`.

    Raises
    ------
    ValueError
        If `elems` are not equally long, or empty without an initializer, or `fn` changes a structure or shape.
    TypeError
        If `fn` changes a dtype.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.scan(lambda a, x: a + x, jt.constant([1.0, 2.0, 3.0])).numpy()
    array([1., 3., 6.], dtype=float32)
    """
    return _along("scan", fn, elems, initializer, reverse, checkpoint, every=True)


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    *,
    checkpoint: int | str | None = None,
) -> Any:
    """``a = fn(a, elem)`` along the first axis of `elems`; the last value of `a`. Parameters as for `scan`.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.foldl(lambda a, x: a * x, jt.constant([1.0, 2.0, 3.0])))
    6.0
    """
    return _along("foldl", fn, elems, initializer, False, checkpoint, every=False)


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    *,
    checkpoint: int | str | None = None,
) -> Any:
    """As `foldl`, from the last element to the first.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.foldr(lambda a, x: x - a, jt.constant([1.0, 2.0, 3.0])))
    2.0
    """
    return _along("foldr", fn, elems, initializer, True, checkpoint, every=False)


def _along(
    op: str,
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    backwards: bool,
    checkpoint: Any,
    every: bool,
) -> Any:
    as_function("fn", fn)
    backwards = as_flag("reverse", backwards)
    stacks, elem_structure, trips = stacks_of(op, elems)
    head: list[Any] = []
    if initializer is None:
        if trips == 0:
            raise ControlFlowError(
                f"[{op}] elems is empty and there is no initializer: give one, which is the result then"
            )
        structure = elem_structure
        head = [t[-1] if backwards else t[0] for t in stacks]
        carried = head
        stacks = [t[:-1] if backwards else t[1:] for t in stacks]
        trips -= 1
    else:
        leaves, structure = flatten_call(initializer)
        if not leaves:
            raise ControlFlowError(f"[{op}] initializer holds no tensor: give at least one")
        carried = [convert_to_tensor(leaf) for leaf in leaves]

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        after = fn(structure.rebuilt(state), elem_structure.rebuilt(rows))
        new = structure.leaves_of(op, after, "what fn returns")
        new = [
            convert_to_tensor(leaf, dtype_hint=before.dtype) for leaf, before in zip(new, state, strict=True)
        ]
        return new, new if every else []

    weak = {} if initializer is None else numbers_of(leaves)
    loop = Loop(op, fn, step, names_of("the accumulator", len(carried)), weak=weak)
    length = segment_length(op, checkpoint, trips)
    if length is None or length >= trips:
        last, out = loop.run(carried, stacks, trips, backwards)
    else:
        last, out = loop.run_in_segments(carried, stacks, trips, backwards, length)
    if not every:
        return structure.rebuilt(last)
    if head:
        firsts = [expand_dims(t, 0) for t in head]
        pairs = zip(out, firsts, strict=True) if backwards else zip(firsts, out, strict=True)
        out = [concat(list(pair), 0) for pair in pairs]
    return structure.rebuilt(out)


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """``fn(elem)`` for every element along the first axis of `elems`, stacked.

    Parameters
    ----------
    fn : callable
        Called with the structure of an element; returns any structure.
    elems : tensor or nested structure of them
        All equally long along their first axis.
    dtype, fn_output_signature : dtype or TensorSpec, or nested structure of them, optional
        What `fn` returns, if that is to be checked; TensorFlow needs it where it is not the dtype of `elems`.
    parallel_iterations, back_prop, swap_memory, infer_shape, name
        Accepted for TensorFlow's sake and ignored.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.map_fn(lambda x: x * x, jt.constant([1.0, 2.0, 3.0])).numpy()
    array([1., 4., 9.], dtype=float32)
    """
    return _mapped("map_fn", fn, elems, dtype if fn_output_signature is None else fn_output_signature)


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """``fn(elem)`` for every element along the first axis of `elems`, stacked; all elements side by side.

    What `fn` does with one element is done with all at once, by operations on arrays of one more dimension. A `cond`
    on an element computes both branches, and a `while_loop` goes on until the last element is done.

    Parameters
    ----------
    fn : callable
        Called with the structure of an element; returns any structure.
    elems : tensor or nested structure of them
        All equally long along their first axis.
    fallback_to_while_loop : bool
        Whether a function with a custom gradient, or no elements at all, may be a loop as with `map_fn`; else an error.
    warn : bool
        Accepted for TensorFlow's sake and ignored.

    Raises
    ------
    ValueError
        If `elems` are not equally long, or `fn` can only be a loop and must not be.

    Examples
    --------
    >>> import jittape as jt
    >>> outer = jt.vectorized_map(lambda x: x[:, None] * x[None, :], jt.ones([5, 2]))
    >>> outer.shape
    (5, 2, 2)
    """
    as_function("fn", fn)
    stacks, elem_structure, n = stacks_of("vectorized_map", elems)
    outer = current_trace()
    trace = BodyTrace("vectorized_map", outer, fn, n)
    found: list[Any] = []

    def function(rows: list[Any]) -> list[Any]:
        leaves, structure = flatten_call(fn(elem_structure.rebuilt(rows)))
        found.append(structure)
        return leaves

    try:
        tensors, _ = trace.record(function, [Aval(t.shape[1:], t.dtype) for t in stacks], list)
        recorded = trace.finished(tensors, len(stacks))
    finally:
        trace.close()
    body = body_of(recorded.program)
    if n == 0 or any(op.primitive.batch_loses_gradient for op in body.program.ops):
        if not fallback_to_while_loop:
            raise ControlFlowError(
                "[vectorized_map] there are no elements, or fn has a custom gradient: use jt.map_fn, or leave "
                "fallback_to_while_loop as it is"
            )
        return _mapped("vectorized_map", fn, elems, None)
    operands = (*stacks, *recorded.rows, *recorded.captured)
    made = outer.apply(_side_by_side, operands, (body, n, len(stacks) + len(recorded.rows)))
    return found[0].rebuilt(list(made))


def _side_by_side(*handles: Any) -> tuple[Any, ...]:
    *operands, body, n, stacks = handles
    slots = body.program.inputs
    settled = [settled_for(o, body, slot) for o, slot in zip(operands, slots, strict=True)]
    return tuple(inlined(stacked_body(body, n, slots[:stacks]), settled))


def _mapped(op: str, fn: Callable[[Any], Any], elems: Any, signature: Any) -> Any:
    as_function("fn", fn)
    stacks, elem_structure, trips = stacks_of(op, elems)
    found: list[Any] = []

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        leaves, structure = flatten_call(fn(elem_structure.rebuilt(rows)))
        found.append(structure)
        return [], [convert_to_tensor(leaf) for leaf in leaves]

    _, out = Loop(op, fn, step, ()).run([], stacks, trips)
    result = found[0].rebuilt(out)
    if signature is not None:
        _check_signature(op, out, signature)
    return result


def _check_signature(op: str, out: list[Any], signature: Any) -> None:
    """Whether the results have the dtypes that were announced."""
    wanted, _ = flatten_call(signature)
    dtypes = [as_dtype(one.dtype if isinstance(one, TensorSpec) else one) for one in wanted]
    if len(dtypes) != len(out):
        raise ControlFlowError(
            f"[{op}] fn returns {len(out)} tensors, fn_output_signature names {len(dtypes)} dtypes"
        )
    for tensor, dtype in zip(out, dtypes, strict=True):
        if tensor.dtype != dtype:
            raise DTypeError(
                f"[{op}] fn returns {tensor.dtype.name} where fn_output_signature says {dtype.name}: use "
                f"jt.cast(..., {dtype.name!r}) in fn"
            )
