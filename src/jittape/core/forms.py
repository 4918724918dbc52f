"""The forms of ops: what the code generator asks an op for.

The simplest is `Map`; most others say, by an `Index` for each dimension, where in one array an element of another
stands. An op without a form runs as a NumPy step between kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jittape.core.program import Op

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
    """The index into one dimension of an operand as an affine function of one loop coordinate.

    ``offset + step * coordinate[axis] + value of operand number dynamic``; `axis` and `dynamic` may be None. Where that
    operand is an array, the value is its element at the coordinates `at`.
    """

    axis: int | None = None
    step: int = 1
    offset: int = 0
    dynamic: int | None = None
    at: tuple[int, ...] = ()


@dataclass(frozen=True)
class Map:
    """Every element of the result is a scalar expression of the same element of each operand.

    `expression` is called as ``expression(m, *values, **params)`` with the math namespace `m` of the code generator
    (`m.exp`, `m.where`, ...) and values that have Python's operators. An op without operands is a constant:
    ``m.literal(value, dtype)``.
    """

    expression: Callable[..., Any]


@dataclass(frozen=True)
class View:
    """Every element of the result is some element of the first operand.

    ``index(operand aval, result aval, **params)`` gives one `Index` for every dimension of the first operand, in terms
    of the result's coordinates. Further operands are integers that an index may add (`Index.dynamic` is the operand's
    number, from 1): scalars, or arrays of which `Index.at` says which element.
    """

    index: Callable[..., tuple[Index, ...]]


@dataclass(frozen=True)
class Pad:
    """The converse of `View`: the first operand is laid into zeros.

    ``index(operand aval, result aval, **params)`` gives one `Index` for every dimension of the *result*, in terms of
    the operand's coordinates; each axis of the operand appears exactly once. Elements that nothing is laid on are zero.
    """

    index: Callable[..., tuple[Index, ...]]


@dataclass(frozen=True)
class DynamicUpdateSlice:
    """The second operand is laid over the first.

    ``index(second operand's aval, result aval, **params)`` gives one `Index` for every dimension of the result, in
    terms of the second operand's coordinates, as for `Pad`. Further operands are integer scalars, numbered from 2.
    """

    index: Callable[..., tuple[Index, ...]]


@dataclass(frozen=True)
class Concatenate:
    """Every operand is a part of the result, and every element of the result is in one of them.

    ``index(operand number, operand avals, result aval, **params)`` gives one `Index` for every dimension of the result,
    in terms of that operand's coordinates.
    """

    index: Callable[..., tuple[Index, ...]]


@dataclass(frozen=True)
class Alias:
    """The result has the very bytes of the operand in the same (C) order, under another shape."""


@dataclass(frozen=True)
class Iota:
    """No operands; every element is its own coordinate along the axis that the parameter `axis` names."""


@dataclass(frozen=True)
class Reduce:
    """Combine the elements along the axes that the parameter `axes` (sorted tuple) names; these go from the shape.

    `combine(m, a, b)` must be associative and commutative up to rounding; `identity(dtype)` is its neutral element.
    The accumulator has the result's dtype, to which every element is cast first.
    """

    combine: Callable[..., Any]
    identity: Callable[[np.dtype[Any]], Any]


@dataclass(frozen=True)
class Scan:
    """Elements are combined one after another along the axis that the parameter `axis` names.

    ``combine(m, before, *elements)`` gives an element of the result from the one before it, which is `start` for the
    first, and the same elements of the operands.
    """

    combine: Callable[..., Any]
    start: float


@dataclass(frozen=True)
class Scatter:
    """Elements of the second operand are combined, one after another, with elements of a copy of the first.

    ``index(second operand's aval, result aval, **params)`` gives one `Index` for every dimension of the result, in
    terms of the second operand's coordinates; further operands are integers, numbered from 2. ``combining(**params)``
    is the primitive of the form `Map` that makes the new element of the old one and the value; None: the value is it.
    """

    index: Callable[..., tuple[Index, ...]]
    combining: Callable[..., Primitive | None]


@dataclass(frozen=True)
class CheckedMap:
    """A map of its operand that exists only for values in a range.

    In machine code ``of(operand, **params)`` takes its place, written with user-level functions, `Assert` among them;
    or the operand itself if it is known to be from 0 to below the parameter `size`.
    """

    of: Callable[..., Any]


@dataclass(frozen=True)
class Assert:
    """Ends the run where the operand, a truth value, is true: what the program says cannot be done."""


@dataclass(frozen=True)
class Decomposition:
    """In machine code, other ops take its place: ``of(*handles, **params)``, written with user-level functions.

    Where it gives None, the op stays what it is.
    """

    of: Callable[..., Any]


@dataclass(frozen=True)
class Call:
    """A library routine, by the name under which the code generator knows its calling sequence (``"gemm"``).

    For dtypes that the routine does not have, `otherwise` takes its place if there is one, as in `Decomposition`.
    """

    routine: str
    otherwise: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Control:
    """A loop or a branch, whose parameters hold programs of their own.

    An op has one result, such a call may have many: the parameter `pick` says which of them an op is. Ops of one
    program that differ in nothing else are one *run*, which is computed once (`runs_of`).

    Attributes
    ----------
    kind : str
        Which of the code generator's calling sequences it has: ``"loop"`` or ``"branch"``.
    run : callable
        ``run(operands, picks, **params) -> list of arrays``: the evaluation by NumPy, for all results asked for.
    vjp : callable
        ``vjp(cotangents, along, operands, **params) -> cotangents by operand number``; the cotangents that come in are
        lists of parts to be added up, by pick.
    flow : callable
        ``flow(follow, arriving, **params) -> Flow or None``: how the result depends on the sources of a gradient, given
        how the operands do. ``follow(program, arriving)`` answers that for the slots of a body; see
        `jittape.transform.opaque`.
    """

    kind: str
    run: Callable[..., list[Any]]
    vjp: Callable[..., Mapping[int, Any]]
    flow: Callable[..., Any] = lambda *_, **__: None


Lowering = (
    Map | View | Pad | DynamicUpdateSlice | Concatenate | Alias | Iota | Reduce | Scan
    | Scatter | CheckedMap | Assert | Decomposition | Call | Control
)  # fmt: skip


def run_key(op: Op) -> tuple[Any, ...]:
    """What the ops of one run have in common."""
    return (op.primitive, op.args, tuple([pair for pair in op.params if pair[0] != "result_index"]))


def runs_of(ops: Iterable[Op]) -> dict[int, tuple[Op, ...]]:
    """For every op of a `Control` primitive, by its slot, all ops of its run, in order."""
    runs: dict[tuple[Any, ...], list[Op]] = {}
    for op in ops:
        if isinstance(op.primitive.lowering, Control):
            runs.setdefault(run_key(op), []).append(op)
    return {op.out: tuple(run) for run in runs.values() for op in run}
