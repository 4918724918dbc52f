"""Matrix products by the BLAS: loops over the stack and over pieces around a call of ``jittape_dgemm`` or its like.

The names are symbols that `compile.blas` registers. The calling sequence is Fortran's: every argument by address,
integers of 32 bits. Fortran counts columns first, so what it calls A is the transpose of y, and B that of x.

A bias and an activation stay a loop of their own after the product, which fuses with whatever else reads it: in float32
a bias and a relu add nothing that can be measured to the 28.5 µs of 32x784 @ 784x128, 0.06 to the 3.2 µs of 32x128 @
128x64 and 1.3 to the 227 µs of 256x784 @ 784x128. Only a result far beyond the cache pays: 5 % at 1024x256 @ 256x1024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from llvmlite import ir

from jittape.compile.ir.kernel import Gemm, bits_of
from jittape.compile.ir.task_counts import SHARES_SHIFT
from jittape.compile.kernels.loop.kernel_arguments import operand, size
from jittape.compile.llvm.blas import symbol
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import alloca_once, external, for_range, for_steps
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import float32, info_of
from jittape.core.tuning import tuning

__all__ = ["Stack", "define_product", "stack"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_BYTES = _I8.as_pointer()


class Stack(NamedTuple):
    """What a kernel of products begins with: its symbols by name, and the addresses of one product's operands."""

    builder: ir.IRBuilder
    symbols: dict[str, ir.Value]
    x: ir.Value
    y: ir.Value
    out: ir.Value


@contextmanager
def stack(kernel: Gemm, function: ir.Function) -> Iterator[Stack]:
    """Write the two loops over the stack; the body of the ``with`` writes one product."""
    builder = Builder(function.append_basic_block("entry"))
    task = function.args[3]
    values = {name: size(builder, function, i) for i, name in enumerate(kernel.SYMBOLS)}
    if len(kernel.operands) > 3:
        values["alpha"] = _times_operand(kernel, builder, values["alpha"], function)
    x, y, out = (operand(builder, function, i, _I8) for i in range(3))
    area = builder.mul(values["m"], values["n"])
    row = builder.mul(area, values["b1"])
    (tx, ty), step = kernel.transposed, ir.Constant(_I64, 1)
    own = builder.icmp_signed("<", values["tk"], values["k"])
    results = builder.mul(builder.mul(row, values["b0"]), builder.select(own, task, ir.Constant(_I64, 0)))
    task, shared = _shared(builder, values, task, kernel.divisible)
    begins = {name: _task_part(builder, values, name, task, shared) for name in ("b0", "b1", "m", "n", "k")}
    x, y, out = (
        _moved(builder, kernel, place, _distance(builder, begins, values, start, factors))
        for place, start, factors in (
            (x, values["ox"], ("x0", "x1", step if tx else "lx", None, "lx" if tx else step)),
            (y, values["oy"], ("y0", "y1", None, "ly" if ty else step, step if ty else "ly")),
            (out, results, (row, area, "lr", step, None)),
        )
    )
    with for_range(builder, values["b0"], scalar=True) as outer:
        places = [
            _moved(builder, kernel, p, builder.mul(outer, stride))
            for p, stride in (
                (x, values["x0"]),
                (y, values["y0"]),
                (out, row),
            )
        ]
        with for_range(builder, values["b1"], scalar=True) as inner:
            strides = (values["x1"], values["y1"], area)
            yield Stack(
                builder,
                values,
                *[
                    _moved(builder, kernel, p, builder.mul(inner, stride))
                    for p, stride in zip(places, strides, strict=True)
                ],
            )
    builder.ret_void()


def _shared(
    builder: ir.IRBuilder, values: dict[str, ir.Value], task: ir.Value, divisible: bool
) -> tuple[ir.Value, dict[str, ir.Value]]:
    """Return the task's number, and for each extent whether it is divided on demand.

    Of that extent `values` then has a share, which is all of it where it is short: the other tasks have nothing to do.
    A stack with enough products is divided between them, else the larger of rows and columns if that may be.
    """
    shares = builder.lshr(task, ir.Constant(_I64, SHARES_SHIFT))
    demanded = builder.icmp_unsigned(">", shares, ir.Constant(_I64, 1))
    divisor = builder.select(demanded, shares, ir.Constant(_I64, 1))

    def exceeds(name: str, other: ir.Value) -> ir.Value:
        return builder.icmp_signed(">=", values[name], other)

    tests = {"b0": exceeds("b0", values["b1"]), "b1": exceeds("b1", ir.Constant(_I64, 0))}
    if divisible:
        tests = {"b0": exceeds("b0", shares), "b1": exceeds("b1", shares)}
        tests |= {"m": exceeds("m", values["n"]), "n": exceeds("n", ir.Constant(_I64, 0))}
    free, shared = demanded, {}
    for name, fits in tests.items():
        part = "t" + name[-1]
        unit = ir.Constant(_I64, tuning.gemm_share_step if name in "mn" else 1)
        share = builder.mul(_quotient(builder, values[name], builder.mul(divisor, unit)), unit)
        shared[name] = builder.and_(free, fits)
        values[part] = builder.select(shared[name], share, values[part])
        free = builder.and_(free, builder.not_(fits))
    return builder.and_(task, ir.Constant(_I64, (1 << SHARES_SHIFT) - 1)), shared


def _quotient(builder: ir.IRBuilder, number: ir.Value, divisor: ir.Value) -> ir.Value:
    """Rounded up."""
    more = builder.sub(divisor, ir.Constant(_I64, 1))
    return builder.sdiv(builder.add(number, more), divisor)


def _real(kernel: Gemm, builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """The number with these bytes."""
    if info_of(kernel.dtype).real == float32:
        return builder.bitcast(builder.trunc(bits, _I32), ir.FloatType())
    return builder.bitcast(bits, ir.DoubleType())


def _times_operand(kernel: Gemm, builder: ir.IRBuilder, bits: ir.Value, function: ir.Function) -> ir.Value:
    """The bytes of a number times the operand `a2`."""
    dtype = kernel.operands[3].dtype
    place = operand(builder, function, 3, llvm_type(dtype))
    rate = IRMath(builder).cast(IRValue(builder, builder.load(place), dtype), kernel.dtype).ir
    number = builder.fmul(_real(kernel, builder, bits), rate)
    return builder.zext(builder.bitcast(number, ir.IntType(8 * kernel.dtype.itemsize)), _I64)


def _task_part(
    builder: ir.IRBuilder,
    values: dict[str, ir.Value],
    name: str,
    task: ir.Value,
    shared: dict[str, ir.Value],
) -> ir.Value:
    """Return where the task begins along an extent; `values` then has what the task does of the extent."""
    whole, part = values[name], values["t" + name[-1]]
    divided = builder.icmp_signed("<", part, whole)
    if name in shared:
        divided = builder.or_(divided, shared[name])
    begin = builder.select(divided, builder.mul(task, part), ir.Constant(_I64, 0))
    # Of the last shares nothing may be left.
    left = builder.sub(whole, builder.select(builder.icmp_signed("<", begin, whole), begin, whole))
    values[name] = builder.select(builder.icmp_signed("<", part, left), part, left)
    return begin


def _distance(
    builder: ir.IRBuilder,
    begins: dict[str, ir.Value],
    values: dict[str, ir.Value],
    start: ir.Value,
    factors: tuple[ir.Value | str | None, ...],
) -> ir.Value:
    """How far from its first element a task's part of an operand begins."""
    for begin, factor in zip(begins.values(), factors, strict=True):
        if factor is not None:
            factor = values[factor] if isinstance(factor, str) else factor
            start = builder.add(start, builder.mul(begin, factor))
    return start


def _moved(builder: ir.IRBuilder, kernel: Gemm, place: ir.Value, elements: ir.Value) -> ir.Value:
    width = ir.Constant(_I64, kernel.dtype.itemsize)
    return builder.gep(place, [builder.mul(elements, width)])


def define_product(kernel: Gemm, function: ir.Function) -> None:
    """Write the body of a kernel in one of the forms of the BLAS.

    Optimized for size, as there is nothing in it but calls, it is compiled in 20 ms instead of 34.
    """
    function.attributes.add("optsize")
    with stack(kernel, function) as one:
        caller = _Caller(kernel, one)
        if kernel.form == "vector":
            caller.vector()
        else:
            caller.in_pieces()


class _Caller:
    """Writes the calls of one product."""

    def __init__(self, kernel: Gemm, stack: Stack) -> None:
        self.kernel = kernel
        self.builder, self.symbols, self.x, self.y, self.out = stack
        self.one = self.number(ir.Constant(_I64, bits_of(1.0, kernel.dtype)))
        self.alpha, self.first = (self.number(self.symbols[name]) for name in ("alpha", "beta"))
        self.by_zero = _ByZero(self) if len(kernel.operands) > 3 else None

    def vector(self) -> None:
        """``x @ y`` for a column y; `ly` is the distance of its elements."""
        transposed = self.kernel.transposed[0]
        m, k = self.symbols["m"], self.symbols["k"]
        shape = (m, k) if transposed else (k, m)
        self._call(
            "gemv",
            self._letter("N" if transposed else "T"),
            *[self._integer(v) for v in shape],
            self.alpha,
            self.x,
            self._integer(self.symbols["lx"]),
            self.y,
            self._integer(self.symbols["ly"]),
            self.first,
            self.out,
            self._integer(ir.Constant(_I64, 1)),
        )

    def in_pieces(self) -> None:
        """A loop over pieces of rows, columns and summands; the first piece of summands may write, others add."""
        self._pieces("m", lambda i: self._pieces("n", lambda j: self._inner_pieces(i, j)))

    def _inner_pieces(self, i: ir.Value, j: ir.Value) -> None:
        self._piece(i, j, ir.Constant(_I64, 0), self.first)
        self._pieces("k", lambda at: self._piece(i, j, at, self.one), self.symbols["pk"])

    def _pieces(self, extent: str, body: Callable[[ir.Value], None], start: ir.Value | None = None) -> None:
        start = ir.Constant(_I64, 0) if start is None else start
        step, stop = self.symbols[f"p{extent}"], self.symbols[extent]
        with for_steps(self.builder, start, stop, step, scalar=True) as index:
            body(index)

    def _piece(self, i: ir.Value, j: ir.Value, at: ir.Value, beta: ir.Value) -> None:
        symbols = self.symbols
        rows, columns, inner = (self._extent(*pair) for pair in (("m", i), ("n", j), ("k", at)))
        tx, ty = self.kernel.transposed
        x = self._element(self.x, symbols["lx"], *((at, i) if tx else (i, at)))
        y = self._element(self.y, symbols["ly"], *((j, at) if ty else (at, j)))
        alpha, out = self.alpha, self._element(self.out, symbols["lr"], i, j)
        arguments = (alpha, beta, out) if self.by_zero is None else self.by_zero.instead_of(alpha, beta, out)
        self._call(
            "gemm",
            *[self._letter("T" if t else "N") for t in (ty, tx)],
            *[self._integer(v) for v in (columns, rows, inner)],
            arguments[0],
            y,
            self._integer(symbols["ly"]),
            x,
            self._integer(symbols["lx"]),
            arguments[1],
            arguments[2],
            self._integer(symbols["lr"]),
        )
        if self.by_zero is not None:
            self.by_zero.add_to(out)

    def _extent(self, name: str, start: ir.Value) -> ir.Value:
        """What is left of an extent from `start`, at most a piece."""
        builder, piece = self.builder, self.symbols[f"p{name}"]
        left = builder.sub(self.symbols[name], start)
        return builder.select(builder.icmp_signed("<", left, piece), left, piece)

    def _element(self, place: ir.Value, leading: ir.Value, outer: ir.Value, inner: ir.Value) -> ir.Value:
        builder = self.builder
        return _moved(builder, self.kernel, place, builder.add(builder.mul(outer, leading), inner))

    # ---- arguments by address -------------------------------------------------------------------------------------

    def _call(self, routine: str, *arguments: ir.Value) -> None:
        arguments = tuple([self.builder.bitcast(a, _BYTES) for a in arguments])
        kind = ir.FunctionType(ir.VoidType(), [_BYTES] * len(arguments))
        name = symbol(f"{info_of(self.kernel.dtype).blas}{routine}")
        self.builder.call(external(self.builder.module, kind, name), arguments)

    def _letter(self, letter: str) -> ir.Value:
        return self._held(ir.Constant(_I8, ord(letter)))

    def _integer(self, value: ir.Value) -> ir.Value:
        return self._held(self.builder.trunc(value, _I32))

    def number(self, bits: ir.Value) -> ir.Value:
        """A real number; a complex one is two floats."""
        real = _real(self.kernel, self.builder, bits)
        pair = ir.Constant(ir.ArrayType(real.type, 2), [0.0, 0.0])
        return self._held(self.builder.insert_value(pair, real, 0))

    def _held(self, value: ir.Value) -> ir.Value:
        place = alloca_once(self.builder, value.type)
        self.builder.store(value, place)
        return place


class _ByZero:
    """What is otherwise where a product is added times an operand, and that is zero.

    The BLAS would leave the result as it is, though nan and inf times zero are nan. So a piece is a single element
    then: it is written to a place of its own, and added from there. The code has no second call, but a few selections
    before the one there is and a branch after it. `folding` takes no complex numbers.
    """

    def __init__(self, caller: _Caller) -> None:
        self.builder, symbols = caller.builder, caller.symbols
        self.alpha = _real(caller.kernel, self.builder, symbols["alpha"])
        self.applies = self.builder.fcmp_ordered("==", self.alpha, ir.Constant(self.alpha.type, 0.0))
        for name in ("pm", "pn"):
            symbols[name] = self.builder.select(self.applies, ir.Constant(_I64, 1), symbols[name])
        self.one, self.zero = caller.one, caller.number(ir.Constant(_I64, 0))
        self.place = alloca_once(self.builder, self.alpha.type)

    def instead_of(self, alpha: ir.Value, beta: ir.Value, out: ir.Value) -> tuple[ir.Value, ...]:
        """The addresses of both factors and of the result to call the BLAS with."""
        pairs = ((self.one, alpha), (self.zero, beta), (self.builder.bitcast(self.place, _BYTES), out))
        return tuple([self.builder.select(self.applies, *pair) for pair in pairs])

    def add_to(self, out: ir.Value) -> None:
        """Add what the BLAS has written to the place, times zero."""
        builder = self.builder
        with builder.if_then(self.applies, likely=False):
            element = builder.bitcast(out, self.place.type)
            term = builder.fmul(self.alpha, builder.load(self.place))
            builder.store(builder.fadd(builder.load(element), term), element)
