"""Loops and branches, run by the words of their plans; see `plans` and `rounds`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from memory import Heap, Pointer

from jittape.compile.kernels.control.control_plan import CELL, LoopWord
from jittape.compile.schedule.steps import KernelStep, Schedule
from jittape.control.loop_parts import WHILE

ENDLESS = 2**63 - 1


class Controls:
    """Runs bodies on frames, which are lists of pointers here."""

    def __init__(self, heap: Heap, run: Callable[[Schedule, list[Pointer]], None]) -> None:
        self.heap = heap
        self.run = run
        self.stacks: dict[int, Pointer] = {}

    def branch(self, step: KernelStep, operands: Sequence[Pointer]) -> None:
        """Run the body that the first operand says."""
        words, count = step.sizes, len(step.bodies)
        which = self.heap.word(operands[words[0]])
        which = which if 0 <= which < count else count - 1
        lengths = words[2 : 2 + count]
        at = 2 + count + 3 * sum(lengths[:which])
        frame: dict[int, Pointer] = {}
        for cell, operand, offset in _entries(words, at, lengths[which], 3):
            frame[cell] = self._fixed(step.bodies[which], cell, operands[operand], offset)
        self._run(step.bodies[which], frame)

    def _fixed(self, body: Schedule, cell: int, operand: Pointer, offset: int) -> Pointer:
        """Return where a cell points that stays the same: a temporary has a part of the body's arena."""
        number = cell - len(body.program.inputs) - len(body.results)
        if 0 <= number < len(body.lengths):
            return operand.part(offset, body.lengths[number])
        return operand.part(offset, CELL) if offset else operand

    def _run(self, body: Schedule, frame: dict[int, Pointer]) -> None:
        first = len(body.program.inputs) + len(body.results)
        cells = [frame[cell] for cell in range(first + len(body.offsets))]
        for cell in cells[first:]:
            self.heap.poison(cell)
        self.run(body, cells)

    # ---- loops ---------------------------------------------------------------------------------------------------

    def loop(self, step: KernelStep, operands: Sequence[Pointer]) -> None:
        """Run a body again and again."""
        (body,) = step.bodies
        heap, words = self.heap, step.sizes
        head = {word: words[word] for word in LoopWord}
        trips, is_while = head[LoopWord.TRIPS], head[LoopWord.TRIPS] == WHILE
        length = trips if trips >= 0 else ENDLESS
        if trips < 0 and not is_while:
            length = heap.word(operands[head[LoopWord.HEAD]])
        last = min(length, head[LoopWord.LIMIT]) if head[LoopWord.LIMIT] >= 0 else length
        going = not is_while or self._truth(operands[head[LoopWord.HEAD]])
        at = len(LoopWord)
        fixed = list(_entries(words, at, head[LoopWord.FIXED], 3))
        at += 3 * len(fixed)
        carries = list(_entries(words, at, head[LoopWord.CARRIES], 6))
        at += 6 * len(carries)
        rows = list(_entries(words, at, head[LoopWord.READ] + head[LoopWord.WRITTEN], 4))
        frame: dict[int, Pointer] = {}
        for cell, operand, offset in fixed:
            frame[cell] = self._fixed(body, cell, operands[operand], offset)
        for read, written, begin, result, other, _ in carries:
            frame[read] = operands[begin]
            frame[written] = operands[result if length % 2 else other]
        bases = [self._base(i, row, head, operands, length) for i, row in enumerate(rows)]
        number = operands[head[LoopWord.FRAME]].part(CELL * head[LoopWord.NUMBER], CELL)
        count = 0
        while count < last and going:
            where = length - 1 - count if head[LoopWord.BACKWARDS] else count
            heap.set_word(number, 0, where)
            for i, (cell, operand, size, grown) in enumerate(rows):
                if grown and is_while and i >= head[LoopWord.READ]:
                    bases[i] = self._with_room(operands[operand], (count + 1) * size)
                frame[cell] = bases[i].part(where * size, size)
            for _, written, *_ in carries:
                heap.poison(frame[written])
            self._run(body, frame)
            for read, written, _, result, other, _ in carries:
                new = frame[read] = frame[written]
                frame[written] = operands[other] if new == operands[result] else operands[result]
            going = not is_while or self._truth(frame[head[LoopWord.PREDICATE]])
            count += 1
        for read, _, _, result, _, nbytes in carries:
            heap.copy(operands[result], frame[read], nbytes)
        if head[LoopWord.COUNT] >= 0:
            heap.set_word(operands[head[LoopWord.COUNT]], 0, count)

    def _truth(self, pointer: Pointer) -> bool:
        return bool(self.heap.view(np.dtype(np.uint8))[pointer.address])

    def _base(
        self, index: int, row: tuple[int, ...], head: dict[Any, int], operands: Sequence[Pointer], length: int
    ) -> Pointer:
        """Return where a stack begins; one that is written and grows is empty, or has room for a known length."""
        _, operand, size, grown = row
        record = operands[operand]
        if not grown:
            return record
        if index < head[LoopWord.READ]:
            return self.stacks[record.address]
        for word in range(3):
            self.heap.set_word(record, word, 0)
        self.stacks.pop(record.address, None)
        rows = 1 if head[LoopWord.TRIPS] == WHILE else length
        return self._with_room(record, rows * size + CELL)

    def _with_room(self, record: Pointer, nbytes: int) -> Pointer:
        """Return a stack of at least so many bytes."""
        old = self.stacks.get(record.address)
        if old is None or old.high - old.low < nbytes:
            new = self.heap.take(2 * nbytes)
            if old is not None:
                self.heap.copy(new, old, old.high - old.low)
                self.heap.poison(old)
            self.stacks[record.address] = new
        return self.stacks[record.address]

    def release(self, record: Pointer) -> None:
        """Give back the memory of a stack."""
        self.heap.poison(self.stacks.pop(record.address))


def _entries(words: Sequence[int], first: int, count: int, width: int) -> Iterator[tuple[int, ...]]:
    """Yield entries of a table."""
    for number in range(count):
        at = first + number * width
        yield tuple(words[at : at + width])
