"""Segments of a long program: stretches of ops that repeat, such as several steps of an unrolled loop.

Equal segments differ only in their slots, so that one schedule serves all of them. Where to cut is a guess from hashes
of ops and their neighbors. Whether two segments are equal is decided exactly, by their keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jittape.compile.ir.program_arrays import first_of_each, kinds_of, numbered, operands_of
from jittape.core.forms import Alias, Assert, CheckedMap, Control, View
from jittape.core.program import Aval, Op, Program
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["Segment", "segments_of"]

_Ints = NDArray[np.int64]
_Hashes = NDArray[np.uint64]

_WHOLE = (Control, Assert, CheckedMap)
"""Forms of ops that need the whole program."""
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64
)
"""Odd factors that mix the bits of hashes."""


class Segment(NamedTuple):
    """A stretch of ops of a program.

    Attributes
    ----------
    ops : tuple of Op
        The ops; views and constants of other segments that these ops read come first.
    inputs, outputs : tuple of int
        The slots that the ops read and do not compute, and those that other segments or the caller read.
    key : tuple
        Equal for segments that differ only in their slots.
    """

    ops: tuple[Op, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    key: tuple[Any, ...]

    def program(self, avals: Mapping[int, Aval]) -> Program:
        """Return the segment as a program; `avals` are those of the whole program."""
        slots = [*self.inputs, *[op.out for op in self.ops]]
        return Program(self.inputs, self.ops, self.outputs, {slot: avals[slot] for slot in slots})


def segments_of(program: Program, repetition: int = 2) -> list[Segment] | None:
    """Return the segments of a long program in order; None if it is short or repeats too little.

    Parameters
    ----------
    program : Program
        As recorded.
    repetition : int
        Minimum number of ops for each op of a distinct segment.
    """
    least = repetition * tuning.segment_ops  # of one distinct segment
    if len(program.ops) < max(tuning.segmented_program_ops, least):
        return None
    graph = _graph_of(program)
    if graph is None:
        return None
    bounds = _bounds(graph)
    if len(bounds) < 3:
        return None
    segments = _Cutter(program, graph, bounds).segments()
    distinct = {segment.key: len(segment.ops) for segment in segments}
    return segments if repetition * sum(distinct.values()) <= len(program.ops) else None


class _Graph(NamedTuple):
    """A program as arrays.

    Attributes
    ----------
    kinds : array
        A number for each op, equal for ops of the same primitive, parameters and source line.
    is_repeated : array of bool
        Whether each op is a view or a constant, which every segment that reads it computes itself.
    starts : array
        For each op, the position of its first operand in `makers`; the total at the end.
    makers : array
        For each operand, the number of the op that computes it, or ``-1 - i`` for input `i` of the program.
    """

    kinds: _Ints
    is_repeated: NDArray[np.bool_]
    starts: _Ints
    makers: _Ints

    def operands(self, ops: _Ints) -> _Ints:
        """Return the positions in `makers` of the operands of some ops."""
        counts = self.starts[ops + 1] - self.starts[ops]
        ends = np.cumsum(counts)
        shifts = np.repeat(self.starts[ops] - ends + counts, counts)
        return np.arange(len(shifts)) + shifts


def _graph_of(program: Program) -> _Graph | None:
    """Return the arrays of a program; None if an op can end the run or has a body."""
    alike = kinds_of(program.ops, with_lines=True)
    different = [program.ops[i] for i in first_of_each(alike)]
    if any(op.primitive.effectful or isinstance(op.primitive.lowering, _WHOLE) for op in different):
        return None
    # The text of parameters tells 1 from True and 1.0.
    keys = [(op.primitive, op.params, repr(op.params), op.source, op.source.__class__) for op in different]
    repeated = [isinstance(op.primitive.lowering, View | Alias) or not op.args for op in different]
    counts, makers, _ = operands_of(program)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return _Graph(numbered(keys)[alike], np.array(repeated, np.bool_)[alike], starts, makers)


# ---- where to cut ----------------------------------------------------------------------------------------------------


def _bounds(graph: _Graph) -> list[int]:
    """Return the numbers of the ops at which segments begin, and the number of ops."""
    hashes = _hashes(graph)
    bounds = {0, len(hashes)}
    for start, end, period in _repetitions(hashes):
        length = period * -(-tuning.segment_ops // period)
        bounds.update(range(start, end + 1, length))
    return sorted(bounds)


def _hashes(graph: _Graph) -> _Hashes:
    """Return a hash for each op: of its kind, of the distances to near operands, and of inputs that are read often."""
    n_ops = len(graph.kinds)
    counts = np.diff(graph.starts)
    users = np.repeat(np.arange(n_ops), counts)
    distances = users - graph.makers
    places = np.where(distances <= tuning.segment_reach, distances, 0)
    is_input = graph.makers < 0
    inputs = -1 - graph.makers[is_input]
    reads = np.bincount(inputs)
    often = reads[inputs] > tuning.segment_shared_reads if len(inputs) else inputs > 0
    places[is_input] = np.where(often, -1 - inputs, 0)
    number = np.arange(len(users)) - np.repeat(graph.starts[:-1], counts)
    mixed = _mixed(places.astype(np.uint64) * _FACTORS[0] + number.astype(np.uint64))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed)))
    of_operands = sums[graph.starts[1:]] - sums[graph.starts[:-1]]
    return _mixed(graph.kinds.astype(np.uint64) * _FACTORS[1] + of_operands)


def _mixed(hashes: _Hashes) -> _Hashes:
    hashes = (hashes ^ (hashes >> np.uint64(31))) * _FACTORS[2]
    return (hashes ^ (hashes >> np.uint64(29))) * _FACTORS[3]


def _repetitions(hashes: _Hashes) -> list[tuple[int, int, int]]:
    """Return the stretches of ops in which each window of ops comes again after the same distance, its period.

    A stretch is given by its first op, the op after its last one, and the period.
    """
    found: list[tuple[int, int, int]] = []
    taken = np.zeros(len(hashes), np.bool_)
    for width in [width for width in tuning.segment_windows if width < len(hashes)]:
        distance = _distances(_windows(hashes, width))
        distance[taken[: len(distance)]] = 0
        starts = np.concatenate(([0], np.flatnonzero(np.diff(distance)) + 1, [len(distance)]))
        for start, end in pairwise(starts.tolist()):
            period = int(distance[start])
            shortest = 2 * period * -(-tuning.segment_ops // period) if period else 0
            if period and end - start + period >= shortest:
                found.append((start, end + period, period))
                taken[start : end + period] = True
    return found


def _windows(hashes: _Hashes, width: int) -> _Hashes:
    """Return the hashes of all windows of `width` ops, a power of two."""
    factor, shift = _FACTORS[:1], 1
    while shift < width:
        hashes = hashes[:-shift] * factor + hashes[shift:]
        factor, shift = factor * factor, 2 * shift
    return hashes


def _distances(windows: _Hashes) -> _Ints:
    """Return for each window the distance to the next equal one; 0 if there is none."""
    order = np.argsort(windows, kind="stable")
    is_equal = windows[order[1:]] == windows[order[:-1]]
    found = np.zeros(len(windows), np.int64)
    found[order[:-1][is_equal]] = np.diff(order)[is_equal]
    return found


# ---- the segments between two cuts -----------------------------------------------------------------------------------


class _Cutter:
    """The segments of a program between some bounds."""

    def __init__(self, program: Program, graph: _Graph, bounds: list[int]) -> None:
        self.program = program
        self.graph = graph
        self.bounds = bounds
        n_ops, n_inputs = len(program.ops), len(program.inputs)
        self.slots = [op.out for op in program.ops] + list(program.inputs[::-1])
        """The slots of values by number: those of ops, then inputs, so that ``-1 - i`` is input `i`."""
        self.local = np.full(n_ops + n_inputs, -1, np.int64)

    def segments(self) -> list[Segment]:
        members = self._members()
        operands = [self._numbered(ops) for ops in members]
        is_read = np.zeros(len(self.local), np.bool_)
        for _, inputs in operands:
            is_read[inputs] = True
        outputs = set(self.program.outputs)
        is_read[: len(self.program.ops)] |= [op.out in outputs for op in self.program.ops]
        found = []
        for (begin, end), ops, (numbers, inputs) in zip(
            pairwise(self.bounds), members, operands, strict=True
        ):
            results = begin + np.flatnonzero(is_read[begin:end])
            found.append(self._segment(ops, numbers, inputs, results))
        return found

    def _members(self) -> list[_Ints]:
        """Return the ops of each segment: views and constants of other segments, then its own."""
        graph, n_ops = self.graph, len(self.program.ops)
        segment_of = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        reader = np.repeat(segment_of, np.diff(graph.starts))
        pairs = self._read_elsewhere(reader, graph.makers, segment_of)
        new = pairs
        while len(new):
            at = graph.operands(new % n_ops)
            counts = np.diff(graph.starts)[new % n_ops]
            more = self._read_elsewhere(np.repeat(new // n_ops, counts), graph.makers[at], segment_of)
            new = np.setdiff1d(more, pairs)
            pairs = np.union1d(pairs, new)
        first = np.searchsorted(pairs, np.arange(len(self.bounds)) * n_ops)
        return [
            np.concatenate((pairs[first[i] : first[i + 1]] % n_ops, np.arange(begin, end)))
            for i, (begin, end) in enumerate(pairwise(self.bounds))
        ]

    def _read_elsewhere(self, reader: _Ints, makers: _Ints, segment_of: _Ints) -> _Ints:
        """Return the views and constants that another segment reads, as ``reading segment * number of ops + op``."""
        is_op = makers >= 0
        reader, makers = reader[is_op], makers[is_op]
        is_kept = self.graph.is_repeated[makers] & (segment_of[makers] != reader)
        return np.unique(reader[is_kept] * len(segment_of) + makers[is_kept])

    def _numbered(self, ops: _Ints) -> tuple[_Ints, _Ints]:
        """Return the operands of the ops of a segment, numbered within it, and the values that it reads, in order.

        The numbers of what it reads are negative.
        """
        self.local[ops] = np.arange(len(ops))
        makers = self.graph.makers[self.graph.operands(ops)]
        numbers = self.local[makers]
        is_outside = numbers < 0
        values, first, inverse = np.unique(makers[is_outside], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        numbers[is_outside] = -1 - rank[inverse]
        self.local[ops] = -1
        return numbers, values[order]

    def _segment(self, ops: _Ints, numbers: _Ints, inputs: _Ints, results: _Ints) -> Segment:
        slots, avals = self.slots, self.program.avals
        own = [slots[value] for value in inputs.tolist()]
        counts = np.diff(self.graph.starts)[ops]
        key = (
            self.graph.kinds[ops].tobytes(),
            counts.tobytes(),
            numbers.tobytes(),
            tuple([avals[slot] for slot in own]),
            (results - int(ops[-1])).tobytes(),
        )
        listed = tuple([self.program.ops[i] for i in ops.tolist()])
        return Segment(listed, tuple(own), tuple([slots[value] for value in results.tolist()]), key)
