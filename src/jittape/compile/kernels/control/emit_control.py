"""Drivers of loops and branches: kernels whose "sizes" are a plan, and that run the launch tables of its bodies.

`control_plan` describes the plans. A driver runs the table of a body with `walk_table`, as the program's own table is
run, on the frame as slot table. For the task it gets the address of the run's abort state. Between two iterations no
value is copied: a carry is read where it was written, and the addresses of stacked rows advance.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.ir.records import WORD, RecordLayout
from jittape.compile.ir.table_layouts import (
    BODY_COUNT,
    BODY_TABLE,
    BRANCH,
    BRANCH_CARRY,
    BRANCH_LENGTH,
    CARRY,
    FIXED,
    GROWN_STACK,
    LAUNCH_HEAD,
    LOOP,
    STACKED_ROW,
)
from jittape.compile.llvm.driver import walk_table
from jittape.compile.llvm.interrupts import (
    add_stack,
    check_interrupts,
    fail_allocation,
    fail_assertion,
    is_aborted,
    release_stack,
)
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, external, for_range, integer
from jittape.compile.llvm.ir_records import IRRecord
from jittape.core.tuning import tuning

__all__ = ["Driver", "define_branch", "define_loop", "define_release", "define_stop"]

_I64, _I8 = ir.IntType(64), ir.IntType(8)


class Driver:
    """The arguments of a driver, and operations on them."""

    def __init__(self, function: ir.Function) -> None:
        self.builder = Builder(function.append_basic_block("entry"))
        self.module = function.module
        self.slots, self.operands, self.words, self.state = function.args

    def record(self, layout: RecordLayout) -> IRRecord:
        """Return the record at the start of the words."""
        return IRRecord(self.builder, layout, self.words)

    def operand(self, position: ir.Value) -> ir.Value:
        """Return the address of an operand of the step, as an integer."""
        cell = self.builder.load(self.builder.gep(self.operands, [position]))
        return self.builder.ptrtoint(self.builder.load(self.builder.gep(self.slots, [cell])), _I64)

    def at(self, address: ir.Value, kind: ir.Type = _I64) -> ir.Value:
        """Return an address as a pointer."""
        return self.builder.inttoptr(address, kind.as_pointer())

    def cell(self, frame: ir.Value, number: ir.Value) -> ir.Value:
        """Return a pointer to a cell of a frame."""
        return self.builder.gep(frame, [number])

    def set_fixed(self, frame: ir.Value, records: IRRecord, count: ir.Value) -> None:
        """Emit the writes to the cells of a frame that never change."""
        builder = self.builder
        with for_range(builder, count, scalar=True) as index:
            cell, operand, offset = map(records.element(index).load, FIXED.names)
            builder.store(builder.add(self.operand(operand), offset), self.cell(frame, cell))

    def copy(self, to: ir.Value, source: ir.Value, nbytes: ir.Value) -> None:
        """Emit a copy between two addresses."""
        kind = ir.FunctionType(BYTES, [BYTES, BYTES, _I64])
        function = external(self.module, kind, "memcpy")
        self.builder.call(function, [self.at(to, _I8), self.at(source, _I8), nbytes])

    def walk(self, table: ir.Value, frame: ir.Value) -> None:
        """Emit the run of a body's launch table."""
        slots = self.builder.bitcast(frame, KERNEL_TYPE.args[0])
        walk_table(self.builder, self.at(table), slots, self.state)

    def note_runs(self, table: ir.Value, runs: ir.Value) -> None:
        """Emit the addition of `runs` to the counter of a body's launch table, which has one in a profile."""
        builder = self.builder
        counter = IRRecord(builder, LAUNCH_HEAD, self.at(table)).load("runs")
        with builder.if_then(builder.icmp_signed("!=", counter, integer(0)), likely=False):
            builder.atomic_rmw("add", self.at(counter), runs, "monotonic")


class _Loop(Driver):
    def emit(self) -> None:
        builder = self.builder
        tables = self.record(BODY_TABLE)
        self.table = tables.load("table")
        self.head = tables.after(LOOP)
        self.frame = self.at(self.operand(self.head.load("frame")))
        counts = [self.head.load(name) for name in ("fixed", "carries", "rows_read", "rows_written")]
        self.fixed, self.carries, self.read, self.written = counts
        self.first_fixed = self.head.after(FIXED)
        self.first_carry = self.first_fixed.after(CARRY, self.fixed)
        self.first_row = self.first_carry.after(STACKED_ROW, self.carries)
        self.rows = builder.add(self.read, self.written)
        self.first_other = builder.add(builder.add(self.head.load("iteration"), integer(1)), self.carries)
        self._begin()
        count = self._iterations()
        self._end(count)
        builder.ret_void()

    # ---- before --------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        builder, trips = self.builder, self.head.load("trips")
        bound = self.head.load("bound")
        is_while = builder.icmp_signed("==", trips, integer(-1))
        counted = builder.icmp_signed("==", trips, integer(-2))
        known = builder.icmp_signed(">=", trips, integer(0))
        # The largest integer is the length of a loop whose end is unknown.
        length = builder.select(known, trips, integer(2**63 - 1))
        self.is_while = is_while
        self.length = self._if(counted, lambda: builder.load(self.at(self.operand(bound))), length)
        limit = self.head.load("limit")
        limited = builder.and_(
            builder.icmp_signed(">=", limit, integer(0)), builder.icmp_signed("<", limit, self.length)
        )
        self.last = builder.select(limited, limit, self.length)
        going = builder.zext(builder.load(self.at(self._predicate_or_frame(bound), _I8)), _I64)
        self.going = builder.select(is_while, going, integer(1))
        self.set_fixed(self.frame, self.first_fixed, self.fixed)
        # With a known number of iterations the last iteration writes the result's own memory.
        odd = builder.trunc(self.length, ir.IntType(1))
        with for_range(builder, self.carries, scalar=True) as index:
            carry = self.first_carry.element(index)
            result, other = self.operand(carry.load("result")), self.operand(carry.load("other"))
            start = self.operand(carry.load("start"))
            # With one buffer, the loop changes elements of a copy of the first value.
            is_single = builder.icmp_signed("==", result, other)
            with builder.if_then(builder.and_(is_single, builder.icmp_signed("!=", start, result))):
                self.copy(result, start, carry.load("nbytes"))
            first = builder.select(is_single, result, start)
            builder.store(first, self.cell(self.frame, carry.load("read")))
            builder.store(builder.select(odd, result, other), self.cell(self.frame, carry.load("written")))
            builder.store(builder.xor(result, other), self._other(index))
        backwards = builder.icmp_signed("!=", self.head.load("backwards"), integer(0))
        self.step = builder.select(backwards, integer(-1), integer(1))
        self.first = builder.select(backwards, builder.sub(self.length, integer(1)), integer(0))
        with for_range(builder, self.rows, scalar=True) as index:
            row = self.first_row.element(index)
            size, base = row.load("nbytes"), self.operand(row.load("operand"))
            grown = builder.icmp_signed("!=", row.load("grown"), integer(0))
            with builder.if_then(grown):
                self._begin_grown(index, base, size)
            base = self._if(grown, lambda: IRRecord(builder, GROWN_STACK, base).load("memory"), base)
            address = builder.add(base, builder.mul(self.first, size))
            builder.store(address, self.cell(self.frame, row.load("cell")))

    def _begin_grown(self, index: ir.Value, address: ir.Value, size: ir.Value) -> None:
        """Emit an empty stack for one that is written, with room for all rows if their number is known."""
        builder = self.builder
        with builder.if_then(builder.icmp_signed(">=", index, self.read)):
            stack = IRRecord(builder, GROWN_STACK, address)
            stack.store("memory", integer(0))
            stack.store("capacity", integer(0))
            add_stack(builder, self.state, address)
            rows = builder.select(self.is_while, integer(1), self.length)
            self._reserve(stack, builder.add(builder.mul(rows, size), integer(WORD)))

    def _reserve(self, stack: IRRecord, wanted: ir.Value) -> None:
        """Emit the growth of a stack to at least `wanted` bytes. It keeps its memory if there is none to be had."""
        builder = self.builder
        before = stack.load("capacity")
        with builder.if_then(builder.icmp_signed(">", wanted, before), likely=False):
            double = builder.add(builder.mul(before, integer(2)), integer(tuning.stack_first_bytes))
            more = builder.select(builder.icmp_signed(">", wanted, double), wanted, double)
            more = builder.select(self.is_while, more, wanted)
            function = external(self.module, ir.FunctionType(BYTES, [BYTES, _I64]), "realloc")
            moved = builder.call(function, [self.at(stack.load("memory"), _I8), more])
            moved = builder.ptrtoint(moved, _I64)
            none = builder.icmp_signed("==", moved, integer(0))
            with builder.if_else(none, likely=False) as (failed, succeeded):
                with failed:
                    fail_allocation(builder, self.state)
                with succeeded:
                    stack.store("memory", moved)
                    stack.store("capacity", more)

    def _predicate_or_frame(self, bound: ir.Value) -> ir.Value:
        """Return the address of the first predicate; for other loops any address that can be read."""
        frame = self.builder.ptrtoint(self.frame, _I64)
        return self._if(self.is_while, lambda: self.operand(bound), frame)

    def _if(self, condition: ir.Value, then: Callable[[], ir.Value], otherwise: ir.Value) -> ir.Value:
        """Emit ``then() if condition else otherwise`` as a branch."""
        builder = self.builder
        before = builder.block
        with builder.if_then(condition):
            value = then()
            inside = builder.block
        result = builder.phi(_I64)
        result.add_incoming(otherwise, before)
        result.add_incoming(value, inside)
        return result

    def _other(self, index: ir.Value) -> ir.Value:
        """Return a pointer to the XOR of the addresses of a carry's two buffers: either address gives the other."""
        return self.cell(self.frame, self.builder.add(self.first_other, index))

    # ---- the iterations --------------------------------------------------------------------------------------------

    def _iterations(self) -> ir.Value:
        """Emit the loop; return the number of iterations."""
        builder = self.builder
        iteration = self.cell(self.frame, self.head.load("iteration"))
        predicate = self.head.load("predicate")
        before = builder.block
        head, body, end = (
            builder.append_basic_block(name) for name in ("iterations", "iteration", "iterations_end")
        )
        builder.branch(head)
        builder.position_at_end(head)
        count, going = builder.phi(_I64), builder.phi(_I64)
        count.add_incoming(integer(0), before)
        going.add_incoming(self.going, before)
        more = builder.icmp_signed("<", count, self.last)
        builder.cbranch(builder.and_(more, builder.icmp_signed("!=", going, integer(0))), body, end)
        builder.position_at_end(body)
        check_interrupts(builder, self.state, end)
        at = builder.add(self.first, builder.mul(count, self.step))
        builder.store(at, iteration)
        with builder.if_then(self.is_while, likely=False):
            with for_range(builder, self.written, scalar=True) as index:
                self._grow(self.first_row.element(builder.add(index, self.read)), count)
            grown = builder.append_basic_block("grown")
            builder.cbranch(is_aborted(builder, self.state), end, grown)
            builder.position_at_end(grown)
        self.walk(self.table, self.frame)
        with for_range(builder, self.carries, scalar=True) as index:
            carry = self.first_carry.element(index)
            place = self.cell(self.frame, carry.load("written"))
            new = builder.load(place)
            builder.store(new, self.cell(self.frame, carry.load("read")))
            builder.store(builder.xor(new, builder.load(self._other(index))), place)
        with for_range(builder, self.rows, scalar=True) as index:
            row = self.first_row.element(index)
            place = self.cell(self.frame, row.load("cell"))
            distance = builder.mul(row.load("nbytes"), self.step)
            builder.store(builder.add(builder.load(place), distance), place)
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

    def _grow(self, row: IRRecord, count: ir.Value) -> None:
        """Emit the growth of a stack to ``count + 1`` rows, and write the address of the last one to its cell."""
        builder = self.builder
        size = row.load("nbytes")
        stack = IRRecord(builder, GROWN_STACK, self.operand(row.load("operand")))
        self._reserve(stack, builder.mul(builder.add(count, integer(1)), size))
        address = builder.add(stack.load("memory"), builder.mul(count, size))
        builder.store(address, self.cell(self.frame, row.load("cell")))

    # ---- after -------------------------------------------------------------------------------------------------------

    def _end(self, count: ir.Value) -> None:
        builder = self.builder
        self.note_runs(self.table, count)
        with for_range(builder, self.carries, scalar=True) as index:
            carry = self.first_carry.element(index)
            value = builder.load(self.cell(self.frame, carry.load("read")))
            result = self.operand(carry.load("result"))
            with builder.if_then(builder.icmp_signed("!=", value, result)):
                self.copy(result, value, carry.load("nbytes"))
        where = self.head.load("count")
        with builder.if_then(builder.icmp_signed(">=", where, integer(0))):
            builder.store(count, self.at(self.operand(where)))


def define_loop(function: ir.Function) -> None:
    """Emit the driver of a loop."""
    _Loop(function).emit()


def define_branch(function: ir.Function) -> None:
    """Emit the driver of a branch."""
    code = Driver(function)
    builder = code.builder
    bodies = code.record(BODY_COUNT)
    count, tables = bodies.load("count"), bodies.after(BODY_TABLE)
    plan = tables.after(BRANCH, count)
    which = builder.load(code.at(code.operand(plan.load("index"))))
    inside = builder.and_(
        builder.icmp_signed(">=", which, integer(0)), builder.icmp_signed("<", which, count)
    )
    which = builder.select(inside, which, builder.sub(count, integer(1)))
    frame = code.at(code.operand(plan.load("frame")))
    arrays, carries = plan.after(BRANCH_CARRY), plan.load("carries")
    lengths = arrays.after(BRANCH_LENGTH, carries)
    fixed = lengths.after(FIXED, count)
    with for_range(builder, carries, scalar=True) as index:
        array = arrays.element(index)
        start, result = code.operand(array.load("start")), code.operand(array.load("result"))
        with builder.if_then(builder.icmp_signed("!=", start, result)):
            code.copy(result, start, array.load("nbytes"))
    before = builder.block
    head, body, end = (builder.append_basic_block(name) for name in ("skip", "skipped", "found"))
    builder.branch(head)
    builder.position_at_end(head)
    index, skipped = builder.phi(_I64), builder.phi(_I64)
    index.add_incoming(integer(0), before)
    skipped.add_incoming(integer(0), before)
    builder.cbranch(builder.icmp_signed("<", index, which), body, end)
    builder.position_at_end(body)
    skipped.add_incoming(builder.add(skipped, lengths.element(index).load("fixed")), body)
    index.add_incoming(builder.add(index, integer(1)), body)
    builder.branch(head)
    builder.position_at_end(end)
    code.set_fixed(frame, fixed.element(skipped), lengths.element(which).load("fixed"))
    table = tables.element(which).load("table")
    code.note_runs(table, integer(1))
    code.walk(table, frame)
    builder.ret_void()


def define_release(function: ir.Function) -> None:
    """Emit the release of a grown stack."""
    code = Driver(function)
    release_stack(code.builder, code.state, code.operand(integer(0)))
    code.builder.ret_void()


def define_stop(function: ir.Function) -> None:
    """Emit the abort of a run if an element of the operand is true."""
    code = Driver(function)
    builder = code.builder
    first = code.at(code.operand(integer(0)), _I8)
    with for_range(builder, builder.load(code.words), scalar=True) as index:
        failed = builder.load(builder.gep(first, [index]))
        with builder.if_then(builder.icmp_unsigned("!=", failed, ir.Constant(_I8, 0)), likely=False):
            fail_assertion(builder, code.state)
    builder.ret_void()
