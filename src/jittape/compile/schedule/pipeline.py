"""The passes from a program to a schedule, in order, as data.

A pass changes one thing of a `Draft`: the first passes rewrite its program, then the program is lowered to steps, and
later passes order, fuse and place the steps. `run_passes` is the only loop over `PASSES`. `SIMPLIFICATIONS` run before
them, on the program as recorded.
"""

from __future__ import annotations

from collections.abc import Callable

from jittape.compile.fuse.join_sums import join_sums
from jittape.compile.kernels.scalar_vm.bytecode import to_bytecode
from jittape.compile.rewrite.add_in_control import add_in_control
from jittape.compile.rewrite.add_scattered import add_scattered
from jittape.compile.rewrite.cholesky_cotangents import split_cholesky_cotangents
from jittape.compile.rewrite.cotangent_factors import cotangent_factors
from jittape.compile.rewrite.decompose import decompose
from jittape.compile.rewrite.diagonals import scatter_diagonals
from jittape.compile.rewrite.join_checks import join_checks
from jittape.compile.rewrite.join_loops import join_loops
from jittape.compile.rewrite.join_parts import join_parts
from jittape.compile.rewrite.layout_transposition import transpose_layouts
from jittape.compile.rewrite.program_editor import separate_outputs
from jittape.compile.rewrite.reads_first import reads_first
from jittape.compile.rewrite.scatter_parts import scatter_parts, writes_many_parts
from jittape.compile.rewrite.sum_before_product import sum_before_product
from jittape.compile.rewrite.sums_after_loops import sums_after_loops
from jittape.compile.rewrite.symmetric_sums import symmetric_sums
from jittape.compile.rewrite.views_in_loops import views_in_loops
from jittape.compile.schedule.accumulate_in_gemm import accumulate_in_gemm
from jittape.compile.schedule.lower_steps import lower_to_steps, release_stacks
from jittape.compile.schedule.memory_planning import plan_memory, planned
from jittape.compile.schedule.order_steps import order_steps
from jittape.compile.schedule.overwrite_operands import overwrite_operands
from jittape.compile.schedule.steps import Schedule
from jittape.compile.schedule.tile_rows import tile_rows
from jittape.compile.schedule.unplaced_steps import Draft
from jittape.compile.schedule.update_in_place import update_in_place
from jittape.compile.schedule.validate import check_schedule, schedule_text
from jittape.compile.schedule.versions import check_versions
from jittape.core.dtypes import NATIVE
from jittape.core.program import Program, check
from jittape.core.simplify import PASSES as SIMPLIFICATIONS
from jittape.errors import ProgramError
from jittape.value_classes import NamedTuple

__all__ = ["PASSES", "SIMPLIFICATIONS", "Pass", "run_passes", "stages_of"]


class Pass(NamedTuple):
    """A named pass over drafts, with the check that follows it.

    Attributes
    ----------
    name : str
        The name that `jt.explain` prints.
    run : callable
        Changes the draft.
    check : callable or None
        Raises `ProgramError` if the draft breaks a rule, given the program from before the pass.
    is_always_checked : bool
        Whether the check runs at every compilation, not only in tests.
    """

    name: str
    run: Callable[[Draft], None]
    check: Callable[[Draft, Program], None] | None = None
    is_always_checked: bool = False


verify_each_pass = False
"""Whether `run_passes` runs the check of every pass; tests set it."""


def _check_program(draft: Draft, before: Program) -> None:
    check(draft.program, before)


def _check_steps(draft: Draft, before: Program) -> None:
    """Check the schedule that the steps would make as they are."""
    check_schedule(planned(draft), draft.is_body, draft.writes_parts)
    check_versions(draft)


def _check_result(draft: Draft, before: Program) -> None:
    assert draft.schedule is not None
    found = check_schedule(draft.schedule, draft.is_body, draft.writes_parts)
    check_versions(draft)
    inputs, outputs = len(found.program.inputs), len(found.program.outputs)
    if draft.is_body and found.outputs != tuple(range(inputs, inputs + outputs)):
        raise ProgramError(f"a body has outputs in the storages {found.outputs}\n{found.program}")


def _rewrite(name: str, function: Callable[[Program], Program]) -> Pass:
    """Return the pass that replaces the draft's program by ``function(program)``."""

    def run(draft: Draft) -> None:
        draft.program = function(draft.program)

    return Pass(name, run, _check_program)


def _decompose(draft: Draft) -> None:
    draft.program = decompose(draft.program, NATIVE, draft.counters)


def _scatter_parts(draft: Draft) -> None:
    """Write small parts of arrays, and add small parts to arrays, in their memory."""
    if draft.is_body:
        draft.program = add_in_control(draft.program)
    draft.writes_parts = draft.is_body or writes_many_parts(draft.program)
    if draft.writes_parts:
        draft.program = scatter_parts(draft.program)
    draft.program = add_scattered(draft.program, draft.writes_parts)
    if draft.writes_parts:
        draft.program = reads_first(draft.program)


def _join_checks(draft: Draft) -> None:
    """Make the checks of a body one: what it has changed by then is discarded if the run ends."""
    if draft.is_body:
        draft.program = join_checks(draft.program)


def _sums_after_loops(draft: Draft) -> None:
    """Make iterations independent where threads may share them, which is where they may share blocks of rows."""
    if draft.tile_rows:
        draft.program = sums_after_loops(draft.program)


def _cotangent_factors(draft: Draft) -> None:
    """Multiply cotangents by numbers as late as possible, in bodies, whose products run many times."""
    if draft.is_body:
        draft.program = cotangent_factors(draft.program)


def _separate_outputs(draft: Draft) -> None:
    """Give each output of a body an op of its own: the driver of a loop finds outputs by their storages."""
    if draft.is_body:
        draft.program = separate_outputs(draft.program)


def _join_sums(draft: Draft) -> None:
    draft.program = join_sums(draft.program, draft.partition)


PASSES: tuple[Pass, ...] = (
    # Before decompositions: they write out the ops that the rewrite looks for.
    _rewrite("split Cholesky cotangents", split_cholesky_cotangents),
    Pass("decompose", _decompose, _check_program),
    # After decompositions, which write out loops; before the views, which move into the joined body.
    _rewrite("join loops", join_loops),
    _rewrite("views in loops", views_in_loops),
    # After loops are joined, which would join the loop that adds the terms.
    Pass("sums after loops", _sums_after_loops, _check_program),
    Pass("join checks", _join_checks, _check_program),
    Pass("add scattered elements", _scatter_parts, _check_program),
    _rewrite("scatter diagonals", scatter_diagonals),
    # After the diagonals, which are sums of parts too.
    _rewrite("join parts", join_parts),
    _rewrite("sum before product", sum_before_product),
    Pass("cotangent factors", _cotangent_factors, _check_program),
    _rewrite("symmetric sums", symmetric_sums),
    _rewrite("transpose layouts", transpose_layouts),
    # The last of the rewrites that may merge ops: it makes copies that they would merge.
    Pass("separate outputs", _separate_outputs, _check_program),
    # Before the scalar bytecode: the parts of sums of many sums are single numbers, which it would take.
    Pass("join sums", _join_sums, _check_program),
    _rewrite("scalar bytecode", to_bytecode),
    Pass("lower to steps", lower_to_steps),
    Pass("order steps", order_steps, _check_steps),
    Pass("tile rows", tile_rows, _check_steps),
    Pass("release stacks", release_stacks, _check_steps),
    # Before in-place updates: a product that is added to a Variable is an in-place update already.
    Pass("accumulate in GEMM", accumulate_in_gemm, _check_steps),
    Pass("update in place", update_in_place, _check_steps),
    # After the updates in place, which choose the memory of results.
    Pass("overwrite operands", overwrite_operands, _check_steps),
    Pass("plan memory", plan_memory, _check_result, is_always_checked=True),
)
"""The passes in order."""


def run_passes(draft: Draft, observe: Callable[[str, Draft], None] | None = None) -> Schedule:
    """Run all passes on a draft and return its schedule; `observe` is called after each pass with its name."""
    for one in PASSES:
        before = draft.program
        one.run(draft)
        if one.check is not None and (one.is_always_checked or verify_each_pass):
            one.check(draft, before)
        if observe is not None:
            observe(one.name, draft)
    assert draft.schedule is not None
    return draft.schedule


def stages_of(program: Program, draft_of: Callable[[Program], Draft]) -> list[tuple[str, str]]:
    """Return the name of every pass that changes something, with the program or the steps after it as text.

    Parameters
    ----------
    program : Program
        The program as recorded.
    draft_of : callable
        Returns the draft that passes begin with, for the simplified program.
    """
    stages = [("recorded", str(program))]

    def note(name: str, text: str) -> None:
        if text != stages[-1][1]:
            stages.append((name, text))

    for simplification in SIMPLIFICATIONS:
        program = check(simplification(program), program)
        note(simplification.__name__.replace("_", " "), str(program))
    run_passes(
        draft_of(program),
        lambda name, draft: note(
            name, str(draft) if draft.schedule is None else schedule_text(draft.schedule)
        ),
    )
    return stages
