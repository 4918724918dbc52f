"""Diagonal Jacobians: only the diagonals are computed, and one step scatters them into zeros.

A Jacobian is a pass over a stack of unit vectors. Elementwise operations, slices and sums keep such a stack a sum of
diagonals: one diagonal for ``tanh(x)``, a few for a stencil. This pass carries out the operations on the values of the
diagonals, `Term` by `Term`, as far as they are linear in the stack and map zeros to zeros. The result replaces

- an output of the program, or an operand of a library call: `diagonal_scatter_op` builds the array;
- a sum that reduces a stack to an array without diagonals;
- an operand of any other operation, as where the stack meets a full array: the loop over that array selects one or two
  diagonals.

A sum of terms is not multiplied term by term unless no two of its terms overlap. Where two terms cancel, the zero that
remains may meet an infinite derivative, and must stay zero.

The Hessian of Rosenbrock's function, n = 100, is three vectors of 99 numbers, computed in one loop, instead of two
loops over 10,000.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from jittape.compile.rewrite.add_scattered import add_scattered
from jittape.compile.rewrite.affine_maps import AffineMap, do_meet, is_diagonal, placed
from jittape.compile.rewrite.decompose import decompose
from jittape.compile.rewrite.diagonal_op import diagonal_scatter_op, fits
from jittape.compile.rewrite.diagonal_terms import Term, TermWriter
from jittape.compile.rewrite.program_editor import primitives_of, separate_outputs
from jittape.core.dtypes import NATIVE, NATIVE_FLOATS
from jittape.core.forms import Alias, Call, Concatenate, Control, Iota, Map, Pad, Reduce, View
from jittape.core.program import Aval, Op, Program
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.primitives.elementwise.arithmetic import add_op
from jittape.primitives.record_parts import constant_of

__all__ = ["diagonals_of", "scatter_diagonals"]


def scatter_diagonals(program: Program) -> Program:
    """Return `program` with arrays of few diagonals built from the diagonals."""
    if not any(p.is_equality for p in primitives_of(program)):
        return program
    finder = _Finder(program)
    if not (finder.scattered or finder.replaced or finder.selected):
        return program
    written = simplify(finder.result())
    # If every output was a separate value, as a loop needs it, it still is.
    computed = set(program.outputs).difference(program.inputs)
    return separate_outputs(written) if len(computed) == len(program.outputs) else written


def diagonals_of(program: Program) -> tuple[Program, list[tuple[AffineMap, ...]]] | None:
    """Return a program of the values on the diagonals of the only output, and their positions in it.

    The outputs of the new program are the values of one term each; the maps say where its elements are added to zeros.
    None if the output is no sum of a few terms.
    """
    program = add_scattered(decompose(program, NATIVE))
    finder = _Finder(program)
    (slot,) = program.outputs
    terms = finder.terms.get(slot)
    if terms is None or slot in finder.replaced:
        return None
    values = tuple([term.values for term in terms])
    ops = tuple(finder.editor.ops)
    return simplify(program.replaced(ops, values, finder.avals)), [term.maps for term in terms]


class _Finder(TermWriter):
    """Finder of arrays that are sums of terms; it visits the ops of a program once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        super().__init__(program)
        self.terms: dict[int, list[Term]] = {}
        self.replaced: dict[int, int] = {}
        self.scattered: dict[int, int] = {}
        self.selected: dict[int, int] = {}
        self.apart: dict[int, bool] = {}
        for op in program.ops:
            self._visit(op)
        self.outputs = tuple([self._scattered_or_same(slot) for slot in program.outputs])

    def result(self) -> Program:
        """Return the new program."""
        return self.program.replaced(tuple(self.editor.ops), self.outputs, self.avals)

    def _visit(self, op: Op) -> None:
        self.op = op = op._replace(args=tuple([self.replaced.get(slot, slot) for slot in op.args]))
        self.producers[op.out] = op
        terms = self._terms_of(op) if self.avals[op.out].dtype in NATIVE_FLOATS else None
        if terms is None or len(terms) > tuning.diagonal_terms_limit:
            in_memory = op.primitive.lowering is None or isinstance(op.primitive.lowering, Call | Control)
            instead = self._scattered_or_same if in_memory else self._selected
            self.producers[op.out] = op = op._replace(args=tuple([instead(slot) for slot in op.args]))
            self.editor.ops.append(op)
            return
        self.editor.ops.append(op)
        self.terms[op.out] = terms
        if (
            isinstance(op.primitive.lowering, Reduce)
            and terms
            and not any(is_diagonal(term.maps) for term in terms)
        ):
            full = self.full(terms, self.avals[op.out])
            if full is not None:
                del self.terms[op.out]
                self.replaced[op.out] = full

    # ---- replacements of arrays ----------------------------------------------------------------------------------

    def _scattered_or_same(self, slot: int) -> int:
        """Return the slot of the array built from its terms if this saves work, else `slot`."""
        slot = self.replaced.get(slot, slot)
        terms, aval = self.terms.get(slot), self.avals[slot]
        if (
            not terms
            or aval.size < tuning.diagonal_min_elements
            or all(self._is_constant(term) for term in terms)
        ):
            return slot
        elements = sum([self.avals[term.values].size for term in terms])
        fit = all(fits(self.shape(term.values), term.maps, aval.shape) for term in terms)
        if tuning.diagonal_sparsity * elements > aval.size or not fit:
            return slot
        if slot not in self.scattered:
            self.op = self.producers[slot]
            values, maps = [term.values for term in terms], tuple([term.maps for term in terms])
            self.scattered[slot] = self.bind(
                diagonal_scatter_op, *values, shape=aval.shape, maps=maps, result_index=0
            )
        return self.scattered[slot]

    def _selected(self, slot: int) -> int:
        """Return the slot of an elementwise op's operand with its diagonals selected from their values, or `slot`."""
        terms, aval = self.terms.get(slot, []), self.avals[slot]
        few = 0 < len(terms) <= tuning.selected_diagonals_limit and aval.size >= tuning.diagonal_min_elements
        if not few or all(self._is_constant(term) for term in terms):
            return slot
        if slot not in self.selected:
            parts = [self.selected_from(term, aval) for term in terms]
            total = parts[0]
            for part in parts[1:]:
                total = None if total is None or part is None else self.bind(add_op, total, part)
            self.selected[slot] = slot if total is None else total
        return self.selected[slot]

    def _is_constant(self, term: Term) -> bool:
        return constant_of(term.values, self.producers) is not None

    # ---- terms of results, by the lowering of an op --------------------------------------------------------------

    def _terms_of(self, op: Op) -> list[Term] | None:
        form, out = op.primitive.lowering, self.avals[op.out]
        if isinstance(form, Map) and not op.args:
            return [] if constant_of(op.out, self.producers) == 0 else None
        if op.primitive.is_cast and op.args[0] in self.producers:
            unit = self._unit(self.producers[op.args[0]], out)
            if unit is not None:
                return [unit]
        if isinstance(form, Map):
            return self._mapped(op)
        if isinstance(form, Concatenate):
            return self._joined(op, form)
        terms = self.terms.get(op.args[0]) if op.args else None
        if terms is None or len(op.args) > 1:
            return None
        found: list[Term] = []
        for term in terms:
            made = self._moved(op, term)
            if made is None:
                return None
            found += made
        return found

    def _unit(self, op: Op, out: Aval) -> Term | None:
        """Return a unit matrix, or a stack of unit matrices, if `op` compares two coordinates, else None."""
        if not op.primitive.is_equality:
            return None
        sides = [self.producers.get(slot) for slot in op.args]
        axes = [
            dict(side.params)["axis"]
            for side in sides
            if side is not None and isinstance(side.primitive.lowering, Iota)
        ]
        if len(axes) != 2 or axes[0] == axes[1] or 0 in out.shape:
            return None
        a, b = sorted(axes)
        shape = tuple(
            [min(out.shape[a], out.shape[b]) if i == a else n for i, n in enumerate(out.shape) if i != b]
        )
        maps = [AffineMap(0, ((i if i < b else a if i == b else i - 1, 1),)) for i in range(out.ndim)]
        return Term(self.constant(1, Aval(shape, out.dtype)), tuple(maps))

    def _mapped(self, op: Op) -> list[Term] | None:
        """Return the terms of an elementwise op: the op on the values of the terms of its operands."""
        group = self._linear_group(op)
        if group is None:
            return None
        found = []
        for maps, shape, known in self._by_position(op, group):
            if op.primitive.is_addition and len(known) == 1:
                (values,) = known.values()
                found.append(Term(values, maps))
                continue
            args: list[int] = []
            for i in range(len(op.args)):
                value = self._value_at(op, i, group, maps, shape, known)
                if value is None:
                    return None
                args.append(value)
            found.append(Term(self.bind(op.primitive, *args, **dict(op.params)), maps))
        return found

    def _linear_group(self, op: Op) -> tuple[int, ...] | None:
        """Return the operands that are sums of terms and in which the op can be carried out term by term.

        If other operands multiply the terms, or a cast may round them, no two terms of an operand may overlap.
        """
        for group in self._linear(op):
            if all(op.args[i] in self.terms for i in group):
                break
        else:
            return None
        multiplied = len(group) < len(op.args)
        rounded = self.avals[op.out].dtype != self.avals[op.args[0]].dtype
        if (multiplied or rounded) and not all([self._is_apart(op.args[i]) for i in group]):
            return None
        return group

    def _by_position(
        self, op: Op, group: tuple[int, ...]
    ) -> list[tuple[tuple[AffineMap, ...], tuple[int, ...], dict[int, int]]]:
        """Return the positions and shapes of all terms of the operands in `group`, with the values by operand."""
        places: dict[tuple[tuple[AffineMap, ...], tuple[int, ...]], list[dict[int, int]]] = {}
        for i in group:
            for values, maps in self.terms[op.args[i]]:
                same = places.setdefault((maps, self.shape(values)), [])
                free = [known for known in same if i not in known]
                if not free:
                    free.append({})
                    same += free
                free[0][i] = values
        return [(*place, known) for place, same in places.items() for known in same]

    def _value_at(
        self,
        op: Op,
        i: int,
        group: tuple[int, ...],
        maps: tuple[AffineMap, ...],
        shape: tuple[int, ...],
        known: Mapping[int, int],
    ) -> int | None:
        """Return the values of operand `i` at the positions of a term; None if they are no view of the operand."""
        if i in known:
            return known[i]
        if i in group:
            return self.constant(0, Aval(shape, self.avals[op.args[i]].dtype))
        return self.picked(op.args[i], maps, shape)

    def _is_apart(self, slot: int) -> bool:
        """Return whether no two terms of an array overlap, after the terms on one diagonal are joined."""
        terms = self.terms[slot]
        if slot not in self.apart and len(terms) > 1:
            terms = self.terms[slot] = self.joined(terms)
            own = tuple([(self.shape(values), maps) for values, maps in terms])
            self.apart[slot] = not do_meet(own, self.avals[slot].shape)
        return self.apart.get(slot, True)

    def _linear(self, op: Op) -> list[tuple[int, ...]]:
        """Return the groups of operands in which an op with these operands is linear."""
        found = list(op.primitive.linear)
        for group in op.primitive.linear_if_finite:
            others = [constant_of(s, self.producers) for i, s in enumerate(op.args) if i not in group]
            if all(isinstance(v, (int, float)) and math.isfinite(v) and v != 0 for v in others):
                found.append(group)
        return found

    def _joined(self, op: Op, form: Concatenate) -> list[Term] | None:
        operands = tuple([self.avals[slot] for slot in op.args])
        if not all(slot in self.terms for slot in op.args):
            return None
        found = []
        for number, slot in enumerate(op.args):
            index = form.index(number, operands, self.avals[op.out], **dict(op.params))
            found += [Term(values, placed(maps, index)) for values, maps in self.terms[slot]]
        return found

    def _moved(self, op: Op, term: Term) -> list[Term] | None:
        """Return the terms of the result for one term of the only operand; None if it is no sum of terms."""
        form, params = op.primitive.lowering, dict(op.params)
        x, out = self.avals[op.args[0]], self.avals[op.out]
        if 0 in (*x.shape, *out.shape):
            return None
        if isinstance(form, Pad):
            return [Term(term.values, placed(term.maps, form.index(x, out, **params)))]
        if isinstance(form, View):
            return self.viewed(term, form.index(x, out, **params), out.shape)
        if isinstance(form, Alias):
            return self.reshaped(term, x.shape, out.shape)
        if isinstance(form, Reduce) and op.primitive.linear:
            return [self.summed(term, op.primitive, params)]
        return None
