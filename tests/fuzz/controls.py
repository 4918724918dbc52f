"""Loops and branches, run by their plans; see `control_plan` and `emit_control`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from memory import Heap, Pointer

from jittape.compile.ir.records import WORD
from jittape.compile.ir.table_layouts import (
    BRANCH,
    BRANCH_CARRY,
    BRANCH_LENGTH,
    CARRY,
    FIXED,
    GROWN_STACK,
    LOOP,
    STACKED_ROW,
)
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
        head = BRANCH.unpack(words)
        for array in BRANCH_CARRY.unpack_array(words, BRANCH.words, head["carries"]):
            self.heap.copy(operands[array["result"]], operands[array["start"]], array["nbytes"])
        which = self.heap.word(operands[head["index"]])
        which = which if 0 <= which < count else count - 1
        first = BRANCH.words + BRANCH_CARRY.words * head["carries"]
        lengths = [record["fixed"] for record in BRANCH_LENGTH.unpack_array(words, first, count)]
        at = first + count * BRANCH_LENGTH.words + FIXED.words * sum(lengths[:which])
        frame = self._fixed_cells(step.bodies[which], FIXED.unpack_array(words, at, lengths[which]), operands)
        self._run(step.bodies[which], frame)

    def _fixed_cells(
        self, body: Schedule, records: Sequence[dict[str, int]], operands: Sequence[Pointer]
    ) -> dict[int, Pointer]:
        """Return a frame with the cells that stay the same."""
        return {
            record["cell"]: self._fixed(body, record["cell"], operands[record["operand"]], record["offset"])
            for record in records
        }

    def _fixed(self, body: Schedule, cell: int, operand: Pointer, offset: int) -> Pointer:
        """Return where a cell points that stays the same: a temporary has a part of the body's arena."""
        number = cell - len(body.program.inputs) - len(body.results)
        if 0 <= number < len(body.lengths):
            return operand.part(offset, body.lengths[number])
        return operand.part(offset, WORD) if offset else operand

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
        head = LOOP.unpack(words)
        trips, is_while = head["trips"], head["trips"] == WHILE
        length = trips if trips >= 0 else ENDLESS
        if trips < 0 and not is_while:
            length = heap.word(operands[head["bound"]])
        last = min(length, head["limit"]) if head["limit"] >= 0 else length
        going = not is_while or self._truth(operands[head["bound"]])
        at = LOOP.words
        frame = self._fixed_cells(body, FIXED.unpack_array(words, at, head["fixed"]), operands)
        at += FIXED.words * head["fixed"]
        carries = CARRY.unpack_array(words, at, head["carries"])
        at += CARRY.words * len(carries)
        rows = STACKED_ROW.unpack_array(words, at, head["rows_read"] + head["rows_written"])
        for carry in carries:
            is_single = carry["result"] == carry["other"]
            if is_single:
                heap.copy(operands[carry["result"]], operands[carry["start"]], carry["nbytes"])
            frame[carry["read"]] = operands[carry["result" if is_single else "start"]]
            frame[carry["written"]] = operands[carry["result" if length % 2 else "other"]]
        bases = [self._base(i, row, head, operands, length) for i, row in enumerate(rows)]
        number = operands[head["frame"]].part(WORD * head["iteration"], WORD)
        count = 0
        while count < last and going:
            where = length - 1 - count if head["backwards"] else count
            heap.set_word(number, 0, where)
            for i, row in enumerate(rows):
                if row["grown"] and is_while and i >= head["rows_read"]:
                    bases[i] = self._with_room(operands[row["operand"]], (count + 1) * row["nbytes"])
                frame[row["cell"]] = bases[i].part(where * row["nbytes"], row["nbytes"])
            for carry in carries:
                if carry["result"] != carry["other"]:
                    heap.poison(frame[carry["written"]])
            self._run(body, frame)
            for carry in carries:
                new = frame[carry["read"]] = frame[carry["written"]]
                result, other = operands[carry["result"]], operands[carry["other"]]
                frame[carry["written"]] = other if new == result else result
            going = not is_while or self._truth(frame[head["predicate"]])
            count += 1
        for carry in carries:
            heap.copy(operands[carry["result"]], frame[carry["read"]], carry["nbytes"])
        if head["count"] >= 0:
            heap.set_word(operands[head["count"]], 0, count)

    def _truth(self, pointer: Pointer) -> bool:
        return bool(self.heap.view(np.dtype(np.uint8))[pointer.address])

    def _base(
        self,
        index: int,
        row: dict[str, int],
        head: dict[str, int],
        operands: Sequence[Pointer],
        length: int,
    ) -> Pointer:
        """Return where a stack begins; one that is written and grows is empty, or has room for a known length."""
        record = operands[row["operand"]]
        if not row["grown"]:
            return record
        if index < head["rows_read"]:
            return self.stacks[record.address]
        for word in range(GROWN_STACK.words):
            self.heap.set_word(record, word, 0)
        self.stacks.pop(record.address, None)
        rows = 1 if head["trips"] == WHILE else length
        return self._with_room(record, rows * row["nbytes"] + WORD)

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
