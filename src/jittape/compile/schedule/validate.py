"""The check of a schedule: every step reads only inputs and values that earlier steps have written and none overwrote.

`check_schedule` follows the storages of a schedule through its steps, and the bytes of temporaries through the arena.
It does not analyze which elements the loops of a kernel touch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import chain, groupby

from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.lapack import Lapack
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.control.control_driver import Release, Stop, single_buffers
from jittape.compile.schedule.steps import KernelStep, Schedule, Step
from jittape.core.program import ALIGNMENT, Aval
from jittape.core.symbolic.extents import hint_of
from jittape.errors import ProgramError
from jittape.value_classes import NamedTuple

__all__ = ["Touched", "check_schedule", "schedule_text", "touched_by"]


class Touched(NamedTuple):
    """The storages of a step, by how it uses them; those of `scratch` hold values during the step only."""

    reads: tuple[int, ...]
    updates: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    scratch: tuple[int, ...] = ()
    releases: tuple[int, ...] = ()


def touched_by(step: Step) -> Touched:
    """Return the storages of a step, by how it uses them."""
    if not isinstance(step, KernelStep):
        return Touched(step.storages, (), step.results)
    kernel, storages = step.kernel, step.storages
    if isinstance(kernel, LoopKernel | Gemm | Lapack):
        read, updated, written = kernel.positions
        own = [storages[i] for i in read]
        if step.overwritten:
            own += [storage for storage, _ in step.overwritten]
        changed = tuple([storages[i] for i in updated]) if updated else ()
        return Touched(tuple(own), changed, tuple([storages[i] for i in written]))
    if isinstance(kernel, Stop):
        return Touched(storages)
    if isinstance(kernel, Release):
        return Touched((), releases=storages)
    given = len(step.ops[0].args)
    made = given + len(step.ops)
    updates = tuple(
        [storages[b] for a, b in single_buffers(kernel, step.sizes) if storages[a] == storages[b]]
    )
    reads, writes = (
        tuple([s for s in part if s not in updates]) for part in (storages[:given], storages[given:made])
    )
    return Touched(reads, updates, writes, storages[made:])


def check_schedule(schedule: Schedule, is_body: bool = False, writes_parts: bool = False) -> Schedule:
    """Return `schedule` if its steps can run in their order on their memory, else raise `ProgramError`.

    A step reads inputs and values that earlier steps have written. No step writes a storage that has been read before,
    nor an input that is still needed or while the run may end early; a body's inputs that change are buffers of its
    loop, which an early end discards. With `writes_parts`, a storage that has been read may be updated:
    `check_versions` checks that. Temporaries that are in use at the same time do not overlap in the arena. Every output
    is written; those of a whole program that share a storage, as equal values may, have one shape and dtype. A kernel
    that reads what it writes does so in the memory of an input that is given away, or of a temporary that ends with the
    step.
    """
    touched = [touched_by(step) for step in schedule.steps]
    _check_order(schedule, touched, is_body, writes_parts)
    _check_in_place(schedule, touched, is_body)
    _check_overwritten(schedule)
    _check_arena(schedule, touched)
    return schedule


def _fail(schedule: Schedule, number: int, problem: str) -> None:
    """Raise the error for a step, with three steps on either side of it."""
    near = range(max(0, number - 3), min(len(schedule.steps), number + 4))
    lines = [f"{'->' if i == number else '  '} {i}: {_text(schedule.steps[i])}" for i in near]
    raise ProgramError(f"step {number} {problem}\n" + "\n".join(lines))


def schedule_text(schedule: Schedule) -> str:
    """Return the steps of a schedule as text, with the storages that they read and write."""
    lines = [f"{i}: {_text(step)}" for i, step in enumerate(schedule.steps)]
    return "\n".join([*lines, f"arena of {schedule.arena} bytes, outputs {list(schedule.outputs)}"])


def _text(step: Step) -> str:
    reads, updates, writes, scratch, releases = map(list, touched_by(step))
    ops = ", ".join(op.primitive.name for op in step.ops)
    kernel = "NumPy" if step.kernel is None else step.kernel.name
    used = {"reads": reads, "updates": updates, "writes": writes, "uses": scratch, "releases": releases}
    return f"{kernel} ({ops}) " + ", ".join(f"{how} {own}" for how, own in used.items() if own)


def _check_order(schedule: Schedule, touched: list[Touched], is_body: bool, writes_parts: bool) -> None:
    """Check that every storage is written first and read then."""
    inputs = len(schedule.program.inputs)
    written = {*range(inputs), *_empty(schedule)}
    begun = {inputs + result for _, result, is_read in schedule.in_place if is_read}
    read: set[int] = set()
    for number, (reads, updates, writes, scratch, releases) in enumerate(touched):
        if not written.issuperset(reads) or not written.issuperset(releases):
            storage = next(s for s in (*reads, *releases) if s not in written)
            _fail(schedule, number, f"reads storage {storage} before it is written")
        for storage in updates:
            if storage not in written and storage not in begun:
                _fail(schedule, number, f"updates storage {storage} before it is written")
        changed = (*writes, *scratch) if writes_parts else (*updates, *writes, *scratch)
        if not read.isdisjoint(changed) or min((*updates, *changed), default=inputs) < inputs:
            _fail(schedule, number, "writes a storage after it has been read")
        written.update(updates, writes)
        written.difference_update(releases)
        read.update(reads, scratch)
    for storage in schedule.outputs:
        if storage not in written and storage not in begun:
            _fail(schedule, len(touched) - 1, f"is the last, and output {storage} is not written")
    if not is_body:
        first = dict[int, Aval]()
        for storage, aval in zip(schedule.outputs, schedule.program.output_avals(), strict=True):
            if first.setdefault(storage, aval) != aval:
                problem = (
                    f"is the last, and two of the outputs {schedule.outputs} are one storage of two shapes"
                )
                _fail(schedule, len(touched) - 1, problem)


def _empty(schedule: Schedule) -> list[int]:
    """Return the storages without elements, which need not be written."""
    sizes = [*[aval.size for aval in schedule.results], *schedule.lengths]
    return [i for i, size in enumerate(sizes, len(schedule.program.inputs)) if not size]


def _check_in_place(schedule: Schedule, touched: list[Touched], is_body: bool) -> None:
    """Check that a result takes an input's memory after its last reader and after all that may end the run."""
    if not schedule.in_place:
        return
    read: dict[int, int] = {}
    written: dict[int, int] = {}
    for number, own in enumerate(touched):
        read.update(dict.fromkeys(own.reads, number))
        for storage in (*own.updates, *own.writes):
            written.setdefault(storage, number)
    may_fail = [i for i, s in enumerate(schedule.steps) if s.kernel is None or s.kernel.effectful]
    for position, result, _ in schedule.in_place:
        storage = len(schedule.program.inputs) + result
        first = written.get(storage, len(schedule.steps))
        last_read = read.get(position, -1)
        is_read_later = last_read > first or (
            last_read == first < len(schedule.steps)
            and not _begins_in(schedule.steps[first], position, storage)
        )
        if is_read_later or position in schedule.outputs:
            _fail(
                schedule, first, f"writes storage {storage} over input {position}, which is read afterwards"
            )
        if may_fail and may_fail[-1] >= first and not is_body:
            _fail(
                schedule, first, f"writes storage {storage} over input {position} while the run may still end"
            )


def _begins_in(step: Step, position: int, storage: int) -> bool:
    """Return whether a step is a loop with one buffer, `storage`, for a carry that begins as the input `position`."""
    if not isinstance(step, KernelStep) or step.storages.count(position) != 1:
        return False
    pairs = single_buffers(step.kernel, step.sizes)
    return (position, storage) in [(step.storages[a], step.storages[b]) for a, b in pairs]


def _check_overwritten(schedule: Schedule) -> None:
    """Check that a kernel that reads a result has it in other memory's place, and reads only what it writes then."""
    inputs = len(schedule.program.inputs)
    begun = {inputs + result for _, result, is_read in schedule.in_place if is_read}
    for number, step in enumerate(schedule.steps):
        if not isinstance(step, KernelStep) or not isinstance(step.kernel, LoopKernel):
            if step.overwritten:
                _fail(schedule, number, f"overwrites {step.overwritten} without a loop")
            continue
        kernel = step.kernel
        exchanged = kernel.loaded_results
        if not exchanged and not step.overwritten:
            continue
        found = {step.storages[i] for i in exchanged} - begun
        if found != {storage for _, storage in step.overwritten}:
            _fail(schedule, number, f"reads the results {sorted(found)} but overwrites {step.overwritten}")
        for i in kernel.overwritten_early:
            _fail(schedule, number, f"reads elements of storage {step.storages[i]} that it has overwritten")


# ---- the arena -------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """The lifetime of a storage, from its first to its last step, and its range of bytes."""

    begin: int
    end: int
    start: int
    stop: int
    storage: int


def _check_arena(schedule: Schedule, touched: list[Touched]) -> None:
    """Check that temporaries that are in use at the same time do not overlap, for the present values of extents.

    The steps of a tile loop take turns, so temporaries outside of the loop's own memory count all of them as one step.
    """
    first = len(schedule.program.inputs) + len(schedule.results)
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    for number, own in enumerate(touched):
        for storage in chain(*own):
            if storage >= first:
                begun.setdefault(storage, number)
                ended[storage] = number
    spans = {s: _span(schedule.offsets[s - first], schedule.lengths[s - first]) for s in begun}
    _join_overwritten(schedule, spans, begun, ended)
    places: list[_Place] = []
    turns: list[tuple[int, int]] = []
    for tile, group in groupby(schedule.steps, lambda step: step.tile):
        begin, end = len(turns), len(turns) + len(list(group)) - 1
        turns += [(begin, end) if tile is not None else (i, i) for i in range(begin, end + 1)]
        if tile is not None and tile.moved:
            inner = [_Place(begun.pop(s), ended[s], *spans[s], s) for s, _ in tile.moved if s in begun]
            start = min([place.start for place in inner])
            if any(place.begin < begin or place.end > end for place in inner):
                _fail(schedule, begin, "begins a tile loop whose own memory other steps use")
            region = hint_of(tile.region)
            _check_apart(schedule, inner, start + region)
            places.append(_Place(begin, end, start, start + hint_of(tile.groups) * region, inner[0].storage))
    places += [_Place(turns[a][0], turns[ended[s]][1], *spans[s], s) for s, a in begun.items()]
    _check_apart(schedule, places, hint_of(schedule.arena))


def _join_overwritten(
    schedule: Schedule, spans: Mapping[int, tuple[int, int]], begun: dict[int, int], ended: dict[int, int]
) -> None:
    """Let a temporary that is written over another one begin where that begins, if both meet in one step and place."""
    for number, step in enumerate(schedule.steps):
        for x, y in step.overwritten:
            if x not in begun or y not in begun or ended[x] != number or begun[y] != number:
                _fail(
                    schedule,
                    number,
                    f"writes storage {y} over storage {x}, which is in use before or afterwards",
                )
            if spans[x] != spans[y]:
                _fail(schedule, number, f"writes storage {y} over storage {x}, which is elsewhere")
            begun[y] = begun.pop(x)
            del ended[x]


def _span(offset: int, length: int) -> tuple[int, int]:
    """Return the first byte of a temporary and the byte after it, for the present values of extents."""
    start = hint_of(offset)
    return start, start + max(1, hint_of(length))


def _check_apart(schedule: Schedule, places: list[_Place], end: int) -> None:
    """Check that places that are in use at the same time do not overlap, are aligned, and end before `end`."""
    alive: list[tuple[int, int, int]] = []
    leaving: dict[int, list[tuple[int, int, int]]] = {}
    now = -1
    for begin, last, start, stop, storage in sorted(places):
        for time in range(now, begin):
            for gone in leaving.pop(time, ()):
                del alive[bisect_left(alive, gone)]
        now = begin
        entry = start, stop, storage
        at = bisect_left(alive, entry)
        for other in alive[max(0, at - 1) : at + 1]:
            if other[0] < stop and start < other[1]:
                _fail(schedule, begin, f"uses storage {entry} in the memory of {other}")
        if stop > end or start % ALIGNMENT:
            _fail(schedule, begin, f"uses storage {entry} outside of its memory of {end} bytes")
        alive.insert(at, entry)
        leaving.setdefault(last, []).append(entry)
