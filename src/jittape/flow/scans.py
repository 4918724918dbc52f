"""`scan`, `foldl`, `foldr`, `map_fn` and `vectorized_map`: loops along the first axis of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jittape.control.batched_control import stacked_body
from jittape.control.body import body_of, inlined
from jittape.core.dtypes import as_dtype
from jittape.core.primitive import any_dtype
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag, as_function
from jittape.errors import ControlFlowError, DTypeError
from jittape.flow.array_variables import refuse_arrays
from jittape.flow.control_recording import Loop, resolve_weak, segment_length
from jittape.flow.structure import flatten_elems, flatten_tree, leaf_names, leaves_like, python_numbers
from jittape.functions.signature import TensorSpec
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import expand_dims
from jittape.recording.convert import convert_to_tensor
from jittape.recording.extent_trace import body_trace
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
    """Repeat ``a = fn(a, elem)`` along the first axis of `elems` and return all values of `a`, stacked.

    Parameters
    ----------
    fn : callable
        Called as ``fn(a, elem)``; must return the next `a` with the same structure, shapes and dtypes.
    elems : tensor or nested structure of tensors
        All leaves have the same length along their first axis. `elem` has the structure of `elems`.
    initializer : tensor or nested structure of tensors, optional
        Initial `a`. Without it, `a` starts as the first element of `elems`, which is also the first value of the
        result.
    reverse : bool
        Start with the last element. The result keeps the order of `elems`.
    checkpoint : int or "sqrt", optional
        Number of iterations per segment. A gradient keeps only the values at the start of each segment and recomputes
        the segments. ``"sqrt"`` uses the square root of the number of iterations.
    parallel_iterations, back_prop, swap_memory, infer_shape, name
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    tensor or nested structure
        The values of `a`, stacked along a new first axis, in the structure of `a`.

    Raises
    ------
    ValueError
        If the leaves of `elems` differ in length, `elems` is empty and there is no initializer, or `fn` changes a
        structure or shape.
    TypeError
        If `fn` changes a dtype.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.scan(lambda a, x: a + x, jt.constant([1.0, 2.0, 3.0])).numpy()
    array([1., 3., 6.], dtype=float32)
    """
    return _scan("scan", fn, elems, initializer, reverse, checkpoint, keep_all=True)


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
    """Repeat ``a = fn(a, elem)`` along the first axis of `elems` and return the final `a`.

    The parameters are those of `scan`.

    Parameters
    ----------
    fn : callable
        Function of the accumulated value and an element, which returns the new accumulated value.
    elems : tensor_like or structure of them
        One element for each position of the first dimension.
    initializer : tensor_like or structure, optional
        The first accumulated value; by default the first element.
    parallel_iterations, back_prop, swap_memory
        Ignored.
    checkpoint : int or str, optional
        Recompute states in the backward pass, see `scan`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If an element of `elems` is a scalar.
    ControlFlowError
        If `elems` is empty and there is no initializer.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.foldl(lambda a, x: a * x, jt.constant([1.0, 2.0, 3.0])))
    6.0
    """
    return _scan("foldl", fn, elems, initializer, False, checkpoint, keep_all=False)


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
    """Repeat ``a = fn(a, elem)`` from the last element of `elems` to the first and return the final `a`.

    The parameters are those of `scan`.

    Parameters
    ----------
    fn : callable
        Function of the accumulated value and an element, which returns the new accumulated value.
    elems : tensor_like or structure of them
        One element for each position of the first dimension.
    initializer : tensor_like or structure, optional
        The first accumulated value; by default the first element.
    parallel_iterations, back_prop, swap_memory
        Ignored.
    checkpoint : int or str, optional
        Recompute states in the backward pass, see `scan`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If an element of `elems` is a scalar.
    ControlFlowError
        If `elems` is empty and there is no initializer.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.foldr(lambda a, x: x - a, jt.constant([1.0, 2.0, 3.0])))
    2.0
    """
    return _scan("foldr", fn, elems, initializer, True, checkpoint, keep_all=False)


class _Start(NamedTuple):
    """Start of a scan.

    Attributes
    ----------
    carried : list of tensors
        Initial accumulator.
    tree : PyTreeSpec
        Structure of the accumulator.
    weak : dict
        Leaves of the accumulator that are Python numbers, by position.
    stacks : list of tensors
        Elements to iterate over.
    head : list of tensors
        The initial accumulator if it is an element, which is also the first value of the result; otherwise empty.
    """

    carried: list[Any]
    tree: Any
    weak: dict[int, Any]
    stacks: list[Any]
    head: list[Any]

    @classmethod
    def of(cls, op: str, stacks: list[Any], elem_tree: Any, initializer: Any, backwards: bool) -> _Start:
        if initializer is None:
            if stacks[0].aval.shape[0] == 0:
                raise ControlFlowError(
                    f"[{op}] elems is empty and there is no initializer: pass an initializer, which is then the result"
                )
            head = [t[-1] if backwards else t[0] for t in stacks]
            rest = [t[:-1] if backwards else t[1:] for t in stacks]
            return cls(head, elem_tree, {}, rest, head)
        leaves, tree = flatten_tree(initializer)
        way_out = (
            "scan stacks the results of all steps, so fn returns the element"
            if op == "scan"
            else "use fori_loop, whose value may be one"
        )
        refuse_arrays(op, leaves, way_out)
        if not leaves:
            raise ControlFlowError(f"[{op}] initializer has no tensors: pass at least one")
        return cls([convert_to_tensor(leaf) for leaf in leaves], tree, python_numbers(leaves), stacks, [])


def _scan(
    op: str,
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    backwards: bool,
    checkpoint: Any,
    keep_all: bool,
) -> Any:
    """Record a scan; return the stacked values of the accumulator if `keep_all`, else its final value."""
    as_function("fn", fn)
    backwards = as_flag("reverse", backwards)
    elem_stacks, elem_tree, count = flatten_elems(op, elems)
    carried, tree, weak, stacks, head = _Start.of(op, elem_stacks, elem_tree, initializer, backwards)

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        after = leaves_like(
            tree, op, fn(tree.unflatten(state), elem_tree.unflatten(rows)), "the result of fn"
        )
        new = [
            convert_to_tensor(leaf, dtype_hint=before.aval.dtype)
            for leaf, before in zip(after, state, strict=True)
        ]
        return new, new if keep_all else []

    loop = Loop(op, fn, step, leaf_names("the accumulator", len(carried)), weak=weak)
    trips = count - 1 if head else count
    length = segment_length(op, checkpoint, trips)
    if length is None or length >= trips:
        last, out = loop.run(carried, stacks, trips, backwards)
    else:
        last, out = loop.run_in_segments(carried, stacks, trips, backwards, length)
    if not keep_all:
        return tree.unflatten(last)
    if head:
        firsts = [expand_dims(t, 0) for t in head]
        pairs = zip(out, firsts, strict=True) if backwards else zip(firsts, out, strict=True)
        out = [concat(list(pair), 0) for pair in pairs]
    return tree.unflatten(out)


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
    """Apply `fn` to each element along the first axis of `elems` and stack the results.

    Parameters
    ----------
    fn : callable
        Called as ``fn(elem)``; may return any structure.
    elems : tensor or nested structure of tensors
        All leaves have the same length along their first axis. `elem` has the structure of `elems`.
    dtype, fn_output_signature : dtype or TensorSpec, or nested structure of them, optional
        Expected dtypes of the results of `fn`. They are checked if given; TensorFlow requires them if they differ from
        the dtype of `elems`.
    parallel_iterations, back_prop, swap_memory, infer_shape, name
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    tensor or nested structure
        The results, stacked along a new first axis.

    Raises
    ------
    ShapeError
        If an element of `elems` is a scalar.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.map_fn(lambda x: x * x, jt.constant([1.0, 2.0, 3.0])).numpy()
    array([1., 4., 9.], dtype=float32)
    """
    return _map("map_fn", fn, elems, dtype if fn_output_signature is None else fn_output_signature)


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Apply `fn` to all elements along the first axis of `elems` at once and stack the results.

    The operations of `fn` are batched: they run on arrays with one more dimension. A `cond` whose predicate depends on
    the element computes both branches. A `while_loop` runs until it has ended for every element.

    Parameters
    ----------
    fn : callable
        Called as ``fn(elem)``; may return any structure.
    elems : tensor or nested structure of tensors
        All leaves have the same length along their first axis. `elem` has the structure of `elems`.
    fallback_to_while_loop : bool
        Whether to run `map_fn` instead if there are no elements. If False, this raises `ControlFlowError`.
    warn : bool
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    tensor or nested structure
        The results, stacked along a new first axis.

    Raises
    ------
    ValueError
        If the leaves of `elems` differ in length, or there are none and `fallback_to_while_loop` is False.

    Examples
    --------
    >>> import jittape as jt
    >>> outer = jt.vectorized_map(lambda x: x[:, None] * x[None, :], jt.ones([5, 2]))
    >>> outer.shape
    (5, 2, 2)
    """
    as_function("fn", fn)
    stacks, elem_tree, n = flatten_elems("vectorized_map", elems)
    outer = current_trace()
    trace = body_trace("vectorized_map", outer, fn, n)
    trees: list[Any] = []

    def function(rows: list[Any]) -> list[Any]:
        leaves, tree = flatten_tree(fn(elem_tree.unflatten(rows)))
        trees.append(tree)
        return leaves

    try:
        tensors, _ = trace.record(function, [Aval(t.aval.shape[1:], t.aval.dtype) for t in stacks], list)
        recorded = trace.finished(tensors, len(stacks))
    finally:
        trace.close()
    with outer.deriving():
        body = body_of(recorded.program)
    if n == 0:
        if not fallback_to_while_loop:
            raise ControlFlowError(
                "[vectorized_map] there are no elements: use jt.map_fn, or set fallback_to_while_loop=True"
            )
        return _map("vectorized_map", fn, elems, None)
    operands = (*stacks, *recorded.rows, *recorded.captured)
    results = outer.apply(_batched, operands, (body, n, len(stacks) + len(recorded.rows)))
    return trees[0].unflatten(list(results))


@any_dtype
def _batched(*handles: Any) -> tuple[Any, ...]:
    *operands, body, n, stacks = handles
    slots = body.program.inputs
    resolved = [resolve_weak(o, body, slot) for o, slot in zip(operands, slots, strict=True)]
    return tuple(inlined(stacked_body(body, n, slots[:stacks]), resolved))


def _map(op: str, fn: Callable[[Any], Any], elems: Any, signature: Any) -> Any:
    as_function("fn", fn)
    stacks, elem_tree, trips = flatten_elems(op, elems)
    trees: list[Any] = []

    def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        leaves, tree = flatten_tree(fn(elem_tree.unflatten(rows)))
        refuse_arrays(op, leaves, "return its stack()")
        trees.append(tree)
        return [], [convert_to_tensor(leaf) for leaf in leaves]

    _, out = Loop(op, fn, step, ()).run([], stacks, trips)
    result = trees[0].unflatten(out)
    if signature is not None:
        _check_signature(op, out, signature)
    return result


def _check_signature(op: str, out: list[Any], signature: Any) -> None:
    """Raise if the results differ in number or dtype from `signature`."""
    expected, _ = flatten_tree(signature)
    dtypes = [as_dtype(one.dtype if isinstance(one, TensorSpec) else one) for one in expected]
    if len(dtypes) != len(out):
        raise ControlFlowError(
            f"[{op}] fn returns {len(out)} tensors, fn_output_signature names {len(dtypes)} dtypes"
        )
    for tensor, dtype in zip(out, dtypes, strict=True):
        if tensor.aval.dtype != dtype:
            raise DTypeError(
                f"[{op}] fn returns {tensor.dtype.name} where fn_output_signature says {dtype.name}: use "
                f"jt.cast(..., {dtype.name!r}) in fn"
            )
