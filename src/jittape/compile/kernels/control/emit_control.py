"""What runs the bodies of loops and branches: functions like kernels, whose "sizes" are the words of a plan.

``plans`` says what the words are. The first is the address of the body's table (of a branch: one for each body), which
`walk_table` runs as the driver runs the table of the program, on the frame as slot table. In the place of a task they
have the address of the run's watch. Between two iterations nothing is copied: a carry is read from where it was
written, and rows of stacks are addresses that move on.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.kernels.control.control_plan import CELL, LoopWord
from jittape.compile.llvm.driver import walk_table
from jittape.compile.llvm.interrupts import is_over, look_up, note_stack, out_of_memory, refuse, release_stack
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, external, for_range, integer
from jittape.core.tuning import tuning

__all__ = ["define_branch", "define_loop", "define_release", "define_stop"]

_I64, _I32, _I8 = ir.IntType(64), ir.IntType(32), ir.IntType(8)


class _Code:
    """The arguments of the function that is written, and what can be done with them."""

    def __init__(self, function: ir.Function) -> None:
        self.builder = Builder(function.append_basic_block("entry"))
        self.module = function.module
        self.slots, self.operands, self.words, self.watch = function.args

    def word(self, position: int | ir.Value) -> ir.Value:
        at = integer(position) if isinstance(position, int) else position
        return self.builder.load(self.builder.gep(self.words, [at]))

    def head(self, word: LoopWord) -> ir.Value:
        """A word of a loop's head."""
        return self.word(1 + word)

    def entry(self, first: ir.Value, index: ir.Value, words: int) -> list[ir.Value]:
        """The words of entry number `index` of those that begin at `first`."""
        begin = self.builder.add(first, self.builder.mul(index, integer(words)))
        return [self.word(self.builder.add(begin, integer(i))) for i in range(words)]

    def operand(self, position: ir.Value) -> ir.Value:
        """The address of an operand of the step, as an integer."""
        cell = self.builder.load(self.builder.gep(self.operands, [position]))
        return self.builder.ptrtoint(self.builder.load(self.builder.gep(self.slots, [cell])), _I64)

    def at(self, address: ir.Value, kind: ir.Type = _I64) -> ir.Value:
        return self.builder.inttoptr(address, kind.as_pointer())

    def cell(self, frame: ir.Value, number: ir.Value) -> ir.Value:
        """A cell of a frame."""
        return self.builder.gep(frame, [number])

    def copy(self, to: ir.Value, source: ir.Value, nbytes: ir.Value) -> None:
        kind = ir.FunctionType(BYTES, [BYTES, BYTES, _I64])
        function = external(self.module, kind, "memcpy")
        self.builder.call(function, [self.at(to, _I8), self.at(source, _I8), nbytes])

    def walk(self, table: ir.Value, frame: ir.Value) -> None:
        cells = self.builder.bitcast(frame, KERNEL_TYPE.args[0])
        walk_table(self.builder, self.at(table), cells, self.watch)


class _Loop(_Code):
    def write(self) -> None:
        builder = self.builder
        self.frame = self.at(self.operand(self.head(LoopWord.FRAME)))
        counts = [
            self.head(word) for word in (LoopWord.FIXED, LoopWord.CARRIES, LoopWord.READ, LoopWord.WRITTEN)
        ]
        self.fixed, self.carries, self.read, self.written = counts
        self.first_carry = builder.add(integer(1 + len(LoopWord)), builder.mul(self.fixed, integer(3)))
        self.first_read = builder.add(self.first_carry, builder.mul(self.carries, integer(6)))
        self.rows = builder.add(self.read, self.written)
        self.first_other = builder.add(builder.add(self.head(LoopWord.NUMBER), integer(1)), self.carries)
        self._begin()
        count = self._rounds()
        self._end(count)
        builder.ret_void()

    # ---- before --------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        builder, trips = self.builder, self.head(LoopWord.TRIPS)
        head = self.head(LoopWord.HEAD)
        is_while = builder.icmp_signed("==", trips, integer(-1))
        counted = builder.icmp_signed("==", trips, integer(-2))
        known = builder.icmp_signed(">=", trips, integer(0))
        # A loop whose end is not known has the greatest number in the place of its length.
        length = builder.select(known, trips, integer(2**63 - 1))
        self.is_while = is_while
        self.length = self._if(counted, lambda: builder.load(self.at(self.operand(head))), length)
        limit = self.head(LoopWord.LIMIT)
        limited = builder.and_(
            builder.icmp_signed(">=", limit, integer(0)), builder.icmp_signed("<", limit, self.length)
        )
        self.last = builder.select(limited, limit, self.length)
        going = builder.zext(builder.load(self.at(self._cell_or_frame(head), _I8)), _I64)
        self.going = builder.select(is_while, going, integer(1))
        with for_range(builder, self.fixed, scalar=True) as index:
            cell, operand, offset = self.entry(integer(1 + len(LoopWord)), index, 3)
            builder.store(builder.add(self.operand(operand), offset), self.cell(self.frame, cell))
        # With a known number of iterations the last one writes the result's own memory.
        odd = builder.trunc(self.length, ir.IntType(1))
        with for_range(builder, self.carries, scalar=True) as index:
            read, written, begin, result, other, _ = self.entry(self.first_carry, index, 6)
            result, other = self.operand(result), self.operand(other)
            builder.store(self.operand(begin), self.cell(self.frame, read))
            builder.store(builder.select(odd, result, other), self.cell(self.frame, written))
            builder.store(builder.xor(result, other), self._other(index))
        backwards = builder.icmp_signed("!=", self.head(LoopWord.BACKWARDS), integer(0))
        self.step = builder.select(backwards, integer(-1), integer(1))
        self.first = builder.select(backwards, builder.sub(self.length, integer(1)), integer(0))
        with for_range(builder, self.rows, scalar=True) as index:
            cell, operand, size, grown = self.entry(self.first_read, index, 4)
            base = self.operand(operand)
            is_dynamic_dim = builder.icmp_signed("!=", grown, integer(0))
            with builder.if_then(is_dynamic_dim):
                self._begin_grown(index, base, size)
            base = self._if(is_dynamic_dim, lambda: builder.load(self.at(base)), base)
            address = builder.add(base, builder.mul(self.first, size))
            builder.store(address, self.cell(self.frame, cell))

    def _begin_grown(self, index: ir.Value, record: ir.Value, size: ir.Value) -> None:
        """Make an empty stack of one that is written; with room for all rows if their number is known."""
        builder = self.builder
        with builder.if_then(builder.icmp_signed(">=", index, self.read)):
            place = self.at(record)
            capacity = builder.gep(place, [integer(1)])
            builder.store(integer(0), place)
            builder.store(integer(0), capacity)
            note_stack(builder, self.watch, record)
            rows = builder.select(self.is_while, integer(1), self.length)
            self._reserve(place, builder.add(builder.mul(rows, size), integer(CELL)))

    def _reserve(self, place: ir.Value, wanted: ir.Value) -> None:
        """Let a stack have a capacity of at least `wanted` bytes. If there is no memory it stays as it is."""
        builder = self.builder
        capacity = builder.gep(place, [integer(1)])
        before = builder.load(capacity)
        with builder.if_then(builder.icmp_signed(">", wanted, before), likely=False):
            double = builder.add(builder.mul(before, integer(2)), integer(tuning.stack_first_bytes))
            more = builder.select(builder.icmp_signed(">", wanted, double), wanted, double)
            more = builder.select(self.is_while, more, wanted)
            function = external(self.module, ir.FunctionType(BYTES, [BYTES, _I64]), "realloc")
            moved = builder.call(function, [self.at(builder.load(place), _I8), more])
            moved = builder.ptrtoint(moved, _I64)
            none = builder.icmp_signed("==", moved, integer(0))
            with builder.if_else(none, likely=False) as (refused, given):
                with refused:
                    out_of_memory(builder, self.watch)
                with given:
                    builder.store(moved, place)
                    builder.store(more, capacity)

    def _cell_or_frame(self, head: ir.Value) -> ir.Value:
        """The address of the predicate; for other loops anything that can be read."""
        frame = self.builder.ptrtoint(self.frame, _I64)
        return self._if(self.is_while, lambda: self.operand(head), frame)

    def _if(self, condition: ir.Value, then: object, otherwise: ir.Value) -> ir.Value:
        """What `then` computes where the condition holds, else `otherwise`."""
        builder = self.builder
        before = builder.block
        with builder.if_then(condition):
            value = then()  # type: ignore[operator]
            inside = builder.block
        result = builder.phi(_I64)
        result.add_incoming(otherwise, before)
        result.add_incoming(value, inside)
        return result

    def _other(self, index: ir.Value) -> ir.Value:
        """The cell with both addresses of a carry's buffers in one: one of them gives the other."""
        return self.cell(self.frame, self.builder.add(self.first_other, index))

    # ---- the iterations --------------------------------------------------------------------------------------------

    def _rounds(self) -> ir.Value:
        """Write the loop; the value is the number of iterations."""
        builder = self.builder
        number = self.cell(self.frame, self.head(LoopWord.NUMBER))
        predicate, table = self.head(LoopWord.PREDICATE), self.word(0)
        before = builder.block
        head, body, end = (builder.append_basic_block(name) for name in ("rounds", "round", "rounds_end"))
        builder.branch(head)
        builder.position_at_end(head)
        count, going = builder.phi(_I64), builder.phi(_I64)
        count.add_incoming(integer(0), before)
        going.add_incoming(self.going, before)
        more = builder.icmp_signed("<", count, self.last)
        builder.cbranch(builder.and_(more, builder.icmp_signed("!=", going, integer(0))), body, end)
        builder.position_at_end(body)
        look_up(builder, self.watch, end)
        at = builder.add(self.first, builder.mul(count, self.step))
        builder.store(at, number)
        with builder.if_then(self.is_while, likely=False):
            with for_range(builder, self.written, scalar=True) as index:
                self._make_room(builder.add(index, self.read), count)
            roomy = builder.append_basic_block("roomy")
            builder.cbranch(is_over(builder, self.watch), end, roomy)
            builder.position_at_end(roomy)
        self.walk(table, self.frame)
        with for_range(builder, self.carries, scalar=True) as index:
            read, written = self.entry(self.first_carry, index, 6)[:2]
            place = self.cell(self.frame, written)
            new = builder.load(place)
            builder.store(new, self.cell(self.frame, read))
            builder.store(builder.xor(new, builder.load(self._other(index))), place)
        with for_range(builder, self.rows, scalar=True) as index:
            cell, _, size, _ = self.entry(self.first_read, index, 4)
            place = self.cell(self.frame, cell)
            builder.store(builder.add(builder.load(place), builder.mul(size, self.step)), place)
        still = self._if(
            self.is_while,
            lambda: builder.zext(
                builder.load(self.at(builder.load(self.cell(self.frame, predicate)), _I8)), _I64
            ),
            integer(1),
        )
        count.add_incoming(builder.add(count, integer(1)), builder.block)
        going.add_incoming(still, builder.block)
        builder.branch(head)
        builder.position_at_end(end)
        return count

    def _make_room(self, index: ir.Value, count: ir.Value) -> None:
        builder = self.builder
        cell, operand, size, _ = self.entry(self.first_read, index, 4)
        place = self.at(self.operand(operand))
        self._reserve(place, builder.mul(builder.add(count, integer(1)), size))
        address = builder.add(builder.load(place), builder.mul(count, size))
        builder.store(address, self.cell(self.frame, cell))

    # ---- after -------------------------------------------------------------------------------------------------------

    def _end(self, count: ir.Value) -> None:
        builder = self.builder
        with for_range(builder, self.carries, scalar=True) as index:
            read, _, _, result, _, nbytes = self.entry(self.first_carry, index, 6)
            value, result = builder.load(self.cell(self.frame, read)), self.operand(result)
            with builder.if_then(builder.icmp_signed("!=", value, result)):
                self.copy(result, value, nbytes)
        where = self.head(LoopWord.COUNT)
        with builder.if_then(builder.icmp_signed(">=", where, integer(0))):
            builder.store(count, self.at(self.operand(where)))


def define_loop(function: ir.Function) -> None:
    """Write the body of what runs a loop."""
    _Loop(function).write()


def define_branch(function: ir.Function) -> None:
    """Write the body of what runs a branch."""
    code = _Code(function)
    builder = code.builder
    # The tables stand before the words, and so their number is not known before them.
    count = code.word(0)
    words = builder.add(count, integer(1))
    which = builder.load(code.at(code.operand(code.word(words))))
    inside = builder.and_(
        builder.icmp_signed(">=", which, integer(0)), builder.icmp_signed("<", which, count)
    )
    which = builder.select(inside, which, builder.sub(count, integer(1)))
    frame = code.at(code.operand(code.word(builder.add(words, integer(1)))))
    lengths = builder.add(words, integer(2))
    first = builder.add(lengths, count)
    before = builder.block
    head, body, end = (builder.append_basic_block(name) for name in ("skip", "skipped", "found"))
    builder.branch(head)
    builder.position_at_end(head)
    index, at = builder.phi(_I64), builder.phi(_I64)
    index.add_incoming(integer(0), before)
    at.add_incoming(first, before)
    builder.cbranch(builder.icmp_signed("<", index, which), body, end)
    builder.position_at_end(body)
    length = code.word(builder.add(lengths, index))
    at.add_incoming(builder.add(at, builder.mul(length, integer(3))), body)
    index.add_incoming(builder.add(index, integer(1)), body)
    builder.branch(head)
    builder.position_at_end(end)
    with for_range(builder, code.word(builder.add(lengths, which)), scalar=True) as number:
        cell, operand, offset = code.entry(at, number, 3)
        builder.store(builder.add(code.operand(operand), offset), code.cell(frame, cell))
    code.walk(code.word(builder.add(which, integer(1))), frame)
    builder.ret_void()


def define_release(function: ir.Function) -> None:
    """Write the body of what gives back a grown stack."""
    code = _Code(function)
    release_stack(code.builder, code.watch, code.operand(integer(0)))
    code.builder.ret_void()


def define_stop(function: ir.Function) -> None:
    """Write the body of what ends a run where something is true."""
    code = _Code(function)
    builder = code.builder
    bad = builder.load(code.at(code.operand(integer(0)), _I8))
    with builder.if_then(builder.icmp_unsigned("!=", bad, ir.Constant(_I8, 0)), likely=False):
        refuse(builder, code.watch)
    builder.ret_void()
