"""The part of the binder that calculates on values: ints of 64 bits and floats, as Python would.

Where Python's result would be another, as that of a sum beyond 64 bits, the entry does not fit and Python does it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import load_at
from jittape.functions.marshal_plan import VALUE, Kind

__all__ = ["Arithmetic"]


class Arithmetic:
    """Writes the code of entries that take values.

    Attributes
    ----------
    row, cells, plan : addresses
        Of the entry at hand, of the slot table, of the plan.
    failed : block
        Where it goes on if something does not fit.
    """

    row: ir.Value
    cells: ir.Value
    plan: ir.Value
    failed: ir.Block

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.i64 = ir.IntType(64)
        self.overflow = builder.alloca(ir.IntType(32))

    # ---- memory ----------------------------------------------------------------------------------------------------

    def const(self, value: int) -> ir.Value:
        return ir.Constant(self.i64, value)

    def load(self, base: ir.Value, offset: int | ir.Value, kind: ir.Type | None = None) -> ir.Value:
        """The value at `base` + `offset` bytes."""
        return load_at(self.builder, base, offset, kind)

    def store(self, value: ir.Value, base: ir.Value, offset: int) -> None:
        at = self.builder.add(base, self.const(offset))
        self.builder.store(value, self.builder.inttoptr(at, value.type.as_pointer()))

    def times(self, value: ir.Value, factor: int) -> ir.Value:
        return self.builder.mul(value, self.const(factor))

    def write(self, value: ir.Value) -> None:
        """Into the entry's cell."""
        self.store(value, self.builder.add(self.cells, self.times(self.load(self.row, 24), 8)), 0)

    def hold(self, condition: ir.Value) -> None:
        """Go on only if it holds."""
        on = self.builder.append_basic_block("on")
        self.builder.cbranch(condition, on, self.failed)
        self.builder.position_at_end(on)

    def require(self, *equal: tuple[ir.Value, ir.Value]) -> None:
        """Go on only if each pair is equal."""
        for a, b in equal:
            self.hold(self.builder.icmp_signed("==", a, b))

    # ---- values ----------------------------------------------------------------------------------------------------

    def ways(self) -> dict[Kind, Callable[[], object]]:
        """What writes the code for each kind."""
        builder = self.builder
        comparisons = {
            Kind.EQUAL: "==", Kind.NOT_EQUAL: "!=", Kind.LESS: "<",
            Kind.LESS_EQUAL: "<=", Kind.GREATER: ">", Kind.GREATER_EQUAL: ">=",
        }  # fmt: skip
        return {
            Kind.CONSTANT: lambda: None,
            Kind.ADD: partial(self.checked, builder.sadd_with_overflow),
            Kind.SUBTRACT: partial(self.checked, builder.ssub_with_overflow),
            Kind.MULTIPLY: partial(self.checked, builder.smul_with_overflow),
            Kind.FLOOR_DIVIDE: partial(self.divided, 0),
            Kind.MODULO: partial(self.divided, 1),
            **{kind: partial(self.compared, sign) for kind, sign in comparisons.items()},
            Kind.START: partial(self.sliced, 0),
            Kind.LENGTH: partial(self.sliced, 1),
            Kind.FROM_FRONT: self.from_front,
            Kind.TO_FLOAT: lambda: self.result(builder.sitofp(self.operands()[0], ir.DoubleType())),
            Kind.FLOAT_ADD: lambda: self.result(builder.fadd(*self.floats())),
            Kind.FLOAT_SUBTRACT: lambda: self.result(builder.fsub(*self.floats())),
            Kind.FLOAT_MULTIPLY: lambda: self.result(builder.fmul(*self.floats())),
            Kind.FLOAT_DIVIDE: self.quotient,
            Kind.WITHIN: self.within,
            Kind.WRITE: lambda: self.write(self.operands()[0]),
            Kind.WRITE_INT32: lambda: self.write(builder.trunc(self.operands()[0], ir.IntType(32))),
            Kind.WRITE_FLOAT32: lambda: self.write(builder.fptrunc(self.floats()[0], ir.FloatType())),
        }

    def operands(self, kind: ir.Type | None = None) -> tuple[ir.Value, ir.Value]:
        """The two values that the entry takes; twice the same if it takes one."""
        first, second = (self.load(self.plan, self.load(self.row, 8 + 8 * i), kind) for i in range(2))
        return first, second

    def floats(self) -> tuple[ir.Value, ir.Value]:
        return self.operands(ir.DoubleType())

    def result(self, value: ir.Value) -> None:
        self.store(value, self.row, VALUE)

    def checked(self, compute: Callable[..., ir.Value]) -> None:
        both = compute(*self.operands())
        self.hold(self.builder.not_(self.builder.extract_value(both, 1)))
        self.result(self.builder.extract_value(both, 0))

    def divided(self, part: int) -> None:
        """Quotient or remainder by a positive number; the remainder is not negative, as in Python."""
        builder = self.builder
        a, b = self.operands()
        self.hold(builder.icmp_signed(">", b, self.const(0)))
        quotient, remainder = builder.sdiv(a, b), builder.srem(a, b)
        below = builder.icmp_signed("<", remainder, self.const(0))
        floor = builder.select(below, builder.sub(quotient, self.const(1)), quotient)
        self.result((floor, builder.select(below, builder.add(remainder, b), remainder))[part])

    def compared(self, sign: str) -> None:
        self.result(self.builder.zext(self.builder.icmp_signed(sign, *self.operands()), self.i64))

    def sliced(self, part: int) -> None:
        """Where a slice begins, or how many elements it has."""
        builder = self.builder
        size = self.load(self.row, 32)
        start, stop = (self.bound(value, size) for value in self.operands())
        if part == 0:
            self.result(start)
            return
        empty = builder.icmp_signed("<=", stop, start)
        self.result(builder.select(empty, self.const(0), builder.sub(stop, start)))

    def bound(self, value: ir.Value, size: ir.Value) -> ir.Value:
        """A bound of a slice, counted from the front and brought into the axis."""
        builder = self.builder
        negative = builder.icmp_signed("<", value, self.const(0))
        value = builder.select(negative, builder.add(value, size), value)
        value = builder.select(builder.icmp_signed("<", value, self.const(0)), self.const(0), value)
        return builder.select(builder.icmp_signed(">", value, size), size, value)

    def from_front(self) -> None:
        builder = self.builder
        index, size = self.operands()[0], self.load(self.row, 32)
        self.hold(builder.icmp_signed("<", index, size))
        self.hold(builder.icmp_signed(">=", index, builder.neg(size)))
        negative = builder.icmp_signed("<", index, self.const(0))
        self.result(builder.select(negative, builder.add(index, size), index))

    def quotient(self) -> None:
        a, b = self.floats()
        self.hold(self.builder.fcmp_ordered("!=", b, ir.Constant(ir.DoubleType(), 0.0)))
        self.result(self.builder.fdiv(a, b))

    def within(self) -> None:
        value = self.operands()[0]
        self.hold(self.builder.icmp_signed(">=", value, self.load(self.row, 32)))
        self.hold(self.builder.icmp_signed("<=", value, self.load(self.row, 40)))
