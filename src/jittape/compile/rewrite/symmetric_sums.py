"""Sums of a symmetric array over either of its two axes: one of them is computed, and used for both.

The gradient of a function of all differences ``x[:, None] - x`` adds up one array over its rows and over its columns.
The array is antisymmetric, so one sum is the other with the sign changed. The energy of 64 bodies and its gradient
take 7.4 µs instead of 8.9. The rewrite is exact except for rounding, so it is not a simplification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jittape.compile.ir.operand_maps import index_of
from jittape.compile.rewrite.program_editor import Editor
from jittape.core.forms import Alias, Index, Map, Reduce, View
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op, Program
from jittape.core.tuning import tuning
from jittape.primitives.elementwise.arithmetic import negative_op
from jittape.primitives.identity import identity_op
from jittape.value_classes import NamedTuple

__all__ = ["symmetric_sums"]


class _Sum(NamedTuple):
    """A sum of an array, below any negations, and the sign that these make."""

    operand: int
    sign: int
    op: Op

    @property
    def axes(self) -> tuple[int, ...]:
        axes: tuple[int, ...] = dict(self.op.params)["axes"]
        return axes


def symmetric_sums(program: Program) -> Program:
    """Return `program` with one sum in place of sums over different axes that a symmetric array has in common."""
    if sum([op.primitive.is_sum for op in program.ops]) < 2:
        return program
    replaced = _replaced(program)
    if not replaced:
        return program
    editor = Editor(program)
    totals: dict[int, int] = {}
    for op in program.ops:
        if op.out not in replaced:
            editor.ops.append(op)
            continue
        kept, sign = replaced[op.out]
        if kept.op.out not in totals:
            totals[kept.op.out] = editor.bind(op.primitive, (kept.operand,), kept.op, **dict(kept.op.params))
        editor.bind(identity_op if sign > 0 else negative_op, (totals[kept.op.out],), op, op.out)
    return editor.result()


def _replaced(program: Program) -> dict[int, tuple[_Sum, int]]:
    """Return the sums to replace, by slot: the sum that is kept, and the sign of the result in terms of its result."""
    groups: dict[Any, list[_Sum]] = {}
    op_of: dict[int, Op] = {}
    for op in program.ops:
        op_of[op.out] = op
        if op.primitive.is_sum:
            operand, sign = op.args[0], 1
            while operand in op_of and op_of[operand].primitive.weights == (-1,):
                operand, sign = op_of[operand].args[0], -sign
            others = tuple([pair for pair in op.params if pair[0] != "axes"])
            groups.setdefault((operand, op.primitive, others), []).append(_Sum(operand, sign, op))
    exchanges = _Exchanges(op_of, program.avals)
    found: dict[int, tuple[_Sum, int]] = {}
    for sums in groups.values():
        kept: list[_Sum] = []
        for one in sorted(sums, key=lambda one: one.axes, reverse=True):
            signs = [exchanges.sign_between(one, other) for other in kept]
            other, sign = next((pair for pair in zip(kept, signs, strict=True) if pair[1]), (one, 0))
            if sign:
                found[one.op.out] = other, one.sign * sign
                found[other.op.out] = other, other.sign
            else:
                kept.append(one)
    return found


class _Exchanges:
    """Effects of the exchange of two axes on the values of a program."""

    def __init__(self, op_of: Mapping[int, Op], avals: Mapping[int, Aval]) -> None:
        self.op_of, self.avals = op_of, avals
        self._known: dict[tuple[int, int, int, int], int] = {}

    def sign_between(self, one: _Sum, kept: _Sum) -> int:
        """Return the sign of a sum in terms of another one, of the same operand over other axes; 0 if unknown."""
        own, other = (set(a.axes) - set(b.axes) for a, b in ((one, kept), (kept, one)))
        if len(own) != 1 or len(other) != 1:
            return 0
        (p,), (q,) = own, other
        shape = self.avals[kept.operand].shape
        left = [axis for axis in range(len(shape)) if axis not in one.axes]
        right = [axis for axis in range(len(shape)) if axis not in kept.axes]
        if shape[p] != shape[q] or left.index(q) != right.index(p):
            return 0
        return self.sign(kept.operand, kept.operand, p, q)

    def sign(self, a: int, b: int, p: int, q: int, depth: int = 0) -> int:
        """Return 1 or -1 if `b` with the axes `p` and `q` exchanged is `a` times this; 0 if that is unknown."""
        key = a, b, p, q
        if key not in self._known:
            self._known[key] = 0 if depth > tuning.symmetry_depth else self._sign(a, b, p, q, depth + 1)
        return self._known[key]

    def _sign(self, a: int, b: int, p: int, q: int, depth: int) -> int:
        (x, of_a), (y, of_b) = self._source(a), self._source(b)
        exchanged: dict[int | None, int] = {p: q, q: p}
        if x == y and of_b == tuple([i._replace(axis=exchanged.get(i.axis, i.axis)) for i in of_a]):
            return 1
        places = [[k for k, i in enumerate(of_a) if i.axis == axis] for axis in (p, q)]
        if of_a != of_b or [len(found) for found in places] != [1, 1]:
            return 0
        (r,), (s,) = places
        if of_a[r]._replace(axis=q) != of_a[s]:
            return 0
        left, right = self.op_of.get(x), self.op_of.get(y)
        if (
            left is None
            or right is None
            or left.primitive is not right.primitive
            or left.params != right.params
        ):
            return 0
        form = left.primitive.lowering
        if isinstance(form, Map):
            return self._sign_of_map(left, right, r, s, depth)
        if isinstance(form, Reduce) and len(left.args) == 1:
            axes = dict(left.params)["axes"]
            rest = [axis for axis in range(self.avals[left.args[0]].ndim) if axis not in axes]
            found = self.sign(left.args[0], right.args[0], rest[r], rest[s], depth)
            return found if left.primitive.is_sum else max(found, 0)
        return 0

    def _sign_of_map(self, left: Op, right: Op, p: int, q: int, depth: int) -> int:
        primitive = left.primitive
        pairs = zip(left.args, right.args, strict=True)
        found = _sign_of_result(primitive, [self.sign(a, b, p, q, depth) for a, b in pairs])
        weights = primitive.weights
        is_sum_of_two = len(weights) == 2 and abs(weights[0]) == abs(weights[1])
        if found or not (is_sum_of_two or primitive.is_multiplication):
            return found
        signs = [self.sign(a, b, p, q, depth) for a, b in zip(left.args, right.args[::-1], strict=True)]
        if primitive.is_multiplication:
            return signs[0] * signs[1]
        change = 1 if weights[0] == weights[1] else -1
        if change < 0 and self.avals[left.out].dtype.kind == "u":
            return 0  # the negative of a number that has no sign is a large one
        return signs[0] * change if signs[0] == signs[1] else 0

    def _source(self, slot: int) -> tuple[int, tuple[Index, ...]]:
        """Return the value that views show, and for each of its axes the index of the element that is shown."""
        index = tuple([Index(axis) for axis in range(self.avals[slot].ndim)])
        while slot in self.op_of:
            step = self._step_of_view(self.op_of[slot])
            if step is None:
                break
            index = tuple([_composed(i, index) for i in step])
            slot = self.op_of[slot].args[0]
        return slot, index

    def _step_of_view(self, op: Op) -> tuple[Index, ...] | None:
        """Return the index map of a view, or of a reshape that only adds or removes axes of one element."""
        form = op.primitive.lowering
        if op.primitive.is_identity:
            return tuple([Index(axis) for axis in range(self.avals[op.out].ndim)])
        if isinstance(form, View):
            index = index_of(op.primitive, op.params, self.avals[op.args[0]], self.avals[op.out])
            return None if any(i.dynamic is not None for i in index) else index
        if not isinstance(form, Alias):
            return None
        before, after = self.avals[op.args[0]].shape, self.avals[op.out].shape
        long = [axis for axis, n in enumerate(after) if n != 1]
        if [n for n in before if n != 1] != [after[axis] for axis in long]:
            return None
        numbers = iter(long)
        return tuple([Index(next(numbers)) if n != 1 else Index(None, 0) for n in before])


def _composed(inner: Index, outer: Sequence[Index]) -> Index:
    """Return the index into a value from an index into a view of it."""
    if inner.axis is None:
        return Index(None, 0, inner.offset)
    between = outer[inner.axis]
    step = 0 if between.axis is None else inner.step * between.step
    return Index(between.axis, step, inner.offset + inner.step * between.offset)


def _sign_of_result(primitive: Primitive, signs: Sequence[int]) -> int:
    """Return the sign of an elementwise op whose operands get these signs; 0 if the op does not just get one."""
    if 0 in signs:
        return 0
    if primitive.is_even or -1 not in signs:
        return 1
    if primitive.weights:
        return signs[0] if len(set(signs)) == 1 else 0
    alone = {*primitive.linear, *primitive.linear_if_finite}
    odd = [operand for operand, sign in enumerate(signs) if sign < 0]
    return (-1) ** len(odd) if all((operand,) in alone for operand in odd) else 0
