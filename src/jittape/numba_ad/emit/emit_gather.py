"""Python text of adjoints of loop nests that gather cotangents from neighboring iterations."""

from __future__ import annotations

from jittape.numba_ad.activity import Activity
from jittape.numba_ad.emit.emit_forward import ForwardPass, Writer
from jittape.numba_ad.loops.neighbor_reads import NeighborReads, Read, find_neighbor_reads
from jittape.numba_ad.loops.overwritten_cotangents import overwritten_elements
from jittape.numba_ad.recording_plan import Plan
from jittape.numba_ad.structured_ir import Block, Constant, Load, Loop, Store, Value, inner_blocks, walk

__all__ = ["Gathers"]


class Gathers:
    """Writes what keeps the cotangents of loop nests for their neighbors, and the nests that add them up.

    Attributes
    ----------
    implied : set of Value
        Values without cotangents of their own, because others have the same.
    reads : set of Load
        Reads whose cotangents are gathered.
    overwritten : set of Store
        Stores whose adjoints do not clear their elements, because a gather assigns them.
    """

    def __init__(
        self, block: Block, plan: Plan, activity: Activity, forward: ForwardPass, writer: Writer
    ) -> None:
        self._writer = writer
        self._nests: dict[Loop, NeighborReads] = {}
        self._innermost: dict[Loop, NeighborReads] = {}
        self._allocated: set[NeighborReads] = set()
        self.implied: set[Value] = set()
        self.reads: set[Load] = set()
        self._assigned: dict[int, tuple[Store, int]] = {}
        for s in walk(block):
            if not isinstance(s, Loop) or s in plan.single_pass.loops:
                continue
            reads = find_neighbor_reads(s, activity)
            if (
                reads is not None
                and not any(map(forward.records, reads.loops))
                and reads.loops[-1] not in self._innermost
            ):
                self._nests[s] = self._innermost[reads.loops[-1]] = reads
                self.implied |= reads.implied
                self.reads |= {one.load for group in reads.groups for one in group}
        for one in [block, *inner_blocks(block)]:
            self._assigned |= overwritten_elements(one, self._nests, plan.single_pass.tail(one))
        self.overwritten = {store for store, _ in self._assigned.values()}

    def reason_for_one_thread(self, s: Loop) -> str | None:
        """Return why the adjoint of a parallel loop runs on one thread; None if this class writes no part of it."""
        inside = any(one in self._nests or one in self._innermost for one in [s, *walk(s.body)])
        return "elements receive cotangents from several iterations" if inside else None

    def allocate(self, s: Loop) -> None:
        """Write the allocations for a loop, and for the nests inside it that have known sizes."""
        inner = [one for one in walk(s.body) if isinstance(one, Loop)]
        for one in [s, *inner]:
            reads = self._nests.get(one)
            if reads is not None and reads not in self._allocated and not _has_inner_bounds(reads, s):
                self._allocated.add(reads)
                self._allocate(reads)

    def begin(self, s: Loop) -> None:
        """Write what precedes the adjoint of a loop."""
        self.allocate(s)
        if s in self._nests:
            bounds = [(one.bounds[0].name, one.bounds[1].name) for one in self._nests[s].loops]
            self._writer.begin(f"if {' and '.join(f'{start} < {stop}' for start, stop in bounds)}:", s.where)

    def end_iteration(self, s: Loop, started: set[Value]) -> None:
        """Write what keeps the cotangents of an iteration of a loop."""
        reads = self._innermost.get(s)
        if reads is None:
            return
        places = [
            _plus(f"{one.counter.name}", margin - one.bounds[0].value)  # type: ignore[union-attr]
            for one, margin in zip(reads.loops, reads.margins(), strict=True)
        ]
        for source in reads.sources:
            cotangent = f"{source.name}_b" if source in started else "0.0"
            self._writer.line(f"{_kept(source)}[{', '.join(places)}] = {cotangent}")

    def end(self, s: Loop) -> None:
        """Write the nests that follow the adjoint of a loop: one for each array whose elements it reads."""
        reads = self._nests.get(s)
        if reads is None:
            return
        for group in reads.groups:
            self._writer.line("# each element receives the cotangents of the iterations that read it")
            ranges = reads.range_of(group)
            names = [f"{one.counter.name}_at" for one in reads.loops]  # type: ignore[union-attr]
            if id(group) in self._assigned:
                self._assign(reads, group, names[0], self._assigned[id(group)][1])
                continue
            for k, (name, (low, high)) in enumerate(zip(names, ranges, strict=True)):
                self._writer.begin(f"for {name} in range({_trips(reads, k, high - low)}):")
            self._writer.line(f"{_target(reads, group, names)} += {_sum(reads, group, names)}")
            for _ in names:
                self._writer.end()
        self._writer.end()

    def _assign(self, reads: NeighborReads, group: list[Read], name: str, offset: int) -> None:
        """Write a loop that assigns the elements from `offset` on; those at both ends receive more cotangents."""
        ((low, high),) = reads.range_of(group)
        target, total = _target(reads, group, [name]), _sum(reads, group, [name])
        first = [str(place) for place in range(offset - low)]
        for place in [*first, *[_trips(reads, 0, more) for more in range(offset - low, high - low)]]:
            self._writer.line(f"{name} = {place}")
            self._writer.line(f"{target} += {total}")
        self._writer.begin(f"for {name} in range({offset - low}, {_trips(reads, 0, offset - low)}):")
        self._writer.line(f"{target} = {total}")
        self._writer.end()

    def _allocate(self, reads: NeighborReads) -> None:
        sizes = [f"max(0, {_trips(reads, k, 2 * margin)})" for k, margin in enumerate(reads.margins())]
        for source in reads.sources:
            zeros = f"new_zeros(({', '.join(sizes)}, ), np.{reads.dtype(source)})"
            self._writer.line(f"{_kept(source)} = {zeros}", reads.loops[0].where)


def _has_inner_bounds(reads: NeighborReads, outer: Loop) -> bool:
    """Return whether the sizes of a nest become known only in an iteration of `outer`."""
    stops = [one.bounds[1] for one in reads.loops]
    blocks = [one.block for one in stops if isinstance(one, Value) and one.block is not None]
    return any(outer in block.loops() for block in blocks)


def _kept(source: Value) -> str:
    return f"{source.name}_near"


def _target(reads: NeighborReads, group: list[Read], names: list[str]) -> str:
    """Return the text of the element of the shadow that receives cotangents."""
    load = group[0].load
    counted = iter(zip(reads.loops, names, reads.range_of(group), strict=True))
    places = []
    for index, offset in zip(load.indices, group[0].offsets, strict=True):
        if offset is None:
            places.append(index.name)
        else:
            s, name, (low, _) = next(counted)
            places.append(_plus(name, s.bounds[0].value + low))
    return f"{load.array.name}_b[{', '.join(places)}]"


def _sum(reads: NeighborReads, group: list[Read], names: list[str]) -> str:
    """Return the text of the sum of what an element receives."""
    text = ""
    for read in group:
        offsets = [x for x in read.offsets if x is not None]
        parts = zip(names, offsets, reads.range_of(group), reads.margins(), strict=True)
        places = [_plus(name, low - offset + margin) for name, offset, (low, _), margin in parts]
        sign = f" {read.sign or '+'} " if text else read.sign
        text += f"{sign}{_kept(read.source)}[{', '.join(places)}]{read.scale}"
    return text


def _trips(reads: NeighborReads, k: int, more: int) -> str:
    """Return the text of the number of iterations of a loop that has some, plus a constant."""
    start, stop, _ = reads.loops[k].bounds
    if isinstance(stop, Constant):
        return str(stop.value - start.value + more)
    return _plus(stop.name, more - start.value)


def _plus(name: str, offset: int) -> str:
    return name if offset == 0 else f"{name} + {offset}" if offset > 0 else f"{name} - {-offset}"
