"""`einsum`: Einstein's summation as transposes, reshapes and matrix products.

The equation is parsed into one tuple of labels per operand. More than two operands are contracted pairwise, in the
order of ``numpy.einsum_path``. A pair becomes one `matmul`: labels in both operands and in the result are the stack,
labels in both operands only are summed over by the product, and labels in one operand only are summed first or become
rows and columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol, axis_key, broadcast, iota, promote, sum_over, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.indexing.gather_ops import gather_op
from jittape.primitives.linalg.diagonal_bands import alignment, band_of, band_width, diagonal_range
from jittape.primitives.linalg.main_diagonals import diagonal_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.shape.views import permuted
from jittape.typing import Tensor, TensorLike

__all__ = ["diag_part", "einsum", "trace"]

Labels = tuple[str, ...]


# ---- the equation ----------------------------------------------------------------------------------------------------


def _parse(equation: str, ranks: tuple[int, ...]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand and of the result.

    An ellipsis becomes labels ``.0``, ``.1``, ..., counted from its last dimension.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"[einsum] {equation!r} is for {len(terms)} operands, got {len(ranks)}")
    labels = [_labels(equation, term, rank) for term, rank in zip(terms, ranks, strict=True)]
    dots = max([sum(1 for a in term if a[0] == ".") for term in labels], default=0)
    ellipsis = tuple([f".{i}" for i in reversed(range(dots))])
    if arrow:
        if right.count("...") > 1:
            raise ValueError(f"[einsum] {equation!r} has two ellipses in its result")
        before, found, after = right.partition("...")
        _check_letters(equation, before + after)
        result = (*before, *(ellipsis if found else ()), *after)
        unknown = [a for a in result if not any(a in term for term in labels)]
        if unknown or len(set(result)) != len(result):
            raise ValueError(
                f"[einsum] the result of {equation!r} names "
                + (f"{unknown[0]!r}, which no operand has" if unknown else "a label twice")
            )
    else:
        named = [a for term in labels for a in term if a[0] != "."]
        result = (*ellipsis, *sorted([a for a in set(named) if named.count(a) == 1]))
    return labels, result


def _check_letters(equation: str, letters: str) -> None:
    if letters and not letters.isalpha():
        bad = next(a for a in letters if not a.isalpha())
        raise ValueError(
            f"[einsum] {equation!r} contains {bad!r}; labels are letters, and ... stands for several dimensions"
        )


def _labels(equation: str, term: str, rank: int) -> Labels:
    if term.count("...") > 1:
        raise ValueError(f"[einsum] {equation!r} has two ellipses in one operand")
    before, found, after = term.partition("...")
    _check_letters(equation, before + after)
    rest = rank - len(before) - len(after)
    if rest < 0 or (rest and not found):
        raise ShapeError(
            f"[einsum] {term!r} in {equation!r} names {len(before + after)} dimensions, the operand has {rank}"
        )
    return (*before, *[f".{i}" for i in reversed(range(rest))], *after)


def _check_diagonal(equation: str, term: Labels, shape: tuple[int, ...]) -> None:
    """Raise an error if a label that a term repeats names unequal lengths, of which not even 1 broadcasts."""
    lengths: dict[str, int] = {}
    for label, n in zip(term, shape, strict=True):
        if lengths.setdefault(label, n) != n:
            raise ShapeError(
                f"[einsum] label {label!r} of {equation!r} is twice in one operand, with lengths {lengths[label]} "
                f"and {n}; a diagonal needs equal lengths"
            )


def _sizes(equation: str, terms: list[Labels], shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """Return the length of each label; a length of 1 broadcasts."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        if len(set(term)) < len(term):
            _check_diagonal(equation, term, shape)
        for label, n in zip(term, shape, strict=True):
            known = sizes.get(label, 1)
            if 1 not in (known, n) and known != n:
                raise ShapeError(f"[einsum] label {label!r} of {equation!r} has lengths {known} and {n}")
            sizes[label] = n if known == 1 else known
    return sizes


@lru_cache(maxsize=256)
def _path(
    terms: tuple[Labels, ...], result: Labels, shapes: tuple[tuple[int, ...], ...]
) -> list[tuple[int, ...]]:
    """Return the order in which several operands are contracted."""
    names = {
        label: chr(ord("a") + i) for i, label in enumerate(dict.fromkeys(a for term in terms for a in term))
    }
    equation = (
        ",".join("".join(names[a] for a in term) for term in terms) + "->" + "".join(names[a] for a in result)
    )
    operands = [np.broadcast_to(np.float32(0), shape) for shape in shapes]
    return list(np.einsum_path(equation, *operands, optimize="greedy")[0][1:])


# ---- contraction -----------------------------------------------------------------------------------------------------


def _diagonal(x: Any, first: int, second: int) -> Any:
    """Return the elements of `x` whose coordinates along two axes of equal length are equal; they become axis 0."""
    others = [d for d in range(len(x.shape)) if d not in (first, second)]
    rows = iota((min(x.shape[first], x.shape[second]),), 0, int64)
    return gather_op.bind(permuted(x, (first, second, *others)), rows, rows, axis=0)


def _without_repeats(x: Any, term: Labels) -> tuple[Any, Labels]:
    """Return `x` with each label once: its diagonal if a label appears twice."""
    labels = list(term)
    for label in term:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                n = max(x.shape[first], x.shape[second])
                x = broadcast(x, tuple([n if d in (first, second) else m for d, m in enumerate(x.shape)]))
            x = _diagonal(x, first, second)
            labels = [label, *[a for d, a in enumerate(labels) if d not in (first, second)]]
    return x, tuple(labels)


def _summed(x: Any, term: Labels, keep: set[str]) -> tuple[Any, Labels]:
    """Return `x` summed over the labels that are not in `keep`."""
    axes = tuple([d for d, a in enumerate(term) if a not in keep])
    return sum_over(x, axes), tuple([a for a in term if a in keep])


def _arranged(x: Any, term: Labels, order: list[str]) -> Any:
    """Return `x` with its dimensions in the order of the labels; a missing label becomes a dimension of length 1."""
    x = permuted(x, tuple([term.index(a) for a in order if a in term]))
    lengths = iter(x.shape)
    return to_shape(x, tuple([next(lengths) if a in term else 1 for a in order]))


def _pair(
    x: Any, x_term: Labels, y: Any, y_term: Labels, keep: set[str], sizes: dict[str, int]
) -> tuple[Any, Labels]:
    """Return the product of two operands, summed over the labels that are not in `keep`."""
    x, x_term = _summed(x, x_term, keep | set(y_term))
    y, y_term = _summed(y, y_term, keep | set(x_term))
    stack = [a for a in x_term if a in y_term and a in keep]
    inner = [a for a in x_term if a in y_term and a not in keep]
    rows = [a for a in x_term if a not in y_term]
    columns = [a for a in y_term if a not in x_term]
    term = (*stack, *rows, *columns)
    if not inner:
        shape = tuple([sizes[a] for a in term])
        parts = [broadcast(_arranged(v, t, list(term)), shape) for v, t in ((x, x_term), (y, y_term))]
        return multiply(*parts), term
    # The dimensions of the stack are kept: each may have its own stride, so operands need no copy.
    lead = tuple([sizes[a] for a in stack])
    count_rows, count_inner, count_columns = (
        math.prod([sizes[a] for a in labels]) for labels in (rows, inner, columns)
    )
    m = _stretched(_arranged(x, x_term, [*stack, *rows, *inner]), [*stack, *rows, *inner], sizes)
    n = _stretched(_arranged(y, y_term, [*stack, *inner, *columns]), [*stack, *inner, *columns], sizes)
    if not rows and not columns:
        # Dot products as sums, which fuse with neighbouring ops.
        return sum_over(multiply(m, n), tuple(range(len(stack), len(stack) + len(inner)))), tuple(stack)
    product = matmul_op.bind(
        to_shape(m, (*lead, count_rows, count_inner)),
        to_shape(n, (*lead, count_inner, count_columns)),
    )
    return to_shape(product, tuple([sizes[a] for a in term])), term


def _stretched(x: Any, labels: list[str], sizes: dict[str, int]) -> Any:
    return broadcast(x, tuple([sizes[a] for a in labels]))


def _einsum(*operands_and_equation: Any) -> Any:
    *given, equation = operands_and_equation
    operands = list(promote(*given))
    terms, result = _parse(equation, tuple([len(x.shape) for x in operands]))
    sizes = _sizes(equation, terms, [x.shape for x in operands])
    parts = [_without_repeats(x, term) for x, term in zip(operands, terms, strict=True)]
    if len(parts) > 2:
        shapes = tuple([tuple([sizes[a] for a in term]) for _, term in parts])
        order = _path(tuple([term for _, term in parts]), result, shapes)
    else:
        order = [tuple(range(len(parts)))]
    for chosen in order:
        taken = [parts[i] for i in chosen]
        parts = [part for i, part in enumerate(parts) if i not in chosen]
        keep = {*result, *[a for _, term in parts for a in term]}
        at, at_term = taken[0]
        for position, (y, y_term) in enumerate(taken[1:], start=2):
            later = {a for _, term in taken[position:] for a in term}
            at, at_term = _pair(at, at_term, y, y_term, keep | later, sizes)
        parts.append(_summed(at, at_term, keep))
    total, term = parts[0]
    return broadcast(_arranged(total, term, list(result)), tuple([sizes[a] for a in result]))


def einsum(equation: str, *inputs: TensorLike, name: str | None = None, optimize: Any = None) -> Tensor:
    """Multiply tensors and sum over the labels that the result does not name.

    Parameters
    ----------
    equation : str
        As for ``numpy.einsum``: ``"ij,jk->ik"``. Without an arrow, the labels that appear once form the result, in
        alphabetic order. A label that appears twice in one operand takes its diagonal. ``...`` stands for dimensions
        that broadcast.
    *inputs : tensor_like
        The operands.
    name : str, optional
        Ignored.
    optimize : optional
        Ignored: the order of contraction is always optimized.

    Raises
    ------
    ShapeError
        If the operands do not fit the labels.

    Examples
    --------
    >>> a = jt.constant([[1., 2.], [3., 4.]])
    >>> jt.einsum("ij,kj->ik", a, a).numpy()
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    if not isinstance(equation, str):
        raise TypeError(
            f"[einsum] the equation must be a string such as 'ij,jk->ik', got {type(equation).__name__}"
        )
    if not inputs:
        raise ValueError(f"[einsum] {equation!r} needs operands")
    return apply(_einsum, inputs, (equation,))


# ---- diagonals -------------------------------------------------------------------------------------------------------


def _two_axes(op: str, x: Any, axis1: int, axis2: int) -> tuple[int, int]:
    """Return the two dimensions of the matrices in `x`, without negative numbers."""
    if len(x.shape) < 2:
        raise ShapeError(f"[{op}] needs at least 2 dimensions, got shape {x.shape}; expand_dims adds one")
    first, second = (one_axis(op, axis, len(x.shape)) for axis in (axis1, axis2))
    if first == second:
        raise ShapeError(f"[{op}] axes {axis1} and {axis2} are the same")
    return first, second


def _diag_part(x: Any, offset: int, axis1: int, axis2: int, op: str = "diag_part") -> Any:
    x = as_symbol(x)
    first, second = _two_axes(op, x, axis1, axis2)
    down, right = max(-offset, 0), max(offset, 0)
    count = max(min(x.shape[first] - down, x.shape[second] - right), 0)
    rows, columns = _counted(count, down), _counted(count, right)
    others = [d for d in range(len(x.shape)) if d not in (first, second)]
    if not offset and x.shape[first] == x.shape[second]:
        return diagonal_op.bind(permuted(x, (*others, first, second)))
    picked = gather_op.bind(permuted(x, (first, second, *others)), rows, columns, axis=0)
    return permuted(picked, (*range(1, len(picked.shape)), 0))


def _counted(count: int, start: int) -> Any:
    rows = iota((count,), 0, int64)
    return add(rows, start) if start else rows


def _diagonal_number(k: Any) -> int:
    """Return `k` as the number of a diagonal, limited to a range beyond which diagonals have no elements."""
    return max(-(2**31), min(as_int("k", k), 2**31))


def _band_of(x: Any, padding: Any, diagonals: tuple[int, int], align: str, axis1: int, axis2: int) -> Any:
    x = as_symbol(x)
    first, second = _two_axes("diag_part", x, axis1, axis2)
    others = [d for d in range(len(x.shape)) if d not in (first, second)]
    lower, upper = diagonals
    if lower == upper:
        band_width("diag_part", x.shape[first], x.shape[second], diagonals)
        return _diag_part(x, lower, axis1, axis2)
    return band_of(permuted(x, (*others, first, second)), padding, diagonals, align, "diag_part")


def diag_part(
    input: TensorLike,
    k: int | Sequence[int] = 0,
    axis1: int = -2,
    axis2: int = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
    name: str | None = None,
) -> Tensor:
    """Return diagonals of the matrices in dimensions `axis1` and `axis2`, as the last dimension or the last two.

    Parameters
    ----------
    input : tensor_like
        At least 2 dimensions.
    k : int or pair of int
        Number of the diagonal, counted upwards from the main diagonal. It may be out of range: there are then no
        elements. A pair (lowest, highest) gives several diagonals, the highest in the first row of the result.
    axis1, axis2 : int
        The dimensions of rows and columns.
    padding_value : tensor_like
        A scalar, which fills rows of the result whose diagonals are shorter than the longest.
    align : {'RIGHT_LEFT', 'LEFT_RIGHT', 'LEFT_LEFT', 'RIGHT_RIGHT'}
        End of the row to which diagonals above (first word) and below (second word) the main diagonal are aligned.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` has less than 2 dimensions, or a pair `k` is out of range.
    ValueError
        If `k` or `align` is none of the above.

    Examples
    --------
    >>> jt.linalg.diag_part([[1, 2, 3], [4, 5, 6], [7, 8, 9]], k=(-1, 1)).numpy()
    array([[0, 2, 6],
           [1, 5, 9],
           [4, 8, 0]], dtype=int32)
    """
    diagonals, axes, align = diagonal_range(k), (axis_key(axis1), axis_key(axis2)), alignment(align)
    if isinstance(diagonals, int):
        return apply(_diag_part, (input,), (_diagonal_number(diagonals), *axes))
    return apply(_band_of, (input, padding_value), (diagonals, align, *axes))


def _trace(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    diagonal = _diag_part(x, offset, axis1, axis2, "trace")
    return sum_over(diagonal, (len(diagonal.shape) - 1,))


def trace(x: TensorLike, k: int = 0, axis1: int = -2, axis2: int = -1, name: str | None = None) -> Tensor:
    """Return the sum of the `k`-th diagonal of the matrices in dimensions `axis1` and `axis2`.

    Parameters
    ----------
    x : tensor_like of shape (..., m, n)
        Matrices.
    k : int
        Number of the diagonal; positive ones lie above the main diagonal.
    axis1, axis2 : int
        The two dimensions of the matrices.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `x` has fewer than two dimensions.

    Examples
    --------
    >>> jt.linalg.trace([[1.0, 2.0], [3.0, 4.0]]).numpy()
    array(5., dtype=float32)
    """
    return apply(_trace, (x,), (_diagonal_number(k), axis_key(axis1), axis_key(axis2)))
