"""`cond`, `case` and `switch_case`: branches of which only the selected one runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jittape.core.user_calls import as_int
from jittape.errors import ControlFlowError, DTypeError, ShapeError
from jittape.flow.array_variables import refuse_arrays
from jittape.flow.control_recording import INT64, branch, predicate
from jittape.flow.structure import flatten_tree
from jittape.primitives.elementwise.comparison import logical_not, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators

__all__ = ["case", "cond", "switch_case"]


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return ``true_fn()`` if `pred` is true, otherwise ``false_fn()``.

    Parameters
    ----------
    pred : bool scalar
    true_fn, false_fn : callable
        Functions without arguments. Both must return the same structure, shapes and dtypes. Only one of them runs.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    tensor or nested structure
        The result of the selected function.

    Raises
    ------
    ValueError
        If `pred` is not a scalar, or the functions return different structures or shapes.
    TypeError
        If `pred` is not a bool, a function is missing, or the functions return different dtypes.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.constant(4.0)
    >>> float(jt.cond(x > 0, lambda: jt.sqrt(x), lambda: -x))
    2.0
    """
    _check_callables("cond", (true_fn, false_fn))
    assert true_fn is not None
    assert false_fn is not None
    which = cast(logical_not(predicate("cond", pred, "pred")), INT64)
    return _select("cond", which, (true_fn, false_fn))


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Call the function of `branch_fns` that `branch_index` selects and return its result.

    Parameters
    ----------
    branch_index : integer scalar
    branch_fns : sequence of callables, mapping of int to callable, or sequence of pairs of int and callable
        Functions without arguments. All must return the same structure, shapes and dtypes.
    default : callable, optional
        Function for an index that `branch_fns` does not contain. Without it, the function with the greatest index runs.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    tensor or nested structure
        The result of the selected function.

    Raises
    ------
    DTypeError
        If `branch_index` is not an integer.
    ShapeError
        If `branch_index` is not a scalar.

    Examples
    --------
    >>> import jittape as jt
    >>> i = jt.constant(1)
    >>> float(jt.switch_case(i, [lambda: jt.constant(10.0), lambda: jt.constant(20.0)]))
    20.0
    """
    pairs = _indexed_functions(branch_fns)
    functions = [function for _, function in pairs] + ([] if default is None else [default])
    _check_callables("switch_case", functions)
    index = convert_to_tensor(branch_index)
    if index.aval.shape != ():
        raise ShapeError(f"[switch_case] branch_index must be a scalar, but has shape {index.shape}")
    if index.aval.dtype.kind not in "iu":
        raise DTypeError(
            f"[switch_case] branch_index must be an integer, but is {index.dtype.name}: use jt.cast(x, jt.int32)"
        )
    which: Any = len(functions) - 1
    for position, (number, _) in enumerate(pairs):
        which = where(index == number, position, which)
    return _select("switch_case", which, functions)


def _indexed_functions(branch_fns: Any) -> list[tuple[int, Any]]:
    """Return pairs of index and function, sorted by index."""
    entries: Any = branch_fns.items() if isinstance(branch_fns, Mapping) else branch_fns
    entries = _as_list("switch_case", "branch_fns", entries)
    if callable(entries[0]):
        return list(enumerate(entries))
    _check_pairs("switch_case", "branch_fns", entries)
    pairs = sorted([(as_int("an index", n), function) for n, function in entries], key=lambda pair: pair[0])
    if len({number for number, _ in pairs}) < len(pairs):
        raise ControlFlowError("[switch_case] branch_fns has two functions for the same index")
    return pairs


def case(
    pred_fn_pairs: Sequence[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Call the function of the first true predicate and return its result.

    Parameters
    ----------
    pred_fn_pairs : sequence of pairs of a bool scalar and a callable
    default : callable, optional
        Function to call if no predicate is true. Without it, the last function of `pred_fn_pairs` runs.
    exclusive, strict, name
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    tensor or nested structure
        The result of the selected function.

    Raises
    ------
    ControlFlowError
        If there is no pair.
    ShapeError
        If a predicate is not a scalar.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.constant(3.0)
    >>> pairs = [(x < 0, lambda: -x), (x > 2, lambda: x * x)]
    >>> float(jt.case(pairs, default=lambda: x))
    9.0
    """
    pred_fn_pairs = _as_list("case", "pred_fn_pairs", pred_fn_pairs)
    _check_pairs("case", "pred_fn_pairs", pred_fn_pairs)
    functions = [function for _, function in pred_fn_pairs] + ([] if default is None else [default])
    _check_callables("case", functions)
    which: Any = len(functions) - 1
    for number, (pred, _) in reversed(list(enumerate(pred_fn_pairs))):
        which = where(predicate("case", pred, f"predicate {number}"), number, which)
    return _select("case", which, functions)


def _as_list(op: str, argument: str, entries: Any) -> list[Any]:
    """Return `entries` as a list; raise if it is empty or not iterable."""
    if isinstance(entries, (str, Operators)) or not isinstance(entries, Iterable):
        raise TypeError(f"[{op}] {argument} must be a list, but is of type {type(entries).__name__!r}")
    found = list(entries)
    if not found:
        raise ControlFlowError(f"[{op}] {argument} is empty: pass at least one function")
    return found


def _check_pairs(op: str, argument: str, entries: Sequence[Any]) -> None:
    for entry in entries:
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise TypeError(
                f"[{op}] {argument} must contain pairs, each with a function, but one entry is of type "
                f"{type(entry).__name__!r}"
            )


def _check_callables(op: str, functions: Sequence[Any]) -> None:
    for function in functions:
        if not callable(function):
            raise TypeError(
                f"[{op}] a branch must be a function without arguments, but is {function!r}: write `lambda: ...`"
            )


def _select(op: str, which: Any, functions: Sequence[Callable[[], Any]]) -> Any:
    """Record a branch on `which` and return the result in the structure that the functions return."""
    trees: list[Any] = []

    def flatten(result: Any) -> list[Any]:
        leaves, tree = flatten_tree(result)
        refuse_arrays(
            op,
            leaves,
            f"return the element from the branches and write it afterward, as in array.write(i, {op}(...))",
        )
        trees.append(tree)
        if tree != trees[0]:
            raise ControlFlowError(
                f"[{op}] the branches must return the same structure: branch 0 returns {trees[0]}, branch "
                f"{len(trees) - 1} returns {tree}"
            )
        return leaves

    results = branch(op, convert_to_tensor(which), functions, flatten)
    return trees[0].unflatten(results)
