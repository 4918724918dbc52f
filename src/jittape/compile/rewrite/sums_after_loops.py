"""Carries of a loop that only add up a value of each iteration become sums after the loop.

The iterations are then independent, so threads share them. A second loop adds the values in the order of the first, so
the sums have the same bits. In a gradient by blocks of data, this turns the loop over the blocks into a parallel one.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.control.body import numbered
from jittape.control.loop_parts import Parts, live_part
from jittape.core.forms import Alias, Control, Iota, Reduce, View, runs_of
from jittape.core.program import Body, Op, Program, bodies_of, is_dynamic_dim
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["sums_after_loops"]


def sums_after_loops(program: Program) -> Program:
    """Return `program` with sums of values of long iterations computed after the loop that makes the values."""
    if not any(isinstance(p.lowering, Control) and p.lowering.kind == "loop" for p in primitives_of(program)):
        return program
    editor = Editor(program)
    runs = runs_of(program.ops)
    found: dict[int, _Sums | None] = {}
    for op in program.ops:
        run = runs.get(op.out)
        if run is None or run[0].primitive.lowering.kind != "loop":  # type: ignore[union-attr]
            editor.ops.append(op)
            continue
        first = run[0].out
        if first not in found:
            found[first] = _sums_of(run)
        sums = found[first]
        if sums is None:
            editor.ops.append(op)
        else:
            _separate(editor, op, sums)
    return editor.result()


class _Sums(NamedTuple):
    """A loop whose live carries are sums.

    Attributes
    ----------
    terms : mapping of int to int
        For each carry, the slot of the body that is added to it.
    body : Body
        The body without the carries.
    number : mapping of int to int
        Slots of `body` by slots of the loop's body.
    """

    terms: dict[int, int]
    body: Body
    number: dict[int, int]


def _sums_of(run: tuple[Op, ...]) -> _Sums | None:
    """Return the sums of a loop; None if it has another carry, or iterations too short for threads."""
    params = dict(run[0].params)
    trips = params["trips"]
    if trips.__class__ is not int or trips < tuning.row_tile_min_groups or params["limit"] is not None:
        return None
    body: Body = params["body"]
    inputs = Parts.of_body(body, params["fixed"], params["carries"])
    indices = [dict(op.params)["result_index"] for op in run]
    used = frozenset([number for kind, number in indices if kind == "carry"])
    stacked = tuple(dict.fromkeys([number for kind, number in indices if kind == "stack"]))
    live, part = live_part(body, inputs, used, stacked, trips)
    if not live or any(kind == "count" for kind, _ in indices):
        return None
    part = simplify(part)
    op_of = {op.out: op for op in part.ops}
    uses = [*part.outputs, *chain.from_iterable(op.args for op in part.ops)]
    terms = {}
    for number, out in zip(live, part.outputs, strict=False):
        term = _term(op_of.get(out), inputs.carries[number], uses)
        if term is None or uses.count(out) > 1:
            return None
        terms[number] = term
    if not _is_worthwhile(part, list(terms.values()), trips):
        return None
    kept = (body.program.inputs[0], *inputs.fixed, *inputs.stacks)
    rows = part.outputs[len(live) :]
    outputs = tuple(dict.fromkeys([*terms.values(), *rows]))
    alone, places = numbered(Program(kept, part.ops, outputs, {**body.program.avals, **part.avals}))
    of_rows = {old: places[new] for old, new in zip(stacked, rows, strict=True)}
    return _Sums(terms, alone, {term: places[term] for term in terms.values()} | of_rows)


def _term(op: Op | None, carry: int, uses: list[int]) -> int | None:
    """Return the slot that is added to a carry, which nothing else reads."""
    if op is None or not op.primitive.is_addition or op.args.count(carry) != 1 or uses.count(carry) != 1:
        return None
    return op.args[1 - op.args.index(carry)]


def _is_worthwhile(part: Program, terms: list[int], trips: int) -> bool:
    """Return whether an iteration computes many elements, and little memory holds the terms of all iterations."""
    stored = trips * sum([part.avals[slot].nbytes for slot in terms])
    return bool(stored <= tuning.row_tile_memory_bytes and _elements(part) >= tuning.parallel_loop_elements)


def _elements(program: Program) -> Any:
    """Return the number of elements that the ops of a program compute, add up or multiply, inner loops included."""
    total, avals = 0, program.avals
    for run in {run[0].out: run for run in runs_of(program.ops).values()}.values():
        times = max(1, dict(run[0].params).get("trips", 1))
        total += sum([times * _elements(body.program) for body in bodies_of(run[0])])
    for op in program.ops:
        form = op.primitive.lowering
        if not isinstance(form, (Control, View, Alias, Iota)):
            taken = op.args if isinstance(form, Reduce) or op.primitive.is_matmul else ()
            sizes = [avals[slot].size for slot in (*taken, op.out) if not is_dynamic_dim(avals[slot])]
            total += sum(sizes)
    return total


def _separate(editor: Editor, op: Op, sums: _Sums) -> None:
    """Append the result `op` of a loop, computed without carries or from a stack of terms."""
    params = dict(op.params)
    kind, which = params["result_index"]
    given = Parts.of_operands(op.args, params["trips"], params["fixed"], params["carries"])
    rows = params | {"body": sums.body, "carries": 0}
    args = (*given.fixed, *given.stacks)
    if kind == "stack":
        editor.bind(op.primitive, args, op, op.out, **rows | {"result_index": (kind, sums.number[which])})
        return
    stack = ("stack", sums.number[sums.terms[which]])
    terms = editor.bind(op.primitive, args, op, **rows | {"result_index": stack})
    start = given.carries[which]
    aval = editor.avals[start]
    number, carry, term, total = range(4)
    body: Program = params["body"].program
    addition = next(o for o in body.ops if o.primitive.is_addition and sums.terms[which] in o.args)
    add = Op(addition.primitive, (carry, term), addition.params, total, addition.source)
    avals = {number: body.avals[body.inputs[0]], carry: aval, term: aval, total: aval}
    adding, _ = numbered(Program((number, carry, term), (add,), (total,), avals))
    own = params | {"body": adding, "fixed": 0, "carries": 1, "result_index": ("carry", 0)}
    editor.bind(op.primitive, (start, terms), op, op.out, **own)
