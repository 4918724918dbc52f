"""`CountingMath`: the math namespace that adds up the cost of a formula's instructions.

A formula runs once over `CountedValue` operands. The count equals that of the LLVM instructions which `IRMath` writes
for the same formula, without LLVM: schedules depend on it, and scheduling does not import llvmlite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jittape.core.dtypes import complex_of, info_of
from jittape.vectormath.machine_math import MachineMath, NoFormula
from jittape.vectormath.math_namespace import MathNamespace, Step, Table, TableStep

__all__ = ["ComplexCountingMath", "CountedValue", "CountingMath"]

COMPLEX_FUNCTIONS = frozenset((
    "absolute", "add", "cast", "complex_number", "conj", "cos", "cosh", "divide", "equal", "exp", "imag",
    "integer_power", "isfinite", "isinf", "isnan", "literal", "log", "logical_and", "logical_not", "logical_or",
    "logical_xor", "multiply", "negative", "not_equal", "real", "reciprocal", "sin", "sinh", "sqrt", "square",
    "subtract", "tan", "tanh", "where",
))  # fmt: skip
"""Functions of the namespace that take complex numbers."""
COMPLEX_OPERATORS = {"simple": 2, "multiply": 6, "equality": 4}
"""Number of instructions of the operators on complex numbers."""
SPLAT = 2
"""Number of instructions that copy a computed number to all lanes of a vector; for a constant none are needed."""


def _require_real(*values: Any) -> None:
    if values[0].dtype.kind == "c":
        raise NoFormula("a formula of real numbers")


def _operator(opcode: str, dtype: np.dtype[Any] | None = None) -> Callable[..., CountedValue]:
    """Return the method of a binary operator whose result has `dtype`; None means that of the operands."""

    def count(self: CountedValue, other: Any) -> CountedValue:
        if self.dtype.kind == "c":
            return self.math.count_complex(opcode, self.dtype if dtype is None else dtype, self, other)
        return self.math.count(opcode, self.dtype if dtype is None else dtype, self, other)

    return count


class CountedValue:
    """A value of a formula whose cost is counted.

    Attributes
    ----------
    math : CountingMath
        What counts.
    dtype : dtype
        As in `IRValue`.
    lanes : int or None
        The length of a vector; None for a single number.
    is_constant : bool
        Whether the value is known when code is generated.
    """

    __slots__ = ("dtype", "is_constant", "lanes", "math")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, math: CountingMath, dtype: DTypeLike, lanes: int | None = None, is_constant: bool = False
    ) -> None:
        self.math = math
        self.dtype = np.dtype(dtype)
        self.lanes = lanes
        self.is_constant = is_constant

    def __neg__(self) -> CountedValue:
        return self.math.count("simple", self.dtype, self)

    __invert__ = __neg__
    __add__ = __sub__ = __radd__ = __rsub__ = _operator("simple")
    __mul__ = __rmul__ = _operator("multiply")
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _operator("bits")
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = _operator("bits")
    __truediv__ = __rtruediv__ = _operator("fdiv")
    __lt__ = __le__ = __gt__ = __ge__ = _operator("order", np.dtype(np.bool_))
    __eq__ = __ne__ = _operator("equality", np.dtype(np.bool_))  # type: ignore[assignment]


class CountingMath(MachineMath):
    """The math namespace that counts.

    Parameters
    ----------
    costs : mapping
        Costs of instructions by opcode; all others cost 1.

    Attributes
    ----------
    cost : int
        The cost of all instructions so far.
    has_loop : bool
        Whether a formula sums over a table, which LLVM does not vectorize.
    """

    __slots__ = ("cost", "costs", "has_loop")

    def __init__(self, costs: Mapping[str, int]) -> None:
        self.cost = 0
        self.costs = costs
        self.has_loop = False

    def count(self, opcode: str, dtype: DTypeLike, *operands: Any) -> CountedValue:
        """Count an instruction; operands that are single numbers are copied to vectors beside vectors."""
        lanes = self._common(*operands)[0].lanes
        self.cost += self.costs.get(opcode, 1)
        return CountedValue(self, dtype, lanes)

    def count_complex(self, opcode: str, dtype: DTypeLike, *operands: Any) -> CountedValue:
        """Count an operator on complex numbers.

        Raises
        ------
        NoFormula
            If there is no such operator: division is `divide`, and complex numbers have no order.
        """
        if opcode not in COMPLEX_OPERATORS:
            raise NoFormula(f"no operator of complex numbers: {opcode}")
        lanes = self._common(*operands)[0].lanes
        self.cost += COMPLEX_OPERATORS[opcode]
        return CountedValue(self, dtype, lanes)

    def real(self, x: CountedValue) -> CountedValue:
        """Real part."""
        return self.count("simple", info_of(x.dtype).real, x)

    imag = real

    def complex_number(self, real: Any, imag: Any) -> CountedValue:
        """Complex number."""
        real, imag = self._common(real, imag)
        return self.count("simple", complex_of(real.dtype), real, imag)

    def _common(self, *operands: Any) -> tuple[CountedValue, ...]:
        model = next(x for x in operands if isinstance(x, CountedValue))
        values = [x if isinstance(x, CountedValue) else self.literal(x, model.dtype) for x in operands]
        lanes = next((x.lanes for x in values if x.lanes), None)
        self.cost += SPLAT * sum([x.lanes != lanes and not x.is_constant for x in values])
        return tuple(
            [x if x.lanes == lanes else CountedValue(self, x.dtype, lanes, x.is_constant) for x in values]
        )

    def literal(self, value: complex, dtype: DTypeLike) -> CountedValue:
        """Return a constant, which is free."""
        return CountedValue(self, dtype, is_constant=True)

    def bitcast(self, x: CountedValue, dtype: DTypeLike) -> CountedValue:
        """Reinterpret the bits; between integers that is free."""
        _require_real(x)
        dtype = np.dtype(dtype)
        if (x.dtype.kind == "f") == (dtype.kind == "f"):
            return CountedValue(self, dtype, x.lanes, x.is_constant)
        return self.count("simple", dtype, x)

    def _convert(self, x: CountedValue, dtype: np.dtype[Any]) -> CountedValue:
        if x.dtype.kind in "iu" and dtype.kind in "iu" and x.dtype.itemsize == dtype.itemsize:
            return self.bitcast(x, dtype)
        return self.count("simple", dtype, x)

    def _from_half(self, x: CountedValue) -> CountedValue:
        return self.count("simple", np.float32, x)

    def _to_half(self, x: CountedValue, dtype: np.dtype[Any]) -> CountedValue:
        return self.count("simple", dtype, x)

    def _saturate(self, x: CountedValue, dtype: np.dtype[Any]) -> CountedValue:
        return self.count("call", dtype, x)

    def _intrinsic(self, name: str, *operands: CountedValue) -> CountedValue:
        _require_real(*operands)
        return self.count("call", operands[0].dtype, *operands)

    def _quotient(self, a: CountedValue, b: CountedValue) -> CountedValue:
        return self.count("udiv" if a.dtype.kind == "u" else "sdiv", a.dtype, a, b)

    def _unsigned_power(self, a: CountedValue, b: CountedValue) -> CountedValue:
        return self.count("call", a.dtype, a, b)

    def where(self, condition: CountedValue, a: Any, b: Any) -> CountedValue:
        """Select."""
        condition, a, b = self._common(condition, *self._common(a, b))
        return self.count("simple", a.dtype, condition, a, b)

    def rounded_add(self, a: Any, b: Any) -> CountedValue:
        """Sum."""
        a, b = self._common(a, b)
        _require_real(a)
        return self.count("simple", a.dtype, a, b)

    rounded_multiply = rounded_add

    def rarely(self, condition: CountedValue, function: str, argument: Any, otherwise: Any) -> CountedValue:
        """Count the call of an outlined function; vectors also convert the condition and choose the result."""
        condition, argument, otherwise = self._common(condition, *self._common(argument, otherwise))
        self.cost += 2 if argument.lanes else 0
        return self.count("call", otherwise.dtype, condition, argument, otherwise)

    def repeat(
        self,
        step: Step,
        fixed: tuple[Any, ...],
        start: tuple[Any, ...],
        limit: int = 256,
        skip: Any | None = None,
    ) -> tuple[CountedValue, ...]:
        """Count two iterations: an attempt is usually accepted, but a vector waits for its last lane."""
        lanes = fixed[0].lanes
        values = tuple([CountedValue(self, x.dtype, lanes) for x in start])
        before = self.cost
        _, results = step(CountedValue(self, np.uint64), fixed, values)
        self.cost += self.cost - before
        return tuple([CountedValue(self, x.dtype, lanes) for x in results])

    def accumulate(
        self, step: TableStep, table: Table, fixed: tuple[Any, ...], start: tuple[Any, ...]
    ) -> tuple[CountedValue, ...]:
        """Count an iteration for each row, with the instructions of the loop."""
        self.has_loop = True
        lanes, columns = fixed[0].lanes, len(table[0])
        values = tuple([CountedValue(self, x.dtype, lanes) for x in start])
        before = self.cost
        results = step(tuple([CountedValue(self, np.float64) for _ in range(columns)]), fixed, values)
        opcodes = ["phi"] * (len(start) + 1) + ["getelementptr", "load"] * columns + ["add", "icmp", "br"]
        self.cost += sum([self.costs.get(opcode, 1) for opcode in opcodes])
        self.cost += (self.cost - before) * (len(table) - 1) + self.costs.get("br", 1)
        return tuple([CountedValue(self, x.dtype, lanes) for x in results])

    def fmod(self, a: Any, b: Any) -> CountedValue:
        """C remainder."""
        a, b = self._common(a, b)
        return self.count("frem", a.dtype, a, b)


def _real_only(name: str) -> Callable[..., Any]:
    def function(self: ComplexCountingMath, *operands: Any, **options: Any) -> Any:
        if any(isinstance(x, CountedValue) and x.dtype.kind == "c" for x in operands):
            raise NoFormula(f"{name} of complex numbers")
        return getattr(CountingMath, name)(self, *operands, **options)

    return function


class ComplexCountingMath(CountingMath):
    """The math namespace that raises `NoFormula` if a function of real numbers is given a complex one."""

    __slots__ = ()


for _name in set(dir(MathNamespace)) - COMPLEX_FUNCTIONS:
    if _name[0] != "_":
        setattr(ComplexCountingMath, _name, _real_only(_name))
