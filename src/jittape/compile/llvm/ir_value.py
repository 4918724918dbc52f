"""LLVM values that behave like Python numbers: the scalar layer of the kernel compiler.

`IRValue` wraps an LLVM value of the function being built and has Python's operators; `ir_math` has functions of it. It
may be a vector: operations then apply to all lanes, and the other operand is broadcast to them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import DTypeLike

from jittape.compile.llvm.ir_builder import vector_type
from jittape.compile.llvm.ir_vectors import lanes_of, shuffled, spread
from jittape.core.dtypes import info_of

__all__ = ["CONTRACT", "IRValue", "Operation", "constant", "llvm_type", "memory_type"]

#: The only fast-math flag: a multiplication and an addition may be fused. nan and inf keep their meaning.
CONTRACT = ("contract",)

#: A method of the builder.
Operation = Callable[..., ir.Value]

_FLOAT_TYPES: dict[str, ir.Type] = {"float": ir.FloatType(), "double": ir.DoubleType()}
_FLOAT_TYPES |= {f"<2 x {name}>": vector_type(kind, 2) for name, kind in _FLOAT_TYPES.items()}


def llvm_type(dtype: DTypeLike) -> ir.Type:
    """Return the LLVM type of a dtype in registers; bool is ``i1``."""
    name = info_of(np.dtype(dtype)).llvm
    if name is None:
        raise TypeError(f"compiled loops do not support the dtype {dtype}")
    return _FLOAT_TYPES[name] if name in _FLOAT_TYPES else ir.IntType(int(name[1:]))


def memory_type(dtype: np.dtype[Any]) -> ir.Type:
    """Return the LLVM type of a dtype in memory; bool is ``i8``."""
    return ir.IntType(8) if dtype.kind == "b" else llvm_type(dtype)


def constant(builder: ir.IRBuilder, value: complex, dtype: DTypeLike) -> IRValue:
    """Return an immediate; the value must fit the dtype, as NumPy requires of Python scalars."""
    dtype = np.dtype(dtype)
    return IRValue(builder, _immediate(value, str(value), dtype), dtype)


@lru_cache(maxsize=4096, typed=True)
def _immediate(value: complex, _: str, dtype: np.dtype[Any]) -> ir.Constant:
    """Return the constant of a number; its text distinguishes the two zeros."""
    with np.errstate(over="ignore"):
        exact = np.asarray(value).astype(dtype) if dtype.kind == "b" else np.array(value, dtype)
    if info_of(dtype).arithmetic != dtype:
        exact = exact.view(f"i{dtype.itemsize}")  # the register has the bits
    if dtype.kind == "c":
        kind = llvm_type(dtype)
        return ir.Constant(
            kind, [ir.Constant(kind.element, part.item()) for part in (exact.real, exact.imag)]
        )
    return ir.Constant(llvm_type(dtype), exact.item())


class IRValue:
    """A typed LLVM value with Python operators.

    Operators take values of one dtype, or a Python scalar on either side. Comparisons give bools. Shift
    counts must lie within the width (`IRMath.left_shift` and `right_shift` take any).

    Parameters
    ----------
    builder
        The builder that instructions are emitted with.
    value
        The LLVM value, of type ``llvm_type(dtype)`` or a vector of these.
    dtype
        float32, float64, a fixed-size integer or bool. A value of float16, the bits in an integer register, has no
        operators: it is cast first.
    """

    __slots__ = ("builder", "dtype", "ir")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: ir.IRBuilder, value: ir.Value, dtype: DTypeLike) -> None:
        self.builder = builder
        self.ir = value
        self.dtype = np.dtype(dtype)

    def __repr__(self) -> str:
        return f"IRValue({self.ir}, {self.dtype})"

    def __bool__(self) -> bool:
        raise TypeError("an IRValue has no truth value while a kernel is written; use m.where")

    @property
    def lanes(self) -> int | None:
        """Number of lanes of a vector; None for a single number."""
        count = lanes_of(self.ir.type)
        if self.dtype.kind != "c" or count is None:
            return count
        return None if count == 2 else count // 2

    def spread(self, lanes: int | None) -> IRValue:
        """Return the number in all lanes; a vector, or any value if `lanes` is None, is returned unchanged."""
        if lanes is None or self.lanes is not None:
            return self
        return self._of(spread(self.builder, self.ir, lanes))

    def part(self, number: int) -> IRValue:
        """Return the real part (0) or the imaginary part (1) of a complex number."""
        dtype = info_of(self.dtype).real
        if self.lanes is None:
            found = self.builder.extract_element(self.ir, ir.Constant(ir.IntType(32), number))
        else:
            found = shuffled(self.builder, self.ir, self.ir, range(number, 2 * self.lanes, 2))
        return IRValue(self.builder, found, dtype)

    def lanes_from(self, first: int, count: int) -> IRValue:
        """Return `count` lanes of a vector."""
        size = self._numbers_per_lane
        places = range(first * size, (first + count) * size)
        return self._of(shuffled(self.builder, self.ir, self.ir, places))

    def first_lane(self) -> IRValue:
        """Return the number in the first lane of a vector; a complex number is left as it is."""
        if self.dtype.kind == "c":
            return self.lanes_from(0, 1)
        return self._of(self.builder.extract_element(self.ir, ir.Constant(ir.IntType(32), 0)))

    @property
    def _numbers_per_lane(self) -> int:
        return 2 if self.dtype.kind == "c" else 1

    def _operand(self, other: Any) -> IRValue:
        if not isinstance(other, IRValue):
            return constant(self.builder, other, self.dtype)
        if other.dtype != self.dtype:
            raise TypeError(f"operands of {self.dtype} and {other.dtype}; cast one of them")
        return other

    def _of(self, result: ir.Value) -> IRValue:
        return IRValue(self.builder, result, self.dtype)

    def _pair(self, left: Any, right: Any) -> tuple[ir.Value, ir.Value]:
        """Return both operands of an operation, with equal numbers of lanes."""
        left, right = self._operand(left), self._operand(right)
        if left.ir.type is right.ir.type:
            return left.ir, right.ir
        lanes = left.lanes or right.lanes
        return left.spread(lanes).ir, right.spread(lanes).ir

    def _arithmetic(
        self, operation: Operation, integer_operation: Operation, left: Any, right: Any
    ) -> IRValue:
        pair = self._pair(left, right)
        if self.dtype.kind in "fc":
            return self._of(operation(*pair, flags=CONTRACT))
        if self.dtype.kind == "b":
            raise TypeError("no arithmetic operators on bool; see m.add, m.multiply and m.logical_xor")
        return self._of(integer_operation(*pair))

    def _bitwise(self, operation: Operation, left: Any, right: Any) -> IRValue:
        if self.dtype.kind in "fc":
            raise TypeError(f"no bitwise operators on {self.dtype}; see m.bitcast")
        return self._of(operation(*self._pair(left, right)))

    def _compare(self, operator: str, other: Any) -> IRValue:
        if self.dtype.kind == "c":
            return self._compare_parts(operator, self._operand(other))
        left, right = self._pair(self, other)
        if self.dtype.kind == "f":
            compare = self.builder.fcmp_unordered if operator == "!=" else self.builder.fcmp_ordered
        else:
            compare = self.builder.icmp_signed if self.dtype.kind == "i" else self.builder.icmp_unsigned
        return IRValue(self.builder, compare(operator, left, right), np.bool_)

    def _compare_parts(self, operator: str, other: IRValue) -> IRValue:
        real, imag = (self.part(i)._compare(operator, other.part(i)) for i in (0, 1))
        if operator not in ("==", "!="):
            raise TypeError(f"complex numbers have no order: {operator}")
        return real & imag if operator == "==" else real | imag

    def _multiply(self, left: Any, right: Any) -> IRValue:
        """Multiply complex numbers as ``(ar * br - ai * bi, ar * bi + ai * br)``, with the parts side by side."""
        builder = self.builder
        a, b = self._pair(left, right)
        places = range(a.type.count)
        real, imag = (shuffled(builder, a, a, [i & ~1 | part for i in places]) for part in (0, 1))
        straight = builder.fmul(real, b, flags=CONTRACT)
        crossed = builder.fmul(imag, shuffled(builder, b, b, [i ^ 1 for i in places]), flags=CONTRACT)
        difference = builder.fsub(straight, crossed, flags=CONTRACT)
        total = builder.fadd(straight, crossed, flags=CONTRACT)
        chosen = [i if i % 2 == 0 else i + a.type.count for i in places]
        return self._of(shuffled(builder, difference, total, chosen))

    def __add__(self, other: Any) -> IRValue:
        return self._arithmetic(self.builder.fadd, self.builder.add, self, other)

    def __radd__(self, other: Any) -> IRValue:
        return self._arithmetic(self.builder.fadd, self.builder.add, other, self)

    def __sub__(self, other: Any) -> IRValue:
        return self._arithmetic(self.builder.fsub, self.builder.sub, self, other)

    def __rsub__(self, other: Any) -> IRValue:
        return self._arithmetic(self.builder.fsub, self.builder.sub, other, self)

    def __mul__(self, other: Any) -> IRValue:
        if self.dtype.kind == "c":
            return self._multiply(self, other)
        return self._arithmetic(self.builder.fmul, self.builder.mul, self, other)

    def __rmul__(self, other: Any) -> IRValue:
        if self.dtype.kind == "c":
            return self._multiply(other, self)
        return self._arithmetic(self.builder.fmul, self.builder.mul, other, self)

    def __truediv__(self, other: Any) -> IRValue:
        return self._divide(self, self._operand(other))

    def __rtruediv__(self, other: Any) -> IRValue:
        return self._divide(self._operand(other), self)

    def _divide(self, left: IRValue, right: IRValue) -> IRValue:
        if self.dtype.kind != "f":
            raise TypeError(f"no operator / on {self.dtype}; cast to a float or use m.floor_divide")
        return self._of(self.builder.fdiv(*self._pair(left, right)))

    def __neg__(self) -> IRValue:
        if self.dtype.kind == "b":
            raise TypeError("no unary minus on bool; use ~")
        return self._of(self.builder.fneg(self.ir) if self.dtype.kind in "fc" else self.builder.neg(self.ir))

    def __invert__(self) -> IRValue:
        if self.dtype.kind in "fc":
            raise TypeError(f"no operator ~ on {self.dtype}")
        return self._of(self.builder.not_(self.ir))

    def __and__(self, other: Any) -> IRValue:
        return self._bitwise(self.builder.and_, self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> IRValue:
        return self._bitwise(self.builder.or_, self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> IRValue:
        return self._bitwise(self.builder.xor, self, other)

    __rxor__ = __xor__

    def __lshift__(self, other: Any) -> IRValue:
        return self._bitwise(self.builder.shl, self, other)

    def __rlshift__(self, other: Any) -> IRValue:
        return self._bitwise(self.builder.shl, other, self)

    def __rshift__(self, other: Any) -> IRValue:
        return self._bitwise(self._shift_right(), self, other)

    def __rrshift__(self, other: Any) -> IRValue:
        return self._bitwise(self._shift_right(), other, self)

    def _shift_right(self) -> Operation:
        shift: Operation = self.builder.ashr if self.dtype.kind == "i" else self.builder.lshr
        return shift

    def __eq__(self, other: Any) -> IRValue:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: Any) -> IRValue:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: Any) -> IRValue:
        return self._compare("<", other)

    def __le__(self, other: Any) -> IRValue:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> IRValue:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> IRValue:
        return self._compare(">=", other)
