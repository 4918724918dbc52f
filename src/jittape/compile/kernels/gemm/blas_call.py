"""Matrix products by the BLAS: loops over the stack and over blocks around a call such as ``jittape_dgemm``.

Fortran's matrices are column-major, so its A is the transpose of y, and its B that of x.

A bias and an activation are a separate loop after the product, which is fused with other readers of the product. In
float32 a bias and a relu add 0.06 µs to the 3.2 µs of 32x128 @ 128x64, 1.3 µs to the 227 µs of 256x784 @ 784x128 and
nothing that can be measured to the 28.5 µs of 32x784 @ 784x128. Only a result far larger than the cache is slower: by 5
% for 1024x256 @ 256x1024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from jittape.compile.ir.gemm_kernel import Gemm, bits_of
from jittape.compile.ir.table_layouts import SHARES_SHIFT
from jittape.compile.kernels.loop.kernel_arguments import operand, size
from jittape.compile.llvm.fortran_calls import FortranCalls
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, alloca_once, for_range, for_steps
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import float32, info_of
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["Stack", "define_product", "real_number", "stack"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


class Stack(NamedTuple):
    """State inside the loops over a stack: the symbols by name, and the addresses of one product's operands."""

    builder: ir.IRBuilder
    symbols: dict[str, ir.Value]
    x: ir.Value
    y: ir.Value
    out: ir.Value


@contextmanager
def stack(kernel: Gemm, function: ir.Function) -> Iterator[Stack]:
    """Emit the two loops over the stack; the body of the ``with`` emits one product."""
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
    """Return the number of the task, and for each extent whether it is divided on demand.

    In `values` the extent of a task becomes a share of that extent. A share of a short extent is all of it, and the
    other tasks do nothing. A stack of many products is divided between products, otherwise the larger of rows and
    columns is.
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
    """Return the quotient rounded up."""
    more = builder.sub(divisor, ir.Constant(_I64, 1))
    return builder.sdiv(builder.add(number, more), divisor)


def real_number(kernel: Gemm, builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """Return the real number with these bytes."""
    if info_of(kernel.dtype).real == float32:
        return builder.bitcast(builder.trunc(bits, _I32), ir.FloatType())
    return builder.bitcast(bits, ir.DoubleType())


def _times_operand(kernel: Gemm, builder: ir.IRBuilder, bits: ir.Value, function: ir.Function) -> ir.Value:
    """Return the bytes of a number times the operand `a2`."""
    dtype = kernel.operands[3].dtype
    place = operand(builder, function, 3, llvm_type(dtype))
    rate = IRMath(builder).cast(IRValue(builder, builder.load(place), dtype), kernel.dtype).ir
    number = builder.fmul(real_number(kernel, builder, bits), rate)
    return builder.zext(builder.bitcast(number, ir.IntType(8 * kernel.dtype.itemsize)), _I64)


def _task_part(
    builder: ir.IRBuilder,
    values: dict[str, ir.Value],
    name: str,
    task: ir.Value,
    shared: dict[str, ir.Value],
) -> ir.Value:
    """Return the start of the task along an extent, and set the extent in `values` to that of the task."""
    whole, part = values[name], values["t" + name[-1]]
    divided = builder.icmp_signed("<", part, whole)
    if name in shared:
        divided = builder.or_(divided, shared[name])
    begin = builder.select(divided, builder.mul(task, part), ir.Constant(_I64, 0))
    # The last shares may be empty.
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
    """Return the distance of a task's part of an operand from `start`, in elements."""
    for begin, factor in zip(begins.values(), factors, strict=True):
        if factor is not None:
            factor = values[factor] if isinstance(factor, str) else factor
            start = builder.add(start, builder.mul(begin, factor))
    return start


def _moved(builder: ir.IRBuilder, kernel: Gemm, place: ir.Value, elements: ir.Value) -> ir.Value:
    width = ir.Constant(_I64, kernel.dtype.itemsize)
    return builder.gep(place, [builder.mul(elements, width)])


def define_product(kernel: Gemm, function: ir.Function) -> None:
    """Emit a kernel in one of the forms of the BLAS.

    It consists of calls only. Optimized for size, it is compiled in 20 ms instead of 34.
    """
    function.attributes.add("optsize")
    with stack(kernel, function) as one:
        caller = _Caller(kernel, one)
        if kernel.form == "vector":
            caller.vector()
        else:
            caller.in_blocks()


class _Caller(FortranCalls):
    """Emitter of the calls of one product."""

    def __init__(self, kernel: Gemm, stack: Stack) -> None:
        super().__init__(stack.builder, kernel.dtype)
        self.kernel = kernel
        _, self.symbols, self.x, self.y, self.out = stack
        self.one = self.number_of(ir.Constant(_I64, bits_of(1.0, kernel.dtype)))
        self.alpha, self.first = (self.number_of(self.symbols[name]) for name in ("alpha", "beta"))
        self.zero_factor = _ZeroFactor(self) if len(kernel.operands) > 3 else None

    def number_of(self, bits: ir.Value) -> ir.Value:
        """Return the address of the real number with these bytes, also as a complex number."""
        return self.number(real_number(self.kernel, self.builder, bits))

    def vector(self) -> None:
        """Emit ``x @ y`` for a column y; `ly` is the distance of its elements."""
        transposed = self.kernel.transposed[0]
        m, k = self.symbols["m"], self.symbols["k"]
        shape = (m, k) if transposed else (k, m)
        self.call(
            "gemv",
            self.letter("N" if transposed else "T"),
            *[self.integer(v) for v in shape],
            self.alpha,
            self.x,
            self.integer(self.symbols["lx"]),
            self.y,
            self.integer(self.symbols["ly"]),
            self.first,
            self.out,
            self.integer(ir.Constant(_I64, 1)),
        )

    def in_blocks(self) -> None:
        """Emit loops over blocks of rows, columns and summands; only the first block of summands may overwrite."""
        self._blocks("m", lambda i: self._blocks("n", lambda j: self._inner_blocks(i, j)))

    def _inner_blocks(self, i: ir.Value, j: ir.Value) -> None:
        self._block(i, j, ir.Constant(_I64, 0), self.first)
        self._blocks("k", lambda at: self._block(i, j, at, self.one), self.symbols["pk"])

    def _blocks(self, extent: str, body: Callable[[ir.Value], None], start: ir.Value | None = None) -> None:
        start = ir.Constant(_I64, 0) if start is None else start
        step, stop = self.symbols[f"p{extent}"], self.symbols[extent]
        with for_steps(self.builder, start, stop, step, scalar=True) as index:
            body(index)

    def _block(self, i: ir.Value, j: ir.Value, at: ir.Value, beta: ir.Value) -> None:
        symbols = self.symbols
        rows, columns, inner = (self._extent(*pair) for pair in (("m", i), ("n", j), ("k", at)))
        tx, ty = self.kernel.transposed
        x = self._element(self.x, symbols["lx"], *((at, i) if tx else (i, at)))
        y = self._element(self.y, symbols["ly"], *((j, at) if ty else (at, j)))
        alpha, out = self.alpha, self._element(self.out, symbols["lr"], i, j)
        arguments = (
            (alpha, beta, out) if self.zero_factor is None else self.zero_factor.instead_of(alpha, beta, out)
        )
        self.call(
            "gemm",
            *[self.letter("T" if t else "N") for t in (ty, tx)],
            *[self.integer(v) for v in (columns, rows, inner)],
            arguments[0],
            y,
            self.integer(symbols["ly"]),
            x,
            self.integer(symbols["lx"]),
            arguments[1],
            arguments[2],
            self.integer(symbols["lr"]),
        )
        if self.zero_factor is not None:
            self.zero_factor.add_to(out)

    def _extent(self, name: str, start: ir.Value) -> ir.Value:
        """Return the extent of the block that begins at `start`: at most what is left."""
        builder, piece = self.builder, self.symbols[f"p{name}"]
        left = builder.sub(self.symbols[name], start)
        return builder.select(builder.icmp_signed("<", left, piece), left, piece)

    def _element(self, place: ir.Value, leading: ir.Value, outer: ir.Value, inner: ir.Value) -> ir.Value:
        builder = self.builder
        return _moved(builder, self.kernel, place, builder.add(builder.mul(outer, leading), inner))


class _ZeroFactor:
    """Emitter of products that are added times an operand `a2`, for the case that it is zero.

    The BLAS would leave the result unchanged, but nan and inf times zero are nan. So a block is a single element then:
    it is written to a separate place, multiplied and added. This takes a few selections before the call and a branch
    after it, and no second call. `accumulate_in_gemm` excludes complex numbers.
    """

    def __init__(self, caller: _Caller) -> None:
        self.builder, symbols = caller.builder, caller.symbols
        self.alpha = real_number(caller.kernel, self.builder, symbols["alpha"])
        self.applies = self.builder.fcmp_ordered("==", self.alpha, ir.Constant(self.alpha.type, 0.0))
        for name in ("pm", "pn"):
            symbols[name] = self.builder.select(self.applies, ir.Constant(_I64, 1), symbols[name])
        self.one, self.zero = caller.one, caller.number_of(ir.Constant(_I64, 0))
        self.place = alloca_once(self.builder, self.alpha.type)

    def instead_of(self, alpha: ir.Value, beta: ir.Value, out: ir.Value) -> tuple[ir.Value, ...]:
        """Return the addresses of both factors and of the result for the call of the BLAS."""
        pairs = ((self.one, alpha), (self.zero, beta), (self.builder.bitcast(self.place, BYTES), out))
        return tuple([self.builder.select(self.applies, *pair) for pair in pairs])

    def add_to(self, out: ir.Value) -> None:
        """Emit the addition of the element that the BLAS has written, times zero."""
        builder = self.builder
        with builder.if_then(self.applies, likely=False):
            element = builder.bitcast(out, self.place.type)
            term = builder.fmul(self.alpha, builder.load(self.place))
            builder.store(builder.fadd(builder.load(element), term), element)
