"""Machine code for the plan entries that calculate: 64-bit ints and floats, with Python's results.

If Python's result would differ, as for a sum beyond 64 bits, the entry fails and Python computes the numbers of the
call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.functions.marshal_plan import VALUE, Field, Kind
from jittape.native.object_code import DOUBLE, I32, I64, ObjectCode

__all__ = ["Arithmetic"]


class Arithmetic(ObjectCode):
    """The writer of the plan entries that take values.

    Attributes
    ----------
    row, cells, plan : ir.Value
        Addresses of the current entry, of the slot table and of the plan.
    failed : ir.Block
        Target of the branch if an entry does not fit.
    """

    row: ir.Value
    cells: ir.Value
    plan: ir.Value

    def __init__(self, function: ir.Function, places: Mapping[str, int]) -> None:
        super().__init__(function, places)
        self.failed = self.block("failed")

    # ---- entries ---------------------------------------------------------------------------------------------------

    def field(self, field: Field) -> ir.Value:
        """Return a word of the current entry."""
        return self.load(self.row, 8 * field)

    def write_cell(self, value: ir.Value) -> None:
        """Write to the entry's cell of the slot table."""
        self.store(value, self.element(self.cells, self.field(Field.CELL)))

    def result(self, value: ir.Value) -> None:
        """Write the entry's value."""
        self.store(value, self.row, VALUE)

    def hold(self, condition: ir.Value) -> None:
        """Let the entry fail unless `condition` holds."""
        self.require(condition, self.failed)

    def hold_same(self, *pairs: tuple[ir.Value, ir.Value]) -> None:
        """Let the entry fail unless the values of each pair are equal."""
        self.require_same(self.failed, *pairs)

    def operands(self, kind: ir.Type | None = None) -> tuple[ir.Value, ir.Value]:
        """Return the two values that the entry takes; the same one twice if it takes one."""
        first, second = (
            self.load(self.plan, self.field(field), kind) for field in (Field.FIRST, Field.SECOND)
        )
        return first, second

    def floats(self) -> tuple[ir.Value, ir.Value]:
        return self.operands(DOUBLE)

    # ---- kinds -----------------------------------------------------------------------------------------------------

    def arithmetic_emitters(self) -> dict[Kind, Callable[[], object]]:
        """Return the function that emits the code for each kind."""
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
            Kind.FLOOR_DIVIDE: lambda: self.result(self.divided()[0]),
            Kind.MODULO: lambda: self.result(self.divided()[1]),
            **{kind: partial(self.compared, sign) for kind, sign in comparisons.items()},
            Kind.START: lambda: self.result(self.slice_bounds()[0]),
            Kind.LENGTH: self.slice_length,
            Kind.FROM_FRONT: self.from_front,
            Kind.TO_FLOAT: lambda: self.result(builder.sitofp(self.operands()[0], DOUBLE)),
            Kind.FLOAT_ADD: lambda: self.result(builder.fadd(*self.floats())),
            Kind.FLOAT_SUBTRACT: lambda: self.result(builder.fsub(*self.floats())),
            Kind.FLOAT_MULTIPLY: lambda: self.result(builder.fmul(*self.floats())),
            Kind.FLOAT_DIVIDE: self.quotient,
            Kind.WITHIN: self.within,
            Kind.WRITE: lambda: self.write_cell(self.operands()[0]),
            Kind.WRITE_INT32: lambda: self.write_cell(builder.trunc(self.operands()[0], I32)),
            Kind.WRITE_FLOAT32: lambda: self.write_cell(builder.fptrunc(self.floats()[0], ir.FloatType())),
        }

    def checked(self, compute: Callable[..., ir.Value]) -> None:
        """Emit integer arithmetic that fails if it overflows."""
        both = compute(*self.operands())
        self.hold(self.builder.not_(self.builder.extract_value(both, 1)))
        self.result(self.builder.extract_value(both, 0))

    def divided(self) -> tuple[ir.Value, ir.Value]:
        """Return floor quotient and remainder by a positive number; as in Python, the remainder is nonnegative."""
        builder = self.builder
        a, b = self.operands()
        self.hold(builder.icmp_signed(">", b, integer(0)))
        quotient, remainder = builder.sdiv(a, b), builder.srem(a, b)
        below = builder.icmp_signed("<", remainder, integer(0))
        floor = builder.select(below, builder.sub(quotient, integer(1)), quotient)
        return floor, builder.select(below, builder.add(remainder, b), remainder)

    def compared(self, sign: str) -> None:
        self.result(self.builder.zext(self.builder.icmp_signed(sign, *self.operands()), I64))

    def slice_bounds(self) -> tuple[ir.Value, ir.Value]:
        """Return the bounds of a slice, counted from the front and clipped to the axis."""
        size = self.field(Field.EXTENT)
        start, stop = (self.bound(value, size) for value in self.operands())
        return start, stop

    def bound(self, value: ir.Value, size: ir.Value) -> ir.Value:
        """Return a bound of a slice of an axis of `size` elements, counted from the front and clipped."""
        builder = self.builder
        negative = builder.icmp_signed("<", value, integer(0))
        value = builder.select(negative, builder.add(value, size), value)
        value = builder.select(builder.icmp_signed("<", value, integer(0)), integer(0), value)
        return builder.select(builder.icmp_signed(">", value, size), size, value)

    def slice_length(self) -> None:
        start, stop = self.slice_bounds()
        empty = self.builder.icmp_signed("<=", stop, start)
        self.result(self.builder.select(empty, integer(0), self.builder.sub(stop, start)))

    def from_front(self) -> None:
        """Emit an index that may count from the end; it fails if it is out of range."""
        builder = self.builder
        index, size = self.operands()[0], self.field(Field.EXTENT)
        self.hold(builder.icmp_signed("<", index, size))
        self.hold(builder.icmp_signed(">=", index, builder.neg(size)))
        negative = builder.icmp_signed("<", index, integer(0))
        self.result(builder.select(negative, builder.add(index, size), index))

    def quotient(self) -> None:
        a, b = self.floats()
        self.hold(self.builder.fcmp_ordered("!=", b, ir.Constant(DOUBLE, 0.0)))
        self.result(self.builder.fdiv(a, b))

    def within(self) -> None:
        value = self.operands()[0]
        self.hold(self.builder.icmp_signed(">=", value, self.field(Field.LOWER)))
        self.hold(self.builder.icmp_signed("<=", value, self.field(Field.UPPER)))
