"""Small parts of arrays that the body of a loop or branch writes, or a program with many of them.

Such an array is usually carried from iteration to iteration. Written element by element, it keeps its memory, so an
iteration costs as much as the part. Fused with the computation of the part, the update would be a loop over all
elements, and many updates of one array would be a loop that chooses among all of their parts for each element.
"""

from __future__ import annotations

from typing import Any

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.core.forms import DynamicUpdateSlice, Scatter
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op, Program
from jittape.core.tuning import tuning
from jittape.primitives.elementwise.assertions import MADE
from jittape.primitives.indexing.index_arrays import COMBINING
from jittape.primitives.key_structure import Region

__all__ = ["is_small_part", "part_op", "scatter_parts", "writes_many_parts"]


def _written(x: Any, v: Any, *starts: Any, region: Region, how: str) -> Any:
    result, key, combining = x.copy(), region.key(x.ndim, starts), COMBINING[how]
    result[key] = v if combining is None else combining.impl(x[key], v)
    return result


part_op = Primitive(
    "part",
    abstract_eval=lambda x, v, *starts, region, how: x,
    impl=_written,
    lowering=Scatter(
        lambda v, out, *, region, how: region.indices(out.ndim, arrays=2),
        lambda *, region, how: COMBINING[how],
    ),
    gradient_stops=MADE,
)
"""`x` with `v` combined into a region, as `how` says."""


def is_small_part(part: Aval, whole: Aval) -> bool:
    """Return whether writing `part` costs much less than a loop over `whole`; no step would write an empty one."""
    return bool(0 < part.size * tuning.small_part_ratio <= whole.size)


def writes_many_parts(program: Program) -> bool:
    """Return whether a program without loops writes so many small parts that each is written in the array's memory."""
    if not _has_updates(program):
        return False
    return sum([_is_small_update(op, program) for op in program.ops]) > tuning.fused_parts_limit


def scatter_parts(program: Program) -> Program:
    """Return `program` with `part_op` for each update of a small part."""
    if not _has_updates(program):
        return program
    editor = Editor(program)
    for op in program.ops:
        if _is_small_update(op, program):
            editor.bind(part_op, op.args, op, op.out, **dict(op.params), how="update")
        else:
            editor.ops.append(op)
    return editor.result()


def _has_updates(program: Program) -> bool:
    return any(isinstance(p.lowering, DynamicUpdateSlice) for p in primitives_of(program))


def _is_small_update(op: Op, program: Program) -> bool:
    is_update = isinstance(op.primitive.lowering, DynamicUpdateSlice)
    return is_update and is_small_part(program.avals[op.args[1]], program.avals[op.out])
