"""Lowerings: the information that the code generator needs about an op.

The simplest lowering is `Map`. Most others are index maps: one `Index` per dimension says which element of one array
corresponds to an element of another. An op without a lowering runs as a NumPy step between kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.program import Op
from jittape.core.symbolic.memo_keys import memo_keys
from jittape.value_classes import NamedTuple, value_class

if TYPE_CHECKING:
    from jittape.core.primitive import Primitive

__all__ = [
    "Alias",
    "Assert",
    "Call",
    "CheckedMap",
    "Concatenate",
    "Control",
    "Decomposition",
    "DynamicUpdateSlice",
    "Index",
    "Iota",
    "Lowering",
    "Map",
    "Pad",
    "Reduce",
    "Scan",
    "Scatter",
    "View",
    "run_key",
    "runs_of",
]


class Index(NamedTuple):
    """Index into one dimension of an array, as an affine function of one loop coordinate.

    The index is ``offset + step * coordinate[axis] + operands[dynamic]``; `axis` and `dynamic` may be None. If the
    operand is an array, its element at the coordinates `at` is added.
    """

    axis: int | None = None
    step: int = 1
    offset: int = 0
    dynamic: int | None = None
    at: tuple[int, ...] = ()


@value_class
class Map:
    """Each element of the result is a scalar expression of the corresponding elements of the operands.

    `expression` is called as ``expression(m, *values, **params)`` with the math namespace `m` of the code generator
    (`m.exp`, `m.where`, ...) and values that have Python's operators. An op without operands is a constant:
    ``m.literal(value, dtype)``.
    """

    expression: Callable[..., Any]


@value_class
class View:
    """Each element of the result is an element of the first operand.

    ``index(operand aval, result aval, **params)`` returns one `Index` for each dimension of the first operand, in
    coordinates of the result. The other operands are integers that an index may add (`Index.dynamic` is the number of
    the operand, from 1): scalars, or arrays with an element chosen by `Index.at`.
    """

    index: Callable[..., tuple[Index, ...]]


@value_class
class Pad:
    """The inverse of `View`: the elements of the first operand are written into an array of zeros.

    ``index(operand aval, result aval, **params)`` returns one `Index` for each dimension of the *result*, in
    coordinates of the operand. Each axis of the operand appears exactly once.
    """

    index: Callable[..., tuple[Index, ...]]


@value_class
class DynamicUpdateSlice:
    """The second operand overwrites a part of a copy of the first.

    ``index(second operand's aval, result aval, **params)`` returns one `Index` for each dimension of the result, in
    coordinates of the second operand, as for `Pad`. The other operands are integer scalars, numbered from 2.
    """

    index: Callable[..., tuple[Index, ...]]


@value_class
class Concatenate:
    """The operands are parts of the result, and together they cover it.

    ``index(operand number, operand avals, result aval, **params)`` returns one `Index` for each dimension of the
    result, in coordinates of that operand.
    """

    index: Callable[..., tuple[Index, ...]]


@value_class
class Alias:
    """The result has the bytes of the operand in the same (C) order, with another shape."""


@value_class
class Iota:
    """An op without operands: each element is its own coordinate along the parameter `axis`."""


@value_class
class Reduce:
    """Combine the elements along the parameter `axes` (a sorted tuple), which are removed from the shape.

    `combine(m, a, b)` must be associative and commutative up to rounding; `identity(dtype)` is its neutral element.
    The accumulator has the dtype of the result; each element is cast to it first.
    """

    combine: Callable[..., Any]
    identity: Callable[[np.dtype[Any]], Any]


@value_class
class Scan:
    """Combine elements one after another along the parameter `axis`.

    ``combine(m, before, *elements)`` returns an element of the result from the previous one, which is `start` for the
    first, and the corresponding elements of the operands.
    """

    combine: Callable[..., Any]
    start: float


@value_class
class Scatter:
    """Combine elements of the second operand, one after another, with elements of a copy of the first.

    ``index(second operand's aval, result aval, **params)`` returns one `Index` for each dimension of the result, in
    coordinates of the second operand; the other operands are integers, numbered from 2. ``combining(**params)`` is the
    `Map` primitive that computes the new element from the old one and the value. None: the value replaces the element.
    """

    index: Callable[..., tuple[Index, ...]]
    combining: Callable[..., Primitive | None]


@value_class
class CheckedMap:
    """A map that is defined only for operands in a range.

    Compiled code uses ``of(operand, **params)``, which is written with user-level functions, `Assert` among them. If
    the operand is known to be at least 0 and less than the parameter `size`, compiled code uses the operand itself.
    """

    of: Callable[..., Any]


@value_class
class Assert:
    """End the run with an error if the operand, a truth value, is true."""


@value_class
class Decomposition:
    """Compiled code uses other ops: ``of(*handles, **params)``, written with user-level functions.

    If `of` returns None, the op stays as it is. If the program also contains an op of `beside` with the same operands
    and parameters, compiled code uses `shared`, which contains this op, instead of `of`.
    """

    of: Callable[..., Any]
    beside: Primitive | None = None
    shared: Callable[..., Any] | None = None


@value_class
class Call:
    """A library routine, identified by the name of its calling sequence in the code generator (``"gemm"``).

    Attributes
    ----------
    routine : str
        Name of the calling sequence.
    otherwise : callable or None
        Used as in `Decomposition` if the routine does not support a dtype, or if the program also contains an op of
        `beside` with the same operands and parameters, which `otherwise` then shares.
    beside : Primitive or None
        See `otherwise`.
    failure : str
        If the routine may fail, the message for code that runs without the interpreter, which otherwise raises the
        error of the op's `impl`: it names the matrix.
    """

    routine: str
    otherwise: Callable[..., Any] | None = None
    failure: str = ""
    beside: Primitive | None = None


def _without_vjp(*_: Any, **__: Any) -> Mapping[int, Any]:
    raise NotImplementedError("only compiled code has this op")


@value_class
class Control:
    """A loop or a branch, whose parameters contain programs.

    An op has one result, but a loop may have many: the parameter `result_index` selects the result that an op returns.
    Ops of one program that differ only in `result_index` form a *run*, which is computed once (`runs_of`).

    Attributes
    ----------
    kind : str
        Name of the calling sequence in the code generator, such as ``"loop"`` or ``"branch"``.
    run : callable
        ``run(operands, result_indices, **params) -> list of arrays``: NumPy's evaluation of the requested results.
    vjp : callable
        ``vjp(cotangents, along, operands, **params) -> cotangents by operand number``; `cotangents` maps a result index
        to a list of terms whose sum is the cotangent. Ops that only compiled programs contain need none.
    flow : callable
        ``flow(follow, arriving, **params) -> Flow or None``: how the result depends on the sources of a gradient, given
        how the operands do. ``follow(program, arriving)`` answers the same for the slots of a body; see
        `jittape.transform.opaque`.
    """

    kind: str
    run: Callable[..., list[Any]]
    vjp: Callable[..., Mapping[int, Any]] = _without_vjp
    flow: Callable[..., Any] = lambda *_, **__: None


Lowering = (
    Map | View | Pad | DynamicUpdateSlice | Concatenate | Alias | Iota | Reduce | Scan
    | Scatter | CheckedMap | Assert | Decomposition | Call | Control
)  # fmt: skip


def run_key(op: Op) -> tuple[Any, ...]:
    """Return the key that all ops of one run share."""
    return (op.primitive, op.args, tuple([pair for pair in op.params if pair[0] != "result_index"]))


def runs_of(ops: Iterable[Op]) -> dict[int, tuple[Op, ...]]:
    """Return, for the slot of each op of a `Control` primitive, all ops of its run in order."""
    found = [op for op in ops if isinstance(op.primitive.lowering, Control)]
    if not found:
        return {}
    runs: dict[tuple[Any, ...], list[Op]] = {}
    with memo_keys():
        for op in found:
            runs.setdefault(run_key(op), []).append(op)
    return {op.out: tuple(run) for run in runs.values() for op in run}
