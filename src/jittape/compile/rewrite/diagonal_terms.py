"""Arrays as sums of terms: a few values each, with affine maps to their positions in the array.

`TermWriter` appends ops on the few values in place of ops on the array, such as slices, sums and reshapes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jittape.compile.rewrite.affine_maps import (
    AffineMap,
    cut,
    ends,
    is_diagonal,
    parts_of,
    plus,
    renumbered,
    same_size,
    split,
    step_along,
    times,
    with_axis_split,
)
from jittape.compile.rewrite.program_editor import Editor
from jittape.core.builder import literal_op
from jittape.core.forms import Index, View
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op, Program
from jittape.primitives.broadcast import broadcast_to_op, iota_op, reshape_op
from jittape.primitives.elementwise.arithmetic import add_op
from jittape.primitives.elementwise.comparison import equal_op, where_op
from jittape.primitives.key_structure import Region
from jittape.primitives.record_parts import constant_of
from jittape.primitives.shape.views import pad_op, slice_op, transpose_op
from jittape.value_classes import NamedTuple

__all__ = ["Term", "TermWriter"]


class Term(NamedTuple):
    """Values (a slot), and the maps to the positions where they are added; every axis of the values is in some map."""

    values: int
    maps: tuple[AffineMap, ...]


def _pick(x: Any, *, shape: tuple[int, ...], index: tuple[Index, ...]) -> Any:
    coordinates = np.indices(shape)
    places = [
        entry.offset + (0 if entry.axis is None else entry.step * coordinates[entry.axis]) for entry in index
    ]
    return np.broadcast_to(x[tuple(places)], shape)


selected_op = Primitive(
    "selected",
    abstract_eval=lambda x, *, shape, index: Aval(shape, x.dtype),
    impl=_pick,
    lowering=View(lambda x, out, *, shape, index: index),
    gradient_stops="it is made by the compiler",
)


class TermWriter:
    """Editor that appends ops on the values of terms.

    Attributes
    ----------
    producers : dict
        The op of every slot, new ones included.
    op : Op or None
        The op that new ops are written for; they get its source line.
    """

    def __init__(self, program: Program) -> None:
        self.editor = Editor(program)
        self.avals = self.editor.avals
        self.producers: dict[int, Op] = {}
        self.op: Op | None = None

    def bind(self, primitive: Primitive, *args: int, **params: Any) -> int:
        out = self.editor.bind(primitive, args, self.op, **params)
        self.producers[out] = self.editor.ops[-1]
        return out

    def shape(self, slot: int) -> tuple[int, ...]:
        return self.avals[slot].shape

    def constant(self, value: float, aval: Aval) -> int:
        one = self.bind(literal_op, dtype=aval.dtype, value=value)
        return self.bind(broadcast_to_op, one, shape=aval.shape)

    def full(self, terms: Sequence[Term], aval: Aval) -> int | None:
        """Return the slot of the array if no term is a diagonal, else None."""
        total = None
        for values, maps in terms:
            if any(step != 1 for index in maps for _, step in index.steps):
                return None
            perm = tuple([axis for index in maps for axis, _ in index.steps])
            shape = tuple([self.shape(values)[index.steps[0][0]] if index.steps else 1 for index in maps])
            if perm != tuple(range(len(perm))):
                values = self.bind(transpose_op, values, perm=perm)
            values = self.bind(reshape_op, values, shape=shape)
            if shape != aval.shape:
                axes = tuple(range(len(shape)))
                region = Region(axes, tuple([index.offset for index in maps]), shape, (1,) * len(shape))
                values = self.bind(pad_op, values, region=region, shape=aval.shape)
            total = values if total is None else self.bind(add_op, total, values)
        return total

    def selected_from(self, term: Term, aval: Aval) -> int | None:
        """Return the slot of an array with one diagonal, selected from repeated values; None if it is no such array."""
        axes = [axis for index in term.maps for axis, _ in index.steps]
        twice = {axis for axis in axes if axes.count(axis) > 1}
        if len(axes) != len(set(axes)) + 1 or any(len(index.steps) > 1 for index in term.maps):
            return None
        a, b = (d for d, index in enumerate(term.maps) if index.steps and index.steps[0][0] in twice)
        shape, dtype = aval.shape, np.dtype(np.int64)
        lines = Term(term.values, (*term.maps[:b], *term.maps[b + 1 :]))
        line = self.full([lines], Aval((*shape[:b], *shape[b + 1 :]), aval.dtype))
        if line is None or term.maps[b].steps[0][1] != 1:
            return None
        line = self.bind(reshape_op, line, shape=(*shape[:b], 1, *shape[b + 1 :]))
        line = self.bind(broadcast_to_op, line, shape=shape)
        row = self.bind(iota_op, shape=shape, axis=a, dtype=dtype)
        beyond = term.maps[b].offset - term.maps[a].offset
        if beyond:
            row = self.bind(add_op, row, self.constant(beyond, Aval(shape, dtype)))
        mask = self.bind(equal_op, row, self.bind(iota_op, shape=shape, axis=b, dtype=dtype))
        return self.bind(where_op, mask, line, self.constant(0, aval))

    def joined(self, terms: Sequence[Term]) -> list[Term]:
        """Return the terms; terms on one line are joined."""
        found: list[Term] = []
        for term in terms:
            for i, other in enumerate(found):
                one = self._as_one(other, term)
                if one is not None:
                    found[i] = one
                    break
            else:
                found.append(term)
        return found

    def _as_one(self, one: Term, other: Term) -> Term | None:
        """Return two terms of one axis as one term if they are on one line, else None."""
        if not len(self.shape(one.values)) == len(self.shape(other.values)) == 1:
            return None
        if [index.steps for index in one.maps] != [index.steps for index in other.maps]:
            return None
        ways = {
            ((b.offset - a.offset) / step_along(a, 0)) if a.steps else float(b.offset != a.offset) * math.inf
            for a, b in zip(one.maps, other.maps, strict=True)
            if a.steps or b.offset != a.offset
        }
        if len(ways) != 1 or not (way := ways.pop()).is_integer():
            return None
        if way < 0:
            one, other, way = other, one, -way
        begin = int(way)
        (first,), (second,) = self.shape(one.values), self.shape(other.values)
        count = max(first, begin + second)
        region = Region((0,), (0,), (first,), (1,))
        values = self.bind(pad_op, one.values, region=region, shape=(count,))
        further = self.bind(
            pad_op, other.values, region=region._replace(offsets=(begin,), sizes=(second,)), shape=(count,)
        )
        return Term(self.bind(add_op, values, further), one.maps)

    def picked(self, slot: int, maps: Sequence[AffineMap], shape: tuple[int, ...]) -> int | None:
        """Return the elements of an array at the positions of a term's values; None if they are no view of it."""
        op = self.producers.get(slot)
        while op is not None and op.primitive.is_broadcast:
            inner, outer = self.shape(op.args[0]), self.shape(slot)
            own = maps[len(outer) - len(inner) :]
            maps = [
                AffineMap() if n == 1 != m else s
                for s, n, m in zip(own, inner, outer[-len(inner) :] if inner else (), strict=True)
            ]
            slot = op.args[0]
            op = self.producers.get(slot)
        if not self.shape(slot):
            return self.bind(broadcast_to_op, slot, shape=shape)
        own, extents = list[AffineMap](), list[int]()
        for index, n in zip(maps, self.shape(slot), strict=True):
            parts = [(index, n)] if len(index.steps) < 2 else parts_of(index, n, shape)
            if not parts:
                return None
            own += [part for part, _ in parts]
            extents += [m for _, m in parts]
        if is_diagonal(own):
            return None
        if tuple(extents) != self.shape(slot):
            slot = self.bind(reshape_op, slot, shape=tuple(extents))
        found = []
        for offset, steps in own:
            axis, step = steps[0] if steps else (None, 1)
            found.append(Index(axis, step, offset))
        view = tuple(found)
        if shape == tuple(extents) and all(entry == Index(axis) for axis, entry in enumerate(view)):
            return slot
        return self.bind(selected_op, slot, shape=shape, index=view)

    def summed(self, term: Term, primitive: Primitive, params: Mapping[str, Any]) -> Term:
        """Return a term summed over dimensions; an axis of the values that no other dimension has is summed itself."""
        maps = [index for d, index in enumerate(term.maps) if d not in params["axes"]]
        kept = sorted({axis for index in maps for axis, _ in index.steps})
        ndim, values = len(self.shape(term.values)), term.values
        if len(kept) < ndim:
            axes = tuple([axis for axis in range(ndim) if axis not in kept])
            values = self.bind(primitive, values, **{**params, "axes": axes})
        numbers = {axis: i for i, axis in enumerate(kept)}
        return Term(values, tuple([renumbered(index, numbers) for index in maps]))

    def viewed(self, term: Term, view: Sequence[Index], shape: tuple[int, ...]) -> list[Term] | None:
        """Return the part of a term in a view of the array; None if it is no sum of terms."""
        for d, entry in enumerate(view):
            narrowed = self._within(term, d, entry, 1 if entry.axis is None else shape[entry.axis])
            if not isinstance(narrowed, Term):
                return narrowed
            term = narrowed
        maps: list[AffineMap | None] = [None] * len(shape)
        for index, entry in zip(term.maps, view, strict=True):
            if entry.axis is None:
                continue
            if maps[entry.axis] is not None:
                return None
            steps = tuple([(axis, step // entry.step) for axis, step in index.steps])
            maps[entry.axis] = AffineMap((index.offset - entry.offset) // entry.step, steps)
        values, own = term.values, self.shape(term.values)
        for axis, n in enumerate(shape):
            if maps[axis] is None:
                maps[axis] = AffineMap(0, ((len(own), 1),))
                own = (*own, n)
        if own != self.shape(values):
            ones = (1,) * (len(own) - len(self.shape(values)))
            values = self.bind(reshape_op, values, shape=(*self.shape(values), *ones))
            values = self.bind(broadcast_to_op, values, shape=own)
        return [Term(values, tuple([index for index in maps if index is not None]))]

    def _within(self, term: Term, dimension: int, entry: Index, count: int) -> Term | list[Term] | None:
        """Return the part of a term at ``entry.offset + entry.step * c`` of a dimension, `c` less than `count`.

        An empty list if there is no such part, None if the part is no term.
        """
        index, step, first = term.maps[dimension], entry.step, entry.offset
        if entry.dynamic is not None:
            return None
        last = first + step * (count - 1)
        low, high = min(first, last), max(first, last)
        own = self.shape(term.values)
        if not index.steps:
            inside = low <= index.offset <= high and (index.offset - first) % step == 0
            return term if inside else []
        if len(index.steps) > 1:
            least, greatest = ends(index, own)
            return term if abs(step) == 1 and low <= least and greatest <= high else None
        ((axis, pace),) = index.steps
        if abs(step) == 1:
            if pace < 0:
                low, high = -high, -low
            offset = index.offset if pace > 0 else -index.offset
            begin = max(0, -((offset - low) // abs(pace)))
            end = min(own[axis], (high - offset) // abs(pace) + 1)
            return self._narrowed(term, axis, begin, end - begin, 1)
        if abs(pace) != 1:
            return None
        # k = start + stride * c
        start, stride = pace * (first - index.offset), pace * step
        there = [c for c in range(count) if 0 <= start + stride * c < own[axis]]
        if not there:
            return []
        return self._narrowed(term, axis, start + stride * there[0], len(there), stride)

    def _narrowed(self, term: Term, axis: int, start: int, count: int, stride: int) -> Term | list[Term]:
        """Return a term with `count` of its values along an axis."""
        own = self.shape(term.values)
        if count <= 0:
            return []
        if (start, count, stride) == (0, own[axis], 1):
            return term
        values, maps = self._sliced(term.values, axis, start, count, stride), []
        for offset, steps in term.maps:
            offset += sum([step * start for a, step in steps if a == axis])
            maps.append(
                AffineMap(offset, tuple([(a, step * stride if a == axis else step) for a, step in steps]))
            )
        return Term(values, tuple(maps))

    def _sliced(self, values: int, axis: int, start: int, count: int, stride: int) -> int:
        value = constant_of(values, self.producers)
        if value is not None:
            own = self.shape(values)
            return self.constant(
                value, Aval((*own[:axis], count, *own[axis + 1 :]), self.avals[values].dtype)
            )
        return self.bind(slice_op, values, region=Region((axis,), (start,), (count,), (stride,)))

    def reshaped(self, term: Term, old: tuple[int, ...], new: tuple[int, ...]) -> list[Term] | None:
        """Return a term of an array of shape `old` for the array reshaped to `new`."""
        term = self._without_ones(term)
        pairs = [(n, index) for n, index in zip(old, term.maps, strict=True) if n != 1]
        values, maps, number = term.values, list[AffineMap](), 0
        groups = same_size([n for n, _ in pairs], [n for n in new if n != 1])
        merged = []
        for count, _ in groups:
            index = AffineMap()
            for n, one in pairs[number : number + count]:
                index = plus(times(index, n), one)
            merged.append(index)
            number += count
        for i, (_, extents) in enumerate(groups):
            for axis, step in reversed(merged[i].steps):
                own = self.shape(values)
                parts = cut(own[axis], abs(step), extents)
                if len(parts) > 1:
                    values = self.bind(reshape_op, values, shape=(*own[:axis], *parts, *own[axis + 1 :]))
                    merged = [with_axis_split(index, axis, parts) for index in merged]
                    maps = [with_axis_split(index, axis, parts) for index in maps]
            several = split(merged[i], extents, self.shape(values))
            if several is None:
                return None
            maps += several
        rest = iter(maps)
        return [
            self._with_axes_joined(Term(values, tuple([AffineMap() if n == 1 else next(rest) for n in new])))
        ]

    def _with_axes_joined(self, term: Term) -> Term:
        """Return a term with two axes joined where every dimension continues along one at the end of the other."""
        own, maps = self.shape(term.values), term.maps
        for axis in range(len(own) - 2, -1, -1):
            if all(step_along(index, axis) == step_along(index, axis + 1) * own[axis + 1] for index in maps):
                own = (*own[:axis], own[axis] * own[axis + 1], *own[axis + 2 :])
                numbers = {a: a - (a > axis) for a in range(len(own) + 1) if a != axis}
                maps = tuple([renumbered(index, numbers) for index in maps])
        if own == self.shape(term.values):
            return term
        return Term(self.bind(reshape_op, term.values, shape=own), maps)

    def _without_ones(self, term: Term) -> Term:
        """Return a term without axes of extent 1."""
        own = self.shape(term.values)
        kept = [axis for axis, n in enumerate(own) if n != 1]
        if len(kept) == len(own):
            return term
        values = self.bind(reshape_op, term.values, shape=tuple([own[axis] for axis in kept]))
        numbers = {axis: i for i, axis in enumerate(kept)}
        return Term(values, tuple([renumbered(index, numbers) for index in term.maps]))
